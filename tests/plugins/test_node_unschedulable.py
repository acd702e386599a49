"""NodeUnschedulable: cordoned nodes, and the toleration of their taint."""

from typing import Any

import pytest

from ksched_cli.testing import cluster, node, pod, simulate
from tests.plugin_cases import cases, check


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_of_two_pods_only_the_tolerant_one_is_placed_on_a_cordoned_node() -> None:
    tolerant = pod("tolerant", tolerations=["node.kubernetes.io/unschedulable"])
    run = simulate(cluster(node("a", unschedulable=True), pod("plain"), tolerant))
    assert run.placements == {"default/tolerant": "a"}
