"""Plugins that have a plain form beside the array form say the same in both."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.in_tree_interface import ScoresRows
from ksched_cli.framework.interface import FilterPlugin, Plugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.testing import simulation
from tests.clusters import states

STRATEGIES = [
    {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory"}]},
    {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "memory"}]},
    {"type": "LeastAllocated", "resources": [{"name": "memory", "weight": 2}]},
    {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu"}, {"name": "memory"}],
        "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        },
    },
]


RESOURCE_PLUGINS = ("NodeResourcesFit", "NodeResourcesBalancedAllocation")


def configured(strategy: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    return {"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [fit]}]}


def in_both_forms(plugins: Sequence[Plugin], contract: type[Plugin], method: str) -> list[Any]:
    return [
        plugin
        for plugin in plugins
        if getattr(type(plugin), method) is not getattr(contract, method)
        and getattr(type(plugin), f"{method}_nodes") is not getattr(contract, f"{method}_nodes")
    ]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy["type"])
@given(states())
def test_one_node_at_a_time_gives_what_all_at_once_give(
    strategy: dict[str, Any], state: ClusterState
) -> None:
    run = simulation(state, configured(strategy))
    (framework,) = run.frameworks.values()
    filters = in_both_forms(framework.filtering.plugins, FilterPlugin, "filter")
    scores: list[Any] = [
        plugin for plugin in framework.scoring.plugins if isinstance(plugin, ScoresRows)
    ]
    assert filters
    assert len(scores) == 2
    nodes = Nodes(run.snapshot)
    for pod in run.pending():
        cycle = CycleState()
        framework.pre_filtering.run(cycle, pod)
        for plugin in filters:
            verdicts = plugin.filter_nodes(cycle, pod, nodes)
            for row, kind in enumerate(verdicts.ids):
                status = plugin.filter(cycle, pod, NodeInfo(run.snapshot, row))
                assert status == verdicts.statuses[kind]
        for plugin in scores:
            prepared = plugin.pre_score(cycle, pod, nodes)
            assert prepared.is_success or prepared.is_skip
            score = plugin.row_scorer(cycle, pod, run.snapshot)
            if score is not None:
                by_row = map(score, run.snapshot.rows_amounts(range(len(nodes))))
                assert list(by_row) == plugin.score_nodes(cycle, pod, nodes).tolist()
