"""NodeUnschedulable: cordoned nodes, and the toleration of their taint."""

from typing import Any

import numpy as np
import pytest

from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.plugins.taint_toleration import (
    NodeUnschedulable,
    after_node_change,
    after_toleration_change,
)
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.narrowing import plugin_of
from tests.plugin_cases import cases, check
from tests.plugins.event_objects import decoded_node, pod_info


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_of_two_pods_only_the_tolerant_one_is_placed_on_a_cordoned_node() -> None:
    tolerant = pod("tolerant", tolerations=["node.kubernetes.io/unschedulable"])
    run = simulate(cluster(node("a", unschedulable=True), pod("plain"), tolerant))
    assert run.placements == {"default/tolerant": "a"}


def test_a_node_that_can_be_used_again_may_let_a_pod_fit() -> None:
    cordoned, free = decoded_node(unschedulable=True), decoded_node()
    assert after_node_change(pod_info(), cordoned, free)
    assert after_node_change(pod_info(), None, free)
    assert not after_node_change(pod_info(), free, free)
    assert not after_node_change(pod_info(), None, cordoned)


def test_a_pod_is_tried_when_it_tolerates_cordoned_nodes_itself() -> None:
    tolerant = pod_info(tolerations=["node.kubernetes.io/unschedulable"])
    assert after_toleration_change(tolerant, pod_info(), tolerant)
    assert after_toleration_change(pod_info(), pod_info(), tolerant)
    for other in (pod_info("other"), pod_info("q")):
        assert not after_toleration_change(other, pod_info(), tolerant)
    assert not after_toleration_change(pod_info(), pod_info(), pod_info(tolerations=["other"]))


def test_it_is_registered_for_nodes_that_can_be_used_and_for_tolerations() -> None:
    plugin = plugin_of(simulation(cluster(node("n"))), NodeUnschedulable)
    assert list(plugin.events_to_register()) == [
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), after_node_change),
        (ClusterEvent(POD, Action.UPDATE_POD_TOLERATION), after_toleration_change),
    ]


@pytest.mark.parametrize("is_tolerant", [False, True])
def test_node_by_node_and_all_at_once_it_says_the_same(is_tolerant: bool) -> None:
    tolerations = ["node.kubernetes.io/unschedulable"] if is_tolerant else []
    state = cluster(node("a"), node("b", unschedulable=True), pod("p", tolerations=tolerations))
    run = simulation(state)
    plugin, snapshot = plugin_of(run, NodeUnschedulable), run.snapshot
    (info,) = run.pending()
    rows = np.arange(2)
    verdicts = plugin.filter_nodes(CycleState(), info, Nodes(snapshot, rows))
    assert (verdicts.ids == 0).tolist() == [True, is_tolerant]
    statuses = [plugin.filter(CycleState(), info, NodeInfo(snapshot, row)) for row in range(2)]
    assert [status.is_success for status in statuses] == [True, is_tolerant]
