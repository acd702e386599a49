"""PodGroupPodsCount: the more pods of a group have a node in a placement, the better."""

import numpy as np
import pytest

from ksched_cli.framework.handle import Handle
from ksched_cli.framework.pod_groups import Placement
from ksched_cli.framework.status import PluginError
from ksched_cli.plugins.gang_scheduling import PodGroupPodsCount
from ksched_cli.testing import cluster, node, pod, simulation

GATES = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"


def handle() -> Handle:
    spec = {"schedulingGroup": {"podGroupName": "red"}}
    state = cluster(node("a"), pod("b", node="a", spec=spec), pod("p", spec=spec))
    run = simulation(state, kubernetes_version="1.36", feature_gates=GATES)
    return run.frameworks["default-scheduler"].handle


def test_pods_that_run_and_pods_that_are_placed_count() -> None:
    plugin = PodGroupPodsCount(None, handle())
    everywhere = Placement("", np.arange(1))
    assert plugin.score_placement(("default", "red"), everywhere, []) == 1
    assert plugin.score_placement(("default", "blue"), everywhere, []) == 0


def test_the_most_is_a_hundred() -> None:
    plugin = PodGroupPodsCount(None, handle())
    assert plugin.normalize_placement_scores([1, 3, 2]) == [33, 100, 66]
    with pytest.raises(PluginError, match="no pods from pod group are assigned"):
        plugin.normalize_placement_scores([0, 0])
