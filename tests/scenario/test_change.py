"""Several changes, one after the other."""

import sys
from types import FrameType

from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.testing import cluster, node, pod
from tests.scenario.build import changed, nodes_of


def test_no_change_leaves_the_very_state() -> None:
    state = cluster(node("n1"))
    assert apply_changes(state, []) == (state, ())


def test_each_change_sees_what_the_ones_before_it_did() -> None:
    state, did = changed(cluster(node("n1")), "add-nodes x --like n1 --count 1", "cordon x-1")
    assert did == ["x-1: added (like n1)", "x-1: cordoned"]
    assert [record.text for record in state.changes] == [
        "add-nodes x --like n1 --count 1",
        "cordon x-1",
    ]


def test_objects_that_do_not_change_are_shared() -> None:
    state = cluster(node("n1"), node("n2"), pod("a", node="n1"), pod("b", node="n2"))
    after, _ = changed(state, "drain n1")
    assert after.nodes[1] is state.nodes[1]
    assert after.pods[0] is state.pods[1]
    assert after.pods[1].spec is state.pods[0].spec


def calls_of_changes(node_count: int) -> int:
    """How many functions two changes call on a state of so many nodes with 30 pods each."""
    nodes = [node(f"n{i}") for i in range(node_count)]
    pods = [pod(f"p{i}", node=f"n{i % node_count}") for i in range(node_count * 30)]
    changes = [parse_change("drain n1 n2"), parse_change("label nodes --all a=b")]
    state, calls = cluster(*nodes, *pods), 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        after, _ = apply_changes(state, changes)
    finally:
        sys.setprofile(None)
    assert sum(not where for where in nodes_of(after).values()) == 60
    return calls


def test_a_change_of_twice_as_large_a_state_calls_at_most_twice_as_much() -> None:
    assert calls_of_changes(120) < 2.2 * calls_of_changes(60)
