"""The figures of a replay are those of a look at every moment of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ksched_cli.analysis.replay_figures import (
    Durations,
    UsageOverTime,
    calendar_steps,
    durations,
    job_figures,
    replay_figures,
    replay_waits,
    user_figures,
)
from ksched_cli.analysis.usage import nodes_used
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.run import Run
from tests.replays import node, pod, replay
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
) -> tuple[Replay, list[PodRecord]]:
    import json

    bound = {"metadata": {"name": "old", "namespace": "default"}}
    old = {**pod("old"), **bound, "spec": {**pod("old")["spec"], "nodeName": "b"}}
    state = write_state(folder / "state.json", node("a", cpu="2"), node("b", cpu="3"), old)
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}
    (folder / "t.json").write_text(json.dumps(timeline))
    run = Run(states=(str(state),), timeline=str(folder / "t.json"), until="60s")
    replay = Opener().replay(run, Watch(keeps_records=True, on_instant=look))
    replay.run()
    return replay, replay.log.records


def stranded_cpu(snapshot: Snapshot) -> float:
    """The share of free cores on nodes without room for a pod of mean requests."""
    pods = int(snapshot.pod_count.sum())
    lacks_room = np.zeros(len(snapshot), dtype=np.bool_)
    for resource, allocatable in snapshot.node_columns.allocatable.items():
        requested = snapshot.pod_count if resource == PODS else snapshot.requested(resource)
        mean = requested.sum() / pods if pods else 0
        lacks_room |= np.maximum(allocatable - requested, 0) < mean
    free = np.maximum(snapshot.allocatable("cpu") - snapshot.requested("cpu"), 0)
    return round(float(free[lacks_room].sum() / free.sum()), 6) if free.any() else 0.0


@given(jobs=st.lists(JOBS, max_size=8))
def test_figures_are_those_of_every_moment(jobs: list[dict[str, Any]]) -> None:
    moments: list[tuple[int, int, int]] = [(0, 1, 0)]
    looks: dict[int, tuple[float, ...]] = {}

    def look(replay: Replay) -> None:
        waiting = [queued for queued in replay.queue if not queued.gated]
        snapshot = replay.cluster.snapshot
        pods = int(snapshot.pod_count.sum())
        cpu = float(snapshot.requested("cpu").sum() / snapshot.allocatable("cpu").sum())
        looks[replay.clock.now] = (
            *(len(snapshot), nodes_used(snapshot), pods, len(waiting)),
            *(round(cpu, 6), stranded_cpu(snapshot)),
        )
        moments.append((replay.clock.now, nodes_used(snapshot), len(waiting)))

    with TemporaryDirectory() as folder:
        replay, _ = replayed(Path(folder), events_of(jobs), look)
    figures = replay_figures(replay)
    moments.append((replay.clock.now, *moments[-1][1:]))
    spans = [(after[0] - before[0], *before[1:]) for before, after in pairwise(moments)]
    assert figures.used_node_hours == pytest.approx(
        sum(span * used for span, used, _ in spans) / HOUR, abs=1e-6
    )
    last_of_each = {at: used for at, used, _ in moments}
    assert figures.nodes_used == max(last_of_each.values())
    assert figures.node_hours == pytest.approx((2 * 60 + 50) / 3600, abs=1e-6)
    usage = UsageOverTime(replay)
    for at, expected in looks.items():
        (sample,) = usage.samples([usage.moment_at(at)])
        own = (sample.nodes, sample.nodes_used, sample.pods, sample.pending)
        assert (*own, sample.utilization["cpu"], sample.stranded["cpu"]) == expected
    assert usage.samples(range(len(usage))) == [
        sample for moment in range(len(usage)) for sample in usage.samples([moment])
    ]
    assert usage.over_time().pods.max == max(look[2] for look in looks.values())
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
    placed = {pod.pod: pod.placed for pod in record}
    late = placed["default/late"]
    assert late is not None
    figures = replay_figures(replay)
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
    figures = replay_figures(replayed(tmp_path, [])[0])
    assert (figures.wait, figures.job_completion_time, figures.pending_hours) == (None, None, 0)
    assert figures.nodes_used == 1
    assert figures.used_node_hours == pytest.approx(60 / 3600, abs=1e-6)


@pytest.mark.parametrize(
    ("count", "p50", "p90", "p95", "p99"),
    [(1, 1, 1, 1, 1), (2, 1, 2, 2, 2), (10, 5, 9, 10, 10), (100, 50, 90, 95, 99)],
)
def test_a_percentile_is_what_so_many_did_not_exceed(
    count: int, p50: int, p90: int, p95: int, p99: int
) -> None:
    times = durations([number * 1_000_000 for number in range(count, 0, -1)])
    assert (times.p50, times.p90, times.p95, times.p99) == (p50, p90, p95, p99)
    assert (times.mean, times.max) == ((count + 1) / 2, count)


@given(times=st.lists(st.integers(0, 10**13), min_size=1, max_size=300))
def test_no_percentile_is_above_the_maximum(times: list[int]) -> None:
    figures = durations(times)
    assert figures.p50 <= figures.p90 <= figures.p95 <= figures.p99 <= figures.max


# -- over time, worked out by hand ----------------------------------------------------------------

WEEK = 604_800
MONDAY_NINE = 32_400


def test_a_peak_of_a_minute_in_a_week_is_the_maximum(tmp_path: Path) -> None:
    """A node of 8 cores. One pod of one core runs all week. On Monday at nine ten pods of one core
    come for a minute: seven fit beside it, three wait until these end, 60 s later."""
    events = [{"at": 0, "pod": pod("all-week"), "runsFor": WEEK}]
    # Half a second before the peak, something else happens.
    events.append({"at": MONDAY_NINE - 0.5, "pod": pod("short", "100m"), "runsFor": 0.25})
    events += [{"at": MONDAY_NINE, "pod": pod(f"p{n}"), "runsFor": 60} for n in range(10)]
    run = replay(tmp_path, [node("n", "8")], events)
    usage = UsageOverTime(run)
    figures, over_time = replay_figures(run, usage), usage.over_time()
    assert (over_time.pods.max, over_time.pods.max_at) == (8, MONDAY_NINE)
    assert (over_time.pending.max, over_time.pending.max_at) == (3, MONDAY_NINE)
    assert over_time.utilization["cpu"].max == 1
    # One pod all week, ten for 60 s each, one for 0.25 s: (604,800 + 600 + 0.25) / 604,800.
    assert over_time.pods.mean == pytest.approx(605_400.25 / WEEK, abs=1e-6)
    # Cores: the same, but for the short pod's tenth: (604,800 + 600 + 0.025) / (8 * 604,800).
    assert over_time.utilization["cpu"].mean == pytest.approx(605_400.025 / 8 / WEEK, abs=1e-6)
    # Three pods wait 60 s: 180 / 3,600 hours, and on average 180 / 604,800 pods.
    assert figures.pending_hours == 0.05
    assert over_time.pending.mean == pytest.approx(180 / WEEK, abs=1e-6)
    # Nine of twelve pods wait 0 s and three wait 60 s.
    assert figures.wait == Durations(mean=15, p50=0, p90=60, p95=60, p99=60, max=60)
    assert (figures.node_hours, figures.used_node_hours) == (168, 168)


def test_a_pod_that_still_waits_counts_with_the_time_so_far(tmp_path: Path) -> None:
    """One core; four pods of one core come at 0, an hour, two and three hours; the first stays.
    After twelve hours the others wait 11, 10 and 9 hours."""
    hour = 3_600
    events = [{"at": n * hour, "pod": pod(f"p{n}")} for n in range(4)]
    run = replay(tmp_path, [node("n")], events, until=12 * hour)
    waits = replay_waits(run).all
    assert (waits.pods, waits.still_waiting) == (4, 3)
    assert waits.mean == 7.5 * hour  # (0 + 11 + 10 + 9) / 4
    assert (waits.p50, waits.max) == (9 * hour, 11 * hour)
    assert replay_figures(run).pending_hours == 30
    (group,) = replay_waits(run).namespace
    assert structs.asdict(group) == {"name": "default", **structs.asdict(waits)}


def test_a_gated_pod_is_not_pending(tmp_path: Path) -> None:
    """Its gate goes after 100 s; there is no room for it, and it waits for 20 s more."""
    events = [
        {"at": 0, "pod": pod("full"), "runsFor": 120},
        {"at": 0, "pod": pod("gated", **GATE)},
        {"at": 100, "put": pod("gated")},
    ]
    run = replay(tmp_path, [node("n")], events)
    assert replay_figures(run).pending_hours == pytest.approx(20 / 3_600, abs=1e-6)


def test_nodes_and_pods_that_leave_together_are_counted(tmp_path: Path) -> None:
    """Node b joins at 10 with 3 cores beside a's one, takes a pod of 2 cores, and is deleted at 20;
    the replay ends at 40."""
    events = [
        {"at": 10, "put": node("b", "3")},
        {"at": 10, "pod": pod("x", "2")},
        {"at": 20, "delete": {"kind": "Node", "name": "b"}},
    ]
    run = replay(tmp_path, [node("a")], events, until=40)
    over_time = UsageOverTime(run).over_time()
    assert (over_time.nodes.max, over_time.nodes.mean) == (2, 1.25)  # (10 + 20 + 20) / 40
    assert (over_time.pods.max, over_time.pods.mean) == (1, 0.25)
    assert over_time.nodes_used.max == 1
    cpu = over_time.utilization["cpu"]
    assert (cpu.max, cpu.max_at, cpu.mean) == (0.5, 10, 0.125)  # 2 of 4 cores for 10 of 40 s
    assert replay_figures(run).used_node_hours == pytest.approx(10 / 3_600, abs=1e-6)


def test_six_events_with_a_node_that_joins(tmp_path: Path) -> None:
    """n has two cores; n2, with one, joins at 30 s.

    a wants two cores for 60 s and gets n at 0. b comes at 10 with one core for 30 s and gets n2 at
    30. c comes at 20 with one core for 50 s and waits until 60, when a and b end. d comes at 40
    with three cores, which no node has, and is deleted at 100. c ends last, at 110.
    """
    events = [
        {"at": 0, "pod": pod("a", "2"), "runsFor": 60},
        {"at": 10, "pod": pod("b"), "runsFor": 30},
        {"at": 20, "pod": pod("c"), "runsFor": 50},
        {"at": 30, "put": node("n2", "1")},
        {"at": 40, "pod": pod("d", "3")},
        {"at": 100, "delete": {"kind": "Pod", "name": "d"}},
    ]
    run = replay(tmp_path, [node("n", "2")], events)
    usage = UsageOverTime(run)
    figures, over_time = replay_figures(run, usage), usage.over_time()
    assert run.clock.now == 110_000_000
    # a waits 0 s, b 20, c 40; d left without a node. They end 60, 50 and 90 s after they came.
    assert figures.wait == Durations(mean=20, p50=20, p90=40, p95=40, p99=40, max=40)
    completion = figures.job_completion_time
    assert completion == Durations(mean=66.666667, p50=60, p90=90, p95=90, p99=90, max=90)
    # One pending from 10, two from 20, one from 30, two from 40, one from 60 to 100:
    # 10 + 20 + 10 + 40 + 40 = 120 pod-seconds.
    assert (over_time.pending.max, over_time.pending.max_at) == (2, 20)
    assert over_time.pending.mean == pytest.approx(120 / 110, abs=1e-6)
    assert figures.pending_hours == pytest.approx(120 / 3_600, abs=1e-6)
    # One pod runs until 30, two until 60, one until 110, each on a node of its own: 140 seconds.
    assert (over_time.pods.max, over_time.pods.max_at) == (2, 30)
    assert over_time.pods.mean == pytest.approx(140 / 110, abs=1e-6)
    assert figures.used_node_hours == pytest.approx(140 / 3_600, abs=1e-6)
    # One node until 30, two until 110: 30 + 160 seconds.
    assert figures.node_hours == pytest.approx(190 / 3_600, abs=1e-6)
    # Cores: 2 of 2 until 30, 3 of 3 until 60, 1 of 3 until 110: 30 + 30 + 50 / 3 of 110 s.
    cpu = over_time.utilization["cpu"]
    assert (cpu.max, cpu.max_at) == (1, 0)
    assert cpu.mean == pytest.approx((60 + 50 / 3) / 110, abs=1e-6)


def of_job(name: str, job: str) -> dict[str, Any]:
    """A pod of one core that a Job owns."""
    own = pod(name)
    own["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": True}
    ]
    return own


def test_a_job_is_complete_when_its_last_pod_has_ended(tmp_path: Path) -> None:
    """Two cores. The job wide has three pods, which come at 0 and run for 40 s: two begin at once,
    the third at 40. alone comes at 10, runs for 4 s from 40. open has a pod that ends at 90, and
    one that stays.
    """
    events = [
        *({"at": 0, "pod": of_job(f"wide-{n}", "wide"), "runsFor": 40} for n in range(3)),
        {"at": 10, "pod": pod("alone"), "runsFor": 4},
        {"at": 80, "pod": of_job("open-0", "open"), "runsFor": 10},
        {"at": 80, "pod": of_job("open-1", "open")},
    ]
    jobs = replay_figures(replay(tmp_path, [node("n", "2")], events)).jobs
    assert jobs is not None
    assert (jobs.completed, jobs.unfinished) == (2, 1)
    # wide takes 80 s, of which its last pod waits 40; alone 34 s, of which it waits 30.
    assert (jobs.completion_time.mean, jobs.completion_time.max) == (57, 80)
    assert (jobs.waiting.mean, jobs.waiting.max) == (35, 40)
    # 80 / 40 and 34 / 4; where runs below 10 s count as 10: 2 and 3.4.
    assert (jobs.slowdown.p50, jobs.slowdown.max) == (2, 8.5)
    assert (jobs.bounded_slowdown.mean, jobs.bounded_slowdown.max) == (2.7, 3.4)
    assert jobs.makespan == 80


def test_a_job_whose_pod_is_evicted_and_restarts_takes_until_it_ends(tmp_path: Path) -> None:
    """low runs from 0, is evicted at 5 for high, which ends at 25, and runs for its 20 s again."""
    events = [
        {"at": 0, "pod": pod("low", terminationGracePeriodSeconds=0), "runsFor": 20},
        {"at": 5, "pod": pod("high", priority=10), "runsFor": 20},
    ]
    jobs = replay_figures(replay(tmp_path, [node("n")], events, evicted="restarts")).jobs
    assert jobs is not None
    assert (jobs.completed, jobs.completion_time.max, jobs.waiting.max) == (2, 45, 0)


def test_jobs_and_users_by_labels(tmp_path: Path) -> None:
    """One core. ann's job train has two pods of 10 s, which come at 0 and run one after the other,
    bob's single pod of 10 s waits for both, until 20."""
    events = [
        {"at": 0, "pod": labelled(name, "train", "ann"), "runsFor": 10} for name in ("t-0", "t-1")
    ] + [{"at": 0, "pod": labelled("z", "", "bob"), "runsFor": 10}]
    run = {"job_label": "job", "user_label": "user"}
    ended = replay(tmp_path, [node("n")], events, **run)
    jobs, users = job_figures(ended), user_figures(ended, UsageOverTime(ended))
    assert jobs is not None
    assert (jobs.completed, jobs.completion_time.max, jobs.waiting.max) == (2, 30, 20)
    ann, bob = users
    assert (ann.name, ann.completed, ann.completion_time, ann.waiting) == ("ann", 1, 20, 10)
    assert (bob.name, bob.bounded_slowdown, bob.dominant_resource) == ("bob", 3, "cpu")
    # Of 30 core seconds ann had 20; (2 + 3)² over 2 (2² + 3²) is 25 / 26.
    assert (ann.dominant_share, bob.dominant_share) == (0.666667, 0.333333)
    assert jobs.fairness == pytest.approx(25 / 26, abs=1e-6)


def labelled(name: str, job: str, user: str) -> dict[str, Any]:
    """A pod of one core. job: "" for none"""
    own = pod(name)
    own["metadata"]["labels"] = {"user": user, **({"job": job} if job else {})}
    return own


@pytest.mark.parametrize(
    ("evicted", "restarts", "lost"),
    [("restarts", 1, 5), ("resumes", 1, 0), ("gone", 0, 5)],
)
def test_restarts_and_lost_work_after_an_eviction(
    evicted: str, restarts: int, lost: int, tmp_path: Path
) -> None:
    """low has two GPUs, runs from 0, is evicted at 5 for high, which has the GPUs until 25."""
    gpus = {"cpu": "1", "nvidia.com/gpu": "2"}
    low = pod("low", terminationGracePeriodSeconds=0)
    high = pod("high", priority=10)
    for each in (low, high):
        each["spec"]["containers"][0]["resources"] = {"requests": gpus, "limits": gpus}
    events = [
        {"at": 0, "pod": low, "runsFor": 20},
        {"at": 5, "pod": high, "runsFor": 20},
    ]
    gpu_node = node("n")
    gpu_node["status"]["capacity"]["nvidia.com/gpu"] = "2"
    jobs = replay_figures(replay(tmp_path, [gpu_node], events, evicted=evicted)).jobs
    assert jobs is not None
    assert jobs.restarts == restarts
    assert jobs.lost_hours == pytest.approx(lost / 3600, abs=1e-6)
    seconds = {"restarts": 45, "resumes": 40, "gone": 25}[evicted]
    assert jobs.gpu_hours == pytest.approx(2 * seconds / 3600, abs=1e-6)


def test_six_events_with_an_eviction_and_a_gate(tmp_path: Path) -> None:
    """One core, for which all pods ask but the last, which asks for two; the end is at 60 s.

    low runs from 0. high comes at 5 and evicts it; low leaves after its 10 s of grace, and high
    runs from 15 to 35. gated comes at 8; its gate goes at 20, and it runs from 35. late comes at
    40, large at 50, and both wait until the end.
    """
    events = [
        {"at": 0, "pod": pod("low", terminationGracePeriodSeconds=10)},
        {"at": 5, "pod": pod("high", priority=10), "runsFor": 20},
        {"at": 8, "pod": pod("gated", **GATE)},
        {"at": 20, "put": pod("gated")},
        {"at": 40, "pod": pod("late")},
        {"at": 50, "pod": pod("large", "2")},
    ]
    run = replay(tmp_path, [node("n")], events, until=60)
    usage = UsageOverTime(run)
    waits, over_time = replay_waits(run).all, usage.over_time()
    # low 0 s, high 10, gated 27 (from its creation), late 20 so far, large 10: 67 s in all.
    assert (waits.pods, waits.still_waiting) == (5, 2)
    assert (waits.mean, waits.p50, waits.p90, waits.max) == (13.4, 10, 27, 27)
    # Pending: high for 10 s, gated for 15 without its gate, late for 20, large for 10: 55 s.
    assert (over_time.pending.max, over_time.pending.max_at) == (2, 50)
    assert over_time.pending.mean == pytest.approx(55 / 60, abs=1e-6)
    # There is a pod on the node at all times.
    assert (over_time.pods.mean, over_time.pods.max) == (1, 1)
    assert (run.log.counts.evicted, run.log.counts.ended) == (1, 1)


@pytest.mark.parametrize(
    ("start", "days", "step", "first"),
    [
        (1_763_942_400, 1, 7_200, 7_200),  # Monday, midnight: every two hours
        (1_763_942_400 + 600, 1, 7_200, 6_600),  # ten past: the same hours of the clock
        (1_764_288_000, 7, 43_200, 43_200),  # a Friday
        (1_764_288_000, 90, 604_800, 3 * 86_400),  # weeks begin on Monday
    ],
)
def test_steps_are_those_of_the_calendar(start: int, days: int, step: int, first: int) -> None:
    steps = calendar_steps(start, days * 86_400 * 1_000_000, 16)
    assert steps[0] == first * 1_000_000
    assert {after - before for before, after in pairwise(steps)} == {step * 1_000_000}
    assert len(steps) <= 16
