"""NodeUnschedulable: cordoned nodes, and the toleration of their taint."""

from typing import Any

import pytest

from ksched_cli.plugins.node_unschedulable import after_node_change, after_toleration_change
from ksched_cli.testing import cluster, node, pod, simulate
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
    assert not after_toleration_change(pod_info("other"), pod_info(), tolerant)
    assert not after_toleration_change(pod_info(), pod_info(), pod_info(tolerations=["other"]))
