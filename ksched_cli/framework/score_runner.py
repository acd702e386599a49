"""Runs PreScore, Score and NormalizeScore over the feasible nodes, and applies the weights.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    NormalizeScore,
    PreScorePlugin,
    ScorePlugin,
)
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SKIP, PluginError


class PluginScores(Struct, frozen=True):
    """One plugin's scores, one per feasible node in the order asked."""

    plugin: str
    weight: int
    raw: Scores
    normalized: Scores

    @property
    def weighted(self) -> Scores:
        return self.normalized * self.weight


class ScoreRunner:
    """The PreScore and Score plugins of a profile, in order.

    weights: by the plugin's name
    """

    def __init__(
        self,
        pre_scores: Sequence[PreScorePlugin],
        plugins: Sequence[ScorePlugin],
        weights: Mapping[str, int],
        caller: PluginCaller,
    ) -> None:
        self.pre_scores = tuple(pre_scores)
        self.plugins = tuple(plugins)
        self.weights = dict(weights)
        self._caller = caller

    def run(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> list[PluginScores]:
        """Raises PluginError where a plugin fails or scores outside 0 to 100."""
        return self._run(state, pod, nodes, nodes, {})

    def run_with_last_new(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Mapping[str, Scores]
    ) -> list[PluginScores]:
        """Run as `run`, where all nodes but the last have raw scores by plugin, which are kept."""
        last = Nodes(nodes.snapshot, nodes.indices()[-1:])
        return self._run(state, pod, nodes, last, raw)

    def _run(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        scored: Nodes,
        before: Mapping[str, Scores],
    ) -> list[PluginScores]:
        """scored: the nodes after those whose raw scores are in `before`"""
        self.pre_score(self.pre_scores, state, pod, nodes)
        plugins = [plugin for plugin in self.plugins if plugin.name not in state.skip_score]
        raw = [self._caller.score_nodes(plugin, state, pod, scored) for plugin in plugins]
        if len(scored) < len(nodes):
            none = np.zeros(len(nodes) - len(scored), dtype=np.int64)
            raw = [
                np.concatenate((before.get(plugin.name, none), scores))
                for plugin, scores in zip(plugins, raw, strict=True)
            ]
        scores = []
        for plugin, plugin_raw in zip(plugins, raw, strict=True):
            normalized = self._normalized(plugin, state, pod, nodes, plugin_raw)
            weight = self.weights[plugin.name]
            scores.append(PluginScores(plugin.name, weight, plugin_raw, normalized))
        return scores

    def pre_score(
        self, plugins: Sequence[PreScorePlugin], state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        for plugin in plugins:
            status = self._caller.pre_score(plugin, state, pod, nodes)
            if status is SKIP or status.is_skip:
                state.skip_score.add(plugin.name)

    def weighted(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        """Raw scores, normalized and weighted. Raises PluginError."""
        weight = self.weights[plugin.name]
        scores = self._normalized(plugin, state, pod, nodes, raw)
        return scores if weight == 1 else scores * weight

    def _normalized(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        """Raises PluginError."""
        scores = raw
        if isinstance(plugin, NormalizeScore):
            scores = self._caller.normalize_scores(plugin, state, pod, nodes, raw)
        _check_range(plugin, nodes, scores)
        return scores

    def raw_scores(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Scores:
        """Raw scores to be cached; those that nothing normalizes are checked now. Raises
        PluginError."""
        scores = self._caller.score_nodes(plugin, state, pod, nodes)
        if not isinstance(plugin, NormalizeScore):
            _check_range(plugin, nodes, scores)
        return scores


def total(scores: Sequence[PluginScores], count: int) -> Scores:
    """The weighted sum per node."""
    totals = np.zeros(count, dtype=np.int64)
    for plugin_scores in scores:
        totals += plugin_scores.weighted
    return totals


def _check_range(plugin: ScorePlugin, nodes: Nodes, scores: Scores) -> None:
    """Raises PluginError where a score is outside 0 to 100."""
    if not len(scores):
        return
    # Seen as unsigned, a negative score is greater than all others; argmax is the quickest way.
    unsigned = scores.view(f"u{scores.itemsize}")
    if unsigned.item(unsigned.argmax()) <= MAX_NODE_SCORE:
        return
    outside = (scores < MIN_NODE_SCORE) | (scores > MAX_NODE_SCORE)
    index = int(np.flatnonzero(outside)[0])
    raise PluginError(
        "applying score defaultWeights on Score plugins: "
        f'plugin "{plugin.name}" returns an invalid score {scores[index]} for node '
        f'"{nodes.names()[index]}", it should in the range of '
        f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
    )
