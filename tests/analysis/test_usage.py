"""How full nodes are."""

from ksched_cli.analysis.usage import NodeUsage, node_usages
from ksched_cli.testing import cluster, node, pod, simulation


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
