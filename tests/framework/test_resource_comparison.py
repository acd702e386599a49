"""Whether a pod that leaves a node can change no answer but that of a comparison of resources."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.in_tree_interface import ComparesResources
from ksched_cli.framework.interface import FilterPlugin, Scope
from ksched_cli.framework.nodes import Nodes
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.clusters import states
from tests.framework.toys import Toy


@given(states())
def test_the_comparison_passes_the_nodes_that_the_plugin_passes(state: ClusterState) -> None:
    run = simulation(state)
    framework, snapshot = run.frameworks["default-scheduler"], run.snapshot
    plugins = [p for p in framework.filtering.plugins if isinstance(p, ComparesResources)]
    nodes = Nodes(snapshot)
    for info in run.pending():
        cycle = CycleState()
        framework.pre_filtering.run(cycle, info)
        for plugin in plugins:
            requests = plugin.compared_requests(cycle, info)
            assert requests is not None
            fits = snapshot.allocatable(PODS) > snapshot.pod_count
            for name, amount in requests.items():
                fits &= snapshot.allocatable(name) - snapshot.requested(name) >= amount
            verdicts = plugin.filter_nodes(cycle, info, nodes)
            assert ((verdicts.ids == 0) == fits).all()


@given(states())
def test_where_requests_are_discounted_the_pods_that_make_them_count_as_gone(
    state: ClusterState,
) -> None:
    run = simulation(state)
    framework, snapshot = run.frameworks["default-scheduler"], run.snapshot
    discounted, gone = snapshot.fork(()), snapshot.fork(range(len(snapshot)))
    for row, pods in enumerate(snapshot.pods):
        for other in list(pods)[:1]:
            amounts = {name: np.array([a]) for name, a in other.resources.requests.items()}
            discounted.discount(np.array([row]), {**amounts, PODS: np.array([1])})
            gone.remove(other, row)
    for info in run.pending():
        cycle, nodes = CycleState(), Nodes(snapshot)
        framework.pre_filtering.run(cycle, info)
        if framework.filtering.compared_requests(cycle, info) is not None:
            same = framework.filtering.run_with_requests_of(cycle, info, nodes, discounted)
            verdicts = framework.filtering.run_filters(cycle, info, Nodes(gone))
            assert [same.statuses[i] for i in same.ids] == [
                verdicts.statuses[i] for i in verdicts.ids
            ]


@pytest.mark.parametrize(
    ("scope", "fields", "is_compared"),
    [
        (Scope.NODE, {}, True),
        (Scope.ROW, {}, False),
        (Scope.CLUSTER, {}, False),
        (Scope.NODE, {"ports": [80]}, False),
    ],
)
def test_another_plugin_that_pods_may_concern_leaves_no_comparison(
    scope: Scope, fields: dict[str, Any], is_compared: bool
) -> None:
    class Other(Toy, FilterPlugin):
        name = "Other"

    Other.scope = scope
    run = simulation(cluster(node("a"), pod("p", cpu=1, **fields)), plugins=[Other])
    framework, cycle = run.frameworks["default-scheduler"], CycleState()
    info = find(run, "p")
    framework.pre_filtering.run(cycle, info)
    requests = framework.filtering.compared_requests(cycle, info)
    assert requests == ({"cpu": 1000} if is_compared else None)


def test_amounts_that_overflow_are_not_compared() -> None:
    state = cluster(
        node("a", memory="8Pi"), pod("there", memory="6Pi", node="a"), pod("p", memory="1")
    )
    run = simulation(state)
    framework, cycle = run.frameworks["default-scheduler"], CycleState()
    framework.pre_filtering.run(cycle, find(run, "p"))
    assert framework.filtering.compared_requests(cycle, find(run, "p")) is None
    assert np.array_equal(run.snapshot.pod_count, [1])
