"""What PodTopologySpread explains about a node."""

from typing import Any

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, explanation, node, pod
from tests.plugins.pod_topology_spread.manifests import NODES, constraint, spread


def details(state: ClusterState, point: str) -> dict[str, Any]:
    """Node → the lines that explain PodTopologySpread's word on it."""
    record = explanation(state, pod="p")
    if point == "score":
        return {
            node_record.node: list(node_record.scores["PodTopologySpread"].details)
            for node_record in record.nodes
            if "PodTopologySpread" in node_record.scores
        }
    return {
        node_record.node: [d for r in node_record.rejections for d in r.details]
        for node_record in record.nodes
    }


def webs(*names: str) -> list[dict[str, Any]]:
    return [pod(f"w{i}", node=name, labels={"app": "web"}) for i, name in enumerate(names)]


def test_explain_names_the_counts_of_the_domains() -> None:
    p = pod("p", labels={"app": "web"}, spec=spread(constraint()))
    lines = details(cluster(*NODES, *webs("n0", "n1", "n1", "n2"), p), "filter")
    line = (
        "zone a has 3 pods with app=web, 4 with this one; c has 0; max skew 1. All: c 0, b 1, a 3"
    )
    assert lines["n0"] == lines["n1"] == [line]
    assert lines["n2"][0].startswith("zone b has 1 pod with app=web, 2 with this one; c has 0")
    assert lines["n3"] == []


def test_explain_says_when_there_are_too_few_domains() -> None:
    p = pod("p", labels={"app": "web"}, spec=spread(constraint(minDomains=5)))
    lines = details(cluster(*NODES, *webs("n0", "n2", "n3"), p), "filter")
    assert lines["n0"] == [
        "zone a has 1 pod with app=web, 2 with this one; with 3 domains of at least 5 the fewest "
        "counts as 0; max skew 1. All: a 1, b 1, c 1"
    ]


def test_explain_says_which_label_the_node_lacks() -> None:
    p = pod("p", spec=spread(constraint(key="rack")))
    assert details(cluster(*NODES, p), "filter")["n3"] == ["the node has no label rack"]


def test_explain_gives_the_range_where_there_are_many_domains() -> None:
    nodes = [node(f"n{i}", labels={"host": f"h{i}"}) for i in range(12)]
    p = pod("p", labels={"app": "web"}, spec=spread(constraint(key="host")))
    lines = details(cluster(*nodes, *webs("n0", "n0"), p), "filter")
    assert lines["n0"][0].endswith("max skew 1. All: 12 domains, 0 to 2 each")


def test_explain_shows_where_a_score_comes_from() -> None:
    soft = constraint(key="rack", skew=3, when="ScheduleAnyway")
    lines = details(cluster(*NODES, *webs("n0", "n2", "n1"), pod("p", spec=spread(soft))), "score")
    assert lines["n0"] == ["rack r1 has 2 pods with app=web: 2 x 1.386 + 2, fewer is better"]
    lacking = "the node lacks a label that the pod is to be spread by: scored as the worst"
    assert lines["n3"] == [lacking]
