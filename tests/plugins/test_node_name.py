"""NodeName: the node that the pod names, and no other."""

from typing import Any

import pytest

from ksched_cli.plugins.node_name import NodeName
from ksched_cli.testing import cluster, node, pod, simulation
from tests.narrowing import plugin_of
from tests.plugin_cases import cases, check


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_pods_with_the_same_node_name_share_cached_answers() -> None:
    run = simulation(cluster(node("a"), pod("p"), pod("q"), pod("r", node="a")))
    plugin = plugin_of(run, NodeName)
    first, second = (plugin.cache_key(info) for info in run.pending())
    (running,) = run.snapshot.pods[0]
    assert first == second != plugin.cache_key(running)
