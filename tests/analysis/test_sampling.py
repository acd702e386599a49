"""Nodes that are the best of those that a search may have looked at."""

from typing import Any

from ksched_cli.analysis.audit.decisions import Grade
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod
from tests.analysis.test_replayed_cluster import following, placement
from tests.clusters import HOST


def crowd(*pods: dict[str, Any]) -> ClusterState:
    """100 of 200 nodes are looked at, from n000 on at first; n150 is the best of all."""
    nodes = [node(f"n{i:03}", cpu=4, labels={HOST: f"n{i:03}"}) for i in range(200)]
    nodes[150] = node("n150", cpu=64)
    nodes[20] = node("n020", cpu=8)
    return cluster(*nodes, *pods)


def test_a_node_that_is_best_of_those_looked_at_is_right() -> None:
    state = crowd(pod("p", cpu=1))
    for parallel in (False, True):
        judgement = following(state, parallel=parallel).judge(placement(state, "p", "n020"))
        assert (judgement.grade, judgement.expected) == (Grade.SAMPLED, ("n150",))


def test_a_search_in_order_that_comes_to_a_node_comes_to_those_behind_it_too() -> None:
    """From n000 to n099 on there is n020, and from n101 on there is n150."""
    state = crowd(pod("p", cpu=1))
    in_order = following(state, parallel=False)
    assert in_order.judge(placement(state, "p", "n060")).grade is Grade.SAMPLED
    assert in_order.judge(placement(state, "p", "n010")).grade is None
    assert in_order.judge(placement(state, "p", "n051")).grade is Grade.SAMPLED
    side_by_side = following(state)
    assert side_by_side.judge(placement(state, "p", "n010")).grade is Grade.SAMPLED
