"""A cluster before and after a run, as columns."""

from ksched_cli.analysis.schedule import ClusterMap, MappedPod, cluster_map
from ksched_cli.analysis.usage import NodeUsage, node_usages
from ksched_cli.report.html.cluster_map import cluster_figures, resource_names, utilisation
from ksched_cli.report.html.columns import embedded
from ksched_cli.testing import cluster, node, pod, simulation
from tests.report.html.pages import cells


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
    data = cluster_figures(cluster_map(run, run.run(), before))
    names = [resource["name"] for resource in data.map["resources"]]
    assert names == ["cpu", "memory", "pods", "example.com/gpu"]
    cpu = data.map["resources"][0]
    assert [cells(view) for view in cpu["views"]] == [[2000, 0], [2000, 6000]]
    assert cells(data.map["labels"][0]) == ["x", ""]
    drawn = utilisation((("before", before), ("after", node_usages(run.snapshot))))
    cpu_chart, *_, gpu_chart = drawn.histograms
    assert (cpu_chart.title, cpu_chart.counts[0][5], cpu_chart.counts[1][7]) == ("cpu", 1, 1)
    assert (gpu_chart.counts[0][0], gpu_chart.counts[1][5]) == (1, 1)
    assert drawn.series == ["before (2 nodes)", "after (2 nodes)"]
    titles = [column["title"] for column in data.pods]
    assert titles[:4] == ["Pod", "State", "Node", "Owner"]
    assert cells(data.pods[1]) == ["pending", "placed", "running"]
    assert cells(data.pods[2]) == ["", "b", "a"]
    assert data.owners == {"default/big": "no controller in default"}
    gpu = next(c for c in data.nodes if c["title"] == "example.com/gpu %")
    assert cells(gpu) == [None, 50.0]


def test_a_resource_that_no_node_has_is_left_out() -> None:
    usages = node_usages(simulation(cluster(node("a"))).snapshot)
    assert resource_names(usages) == ["cpu", "memory", "pods"]


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
    data = cluster_figures(ClusterMap(usages, usages, zones, [""] * 5000, pods))
    size = len(embedded({"map": data.map, "nodes": data.nodes, "pods": data.pods}))
    assert size < 4_500_000
