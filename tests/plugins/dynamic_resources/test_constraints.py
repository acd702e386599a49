"""Constraints while devices are added and removed."""

from ksched_cli.plugins.dynamic_resources.allocator import ConstraintState
from ksched_cli.plugins.dynamic_resources.requests import (
    DISTINCT_ATTRIBUTE,
    EXACT_COUNT,
    MATCH_ATTRIBUTE,
    RequestAlternative,
    RequestConstraint,
)


def request(name: str, parent: str = "") -> RequestAlternative:
    return RequestAlternative(name, parent, "gpu", (), EXACT_COUNT, 1, False)


def test_matching_devices_have_one_value() -> None:
    state = ConstraintState(RequestConstraint(MATCH_ATTRIBUTE, "numa", frozenset()))
    assert state.add(request("r"), ("int", 0))
    assert not state.add(request("r"), ("int", 1))
    assert not state.add(request("r"), None)
    assert state.add(request("s"), ("int", 0))


def test_a_value_is_forgotten_with_the_last_device() -> None:
    state = ConstraintState(RequestConstraint(MATCH_ATTRIBUTE, "numa", frozenset()))
    assert state.add(request("r"), ("int", 0))
    state.remove(request("r"))
    assert state.add(request("r"), ("int", 1))


def test_distinct_values_are_compared_as_upstream_does_by_address() -> None:
    state = ConstraintState(RequestConstraint(DISTINCT_ATTRIBUTE, "numa", frozenset()))
    assert state.add(request("r"), ("int", 0))
    assert state.add(request("r"), ("int", 0))


def test_a_constraint_applies_to_the_requests_it_names() -> None:
    state = ConstraintState(RequestConstraint(MATCH_ATTRIBUTE, "numa", frozenset(["r", "s/x"])))
    assert state.add(request("other"), None)
    assert state.add(request("y", parent="s"), None)
    assert not state.add(request("x", parent="s"), None)
    assert not state.add(request("any", parent="r"), None)
    assert state.count == 0


def test_devices_with_lists_match_where_all_have_an_element_in_common() -> None:
    state = ConstraintState(RequestConstraint(MATCH_ATTRIBUTE, "links", frozenset()), as_sets=True)
    assert state.add(request("r"), ("int", frozenset([1, 2])))
    assert state.add(request("r"), ("int", frozenset([2, 3])))
    assert not state.add(request("s"), ("int", frozenset([1, 3])))
    assert not state.add(request("s"), ("str", frozenset(["2"])))
    assert not state.add(request("s"), ("", None))
    state.remove(request("r"))
    assert state.add(request("s"), ("int", frozenset([1, 3])))


def test_devices_with_lists_are_distinct_where_no_two_have_an_element_in_common() -> None:
    state = ConstraintState(
        RequestConstraint(DISTINCT_ATTRIBUTE, "links", frozenset()), as_sets=True
    )
    assert state.add(request("r"), ("int", frozenset([1, 2])))
    assert not state.add(request("r"), ("int", frozenset([2, 3])))
    assert state.add(request("s"), ("str", frozenset(["2"])))
    assert state.add(request("s"), ("int", frozenset([3])))
