"""Run times that depend on the node: by its label, or by a plugin; the overhead of restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.analysis.replay_result import replay_warnings
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interface import ScorePlugin, TimesRuns
from ksched_cli.framework.nodes import NodeInfo
from tests.replays import Plain, node, pod, replay_of

SECONDS = {"v100": 100, "k80": 400}
BY_GPU: Plain = {"label": "gpu", "seconds": SECONDS}
LOW = pod("low", terminationGracePeriodSeconds=0)


def gpu_node(name: str, gpu: str = "") -> Plain:
    return node(name, labels={"gpu": gpu} if gpu else {})


def on(name: str, node_name: str, **spec: Any) -> Plain:
    """A pod for one node."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return pod(name, affinity={"nodeAffinity": required}, **spec)


def ends(folder: Path, nodes: list[Plain], events: list[Plain], **more: Any) -> dict[str, float]:
    """When each pod ended for the last time, in seconds."""
    run = replay_of(folder, nodes, events, **more)
    run.run()
    done = [record for record in run.log.departed or () if record.outcome == "ended"]
    return {each.pod.partition("/")[2]: (each.ended or 0) / 1e6 for each in done}


@pytest.mark.parametrize(
    ("gpu", "run_time", "end"),
    [
        ("v100", BY_GPU, 100),
        ("k80", BY_GPU, 400),
        # Other values, and nodes without the label.
        ("p100", BY_GPU | {"otherwise": 250}, 250),
        ("", BY_GPU | {"otherwise": 250}, 250),
        ("k80", BY_GPU | {"seconds": {"k80": 0}}, 0),
    ],
)
def test_a_pod_runs_for_the_time_of_its_nodes_label(
    tmp_path: Path, gpu: str, run_time: Plain, end: float
) -> None:
    events: list[Plain] = [{"at": 0, "pod": pod("p"), "runsFor": run_time}]
    assert ends(tmp_path, [gpu_node("a", gpu)], events) == {"p": end}


def test_a_pod_without_a_time_for_its_node_stays_with_a_warning(tmp_path: Path) -> None:
    events: list[Plain] = [
        {"at": 0, "pod": pod(name, cpu="500m"), "runsFor": BY_GPU} for name in ("p", "q")
    ]
    run = replay_of(tmp_path, [gpu_node("a", "p100")], events)
    run.run()
    assert {key: each.outcome for key, each in run.log.live.items()} == {
        "default/p": "running",
        "default/q": "running",
    }
    assert replay_warnings(run) == [
        "2 pods do not end: runsFor has no time for the node's value of label gpu; "
        "the first is default/p on a (add the value, or `otherwise`)"
    ]


# `low` runs on a k80 from 0 on; at 100 it is evicted at once for `high`, which stays. Node b, a
# v100, joins at 200.
def eviction(run_time: object, **more: Any) -> list[Plain]:
    return [
        {"at": 0, "pod": LOW, "runsFor": run_time, **more},
        {"at": 100, "pod": on("high", "a", priority=9)},
        {"at": 200, "put": gpu_node("b", "v100")},
    ]


@pytest.mark.parametrize(
    ("evicted", "overhead", "end"),
    [
        # A quarter of it is done on the k80: three quarters of 100 s remain on the v100.
        ("resumes", 0, 200 + 75),
        ("resumes", 20, 200 + 20 + 75),
        ("restarts", 0, 200 + 100),
        ("restarts", 20, 200 + 20 + 100),
    ],
)
def test_progress_moves_to_another_kind_of_node(
    tmp_path: Path, evicted: str, overhead: int, end: float
) -> None:
    events = eviction(BY_GPU, restartOverhead=overhead)
    nodes = [gpu_node("a", "k80")]
    assert ends(tmp_path, nodes, events, evicted=evicted) == {"low": end}


def test_the_overhead_of_a_run_is_no_progress(tmp_path: Path) -> None:
    # On a k80: 100 of 400 s until 100; again from 200 to 320, 20 s of it overhead, so that half is
    # done; from 400 on 20 s and half of 400 s.
    events: list[Plain] = [
        {
            "at": 0,
            "pod": pod("low", terminationGracePeriodSeconds=0),
            "runsFor": BY_GPU,
            "restartOverhead": 20,
        },
        {"at": 100, "pod": pod("high", priority=9), "runsFor": 100},
        {"at": 320, "pod": pod("higher", priority=9), "runsFor": 80},
    ]
    run = replay_of(tmp_path, [gpu_node("a", "k80")], events, evicted="resumes")
    run.run()
    assert run.clock.now == (400 + 20 + 200) * 1_000_000
    job = run.log.jobs["default/low"]
    # The overheads of both restarts were in vain.
    assert (job.restarts, job.lost) == (2, 40_000_000)


def test_a_node_that_recovers_restarts_its_pods_with_their_overhead(tmp_path: Path) -> None:
    events: list[Plain] = [
        {"at": 0, "pod": pod("p"), "runsFor": BY_GPU, "restartOverhead": 20},
        {"at": 30, "change": "fail nodes a"},
        {"at": 40, "change": "recover nodes a"},
    ]
    assert ends(tmp_path, [gpu_node("a", "v100")], events) == {"p": 40 + 20 + 100}


def test_slowdown_counts_from_the_node_that_suits_the_job_best(tmp_path: Path) -> None:
    events: list[Plain] = [{"at": 0, "pod": pod("p"), "runsFor": BY_GPU}]
    run = replay_of(tmp_path, [gpu_node("a", "k80")], events)
    run.run()
    assert run.log.jobs["default/p"].runs_for == 100_000_000


class Crowded(ScorePlugin, TimesRuns):
    """A pod runs twice as long where it is not alone."""

    name = "Crowded"

    def score(self, *_: object) -> int:
        return 0

    def runtime(self, pod: PodInfo, node: NodeInfo, runs_for: float | None) -> float | None:
        if runs_for is None:
            return 7.0
        return runs_for * (2 if len(node.pods) > 1 else 1)


def test_a_plugin_says_how_long_pods_run(tmp_path: Path) -> None:
    events: list[Plain] = [
        {"at": 0, "pod": pod("p", cpu="500m"), "runsFor": BY_GPU},
        {"at": 10, "pod": pod("q", cpu="500m"), "runsFor": 30},
        {"at": 200, "pod": pod("r")},
    ]
    nodes = [gpu_node("a", "v100")]
    assert ends(tmp_path, nodes, events, plugins=[Crowded]) == {"p": 100, "q": 70, "r": 207}


@pytest.mark.parametrize("answer", [-1, "x", float("nan"), 1e12])
def test_a_plugin_with_a_senseless_run_time_changes_nothing(tmp_path: Path, answer: object) -> None:
    class Senseless(Crowded):
        def runtime(self, *_: object) -> float | None:
            return answer  # type: ignore[return-value]

    events: list[Plain] = [{"at": 0, "pod": pod("p"), "runsFor": 30}]
    run = replay_of(tmp_path, [gpu_node("a")], events, plugins=[Senseless])
    run.run()
    assert run.clock.now == 30_000_000
    (defect,) = run.cluster.engine.caller.defects.values()
    assert (defect.plugin, defect.point) == ("Crowded", "runtime")
