"""Several changes, one after the other."""

from time import perf_counter

from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.parsing import parse_change
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


def test_a_large_state_changes_at_once() -> None:
    count = 200
    nodes = [node(f"n{i}") for i in range(count)]
    pods = [pod(f"p{i}", node=f"n{i % count}") for i in range(count * 30)]
    state = cluster(*nodes, *pods)
    changes = [parse_change("drain n1 n2"), parse_change("label nodes --all a=b")]
    started = perf_counter()
    after, _ = apply_changes(state, changes)
    # A thirtieth of 5,000 nodes and 150,000 pods, on a machine with other work to do.
    assert perf_counter() - started < 0.5
    assert sum(not where for where in nodes_of(after).values()) == 60
