"""Runs PreScore, Score and NormalizeScore over the feasible nodes, and applies the weights.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cache.answer_cache import AnswerCache, CacheEntry, keeps
from ksched_cli.framework.cache.score_cache import ScoreCache, build_score_cache
from ksched_cli.framework.caller import PluginCaller, expect
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    NormalizeScore,
    PreScorePlugin,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import MalformedError, PluginError, Status


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


class ScoreRunner:
    """The Score plugins of a profile, in order, with their weights."""

    def __init__(
        self,
        preparers: Sequence[PreScorePlugin],
        plugins: Sequence[ScorePlugin],
        weights: Mapping[str, int],
        guard: PluginCaller,
        memory: AnswerCache,
    ) -> None:
        self.preparers = tuple(preparers)
        self.plugins = tuple(plugins)
        self.weights = dict(weights)
        self._guard = guard
        self._memory = memory

    def run(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> list[PluginScores]:
        """Raises PluginError where a plugin fails or scores outside 0 to 100."""
        self._prepare(self.preparers, state, pod, nodes)
        plugins = [plugin for plugin in self.plugins if plugin.name not in state.skip_score]
        raw = [self.ask(plugin, state, pod, nodes) for plugin in plugins]
        found = []
        for plugin, scores in zip(plugins, raw, strict=True):
            normalized = self._normalized(plugin, state, pod, nodes, scores)
            weight = self.weights[plugin.name]
            found.append(PluginScores(plugin.name, weight, scores, normalized))
        return found

    def totals(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, known: CacheEntry | None = None
    ) -> Scores:
        """The weighted sums alone, as `run` has them."""
        if known is None:
            return total(self.run(state, pod, nodes), len(nodes))
        if known.preparers is None:
            self._settle_preparers(known, pod)
        state.data.update(known.static_state.data)
        state.skip_score.update(known.static_state.skip_score)
        self._prepare(known.preparers or (), state, pod, nodes)
        kept = self._kept(known, pod, nodes)
        sums = nodes.gather(kept.sums)
        for plugin in kept.normalized_static:
            raw = nodes.gather(kept.raw[plugin.name])
            sums = sums + self.weighted(plugin, state, pod, nodes, raw)
        for plugin in kept.fresh:
            if plugin.name not in state.skip_score:
                raw = self.ask(plugin, state, pod, nodes)
                sums = sums + self.weighted(plugin, state, pod, nodes, raw)
        return sums

    def _kept(self, known: CacheEntry, pod: PodInfo, nodes: Nodes) -> ScoreCache:
        """What is remembered, up to date for the nodes."""
        kept, known.score = known.score, None
        if kept is None:
            filtered = known.filter
            redone = filtered.redone if filtered is not None and filtered.rows else None
            snapshot, shared = self._memory.snapshot, self._memory.node_answers
            kept = build_score_cache(
                known.static_state, self.plugins, pod, snapshot, self, shared, redone
            )
        kept.renew(known.static_state, pod, nodes, self)
        # Where a plugin fails, nothing is kept.
        known.score = kept
        return kept

    def weighted(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        weight = self.weights[plugin.name]
        scores = self._normalized(plugin, state, pod, nodes, raw)
        return scores if weight == 1 else scores * weight

    def _settle_preparers(self, known: CacheEntry, pod: PodInfo) -> None:
        """Asks the PreScore plugins whose answers keep, once."""
        kept = [plugin for plugin in self.preparers if keeps(plugin, pod)]
        self._prepare(kept, known.static_state, pod, Nodes(self._memory.snapshot))
        known.preparers = tuple(plugin for plugin in self.preparers if not keeps(plugin, pod))

    def _prepare(
        self, plugins: Sequence[PreScorePlugin], state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        for plugin in plugins:
            try:
                if plugin.name in self._guard.foreign:
                    ask = plugin.pre_score
                    status = self._guard.ask(plugin.name, nodes.snapshot, ask, state, pod, nodes)
                    expect(status, Status, "pre_score")
                else:
                    status = plugin.pre_score(state, pod, nodes)
            except PluginError as refusal:
                raise PluginError(f'running PreScore plugin "{plugin.name}": {refusal}') from None
            except Exception as defect:
                raise PluginError(self._guard.note(plugin.name, "preScore", defect)) from defect
            if status.is_skip:
                state.skip_score.add(plugin.name)
            elif not status.is_success:
                raise PluginError(f'running PreScore plugin "{plugin.name}": {status.message}')

    def ask(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """One plugin's raw scores. Raises PluginError."""
        try:
            if plugin.name in self._guard.foreign:
                ask = plugin.score_nodes
                scores = self._guard.ask(plugin.name, nodes.snapshot, ask, state, pod, nodes)
                _check_shape(scores, len(nodes), "score_nodes")
            else:
                scores = plugin.score_nodes(state, pod, nodes)
            problem = ""
        except PluginError as refusal:
            problem = str(refusal)
        except Exception as defect:
            problem = self._guard.note(plugin.name, "score", defect)
        if problem:
            raise PluginError(
                f'running Score plugins: plugin "{plugin.name}" failed with: {problem}'
            )
        return scores

    def ask_in_range(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Scores:
        """Raw scores to be kept; where nothing normalises them, they are looked at only now."""
        scores = self.ask(plugin, state, pod, nodes)
        if not isinstance(plugin, NormalizeScore):
            _check_range(plugin, nodes, scores)
        return scores

    def have_plain_form(self, plugins: Iterable[ScorePlugin]) -> bool:
        """As ScoreAsker says; see FilterRunner.have_plain_form."""
        return all(
            plugin.name not in self._guard.foreign
            and type(plugin).score is not ScorePlugin.score
            and type(plugin).score_nodes is not ScorePlugin.score_nodes
            for plugin in plugins
        )

    def sum_of(
        self, plugins: Sequence[ScorePlugin], state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> int | None:
        """As ScoreAsker says. What a plugin does wrong shows when its array form is asked."""
        sums = 0
        try:
            for plugin in plugins:
                score = plugin.score(state, pod, node)
                if not MIN_NODE_SCORE <= score <= MAX_NODE_SCORE:
                    return None
                sums += score * self.weights[plugin.name]
        except Exception:
            return None
        return sums

    def _normalized(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        scores = raw
        if isinstance(plugin, NormalizeScore):
            try:
                ask = plugin.normalize_scores
                if plugin.name in self._guard.foreign:
                    given = (state, pod, nodes, raw)
                    scores = self._guard.ask(plugin.name, nodes.snapshot, ask, *given)
                    _check_shape(scores, len(nodes), "normalize_scores")
                else:
                    scores = ask(state, pod, nodes, raw)
                problem = ""
            except PluginError as refusal:
                problem = str(refusal)
            except Exception as defect:
                problem = self._guard.note(plugin.name, "normalizeScore", defect)
            if problem:
                raise PluginError(
                    "running Normalize on Score plugins: "
                    f'plugin "{plugin.name}" failed with: {problem}'
                )
        _check_range(plugin, nodes, scores)
        return scores


def total(scores: Sequence[PluginScores], count: int) -> Scores:
    """The weighted sum per node."""
    totals = np.zeros(count, dtype=np.int64)
    for one in scores:
        totals += one.weighted
    return totals


def _check_range(plugin: ScorePlugin, nodes: Nodes, scores: Scores) -> None:
    if not len(scores):
        return
    # Seen as unsigned, a negative score is greater than all others; argmax is the quickest way.
    unsigned = scores.view(f"u{scores.itemsize}")
    if unsigned.item(unsigned.argmax()) <= MAX_NODE_SCORE:
        return
    outside = (scores < MIN_NODE_SCORE) | (scores > MAX_NODE_SCORE)
    place = int(np.flatnonzero(outside)[0])
    raise PluginError(
        "applying score defaultWeights on Score plugins: "
        f'plugin "{plugin.name}" returns an invalid score {scores[place]} for node '
        f'"{nodes.names()[place]}", it should in the range of '
        f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
    )


def _check_shape(scores: Scores, count: int, method: str) -> None:
    """Raises MalformedError."""
    expect(scores, np.ndarray, method)
    if scores.dtype.kind not in "iu":
        raise MalformedError(f"{method} returned an array of {scores.dtype}, expected integers")
    if scores.shape != (count,):
        raise MalformedError(f"{method} returned {scores.size} scores for {count} nodes")
