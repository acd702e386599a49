"""What is remembered of pods that look the same is what would be found out anew."""

from unittest import mock

import pytest
from hypothesis import given

from clusters import states
from framework.toys import Toy, profile, scoring
from ksched_cli.framework.interface import FilterPlugin, Scope
from ksched_cli.framework.memory import Memory
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, node, pod, simulate


@given(states(max_nodes=5, max_pending=3))
def test_a_run_comes_out_the_same_without_memory(state):
    remembered = simulate(state)
    with mock.patch.object(Memory, "about", return_value=None):
        anew = simulate(state)
    assert remembered == anew


@pytest.mark.parametrize(
    ("scope", "asked"),
    [
        # Three nodes, once for all pods; again the one that the first pod went to; again all.
        (Scope.NODE, 3),
        (Scope.ROW, 3 + 1),
        (Scope.CLUSTER, 3 + 3),
    ],
)
def test_a_plugin_is_asked_again_about_what_its_scope_says(scope, asked):
    names = []

    class Counting(Toy, FilterPlugin):
        name = "Counting"

        def filter(self, state, pod, node):
            names.append(node.name)
            return SUCCESS

    Counting.scope = scope
    plugins = [Counting, scoring("S", {"b": 1})]
    twins = [pod(f"p{i}") for i in range(2)]
    simulate(cluster(node("a"), node("b"), node("c"), *twins), profile(*plugins), plugins)
    assert len(names) == asked
    assert names[3:4] in ([], ["a"], ["b"])


def test_what_a_row_plugin_says_follows_the_pods_on_the_node():
    class OnePod(Toy, FilterPlugin):
        name = "OnePod"
        scope = Scope.ROW

        def filter(self, state, pod, node):
            return Status.unschedulable("taken") if node.pods else SUCCESS

    twins = [pod(f"p{i}") for i in range(4)]
    plugins = [OnePod, scoring("S", {"b": 1})]
    run = simulate(cluster(node("a"), node("b"), node("c"), *twins), profile(*plugins), plugins)
    assert run.placements == {"default/p0": "b", "default/p1": "a", "default/p2": "c"}
    assert run.last["default/p3"].message == "0/3 nodes are available: 3 taken."
