"""The criteria by which one of several candidate nodes is picked."""

import pytest

from ksched_cli.framework.preemption import Criterion, Victims
from ksched_cli.framework.victim_order import pick_one_node, ranked
from ksched_cli.testing import cluster, find, node, simulation
from tests.plugins.default_preemption.manifests import preemption_pod


def victims(*priorities: int, violations: int = 0, start: int | None = None) -> Victims:
    """Victims of these priorities, most important first."""
    pods = [
        preemption_pod(f"v{i}", prio=priority, node="a", start=start)
        for i, priority in enumerate(priorities)
    ]
    run = simulation(cluster(node("a"), *pods))
    return Victims(tuple(find(run, f"v{i}") for i in range(len(pods))), violations)


@pytest.mark.parametrize(
    ("better", "worse", "criterion"),
    [
        (victims(9, 9), victims(1, violations=1), Criterion.FEWEST_VIOLATIONS),
        (victims(1, 1, 1), victims(2), Criterion.LOWEST_VICTIM),
        (victims(5, 1), victims(5, 2), Criterion.SMALLEST_SUM),
        (victims(5), victims(5, -5), Criterion.SMALLEST_SUM),
        (victims(5, start=9), victims(5, start=1), Criterion.LATEST_START),
        (victims(5), victims(5, start=9), Criterion.LATEST_START),
    ],
)
def test_each_criterion_decides_where_those_before_are_equal(
    better: Victims, worse: Victims, criterion: Criterion
) -> None:
    choice = pick_one_node({"a": worse, "b": better})
    assert choice.node == "b"
    assert choice.steps[-1].criterion == criterion
    assert choice.ties == ()
    assert ranked({"a": worse, "b": better}) == ["b", "a"]


def test_a_single_candidate_needs_no_criterion() -> None:
    choice = pick_one_node({"a": victims(1)})
    assert (choice.node, choice.steps) == ("a", ())


def test_of_nodes_equal_in_all_criteria_the_first_by_name_is_picked() -> None:
    equal = victims(1, start=1)
    choice = pick_one_node({"b": equal, "a": equal, "c": equal})
    assert choice.node == "a"
    assert choice.ties == ("a", "b", "c")
    assert choice.steps[-1].criterion == Criterion.FIRST_BY_NAME
    assert ranked({"b": equal, "a": equal}) == ["a", "b"]
