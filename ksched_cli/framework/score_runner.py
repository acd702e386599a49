"""Runs PreScore, Score and NormalizeScore over the feasible nodes, and applies the weights.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cache.answer_cache import (
    AnswerCache,
    CacheEntry,
    shareable,
)
from ksched_cli.framework.cache.score_cache import Extremes, NodeScores, ScoreCache, shift_of
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
from ksched_cli.framework.row_forms import row_scorers
from ksched_cli.framework.status import SKIP, PluginError

# Below this many nodes, the array forms of the ROW plugins cost more than those for one node.
SCALAR_SCORES_MAX = 12

# For so many pods that look the same, ROW plugins score all nodes at once, not those in view.
ALL_NODES_MIN = 16


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
        cache: AnswerCache,
    ) -> None:
        self.pre_scores = tuple(pre_scores)
        self.plugins = tuple(plugins)
        self.weights = dict(weights)
        self._caller = caller
        self._cache = cache
        # See ScoreCache.
        self.shift = shift_of(cache.snapshot, self.weights.values())
        # Those whose scores pods of several shapes may share.
        self._shareable = shareable(self.plugins, caller.foreign)

    def run(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> list[PluginScores]:
        """Raises PluginError where a plugin fails or scores outside 0 to 100."""
        self._pre_score(self.pre_scores, state, pod, nodes)
        plugins = [plugin for plugin in self.plugins if plugin.name not in state.skip_score]
        raw = [self._caller.score_nodes(plugin, state, pod, nodes) for plugin in plugins]
        scores = []
        for plugin, plugin_raw in zip(plugins, raw, strict=True):
            normalized = self._normalized(plugin, state, pod, nodes, plugin_raw)
            weight = self.weights[plugin.name]
            scores.append(PluginScores(plugin.name, weight, plugin_raw, normalized))
        return scores

    def totals(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry | None = None
    ) -> Scores:
        """The weighted sums alone, as `run` has them. Raises as `run`."""
        if entry is None:
            return self._totals_without_entry(state, pod, nodes)
        return self.keys(state, pod, nodes, entry) >> self.shift

    def keys(self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry) -> Scores:
        """The totals with what decides among equal ones, see TIE_BITS; `shift` is 0 where they are
        the totals alone. Raises as `run`."""
        if entry.pre_scores is None:
            entry.pre_scores = self._run_cacheable_pre_scores(entry.static_state, pod)
        state.data.update(entry.static_state.data)
        state.skip_score.update(entry.static_state.skip_score)
        self._pre_score(entry.pre_scores, state, pod, nodes)
        cache = self._up_to_date(entry, pod, nodes)
        keys = cache.keys(nodes)
        for plugin in cache.normalized_plugins:
            raw = nodes.gather(cache.raw[plugin.name])
            keys = keys + (self._weighted(plugin, state, pod, nodes, raw) << self.shift)
        for plugin in cache.uncached:
            if plugin.name not in state.skip_score:
                raw = self._caller.score_nodes(plugin, state, pod, nodes)
                keys = keys + (self._weighted(plugin, state, pod, nodes, raw) << self.shift)
        return keys

    def _totals_without_entry(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Of a pod that no other looks like: nothing is cached but what pods of other shapes share.
        Raises PluginError."""
        self._pre_score(self.pre_scores, state, pod, nodes)
        sums = np.zeros(len(nodes), dtype=np.int64)
        others = [
            plugin
            for plugin in self.plugins
            if plugin.name not in state.skip_score
            and not self._add_shared(sums, plugin, state, pod, nodes)
        ]
        raw = [self._caller.score_nodes(plugin, state, pod, nodes) for plugin in others]
        for plugin, scores in zip(others, raw, strict=True):
            sums += self._weighted(plugin, state, pod, nodes, scores)
        return sums

    def _add_shared(
        self, sums: Scores, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> bool:
        """Adds a NODE plugin's weighted scores to the sums, where pods with its cache key share
        them; whether they do. Raises PluginError."""
        if plugin.name not in self._shareable:
            return False
        key = self._caller.cache_key(plugin, pod)
        is_own = nodes.snapshot is self._cache.snapshot
        if key is None or not is_own or not self._cache.is_shared((plugin.name, key)):
            return False
        scores = self._node_scores(plugin, state, pod)
        if isinstance(plugin, NormalizeScore):
            part = None
            if plugin.normalizes_by_min_max:
                part = self._part(scores, scores.extremes(nodes), state, pod)
            if part is None:
                return False
            sums += nodes.gather(part)
        elif scores.lowest or scores.highest:
            sums += nodes.gather(scores.raw) * self.weights[plugin.name]
        return True

    def _pre_score(
        self, plugins: Sequence[PreScorePlugin], state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        for plugin in plugins:
            status = self._caller.pre_score(plugin, state, pod, nodes)
            if status is SKIP or status.is_skip:
                state.skip_score.add(plugin.name)

    def _weighted(
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

    # -- the cache ------------------------------------------------------------------------------

    def _run_cacheable_pre_scores(
        self, static_state: CycleState, pod: PodInfo
    ) -> tuple[PreScorePlugin, ...]:
        """Calls the PreScore plugins whose answers are cacheable, once; returns the others."""
        cacheable: list[PreScorePlugin] = []
        others: list[PreScorePlugin] = []
        for plugin in self.pre_scores:
            (cacheable if self._caller.is_cacheable(plugin, pod) else others).append(plugin)
        self._pre_score(cacheable, static_state, pod, Nodes(self._cache.snapshot))
        return tuple(others)

    def _up_to_date(self, entry: CacheEntry, pod: PodInfo, nodes: Nodes) -> ScoreCache:
        """The cached scores, up to date for the nodes. Raises PluginError; nothing is cached
        then."""
        cache, entry.score = entry.score, None
        if cache is None:
            cache = self._build_cache(entry.static_state, pod)
            if cache.row_scorers and entry.pod_count >= ALL_NODES_MIN:
                self._refresh_rows(cache, entry.static_state, pod, Nodes(nodes.snapshot))
        self._refresh(cache, entry.static_state, pod, nodes)
        entry.score = cache
        return cache

    def _build_cache(self, static_state: CycleState, pod: PodInfo) -> ScoreCache:
        """Calls the NODE plugins for every node, once. Raises PluginError."""
        cache = ScoreCache.zeros(self._cache.snapshot, self.shift)
        for plugin in self.plugins:
            if plugin.name in static_state.skip_score:
                continue
            scope = self._caller.scope_for(plugin, pod)
            if scope is Scope.CLUSTER:
                cache.uncached.append(plugin)
            elif scope is Scope.ROW:
                cache.add_row_plugin(plugin, self.weights[plugin.name])
            else:
                scores = self._node_scores(plugin, static_state, pod)
                cache.add_node_plugin(plugin, self.weights[plugin.name], scores)
        plugins = cache.row_plugins
        if not cache.raw_row_plugins:
            cache.row_scorers = row_scorers(
                plugins, self._caller.foreign, static_state, pod, cache.snapshot
            )
        if cache.row_scorers and cache.row_sums is not None:
            keys = [(plugin.name, self._caller.cache_key(plugin, pod)) for plugin in plugins]
            if all(key is not None for _, key in keys):
                shared = self._cache.row_sums
                cache.row_sums = shared.setdefault(tuple(keys), cache.row_sums)
        return cache

    def _node_scores(
        self, plugin: ScorePlugin, static_state: CycleState, pod: PodInfo
    ) -> NodeScores:
        """A NODE plugin's raw scores of every node, shared by the pods of one cache key."""
        key = self._caller.cache_key(plugin, pod)
        shared, snapshot = self._cache.node_scores, self._cache.snapshot
        if key is not None and (plugin.name, key) in shared:
            return shared[plugin.name, key]
        raw = self._raw_scores(plugin, static_state, pod, Nodes(snapshot))
        scores = NodeScores(plugin, raw, snapshot.order)
        if key is not None:
            shared[plugin.name, key] = scores
        return scores

    def _raw_scores(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Scores:
        """Raw scores to be cached; those that nothing normalizes are checked now. Raises
        PluginError."""
        scores = self._caller.score_nodes(plugin, state, pod, nodes)
        if not isinstance(plugin, NormalizeScore):
            _check_range(plugin, nodes, scores)
        return scores

    def _refresh(
        self, cache: ScoreCache, static_state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        """Normalizes by the extremes of the nodes, and brings their sums up to date. Raises
        PluginError."""
        for normalized in tuple(cache.normalized_parts):
            extremes = normalized.scores.extremes(nodes)
            if extremes != normalized.extremes:
                part = self._part(normalized.scores, extremes, static_state, pod)
                cache.replace_part(normalized, extremes, part)
        if cache.row_sums is not None:
            # Of all nodes, the log says which have changed; in-tree plugins do not mind more.
            in_view = Nodes(nodes.snapshot) if cache.row_scorers and nodes.are_most else nodes
            self._refresh_rows(cache, static_state, pod, in_view)

    def _refresh_rows(
        self, cache: ScoreCache, static_state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        """Calls the ROW plugins for those of the nodes that have changed. Raises PluginError."""
        row_sums = cache.row_sums
        stale = None if row_sums is None else row_sums.stale.renew(nodes)
        if row_sums is None or stale is None:
            return
        if cache.row_scorers and len(stale) < SCALAR_SCORES_MAX and _add_up(cache, stale):
            return
        rows = slice(None) if stale.rows is None else stale.rows
        try:
            sums: Scores | None = None
            for plugin, weight in cache.row_plugins.items():
                scores = self._raw_scores(plugin, static_state, pod, stale)
                part = scores if weight == 1 else scores * weight
                sums = part if sums is None else sums + part
            if sums is not None:
                row_sums.store_all(stale, sums << cache.shift)
            for plugin in cache.raw_row_plugins:
                cache.raw[plugin.name][rows] = self._raw_scores(plugin, static_state, pod, stale)
        except PluginError:
            row_sums.forget()
            raise

    def _part(
        self, scores: NodeScores, extremes: Extremes, static_state: CycleState, pod: PodInfo
    ) -> Scores | None:
        """The weighted normalized scores of all nodes, where `extremes` are those of the nodes in
        view: the others' raw scores are brought within these. None where the plugin fails, perhaps
        because of a node that is not in view."""
        if scores.has_part(extremes):
            return scores.part(extremes)
        nodes, raw = Nodes(self._cache.snapshot), scores.raw.clip(*extremes)
        try:
            part = self._weighted(scores.plugin, static_state, pod, nodes, raw)
        except PluginError:
            part = None
        scores.store_part(extremes, part)
        return part


def _add_up(cache: ScoreCache, nodes: Nodes) -> bool:
    """Stores the sums of the nodes, computed one by one; False leaves it open."""
    snapshot, row_sums = nodes.snapshot, cache.row_sums
    if snapshot.huge or row_sums is None:
        return False
    capacity, scorers = snapshot.capacity_by_row, cache.row_scorers
    rows = nodes.indices().tolist()
    for row, usage in zip(rows, snapshot.rows_usage(rows), strict=True):
        weighted = 0
        for score_row, weight in scorers:
            score = score_row(usage, capacity[row])
            if not MIN_NODE_SCORE <= score <= MAX_NODE_SCORE:
                return False
            weighted += score * weight
        row_sums.store(row, weighted << cache.shift)
    return True


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
