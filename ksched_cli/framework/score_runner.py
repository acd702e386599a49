"""Runs the PreScore, Score and NormalizeScore plugins of a profile, and applies the weights.

What plugins have answered about pods that look the same is not asked again as long as it holds.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cache.answer_cache import AnswerCache, CacheEntry, RowSums, ScorePlan
from ksched_cli.framework.cache.memo import Memo, ScoreMemo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    NormalizeScore,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SKIP, PluginError

# A key is a node's total, and below it, in so many bits, a number that is the larger the earlier
# the node's name: the greatest key is that of the first by name of the nodes with the best total.
TIE_BITS = 21
TIE_MASK = (1 << TIE_BITS) - 1
# The sum of the plugins' weights up to which a key is far from overflowing.
MAX_WEIGHTS = 1 << 32


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
    shift:   by how many bits a total is shifted in a key, see TIE_BITS; 0 where a key is the total
    """

    def __init__(
        self,
        pre_scores: Sequence[PreScorePlugin],
        plugins: Sequence[ScorePlugin],
        weights: Mapping[str, int],
        caller: PluginCaller,
        cache: AnswerCache,
    ) -> None:
        self.pre_scores = tuple(pre_scores)
        self.plugins = tuple(plugins)
        self.weights = dict(weights)
        self._caller = caller
        self._cache = cache
        self._snapshot = snapshot = cache.snapshot
        fits = len(snapshot) <= TIE_MASK and sum(self.weights.values()) <= MAX_WEIGHTS
        self.shift = TIE_BITS if fits else 0
        rows = np.arange(len(snapshot))
        self._ties = Memo(snapshot, TIE_MASK - rows if self.shift else np.zeros_like(rows))

    def run(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> list[PluginScores]:
        """Return each plugin's scores. Raises PluginError where a plugin fails or scores outside 0
        to 100."""
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
        """Return each plugin's scores, of which `before` has the first raw ones.

        scored: the nodes after those whose raw scores are in `before`
        """
        self._pre_score(self.pre_scores, state, pod, nodes)
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

    def _pre_score(
        self, plugins: Sequence[PreScorePlugin], state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        for plugin in plugins:
            status = self._caller.pre_score(plugin, state, pod, nodes)
            if status is SKIP or status.is_skip:
                state.skip_score.add(plugin.name)

    # -- totals, with what is stored ------------------------------------------------------------

    def totals(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry | None = None
    ) -> Scores:
        """Return only the weighted sums of what `run` returns. Raises what `run` raises."""
        if entry is not None:
            return self.keys(state, pod, nodes, entry) >> self.shift
        self._pre_score(self.pre_scores, state, pod, nodes)
        sums = np.zeros(len(nodes), dtype=np.int64)
        others: list[tuple[ScorePlugin, Memo | None]] = []
        row_plugins: dict[ScorePlugin, int] = {}
        for plugin in self.plugins:
            if plugin.name in state.skip_score:
                continue
            key = self._cache.shared_key(plugin, pod, self._caller, is_score=True)
            memo = part = None
            if key is not None and nodes.snapshot is self._snapshot:
                if plugin.scope is Scope.NODE:
                    memo = self._node_memo(plugin, state, pod, key)
                    if memo.has_parts:
                        weigh = partial(self._weighted, plugin, state, pod)
                        part = memo.part(memo.extremes(nodes), weigh)
                elif not isinstance(plugin, NormalizeScore):
                    row_plugins[plugin] = self.weights[plugin.name]
                    continue
            if part is None:
                others.append((plugin, memo))
            else:
                sums += part.gather(nodes)
        if row_plugins:
            row_sums = self._row_sums(row_plugins, state, pod)
            self._refresh(row_sums, state, pod, nodes)
            sums += row_sums.memo.gather(nodes) >> self.shift
        return self._added(sums, others, state, pod, nodes, shift=0)

    def keys(self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry) -> Scores:
        """Return the totals with what decides among equal ones, see TIE_BITS. Do not write to it:
        it may be a part of a column. Raises as `run`; then nothing is stored."""
        # 1. PreScore plugins whose answers are cacheable are called for the first such pod.
        if entry.pre_scores is None:
            cacheable: list[PreScorePlugin] = []
            uncacheable: list[PreScorePlugin] = []
            for plugin in self.pre_scores:
                is_cacheable = self._caller.is_cacheable(plugin, pod)
                (cacheable if is_cacheable else uncacheable).append(plugin)
            self._pre_score(cacheable, entry.static_state, pod, Nodes(self._snapshot))
            entry.pre_scores = tuple(uncacheable)
        state.take(entry.static_state)
        state.skip_score.update(entry.static_state.skip_score)
        self._pre_score(entry.pre_scores, state, pod, nodes)
        plan, entry.scores = entry.scores, None
        if plan is None:
            plan = self._plan(entry, state, pod)
        # 2. The plugins that look at nodes alone are added up once for all rows, until a selection
        # has other extremes.
        keys = self._static(plan, state, pod, nodes).gather(nodes)
        # 3. The sum of those that look at the pods of the node, too, where these have changed.
        if plan.row_sums is not None:
            self._refresh(plan.row_sums, state, pod, nodes)
            keys = keys + plan.row_sums.memo.gather(nodes)
        # 4. The others.
        others = [(p, memo) for p, memo in plan.others if p.name not in state.skip_score]
        keys = self._added(keys, others, state, pod, nodes, self.shift)
        entry.scores = plan
        return keys

    def _static(self, plan: ScorePlan, state: CycleState, pod: PodInfo, nodes: Nodes) -> Memo:
        """Return the keys of all rows by the plugins that look at nodes alone, normalized by the
        extremes of `nodes`."""
        extremes = [memo.extremes(nodes) for memo in plan.parts]
        if plan.static is None or plan.extremes != extremes:
            values = self._ties.values
            for memo, own in zip(plan.parts, extremes, strict=True):
                part = memo.part(own, partial(self._weighted, memo.plugin, state, pod))
                if part is None:
                    # From now on it is normalized in every cycle.
                    plan.parts.remove(memo)
                    plan.others.append((memo.plugin, memo))
                    return self._static(plan, state, pod, nodes)
                values = values + (part.values << self.shift)
            plan.static, plan.extremes = Memo(self._snapshot, values), extremes
        return plan.static

    def _plan(self, entry: CacheEntry, state: CycleState, pod: PodInfo) -> ScorePlan:
        """Call NODE plugins for every node, once. Raises PluginError."""
        plan, caller, snapshot = ScorePlan(), self._caller, self._snapshot
        row_plugins: dict[ScorePlugin, int] = {}
        for plugin in self.plugins:
            if plugin.name in entry.static_state.skip_score:
                continue
            scope = caller.scope_for(plugin, pod)
            if scope is Scope.CLUSTER:
                plan.others.append((plugin, None))
            elif scope is Scope.NODE:
                key = caller.cache_key(plugin, pod)
                memo = self._node_memo(plugin, state, pod, key)
                if memo.has_parts:
                    plan.parts.append(memo)
                else:
                    plan.others.append((plugin, memo))
            elif isinstance(plugin, NormalizeScore):
                plan.others.append((plugin, Memo.empty(snapshot)))
            else:
                row_plugins[plugin] = self.weights[plugin.name]
        if row_plugins:
            plan.row_sums = self._row_sums(row_plugins, state, pod)
        return plan

    def _row_sums(
        self, plugins: Mapping[ScorePlugin, int], state: CycleState, pod: PodInfo
    ) -> RowSums:
        """Return the sum of ROW plugins, which pods of several shapes share where the plugins look
        at the same of them."""
        caller = self._caller
        keys = tuple((plugin.name, caller.cache_key(plugin, pod)) for plugin in plugins)
        is_shared = all(key is not None and name not in caller.foreign for name, key in keys)
        sums = self._cache.row_sums.get(keys) if is_shared else None
        if sums is None:
            scorer = caller.row_scorer(plugins, state, pod, self._snapshot, self.shift)
            sums = RowSums(plugins, scorer, Memo.empty(self._snapshot))
            if is_shared:
                self._cache.row_sums[keys] = sums
        return sums

    def _refresh(self, sums: RowSums, state: CycleState, pod: PodInfo, nodes: Nodes) -> None:
        """Ask the plugins of the sum about those of the nodes that have changed. Raises
        PluginError."""
        # For all nodes, the log says which have changed; in-tree plugins may be given more.
        in_view = Nodes(nodes.snapshot) if sums.scorer and nodes.are_most else nodes
        stale = sums.memo.renew(in_view)
        if not stale:
            return
        if isinstance(stale, list):
            totals = self._caller.row_totals(sums.scorer, self._snapshot, stale)
            if totals is not None:
                sums.memo.store_each(stale, totals)
                return
            stale = Nodes(self._snapshot, np.array(stale, dtype=np.intp))
        try:
            total = np.zeros(len(stale), dtype=np.int64)
            for plugin, weight in sums.plugins.items():
                total += self._raw_scores(plugin, state, pod, stale) * weight
        except PluginError:
            sums.memo.forget()
            raise
        sums.memo.store(stale, total << self.shift)

    def _added(
        self,
        sums: Scores,
        others: Sequence[tuple[ScorePlugin, Memo | None]],
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        shift: int,
    ) -> Scores:
        """Return the sums with the weighted scores of more plugins. Raises PluginError.

        others: each with its stored raw scores
        """
        # As upstream, all score before one is normalized.
        raw: list[Scores] = []
        for plugin, memo in others:
            if memo is None:
                raw.append(self._caller.score_nodes(plugin, state, pod, nodes))
            else:
                self._refresh_raw(memo, plugin, state, pod, nodes)
                raw.append(memo.gather(nodes))
        for (plugin, _), scores in zip(others, raw, strict=True):
            sums = sums + (self._weighted(plugin, state, pod, nodes, scores) << shift)
        return sums

    def _refresh_raw(
        self, memo: Memo, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        """Ask for the raw scores of those of the nodes that have changed. Raises PluginError."""
        stale = memo.renew(nodes)
        if not stale:
            return
        if isinstance(stale, list):
            stale = Nodes(self._snapshot, np.array(stale, dtype=np.intp))
        try:
            memo.store(stale, self._raw_scores(plugin, state, pod, stale))
        except PluginError:
            memo.forget()
            raise

    def _node_memo(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, key: Hashable | None
    ) -> ScoreMemo:
        """Return the raw scores of every node, which pods of several shapes share where there is a
        key. Raises PluginError."""
        shared = self._cache.node_scores
        memo = None if key is None else shared.get((plugin.name, key))
        if memo is None:
            raw = self._raw_scores(plugin, state, pod, Nodes(self._snapshot))
            memo = ScoreMemo(self._snapshot, plugin, raw)
            if key is not None:
                shared[plugin.name, key] = memo
        return memo

    def _weighted(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        """Return the raw scores, normalized and weighted. Raises PluginError."""
        weight = self.weights[plugin.name]
        scores = self._normalized(plugin, state, pod, nodes, raw)
        return scores if weight == 1 else scores * weight

    def _normalized(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        """Return the scores, normalized if the plugin does so. Raises PluginError where a score is
        outside 0 to 100."""
        scores = raw
        if isinstance(plugin, NormalizeScore):
            scores = self._caller.normalize_scores(plugin, state, pod, nodes, raw)
        _check_range(plugin, nodes, scores)
        return scores

    def _raw_scores(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Scores:
        """Return raw scores to be stored; those that nothing normalizes are checked now. Raises
        PluginError."""
        scores = self._caller.score_nodes(plugin, state, pod, nodes)
        if not isinstance(plugin, NormalizeScore):
            _check_range(plugin, nodes, scores)
        return scores


def total(scores: Sequence[PluginScores], count: int) -> Scores:
    """Return the weighted sum per node."""
    totals = np.zeros(count, dtype=np.int64)
    for plugin_scores in scores:
        totals += plugin_scores.weighted
    return totals


def _check_range(plugin: ScorePlugin, nodes: Nodes, scores: Scores) -> None:
    """Check that every score is from 0 to 100. Raises PluginError."""
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
