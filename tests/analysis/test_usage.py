"""How full nodes are."""

from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.schedule import result_of
from ksched_cli.analysis.usage import NodeUsage, node_usages, utilization
from ksched_cli.report.limit import EVERYTHING
from ksched_cli.testing import cluster, node, pod, simulation
from tests.report.schemas import shown


def test_a_node_has_the_resources_that_it_lists_and_what_its_pods_request() -> None:
    state = cluster(
        node("a", cpu="4", memory="1Gi", resources={"example.com/gpu": 2}),
        node("b", cpu="2", memory="1Gi"),
        pod("p", cpu="1500m", node="a"),
    )
    usages = node_usages(simulation(state).snapshot)
    gib = 1 << 30
    assert usages == (
        NodeUsage(
            "a",
            {"cpu": 4000, "example.com/gpu": 2, "memory": gib, "pods": 110},
            {"cpu": 1500, "example.com/gpu": 0, "memory": 0},
            1,
        ),
        NodeUsage("b", {"cpu": 2000, "memory": gib, "pods": 110}, {"cpu": 0, "memory": 0}, 0),
    )


def test_utilization_is_of_nodes_that_take_pods() -> None:
    down = ["node.kubernetes.io/unreachable:NoSchedule"]
    control = ["node-role.kubernetes.io/control-plane:NoSchedule"]
    state = cluster(
        node("a", cpu=4, labels={"pool": "x"}),
        node("b", cpu=4, unschedulable=True),
        node("c", cpu=4, taints=down),
        node("d", cpu=4, taints=control),
        node("e", cpu=4, taints=["gpu:NoSchedule"]),
        *(pod(f"p{name}", cpu=3, node=name) for name in "abcd"),
    )
    snapshot = simulation(state).snapshot
    assert [usage.apart for usage in node_usages(snapshot)] == [
        "",
        "cordoned",
        "unreachable",
        "control plane",
        "",
    ]
    assert utilization(snapshot)["cpu"].total == 3 / 8
    assert utilization(simulation(cluster(node("b", unschedulable=True))).snapshot)


def test_usage_by_a_label_has_nodes_that_take_no_pods_apart() -> None:
    state = cluster(
        node("a", cpu=4, labels={"pool": "x"}),
        node("b", cpu=4, labels={"pool": "x"}, unschedulable=True),
        node("c", cpu=4),
        *(pod(f"p{name}", cpu=1, node=name) for name in "ab"),
    )
    run = simulation(state)
    lines = shown(result_of(run, run.run(), by="pool", hints=Hints(run, run.record())), EVERYTHING)
    at = lines.index("2 of 3 nodes used")
    assert lines[at + 2].startswith("cpu 1 of 8 12%")
    assert "without 1 cordoned" in lines
    at = lines.index("POOL NODES CPU USED MEMORY USED PODS USED")
    assert [line.split()[:3] for line in lines[at + 1 :]] == [
        ["x", "1", "25%"],
        ["no", "pool", "1"],
        ["(cordoned)", "1", "25%"],
    ]
