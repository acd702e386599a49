"""Which nodes count as ksched's choice."""

from ksched_cli.analysis.audit.replayed_cluster import best_nodes
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.testing import cluster, node, pod, simulation


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
