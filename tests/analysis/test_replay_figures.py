"""The figures of a replay are those of a look at every moment of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.analysis.replay_figures import ReplayRecord, durations, replay_figures
from ksched_cli.analysis.usage import nodes_used
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.run import Run
from tests.replays import node, pod
from tests.sweep.sweeps import write_state

HOUR = 3_600_000_000
GATE: dict[str, Any] = {"schedulingGates": [{"name": "later"}]}
JOBS = st.fixed_dictionaries(
    {
        "at": st.integers(0, 40),
        "cpu": st.sampled_from(["1", "2", "9"]),
        "runsFor": st.sampled_from([None, 0, 5, 20]),
        "deleted": st.sampled_from([None, 3, 15]),
        "priority": st.sampled_from([0, 0, 10]),
        "node": st.sampled_from(["", "", "", "a"]),
        "gated": st.booleans(),
    }
)


def events_of(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    events = []
    for number, job in enumerate(jobs):
        name, spec = f"p{number}", {"priority": job["priority"], "terminationGracePeriodSeconds": 2}
        spec |= {"nodeName": job["node"]} if job["node"] else {}
        spec |= GATE if job["gated"] and not job["node"] else {}
        event = {"at": job["at"], "pod": pod(name, cpu=job["cpu"], **spec)}
        if job["runsFor"] is not None:
            event["runsFor"] = job["runsFor"]
        events.append(event)
        if job["deleted"] is not None:
            target = {"kind": "Pod", "name": name}
            events.append({"at": job["at"] + job["deleted"], "delete": target, "gracePeriod": 1})
    events.append({"at": 10, "put": node("c", cpu="2")})
    return sorted(events, key=lambda event: event["at"])


def replayed(
    folder: Path, events: list[dict[str, Any]], look: Callable[[Replay], None] | None = None
) -> tuple[Replay, ReplayRecord]:
    import json

    bound = {"metadata": {"name": "old", "namespace": "default"}}
    old = {**pod("old"), **bound, "spec": {**pod("old")["spec"], "nodeName": "b"}}
    state = write_state(folder / "state.json", node("a", cpu="2"), node("b", cpu="3"), old)
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}
    (folder / "t.json").write_text(json.dumps(timeline))
    run = Run(states=(str(state),), timeline=str(folder / "t.json"), until="60s")
    departed: list[PodRecord] = []
    replay = Opener().replay(run, Watch(on_record=departed.append, on_instant=look))
    replay.run()
    return replay, ReplayRecord.of(replay, departed)


@given(jobs=st.lists(JOBS, max_size=8))
def test_figures_are_those_of_every_moment(jobs: list[dict[str, Any]]) -> None:
    moments: list[tuple[int, int, int]] = [(0, 1, 0)]

    def look(replay: Replay) -> None:
        waiting = [queued for queued in replay.queue if not queued.gated]
        snapshot = replay.cluster.snapshot
        moments.append((replay.clock.now, nodes_used(snapshot), len(waiting)))

    with TemporaryDirectory() as folder:
        replay, record = replayed(Path(folder), events_of(jobs), look)
    figures = replay_figures(record)
    moments.append((replay.clock.now, *moments[-1][1:]))
    spans = [(after[0] - before[0], *before[1:]) for before, after in pairwise(moments)]
    assert figures.used_node_hours == pytest.approx(
        sum(span * used for span, used, _ in spans) / HOUR, abs=1e-6
    )
    last_of_each = {at: used for at, used, _ in moments}
    assert figures.nodes_used == max(last_of_each.values())
    assert figures.node_hours == pytest.approx((2 * 60 + 50) / 3600, abs=1e-6)
    pending = sum(span * count for span, _, count in spans)
    assert figures.pending_hours == pytest.approx(pending / HOUR, abs=1e-6)


def test_waits_and_completions_are_of_the_pods_that_came(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": pod("x", cpu="2"), "runsFor": 10},
        {"at": 1, "pod": pod("y", cpu="2"), "runsFor": 4},
        {"at": 2, "pod": pod("late", cpu="2"), "runsFor": 4},
        {"at": 2, "pod": pod("huge", cpu="9")},
        {"at": 3, "pod": pod("gated", **GATE)},
        {"at": 4, "pod": pod("gone", cpu="9")},
        {"at": 4, "pod": pod("gated-and-gone", **GATE)},
        {"at": 9, "delete": {"kind": "Pod", "name": "gone"}},
        {"at": 9, "delete": {"kind": "Pod", "name": "gated-and-gone"}},
    ]
    replay, record = replayed(tmp_path, events)
    placed = {pod.pod: pod.placed for pod in record.pods}
    late = placed["default/late"]
    assert late is not None
    figures = replay_figures(record)
    assert figures.wait is not None
    waits = [0, 0, late - 2_000_000, 58_000_000]
    assert figures.wait.mean == pytest.approx(sum(waits) / 4e6)
    assert (figures.wait.p50, figures.wait.max) == (0, 58)
    assert figures.job_completion_time is not None
    assert figures.job_completion_time.max == 10
    assert figures.ended == 3
    assert figures.pending_hours == pytest.approx((sum(waits) + 5_000_000) / HOUR, abs=1e-6)
    assert replay.clock.now == 60_000_000


def test_nobody_waited_where_no_pod_came(tmp_path: Path) -> None:
    figures = replay_figures(replayed(tmp_path, [])[1])
    assert (figures.wait, figures.job_completion_time, figures.pending_hours) == (None, None, 0)
    assert figures.nodes_used == 1
    assert figures.used_node_hours == pytest.approx(60 / 3600, abs=1e-6)


@pytest.mark.parametrize(
    ("count", "p50", "p90", "p99"), [(1, 1, 1, 1), (2, 1, 2, 2), (10, 5, 9, 10), (100, 50, 90, 99)]
)
def test_a_percentile_is_what_so_many_did_not_exceed(
    count: int, p50: int, p90: int, p99: int
) -> None:
    times = durations([number * 1_000_000 for number in range(count, 0, -1)])
    assert (times.p50, times.p90, times.p99) == (p50, p90, p99)
    assert (times.mean, times.max) == ((count + 1) / 2, count)
