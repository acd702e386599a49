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
    list(all_nodes)  # the node objects are made once per snapshot
    assert calls_per_node(lambda: plugin.filter_nodes(state, pod_info, all_nodes)) == {
        "Plain.filter": 1,
        "NodeInfo.allocatable": 1,
    }
    assert calls_per_node(lambda: plugin.score_nodes(state, pod_info, all_nodes)) == {
        "Plain.score": 1,
        "NodeInfo.requested": 1,
    }
