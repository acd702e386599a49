"""What PodTopologySpread explains about a node."""

from typing import Any

from ksched_cli.testing import cluster, node, pod
from tests.plugins.explained import rejection_details, score_details
from tests.plugins.pod_topology_spread.manifests import NODES, constraint, spread


def webs(*names: str) -> list[dict[str, Any]]:
    return [pod(f"w{i}", node=name, labels={"app": "web"}) for i, name in enumerate(names)]


def test_explain_names_the_counts_of_the_domains() -> None:
    p = pod("p", labels={"app": "web"}, spec=spread(constraint()))
    lines = rejection_details(cluster(*NODES, *webs("n0", "n1", "n1", "n2"), p))
    line = (
        "zone a has 3 pods with app=web, 4 with this one; c has 0; max skew 1. All: c 0, b 1, a 3"
    )
    assert lines["n0"] == lines["n1"] == [line]
    assert lines["n2"][0].startswith("zone b has 1 pod with app=web, 2 with this one; c has 0")
    assert lines["n3"] == []


def test_explain_names_only_the_constraints_that_a_node_does_not_meet() -> None:
    p = pod("p", labels={"app": "web"}, spec=spread(constraint(), constraint("rack")))
    lines = rejection_details(cluster(*NODES, *webs("n0", "n2"), p))
    line = "rack r1 has 2 pods with app=web, 3 with this one; r2 has 0; max skew 1. All: r2 0, r1 2"
    assert lines["n0"] == lines["n2"] == [line]


def test_explain_says_when_there_are_too_few_domains() -> None:
    p = pod("p", labels={"app": "web"}, spec=spread(constraint(minDomains=5)))
    lines = rejection_details(cluster(*NODES, *webs("n0", "n2", "n3"), p))
    assert lines["n0"] == [
        "zone a has 1 pod with app=web, 2 with this one; with 3 domains of at least 5 the fewest "
        "counts as 0; max skew 1. All: a 1, b 1, c 1"
    ]


def test_explain_says_which_label_the_node_lacks() -> None:
    p = pod("p", spec=spread(constraint(key="rack")))
    assert rejection_details(cluster(*NODES, p))["n3"] == ["the node has no label rack"]


def test_explain_gives_the_range_where_there_are_many_domains() -> None:
    nodes = [node(f"n{i}", labels={"host": f"h{i}"}) for i in range(12)]
    p = pod("p", labels={"app": "web"}, spec=spread(constraint(key="host")))
    lines = rejection_details(cluster(*nodes, *webs("n0", "n0"), p))
    assert lines["n0"][0].endswith("max skew 1. All: 12 domains, 0 to 2 each")


def test_explain_shows_where_a_score_comes_from() -> None:
    soft = constraint(key="rack", skew=3, when="ScheduleAnyway")
    state = cluster(*NODES, *webs("n0", "n2", "n1"), pod("p", spec=spread(soft)))
    lines = score_details("PodTopologySpread", state)
    assert lines["n0"] == ["rack r1 has 2 pods with app=web: 2 x 1.386 + 2, fewer is better"]
    lacking = "the node lacks a label of the spread constraints: it gets the lowest score"
    assert lines["n3"] == [lacking]
