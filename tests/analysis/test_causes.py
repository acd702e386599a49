"""Why a pod is on one node after one run and on another after another."""

import pytest

from ksched_cli.analysis.causes import Cause, NodeView, PodViews, cause_of_move, obstacle_on, views
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.narrowing import present

NO = Status.unschedulable("no").by("F")


def scored(**scores: int) -> NodeView:
    return NodeView(None, scores)


@pytest.mark.parametrize(
    ("judged", "cause"),
    [
        (None, None),
        ({"a": scored(S=1)}, None),
        ({"a": NodeView(NO, {})}, Cause("F", "no", "a, after")),
        ({}, Cause("", "there is no such node", "a, after")),
    ],
)
def test_a_node_is_out_where_it_is_rejected_or_gone(
    judged: PodViews | None, cause: Cause | None
) -> None:
    assert obstacle_on("after", "a", judged) == cause


def test_the_rejection_of_the_node_left_goes_before_that_of_the_node_taken() -> None:
    first = {"a": scored(S=9), "b": NodeView(NO.by("G"), {})}
    second = {"a": NodeView(NO, {}), "b": scored(S=1)}
    cause = present(cause_of_move(("before", "a", first), ("after", "b", second)))
    assert (cause.plugin, cause.text) == ("F", "F: no (a, after)")


def test_the_plugin_whose_score_moved_most_is_the_cause() -> None:
    first = {"a": scored(S=10, T=50), "b": scored(S=9, T=0)}
    second = {"a": scored(S=9, T=0), "b": scored(S=10, T=40)}
    cause = present(cause_of_move(("before", "a", first), ("after", "b", second)))
    assert cause == Cause("T", "b gains 90 points on a", points=90)


def test_without_a_move_of_scores_the_nodes_are_equally_good() -> None:
    both = {"a": scored(S=1), "b": scored(S=1)}
    cause = present(cause_of_move(("before", "a", both), ("after", "b", both)))
    assert cause.text == "a and b are equally good"


def test_a_better_node_that_was_not_looked_at_is_named() -> None:
    first = {"a": scored(S=1), "b": scored(S=2)}
    cause = present(cause_of_move(("before", "a", first), ("after", "b", first)))
    assert cause.text == "b has more points than a, but was not looked at (before)"


def test_a_pod_that_neither_run_tried_has_no_cause() -> None:
    assert cause_of_move(("before", "a", None), ("after", "b", None)) is None


def test_nodes_are_judged_as_the_pods_last_attempt_would() -> None:
    state = cluster(
        node("a", cpu=2), node("b", cpu=1), pod("first", cpu=2), pod("p", cpu=1), pod("q")
    )
    run = simulate(state)
    judged = views(simulation(state), run, {"default/p": ("a", "b", "gone")})
    assert list(judged) == ["default/p"]
    views_of_p = judged["default/p"]
    assert set(views_of_p) == {"a", "b"}
    assert present(views_of_p["a"].rejection).message == "Insufficient cpu"
    assert views_of_p["b"].rejection is None
    assert views_of_p["b"].total > 0


def test_a_pod_without_an_attempt_is_left_out() -> None:
    state = cluster(node("a"), pod("p", node="a"))
    assert views(simulation(state), simulate(state), {"default/p": ("a",)}) == {}
