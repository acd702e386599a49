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
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.memory import Memory, Prepared, Remembered, keeps
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import PluginError, Status
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
        memory: Memory,
    ) -> None:
        self.preparers = tuple(preparers)
        self.plugins = tuple(plugins)
        self.weights = weights
        self._guard = guard
        self._memory = memory

    def run(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, known: Remembered | None = None
    ) -> list[PluginScores]:
        """Raises PluginError where a plugin fails or scores outside 0 to 100."""
        self._prepare(state, pod, nodes, known)
        plugins = [plugin for plugin in self.plugins if plugin.name not in state.skip_score]
        raw = [self._raw(plugin, state, pod, nodes, known) for plugin in plugins]
        found = []
        for plugin, scores in zip(plugins, raw, strict=True):
            normalized = self._normalized(plugin, state, pod, nodes, scores)
            weight = self.weights[plugin.name]
            found.append(PluginScores(plugin.name, weight, scores, normalized))
        return found

    def totals(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, known: Remembered | None = None
    ) -> Scores:
        """The weighted sums alone, as `run` has them."""
        self._prepare(state, pod, nodes, known)
        sums = np.zeros(len(nodes), dtype=np.int64)
        for plugin in self.plugins:
            if plugin.name not in state.skip_score:
                sums += self._weighted(plugin, state, pod, nodes, known)
        return sums

    def _weighted(
        self,
        plugin: ScorePlugin,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        known: Remembered | None,
    ) -> Scores:
        """Over all nodes, what never changes is normalised once."""
        settled = known is not None and nodes.rows is None and plugin.depends_on(pod) is Scope.NODE
        if settled and known is not None and plugin.name in known.normalized:
            return known.normalized[plugin.name]
        raw = self._raw(plugin, state, pod, nodes, known)
        weight = self.weights[plugin.name]
        scores = self._normalized(plugin, state, pod, nodes, raw)
        weighted = scores if weight == 1 else scores * weight
        if settled and known is not None:
            known.normalized[plugin.name] = weighted
        return weighted

    def _prepare(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, known: Remembered | None
    ) -> None:
        for plugin in self.preparers:
            kept = known.prepared.get(("preScore", plugin.name)) if known is not None else None
            if kept is not None:
                status: Status = kept.answer
                state.data.update(kept.written)
            else:
                status = self._pre_score(plugin, state, pod, nodes, known)
            if status.is_skip:
                state.skip_score.add(plugin.name)
            elif not status.is_success:
                raise PluginError(f'running PreScore plugin "{plugin.name}": {status.message}')

    def _pre_score(
        self,
        plugin: PreScorePlugin,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        known: Remembered | None,
    ) -> Status:
        before = set(state.data)
        try:
            status = plugin.pre_score(state, pod, nodes)
        except PluginError as refusal:
            raise PluginError(f'running PreScore plugin "{plugin.name}": {refusal}') from None
        except Exception as defect:
            raise PluginError(self._guard.note(plugin.name, "preScore", defect)) from defect
        if known is not None and keeps(plugin, pod):
            written = {key: state.data[key] for key in state.data.keys() - before}
            known.prepared["preScore", plugin.name] = Prepared(status, written)
        return status

    def _raw(
        self,
        plugin: ScorePlugin,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        known: Remembered | None,
    ) -> Scores:
        try:
            if known is not None and keeps(plugin, pod):
                return nodes.take(self._memory.raw(known, plugin, state, pod))
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
    ) -> Scores:
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
        if scores.min() < MIN_NODE_SCORE or scores.max() > MAX_NODE_SCORE:
            raise PluginError(_out_of_range(plugin.name, nodes, scores))
        return scores


def total(scores: Sequence[PluginScores], count: int) -> Scores:
    """The weighted sum per node."""
    totals = np.zeros(count, dtype=np.int64)
    for one in scores:
        totals += one.weighted
    return totals


def _out_of_range(plugin: str, nodes: Nodes, scores: Scores) -> str:
    outside = (scores < MIN_NODE_SCORE) | (scores > MAX_NODE_SCORE)
    place = int(np.flatnonzero(outside)[0])
    return (
        "applying score defaultWeights on Score plugins: "
        f'plugin "{plugin}" returns an invalid score {scores[place]} for node '
        f'"{nodes.names()[place]}", it should in the range of '
        f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
    )


def _malformed(scores: Scores, count: int) -> str:
    """What is wrong with the shape of an answer, or ""."""
    if not isinstance(scores, np.ndarray) or scores.dtype.kind not in "iu":
        return "scores must be an array of integers"
    if scores.shape != (count,):
        return f"{scores.size} scores for {count} nodes"
    return ""
