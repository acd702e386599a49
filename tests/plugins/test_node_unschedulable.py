"""NodeUnschedulable: cordoned nodes, and the toleration of their taint."""

import pytest

from ksched_cli.testing import cluster, node, pod, simulate
from plugin_cases import cases, check


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin, case):
    check(plugin, case)


def test_of_two_pods_only_the_tolerant_one_is_placed_on_a_cordoned_node():
    tolerant = pod("tolerant", tolerations=["node.kubernetes.io/unschedulable"])
    run = simulate(cluster(node("a", unschedulable=True), pod("plain"), tolerant))
    assert run.placements == {"default/tolerant": "a"}
