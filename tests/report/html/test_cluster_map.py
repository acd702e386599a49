"""A cluster before and after a run, as columns."""

from collections.abc import Mapping
from typing import Any

from ksched_cli.analysis.schedule import ClusterMap, MappedPod, cluster_map
from ksched_cli.analysis.usage import NodeUsage, node_usages
from ksched_cli.report.html.cluster_map import (
    NODE_COLUMN,
    before_and_after,
    node_columns,
    pod_columns,
    resource_names,
)
from ksched_cli.report.html.columns import embedded
from ksched_cli.report.html.sections import Histograms, NodeMap
from ksched_cli.testing import cluster, node, pod, simulation
from tests.report.html.pages import cells


def map_and_utilisation(mapped: ClusterMap) -> tuple[Mapping[str, Any], Histograms]:
    nodes, drawn = before_and_after(mapped, (NODE_COLUMN,))
    assert isinstance(nodes, NodeMap)
    assert isinstance(drawn, Histograms)
    return nodes.data, drawn


def test_columns_tell_what_the_records_tell() -> None:
    state = cluster(
        node("a", cpu="4", labels={"topology.kubernetes.io/zone": "x"}),
        node("b", cpu="8", resources={"example.com/gpu": 2}),
        pod("q", cpu="2", node="a"),
        pod("p", cpu="6", requests={"example.com/gpu": "1"}),
        pod("big", cpu="99"),
    )
    run = simulation(state)
    before = node_usages(run.snapshot)
    mapped = cluster_map(run, run.run(), before)
    data, drawn = map_and_utilisation(mapped)
    names = [resource["name"] for resource in data["resources"]]
    assert names == ["cpu", "memory", "pods", "example.com/gpu"]
    cpu = data["resources"][0]
    assert [cells(view) for view in cpu["views"]] == [[2000, 0], [2000, 6000]]
    assert cells(data["labels"][0]) == ["x", ""]
    cpu_chart, *_, gpu_chart = drawn.histograms
    assert (cpu_chart.title, cpu_chart.counts[0][5], cpu_chart.counts[1][7]) == ("cpu", 1, 1)
    assert (gpu_chart.counts[0][0], gpu_chart.counts[1][5]) == (1, 1)
    assert drawn.series == ["before (2 nodes)", "after (2 nodes)"]
    listed = pod_columns(mapped.pods)
    titles = [column["title"] for column in listed]
    assert titles[:4] == ["Pod", "State", "Node", "Owner"]
    assert cells(listed[1]) == ["pending", "placed", "running"]
    assert cells(listed[2]) == ["", "b", "a"]
    gpu = next(c for c in node_columns(mapped) if c["title"] == "example.com/gpu %")
    assert cells(gpu) == [None, 50.0]


def test_a_resource_that_no_node_has_is_left_out() -> None:
    usages = node_usages(simulation(cluster(node("a"))).snapshot)
    assert resource_names(usages) == ["cpu", "memory", "pods"]


def test_the_map_says_which_nodes_take_no_ordinary_pods() -> None:
    """In each view: a node may be cordoned in one of them."""
    ailing = node("b", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}])
    before = node_usages(simulation(cluster(node("a"), ailing)).snapshot)
    after = node_usages(simulation(cluster(node("a", unschedulable=True), ailing)).snapshot)
    data, _ = map_and_utilisation(ClusterMap(before, after, {}, ["", ""], ()))
    assert [cells(view) for view in data["apart"]] == [
        ["", "unreachable"],
        ["cordoned", "unreachable"],
    ]


def test_the_data_of_5000_nodes_and_30000_pods_is_small() -> None:
    allocatable = {"cpu": 32_000, "memory": 128 * 2**30, "pods": 110}
    names = [f"ip-10-{i // 256}-{i % 256}.eu-west-1.compute.internal" for i in range(5000)]
    usages = [
        NodeUsage(name, allocatable, {"cpu": 37 * i % 32_000, "memory": i * 2**20}, i % 110)
        for i, name in enumerate(names)
    ]
    pods = [
        MappedPod(
            f"team-{i % 40}/service-{i % 300}-5d4f8c7b9d-{i:05x}",
            f"team-{i % 40}/Deployment/service-{i % 300}",
            "running" if i % 3 else "placed",
            names[i % 5000],
            i % 900,
            "",
            0,
            {"cpu": 50 * (i % 40), "memory": (i % 64) * 2**26},
        )
        for i in range(30_000)
    ]
    zones = {"topology.kubernetes.io/zone": [f"eu-west-1{'abc'[i % 3]}" for i in range(5000)]}
    mapped = ClusterMap(usages, usages, zones, [""] * 5000, pods)
    data, _ = map_and_utilisation(mapped)
    tables = {"nodes": node_columns(mapped), "pods": pod_columns(pods)}
    size = len(embedded({"map": data, **tables}))
    assert size < 4_500_000
