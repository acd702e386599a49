"""Judging single decisions, and where in the order they belong."""

from dataclasses import replace
from typing import Any

from ksched_cli.analysis.audit.decisions import Grade, PreemptionDecision, RecordedPlacement
from ksched_cli.analysis.audit.replayed_cluster import ReplayedCluster, best_nodes
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.testing import cluster, node, pod, simulation
from tests.clusters import HOST

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def following(state: ClusterState, *, parallel: bool = True) -> ReplayedCluster:
    run = simulation(state, CONFIG | {"parallelism": 16 if parallel else 1})
    run.queue()
    return ReplayedCluster(run)


def placement(state: ClusterState, name: str, on: str, time: float = 0) -> RecordedPlacement:
    return RecordedPlacement(next(pod for pod in state.pods if pod.name == name), on, time)


def test_the_one_best_node_is_best() -> None:
    state = cluster(node("a", cpu=4), node("b", cpu=8), pod("p", cpu=1))
    assert following(state).judge(placement(state, "p", "b")).grade is Grade.BEST
    other = following(state).judge(placement(state, "p", "a"))
    assert (other.grade, other.expected) == (None, ("b",))


def test_one_of_several_best_nodes_is_tied() -> None:
    state = cluster(node("a"), node("b"), pod("p"))
    verdict = following(state).judge(placement(state, "p", "b"))
    assert (verdict.grade, verdict.expected) == (Grade.TIED, ("a", "b"))


def test_a_node_that_does_not_fit_is_never_right() -> None:
    state = cluster(node("a", taints=["x:NoSchedule"]), pod("p"))
    verdict = following(state).judge(placement(state, "p", "a"))
    assert (verdict.grade, verdict.expected) == (None, ())


def test_the_nominated_node_of_a_pod_is_right_though_others_are_better() -> None:
    nominated = {**pod("p", cpu=1), "status": {"nominatedNodeName": "a"}}
    state = cluster(node("a", cpu=4), node("b", cpu=8), nominated)
    assert following(state).judge(placement(state, "p", "a")).grade is Grade.NOMINATED


def test_an_eviction_of_the_same_pods_on_the_same_node_is_right() -> None:
    state = cluster(
        node("a", cpu=2), pod("v", cpu=2, node="a"), pod("p", cpu=2, priority=5), pod("q", cpu=2)
    )
    p, q = state.pods[1:]
    right = PreemptionDecision(p, "a", ("default/v",), 0)
    assert following(state).judge(right).grade is Grade.PREEMPTS
    others = PreemptionDecision(p, "a", ("default/v", "default/w"), 0)
    assert following(state).judge(others).reason == "it would evict default/v"
    lesser = following(state).judge(PreemptionDecision(q, "a", ("default/v",), 0))
    assert lesser.grade is None
    assert "preemption: 0/1 nodes are available" in lesser.reason


def test_a_victim_may_have_been_evicted_for_another_pod_already() -> None:
    victims = (pod("v", cpu=1, node="a"), pod("w", cpu=1, node="a"))
    state = cluster(node("a", cpu=2), *victims, pod("p", cpu=2, priority=5))
    alone = PreemptionDecision(state.pods[2], "a", ("default/v",), 0)
    assert following(state).judge(alone).grade is None
    shared = replace(alone, shared=frozenset(("default/w",)))
    assert following(state).judge(shared).grade is Grade.PREEMPTS


def test_an_eviction_on_a_worse_node_is_not_right() -> None:
    state = cluster(
        node("a", cpu=2),
        node("b", cpu=2),
        pod("v", cpu=2, node="a"),
        pod("w", cpu=2, node="b", priority=3),
        pod("p", cpu=2, priority=5),
    )
    verdict = following(state).judge(PreemptionDecision(state.pods[2], "b", ("default/w",), 0))
    assert (verdict.grade, verdict.expected) == (None, ("a",))
    assert verdict.reason == "evictions on other nodes are preferred"


def test_an_eviction_for_a_pod_that_fits_is_not_right() -> None:
    state = cluster(node("a"), pod("v", node="a"), pod("p", priority=5))
    verdict = following(state).judge(PreemptionDecision(state.pods[1], "a", ("default/v",), 0))
    assert verdict.reason == "it fits without evictions"


def two_orders() -> ClusterState:
    """`first` goes to b, `second` then to a; were `second` there first, it would go to b."""
    return cluster(
        node("a", cpu=4), node("b", cpu=5), pod("first", cpu=2), pod("second", cpu=2), pod("third")
    )


def placed(run: ReplayedCluster) -> list[tuple[Any, int]]:
    return [(pod, row) for row, pods in enumerate(run.simulation.snapshot.pods) for pod in pods]


def test_a_nomination_that_lapses_while_a_preemption_is_decided_may_not_count() -> None:
    """With `q` nominated to the node, room for both pods would be made on it."""
    state = cluster(
        node("a", cpu=2),
        pod("v", cpu=1, node="a"),
        pod("w", cpu=1, node="a"),
        pod("p", cpu=1, priority=9),
        pod("q", cpu=1, priority=9),
    )
    run = simulation(state, kubernetes_version="1.36")
    follower = ReplayedCluster(run, follows_statuses=True)
    p, q = state.pods[2:]
    nominated, nominations = follower.info(q), follower.nominations
    nominations.refuse(nominated, "a", "no room")
    nominations.write(nominated)
    nominations.notice(nominated)
    nominations.take_back(nominated)
    decision = PreemptionDecision(p, "a", ("default/v",), 0.0)
    assert follower.judge(decision).grade is None
    noticed = replace(decision, noticed_meanwhile=(q,))
    assert follower.judge(noticed).grade is Grade.PREEMPTS
    assert follower.judge(decision).grade is None


# -- nodes that are the best of those that a search may have looked at -----------------------------


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


# -- which nodes count as ksched's choice ----------------------------------------------------------


def evaluation(*objects: dict[str, object]) -> Evaluation:
    """The verdict on the pending pod."""
    run = simulation(cluster(*objects))
    (pending,) = run.pending()
    return run.pipeline.evaluate(run.frameworks["default-scheduler"], pending, Mode.RANKED)


def test_the_best_nodes_are_those_with_the_most_points_by_name() -> None:
    small, big = node("c", cpu=1), [node("b", cpu=8), node("a", cpu=8)]
    assert best_nodes(evaluation(small, *big, pod("p", cpu=1))) == ("a", "b")


def test_a_pod_that_fits_nowhere_has_no_best_node() -> None:
    assert best_nodes(evaluation(node("a", cpu=1), pod("p", cpu=2))) == ()


def test_the_one_node_that_fits_is_the_best() -> None:
    tainted = node("a", cpu=8, taints=["x:NoSchedule"])
    assert best_nodes(evaluation(tainted, node("b", cpu=2), pod("p", cpu=1))) == ("b",)
