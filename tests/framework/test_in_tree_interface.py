"""Answers about single rows: which plugins give them, and that they are those about all nodes."""

from collections.abc import Callable
from typing import Any

import pytest

from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.in_tree_interface import ScoresRows
from ksched_cli.framework.interface import ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.testing import cluster, find, node, pod, simulation

GPU = "example.com/gpu"


def run_of(minor: str = "1.34") -> Simulation:
    nodes = [
        node(name, cpu=cpu, memory="8Gi", resources={GPU: gpus})
        for name, cpu, gpus in (("n1", 8, 1), ("n2", 4, 1), ("n3", 2, 0))
    ]
    running = pod("r", cpu=3, node="n2")
    return simulation(
        cluster(*nodes, running, pod("p", cpu=1, memory="1Gi", requests={GPU: 1})),
        kubernetes_version=minor,
    )


def prepared(run: Simulation, plugin: Any) -> CycleState:
    cycle, info = CycleState(), find(run, "p")
    plugin.pre_filter(cycle, info, Nodes(run.snapshot)) if hasattr(plugin, "pre_filter") else None
    plugin.pre_score(cycle, info, Nodes(run.snapshot))
    return cycle


def by_row(run: Simulation, answer: Callable[..., Any], rows: range) -> list[Any]:
    return [answer(amounts) for amounts in run.snapshot.rows_amounts(rows)]


@pytest.mark.parametrize("minor", ["1.34", "1.36"])
def test_the_resource_plugins_score_single_rows_as_they_score_all(minor: str) -> None:
    run = run_of(minor)
    (framework,) = run.frameworks.values()
    plugins = [p for p in framework.scoring.plugins if isinstance(p, ScoresRows)]
    assert len(plugins) == 2
    for plugin in plugins:
        cycle, info = prepared(run, plugin), find(run, "p")
        scores = plugin.score_nodes(cycle, info, Nodes(run.snapshot)).tolist()
        scorer = plugin.row_scorer(cycle, info, run.snapshot)
        assert scorer is not None
        assert by_row(run, scorer, range(3)) == scores
        assert len(set(scores)) > 1


def test_where_one_plugin_is_foreign_or_has_no_form_for_rows_there_is_none() -> None:
    run = run_of()
    (framework,) = run.frameworks.values()
    in_tree, foreign = PluginCaller(), PluginCaller(foreign={"NodeResourcesFit"})
    info, cycle = find(run, "p"), CycleState()
    for plugin in framework.scoring.plugins:
        if isinstance(plugin, ScoresRows):
            cycle.data.update(prepared(run, plugin).data)
    weights: dict[ScorePlugin, int] = {
        plugin: 2 for plugin in framework.scoring.plugins if isinstance(plugin, ScoresRows)
    }
    scorer = in_tree.row_scorer(weights, cycle, info, run.snapshot, 3)
    scores = [plugin.score_nodes(cycle, info, Nodes(run.snapshot)) for plugin in weights]
    expected = [(int(fit) + int(balance)) * 2 << 3 for fit, balance in zip(*scores, strict=True)]
    assert in_tree.row_totals(scorer, run.snapshot, range(3)) == expected
    assert foreign.row_scorer(weights, cycle, info, run.snapshot, 0) is None
    every_plugin = dict.fromkeys(framework.scoring.plugins, 1)
    assert in_tree.row_scorer(every_plugin, cycle, info, run.snapshot, 0) is None
    run.snapshot.huge = True
    assert in_tree.row_scorer(weights, cycle, info, run.snapshot, 0) is None
    assert in_tree.row_totals(scorer, run.snapshot, range(3)) is None
