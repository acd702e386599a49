"""Plugins that say what pods use of their nodes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ksched_cli.analysis.cluster_cost import cluster_cost
from ksched_cli.analysis.replay_figures import UsageOverTime, job_figures, user_figures
from ksched_cli.analysis.usage import node_usages, resources_of, total_of, utilization
from ksched_cli.api import SUCCESS, CountsUsage, FilterPlugin, PodInfo, Status
from ksched_cli.framework.interface import points_of
from ksched_cli.scenario.prices import read_prices
from ksched_cli.testing import Manifest, cluster, node, pod, simulation
from tests.replays import Plain, replay

GPUS, SHARES = "example.com/gpus", "example.com/share"


class SharedGpus(FilterPlugin, CountsUsage):
    """A pod uses the part of a GPU that its annotation names."""

    name = "SharedGpus"
    gpus = (GPUS,)

    def filter(self, *_: object) -> Status:
        return SUCCESS

    def usage(self, pod: PodInfo) -> Mapping[str, float]:
        share = pod.annotations.get(SHARES)
        return {GPUS: float(share)} if share else {}


def gpu_node(name: str, gpus: int = 2) -> Manifest:
    return node(name, cpu=10, memory="1Gi", resources={GPUS: gpus})


def gpu_pod(name: str, share: str, on: str = "", **fields: object) -> Manifest:
    return pod(name, cpu=1, node=on, annotations={SHARES: share}, **fields)  # type: ignore[arg-type]


STATE = cluster(
    gpu_node("a"),
    gpu_node("b"),
    gpu_pod("p", "0.1", "a", namespace="x"),
    gpu_pod("q", "0.2", "a", namespace="x"),
    gpu_pod("r", "1.5", "a", namespace="y"),
    pod("s", cpu=1, node="b", namespace="y"),
)


def test_saying_what_pods_use_is_no_extension_point() -> None:
    assert points_of(CountsUsage) == frozenset()


def test_parts_of_a_resource_are_in_all_figures_of_usage() -> None:
    snapshot = simulation(STATE, plugins=[SharedGpus]).snapshot
    a, b = usages = node_usages(snapshot)
    assert (a.requested[GPUS], b.requested[GPUS], a.requested["cpu"]) == (1.8, 0, 3000)
    assert [each.requested[GPUS] for each in resources_of(usages)] == ["1800m", "0"]
    total = total_of(usages)
    assert (total.requested[GPUS], total.used[GPUS]) == ("1800m", 0.45)
    assert (utilization(snapshot)[GPUS].max, utilization(snapshot)[GPUS].total) == (0.9, 0.45)
    assert a.idle == pytest.approx(0.1)


def test_without_the_plugin_they_are_what_pods_request() -> None:
    snapshot = simulation(STATE).snapshot
    assert node_usages(snapshot)[0].requested[GPUS] == 0
    for resource in ("cpu", "vendor.example/fpga"):
        assert snapshot.used(resource) is snapshot.requested(resource)


def test_costs_are_shared_by_what_pods_use() -> None:
    snapshot = simulation(STATE, plugins=[SharedGpus]).snapshot
    cost = cluster_cost(snapshot, node_usages(snapshot, read_prices(["a=10"])))
    assert cost
    assert {each.name: each.per_hour for each in cost.by_namespace} == {"y": 7.5, "x": 1.5}


def pod_of(name: str, user: str, share: str, **spec: object) -> Plain:
    metadata = {"name": name, "namespace": "default", "annotations": {SHARES: share}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "labels": {"user": user}},
        "spec": {"containers": [{"name": "c"}], **spec},
    }


def test_the_curves_and_gpu_hours_of_a_replay_count_parts(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": pod_of("p", "u", "0.1"), "runsFor": 3600},
        {"at": 0, "pod": pod_of("q", "v", "0.2"), "runsFor": 7200},
        {"at": 1800, "pod": pod_of("r", "u", "0.7"), "runsFor": 1800},
        {"at": 3600, "change": "label node a zone=1"},
    ]
    objects = [gpu_node("a", 1)]
    run = replay(tmp_path, objects, events, plugins=[SharedGpus], user_label="user")
    usage = UsageOverTime(run)
    assert usage.utilization[GPUS].tolist() == [0.3, 1.0, 0.2, 0.0]
    assert usage.samples([1])[0].utilization[GPUS] == 1.0
    jobs = job_figures(run)
    assert jobs is not None
    assert jobs.gpu_hours == 0.1 + 0.4 + 0.35
    assert {
        each.name: (each.gpu_hours, each.dominant_share, each.dominant_resource)
        for each in user_figures(run, usage)
    } == {"u": (0.45, 0.225, GPUS), "v": (0.4, 0.2, GPUS)}


@pytest.mark.parametrize("answer", [{GPUS: -1}, {GPUS: "x"}, {GPUS: float("nan")}, {1: 1}, 7])
def test_a_senseless_answer_is_a_defect_and_counts_for_nothing(answer: object) -> None:
    class Senseless(SharedGpus):
        def usage(self, pod: PodInfo) -> Mapping[str, float]:
            return answer  # type: ignore[return-value]

    run = simulation(STATE, plugins=[Senseless])
    assert node_usages(run.snapshot)[0].requested[GPUS] == 0
    (defect,) = run.caller.defects.values()
    assert (defect.plugin, defect.point) == ("SharedGpus", "usage")
