"""Runs PreScore, Score and NormalizeScore over the feasible nodes, and applies the weights.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.guard import Guard
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    NormalizeScore,
    PreScorePlugin,
    ScorePlugin,
)
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import PluginError
from ksched_cli.framework.verdicts import Scores


@dataclass(frozen=True, slots=True)
class PluginScores:
    """One plugin's scores, one per feasible node in the order asked."""

    plugin: str
    weight: int
    raw: Scores
    normalized: Scores

    @property
    def weighted(self) -> Scores:
        return self.normalized * self.weight


class Scoring:
    """The Score plugins of a profile, in order, with their weights."""

    def __init__(
        self,
        preparers: Sequence[PreScorePlugin],
        plugins: Sequence[ScorePlugin],
        weights: Mapping[str, int],
        guard: Guard,
    ) -> None:
        self.preparers = tuple(preparers)
        self.plugins = tuple(plugins)
        self.weights = weights
        self._guard = guard

    def run(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> list[PluginScores]:
        """Raises PluginError where a plugin fails or scores outside 0 to 100."""
        self._prepare(state, pod, nodes)
        plugins = [plugin for plugin in self.plugins if plugin.name not in state.skip_score]
        raw = [self._raw(plugin, state, pod, nodes) for plugin in plugins]
        return [
            self._normalized(plugin, state, pod, nodes, scores)
            for plugin, scores in zip(plugins, raw, strict=True)
        ]

    def _prepare(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> None:
        for plugin in self.preparers:
            try:
                status = plugin.pre_score(state, pod, nodes)
            except PluginError as refusal:
                raise PluginError(f'running PreScore plugin "{plugin.name}": {refusal}') from None
            except Exception as defect:
                raise PluginError(self._guard.note(plugin.name, "preScore", defect)) from defect
            if status.is_skip:
                state.skip_score.add(plugin.name)
            elif not status.is_success:
                raise PluginError(f'running PreScore plugin "{plugin.name}": {status.message}')

    def _raw(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        try:
            scores = plugin.score_nodes(state, pod, nodes)
            problem = _malformed(scores, len(nodes))
        except PluginError as refusal:
            problem = str(refusal)
        except Exception as defect:
            problem = self._guard.note(plugin.name, "score", defect)
        if problem:
            raise PluginError(
                f'running Score plugins: plugin "{plugin.name}" failed with: {problem}'
            )
        return scores

    def _normalized(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> PluginScores:
        scores = raw
        if isinstance(plugin, NormalizeScore):
            try:
                scores = plugin.normalize_scores(state, pod, nodes, raw)
                problem = _malformed(scores, len(nodes))
            except PluginError as refusal:
                problem = str(refusal)
            except Exception as defect:
                problem = self._guard.note(plugin.name, "normalizeScore", defect)
            if problem:
                raise PluginError(
                    "running Normalize on Score plugins: "
                    f'plugin "{plugin.name}" failed with: {problem}'
                )
        self._check_range(plugin.name, nodes, scores)
        return PluginScores(plugin.name, self.weights[plugin.name], raw, scores)

    def _check_range(self, plugin: str, nodes: Nodes, scores: Scores) -> None:
        outside = (scores < MIN_NODE_SCORE) | (scores > MAX_NODE_SCORE)
        if outside.any():
            place = int(np.flatnonzero(outside)[0])
            raise PluginError(
                "applying score defaultWeights on Score plugins: "
                f'plugin "{plugin}" returns an invalid score {scores[place]} for node '
                f'"{nodes.names()[place]}", it should in the range of '
                f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
            )


def total(scores: Sequence[PluginScores], count: int) -> Scores:
    """The weighted sum per node."""
    totals = np.zeros(count, dtype=np.int64)
    for one in scores:
        totals += one.weighted
    return totals


def _malformed(scores: Scores, count: int) -> str:
    """What is wrong with the shape of an answer, or ""."""
    if not isinstance(scores, np.ndarray) or scores.dtype.kind not in "iu":
        return "scores must be an array of integers"
    if scores.shape != (count,):
        return f"{scores.size} scores for {count} nodes"
    return ""
