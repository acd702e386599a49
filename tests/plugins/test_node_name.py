"""NodeName: the node that the pod names, and no other."""

import pytest

from ksched_cli.testing import cluster, node, pod, simulation
from plugin_cases import cases, check


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin, case):
    check(plugin, case)


def test_pods_with_the_same_node_name_share_cached_answers():
    run = simulation(cluster(node("a"), pod("p"), pod("q"), pod("r", node="a")))
    plugin = run.frameworks["default-scheduler"].plugin("NodeName")
    first, second = (plugin.cache_key(info) for info in run.pending())
    (running,) = run.snapshot.pods[0]
    assert first == second != plugin.cache_key(running)
