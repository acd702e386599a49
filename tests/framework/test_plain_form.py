"""The cost of the plain form: a call per node, and what the plugin itself asks the node."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin, ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import NO_HANDLE

FULL = Status.unschedulable("too little cpu")
NODES = 100


class Plain(FilterPlugin, ScorePlugin):
    name = "Plain"

    def filter(self, state: CycleState, pod: Any, node: Any) -> Status:
        return SUCCESS if node.allocatable("cpu") >= pod.resources.requests["cpu"] else FULL

    def score(self, state: CycleState, pod: Any, node: Any) -> int:
        return int(node.requested("cpu"))


def calls_per_node(call: Callable[[], object]) -> Counter[str]:
    """What is called at least once per node, by name: Python functions and C functions alike."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            calls[argument.__name__] += 1

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Counter({name: n // NODES for name, n in calls.items() if n >= NODES})


def test_the_plain_form_calls_the_plugin_once_per_node_and_nothing_else() -> None:
    nodes = [node(f"n{i:03}", cpu=8) for i in range(NODES)]
    run = simulation(cluster(*nodes, pod("p", cpu=4)))
    pod_info, all_nodes, state = find(run, "p"), Nodes(run.snapshot), CycleState()
    plugin = Plain(None, NO_HANDLE)
    # The node objects are made once per snapshot, and amounts are read once.
    plugin.filter_nodes(state, pod_info, all_nodes)
    plugin.score_nodes(state, pod_info, all_nodes)
    assert calls_per_node(lambda: plugin.filter_nodes(state, pod_info, all_nodes)) == {
        "Plain.filter": 1,
        "__getitem__": 1,
    }
    assert calls_per_node(lambda: plugin.score_nodes(state, pod_info, all_nodes)) == {
        "Plain.score": 1,
        "__getitem__": 1,
    }


def test_amounts_that_were_read_follow_the_pods() -> None:
    nodes = [node(f"n{i:03}", cpu=8) for i in range(NODES)]
    run = simulation(cluster(*nodes, pod("p", cpu=4)))
    first, second, *_ = Nodes(run.snapshot)
    assert [first.requested("cpu"), second.requested("cpu"), first.requested("gpu")] == [0, 0, 0]
    run.snapshot.add(find(run, "p"), 1)
    assert [first.requested("cpu"), second.requested("cpu")] == [0, 4000]
    assert [first.allocatable("cpu"), first.allocatable("gpu")] == [8000, 0]
    run.snapshot.remove(find(run, "p"), 1)
    assert second.requested("cpu") == 0
