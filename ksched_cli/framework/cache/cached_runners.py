"""The runners of PreFilter, Filter and Score with a cache around each: a plugin is not asked again
what it has answered about a pod that looks the same, as long as that holds.

The runners themselves know nothing of caches. AnswerCache stores the answers; this module decides
when to read them, when to compute them, and by calls of which plugins.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cache.answer_cache import (
    AnswerCache,
    CacheEntry,
    Extremes,
    FilterCache,
    NodeScores,
    RowFilter,
    ScoreCache,
    shareable,
    shift_of,
)
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.in_tree_interface import ScoresRows
from ksched_cli.framework.interface import (
    FilterPlugin,
    NormalizeScore,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.node_statuses import StatusColumn
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import PreFilterOutcome, Scores, Verdicts
from ksched_cli.framework.runners import PASSES, FilterRunner, PreFilterRunner, ScoreRunner
from ksched_cli.framework.status import SUCCESS, PluginError

# For so many pods that look the same, ROW plugins score all nodes at once, not those in view.
ALL_NODES_MIN = 16


class CachedPreFilters:
    """PreFilter: plugins whose answers hold for all pods of an entry are called for the first."""

    def __init__(self, runner: PreFilterRunner, caller: PluginCaller) -> None:
        self._runner = runner
        self._caller = caller

    def run(self, state: CycleState, pod: PodInfo, entry: CacheEntry | None) -> PreFilterOutcome:
        runner = self._runner
        if entry is None:
            return runner.run(state, pod)
        others = entry.pre_filters
        if others is None:
            others = entry.pre_filters = self._run_cacheable(entry, pod)
        static_outcome = entry.pre_filter_outcome
        if static_outcome is not None:
            state.take(entry.static_state)
            state.skip_filter.update(entry.static_state.skip_filter)
            outcome = runner.run(state, pod, others)
            if outcome is PASSES:
                return static_outcome
            if static_outcome is PASSES and outcome.status.is_success:
                return outcome
            # Now it matters which of the others came before: run them all, in order.
            state.clear()
            state.skip_filter.clear()
        return runner.run(state, pod)

    def _run_cacheable(self, entry: CacheEntry, pod: PodInfo) -> tuple[PreFilterPlugin, ...]:
        """Call the plugins whose answers are cacheable, once; return the others."""
        cacheable: list[PreFilterPlugin] = []
        others: list[PreFilterPlugin] = []
        for plugin in self._runner.plugins:
            (cacheable if self._caller.is_cacheable(plugin, pod) else others).append(plugin)
        outcome = self._runner.run(entry.static_state, pod, cacheable)
        # Which nodes a ROW plugin leaves may change with every pod.
        is_cacheable = outcome.status.is_success and not any(
            plugin.name in outcome.narrowed_by
            and self._caller.scope_for(plugin, pod) is not Scope.NODE
            for plugin in cacheable
        )
        entry.pre_filter_outcome = outcome if is_cacheable else None
        return tuple(others)


class SharedAnswers:
    """Answers of NODE plugins about every node, which pods of several shapes share."""

    def __init__(self, caller: PluginCaller, cache: AnswerCache) -> None:
        self._caller = caller
        self._cache = cache
        self._snapshot = cache.snapshot
        self._shareable: dict[str, bool] = {}

    def filter_nodes(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Verdicts:
        """As the caller's; from the verdicts of every node where other pods with the plugin's cache
        key came before."""
        if not self._is_shareable(plugin) or nodes.snapshot is not self._snapshot:
            return self._caller.filter_nodes(plugin, state, pod, nodes)
        key = self._caller.cache_key(plugin, pod)
        if key is None or not self._cache.is_shared((plugin.name, key)):
            return self._caller.filter_nodes(plugin, state, pod, nodes)
        of_all = self.verdicts(plugin, state, pod, key)
        return Verdicts(nodes.gather(of_all.ids), list(of_all.statuses))

    def _is_shareable(self, plugin: Plugin) -> bool:
        is_shareable = self._shareable.get(plugin.name)
        if is_shareable is None:
            is_shareable = self._shareable[plugin.name] = shareable(plugin, self._caller.foreign)
        return is_shareable

    def verdicts(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, key: Hashable
    ) -> Verdicts:
        """Verdicts about every node. key: the plugin's cache_key"""
        shared = self._cache.node_verdicts
        if key is not None and (plugin.name, key) in shared:
            return shared[plugin.name, key]
        verdicts = self._caller.filter_nodes(plugin, state, pod, Nodes(self._snapshot))
        if key is not None:
            shared[plugin.name, key] = verdicts
        return verdicts

    def scores_to_share(
        self, runner: ScoreRunner, plugin: ScorePlugin, state: CycleState, pod: PodInfo
    ) -> NodeScores | None:
        """Return scores as `scores` does; None where other pods do not share them. Raises
        PluginError."""
        if not self._is_shareable(plugin):
            return None
        key = self._caller.cache_key(plugin, pod)
        if key is None or not self._cache.is_shared((plugin.name, key)):
            return None
        return self.scores(runner, plugin, state, pod, key)

    def scores(
        self,
        runner: ScoreRunner,
        plugin: ScorePlugin,
        state: CycleState,
        pod: PodInfo,
        key: Hashable,
    ) -> NodeScores:
        """Raw scores of every node. key: the plugin's cache_key. Raises PluginError."""
        shared = self._cache.node_scores
        if key is not None and (plugin.name, key) in shared:
            return shared[plugin.name, key]
        raw = runner.raw_scores(plugin, state, pod, Nodes(self._snapshot))
        scores = NodeScores(plugin, raw, self._snapshot.order)
        if key is not None:
            shared[plugin.name, key] = scores
        return scores


class CachedFilters:
    """Filter: per entry, the verdicts of all nodes, redone for the nodes that pods came to or left.

    Raises nothing: a plugin that fails rejects the nodes.
    """

    def __init__(
        self,
        runner: FilterRunner,
        nominator: Nominator,
        caller: PluginCaller,
        shared: SharedAnswers,
        cache: AnswerCache,
    ) -> None:
        self.plugins = runner.plugins
        self._runner = runner
        self._nominator = nominator
        self._caller = caller
        self._shared = shared
        self._snapshot = cache.snapshot
        self._all_nodes = Nodes(cache.snapshot)

    def passes(self, state: CycleState, pod: PodInfo, row: int, entry: CacheEntry | None) -> bool:
        """Whether one node passes, in the shortest way; False means undetermined."""
        if self._nominator.node_by_uid:
            return False
        if entry is None:
            return self._runner.passes(state, pod, row)
        rows = entry.row_filter
        if rows is None:
            rows = entry.row_filter = self._row_filter(entry.static_state, pod)
        if not rows.uncached <= state.skip_filter:
            return False
        ask, static_state, snapshot = self._caller.status_of_all, entry.static_state, self._snapshot
        if row not in rows.passing:
            if ask(rows.node_plugins, static_state, pod, snapshot, (row,)) is not SUCCESS:
                return False
            rows.passing.add(row)
        return ask(rows.row_plugins, static_state, pod, snapshot, (row,)) is SUCCESS

    def _row_filter(self, static_state: CycleState, pod: PodInfo) -> RowFilter:
        by_scope: dict[Scope, list[FilterPlugin]] = {scope: [] for scope in Scope}
        for plugin in self._runner.plugins:
            if plugin.name not in static_state.skip_filter:
                by_scope[self._caller.scope_for(plugin, pod)].append(plugin)
        node_plugins, row_plugins = by_scope[Scope.NODE], by_scope[Scope.ROW]
        others = by_scope[Scope.CLUSTER]
        for plugins in (node_plugins, row_plugins):
            if not self._caller.has_scalar_filter(plugins):
                others += plugins
        names = frozenset(plugin.name for plugin in others)
        return RowFilter(tuple(node_plugins), tuple(row_plugins), names)

    def all_pass(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry | None
    ) -> bool:
        """Whether all the nodes pass by the cache alone; False means undetermined."""
        if entry is None or self._nominator.node_by_uid:
            return False
        cache = entry.filter
        if cache is None or cache.rejected:
            return False
        for plugin in cache.uncached:
            if plugin.name not in state.skip_filter:
                return False
        self._refresh(cache, entry.static_state, pod, nodes)
        return not cache.rejected

    def rejections(
        self, state: CycleState, pod: PodInfo, entry: CacheEntry | None
    ) -> StatusColumn | None:
        """The statuses of all nodes where they all are rejected, by the cache alone; None where
        that is undetermined."""
        if entry is None or self._nominator.node_by_uid:
            return None
        cache = entry.filter
        if cache is None or not cache.rejects_all:
            return None
        self._refresh(cache, entry.static_state, pod, self._all_nodes)
        if not cache.rejects_all:
            return None
        if not cache.is_prefix:
            last = cache.rejecting_positions(self._all_nodes).max()
            for position, plugin in zip(cache.uncached_positions, cache.uncached, strict=True):
                if position < last and plugin.name not in state.skip_filter:
                    return None
        return cache.column_of_all()

    def run_with_nominated_pods(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry | None
    ) -> Verdicts:
        """See FilterRunner."""
        runner = self._runner

        def run(left: Nodes) -> Verdicts:
            if entry is None:
                return runner.run_filters(state, pod, left)
            return self._run_filters(state, pod, left, entry)

        if not self._nominator.node_by_uid:
            return run(nodes)
        return runner.beside_nominated_pods(run, state, pod, nodes)

    def _run_filters(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry
    ) -> Verdicts:
        cache = self._up_to_date(entry, pod, nodes)
        verdicts = cache.verdicts(nodes)
        if cache.rejected and not cache.is_prefix:
            return self._run_uncached(cache, state, pod, nodes, verdicts)
        return self._runner.run_in_order(cache.uncached, state, pod, nodes, verdicts)

    def _run_uncached(
        self, cache: FilterCache, state: CycleState, pod: PodInfo, nodes: Nodes, verdicts: Verdicts
    ) -> Verdicts:
        """The cached verdicts, together with those of the plugins between and after the cached
        ones: each is called for the nodes that no plugin before it rejects."""
        ids, statuses = verdicts.ids, verdicts.statuses
        positions = cache.rejecting_positions(nodes)
        for position, plugin in zip(cache.uncached_positions, cache.uncached, strict=True):
            indices = (positions > position).nonzero()[0]
            if not len(indices) or plugin.name in state.skip_filter:
                continue
            selection = Nodes(nodes.snapshot, nodes.indices()[indices])
            answer = self._caller.filter_nodes(plugin, state, pod, selection)
            rejected = answer.ids.nonzero()[0]
            ids[indices[rejected]] = answer.ids[rejected] + (len(statuses) - 1)
            statuses += answer.statuses[1:]
            positions[indices[rejected]] = position
        return Verdicts(ids, statuses)

    def _up_to_date(self, entry: CacheEntry, pod: PodInfo, nodes: Nodes) -> FilterCache:
        """The cached verdicts, up to date for the nodes."""
        cache = entry.filter
        if cache is None:
            cache = entry.filter = self._build_cache(entry.static_state, pod)
        self._refresh(cache, entry.static_state, pod, nodes)
        if cache.has_error and not cache.is_prefix:
            # A plugin may have failed on a node that one of the uncached ones before it rejects.
            cache = entry.filter = self._build_cache(entry.static_state, pod, prefix_only=True)
            self._refresh(cache, entry.static_state, pod, nodes)
        return cache

    def _build_cache(
        self, static_state: CycleState, pod: PodInfo, *, prefix_only: bool = False
    ) -> FilterCache:
        """Call the NODE plugins for every node, once.

        prefix_only: nothing is cached of plugins after the first whose answers are not cacheable
        """
        cache = FilterCache.passing(self._snapshot)
        for position, plugin in enumerate(self._runner.plugins):
            scope = self._caller.scope_for(plugin, pod)
            if scope is Scope.CLUSTER or (prefix_only and cache.uncached):
                cache.add_uncached(position, plugin)
            elif plugin.name in static_state.skip_filter:
                continue
            elif scope is Scope.ROW:
                cache.add_row_plugin(position, plugin)
            else:
                key = self._caller.cache_key(plugin, pod)
                verdicts = self._shared.verdicts(plugin, static_state, pod, key)
                cache.add_static(position, verdicts)
        cache.has_scalar_rows = self._caller.has_scalar_filter(cache.row_plugins)
        return cache

    def _refresh(
        self, cache: FilterCache, static_state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        """Calls the ROW plugins for those of the nodes that have changed."""
        stale = cache.renew(nodes)
        if not stale:
            return
        if isinstance(stale, list):
            if cache.has_scalar_rows and cache.passes(stale):
                ask, snapshot = self._caller.status_of_all, self._snapshot
                if ask(cache.row_plugins, static_state, pod, snapshot, stale) is SUCCESS:
                    return
            stale = Nodes(self._snapshot, np.array(stale, dtype=np.intp))
        codes = static_codes = stale.gather(cache.static_codes)
        for position, plugin in zip(cache.positions, cache.row_plugins, strict=True):
            verdicts = self._caller.filter_nodes(plugin, static_state, pod, stale)
            if len(verdicts.statuses) > 1:
                codes = np.minimum(codes, cache.encode(position, verdicts))
        if codes is not static_codes or cache.rejected:
            cache.store(stale, codes)


class CachedScores:
    """Score: per entry, the weighted sum of all nodes, redone for the nodes that pods came to or
    left.

    shift: see ScoreCache
    """

    def __init__(
        self, runner: ScoreRunner, caller: PluginCaller, shared: SharedAnswers, cache: AnswerCache
    ) -> None:
        self._runner = runner
        self._caller = caller
        self._shared = shared
        self._cache = cache
        self._snapshot = cache.snapshot
        self.shift = shift_of(cache.snapshot, runner.weights.values())

    def totals(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry | None
    ) -> Scores:
        """The weighted sums alone, as ScoreRunner.run has them. Raises as it."""
        if entry is None:
            return self._totals_without_entry(state, pod, nodes)
        return self.keys(state, pod, nodes, entry) >> self.shift

    def keys(self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry) -> Scores:
        """The totals with what decides among equal ones, see TIE_BITS; `shift` is 0 where they are
        the totals alone. Raises as ScoreRunner.run."""
        if entry.pre_scores is None:
            entry.pre_scores = self._run_cacheable_pre_scores(entry.static_state, pod)
        state.take(entry.static_state)
        state.skip_score.update(entry.static_state.skip_score)
        self._runner.pre_score(entry.pre_scores, state, pod, nodes)
        cache = self._up_to_date(entry, pod, nodes)
        keys = cache.keys(nodes)
        for plugin in cache.normalized_plugins:
            raw = nodes.gather(cache.raw[plugin.name])
            keys = keys + (self._runner.weighted(plugin, state, pod, nodes, raw) << self.shift)
        for plugin in cache.uncached:
            if plugin.name not in state.skip_score:
                raw = self._caller.score_nodes(plugin, state, pod, nodes)
                keys = keys + (self._runner.weighted(plugin, state, pod, nodes, raw) << self.shift)
        return keys

    def _totals_without_entry(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Totals of a pod that no other looks like: only what pods of other shapes share is cached.
        Raises PluginError."""
        self._runner.pre_score(self._runner.pre_scores, state, pod, nodes)
        is_own = nodes.snapshot is self._snapshot
        # Where most nodes are left, columns of all are added up and what counts of them is gathered
        # once: that way, `unique`, 5,000 nodes, all scored, takes 0.95 times the instructions.
        in_view = Nodes(nodes.snapshot) if is_own and nodes.are_most else nodes
        sums = np.zeros(len(in_view), dtype=np.int64)
        others = [
            plugin
            for plugin in self._runner.plugins
            if plugin.name not in state.skip_score
            and not (is_own and self._add_shared(sums, plugin, state, pod, nodes, in_view))
            and not self._add_rows(sums, plugin, state, pod, in_view)
        ]
        if in_view is not nodes:
            sums = nodes.gather(sums)
        raw = [self._caller.score_nodes(plugin, state, pod, nodes) for plugin in others]
        for plugin, scores in zip(others, raw, strict=True):
            sums += self._runner.weighted(plugin, state, pod, nodes, scores)
        return sums

    def _add_rows(
        self, sums: Scores, plugin: ScorePlugin, state: CycleState, pod: PodInfo, in_view: Nodes
    ) -> bool:
        """Adds the weighted scores of an in-tree plugin that scores rows; whether it is one, and
        did not fail, perhaps because of a node that is not among those left."""
        is_foreign = plugin.name in self._caller.foreign
        if is_foreign or isinstance(plugin, NormalizeScore) or not isinstance(plugin, ScoresRows):
            return False
        try:
            raw = self._caller.score_nodes(plugin, state, pod, in_view)
            sums += self._runner.weighted(plugin, state, pod, in_view, raw)
        except PluginError:
            return False
        return True

    def _add_shared(
        self,
        sums: Scores,
        plugin: ScorePlugin,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        in_view: Nodes,
    ) -> bool:
        """Adds a NODE plugin's weighted scores to the sums, where pods with its cache key share
        them; whether they do. nodes: by which they are normalized; in_view: those of the sums.
        Raises PluginError."""
        scores = self._shared.scores_to_share(self._runner, plugin, state, pod)
        if scores is None:
            return False
        if isinstance(plugin, NormalizeScore):
            part = None
            if plugin.normalizes_by_min_max:
                part = self._part(scores, scores.extremes(nodes), state, pod)
            if part is None:
                return False
            sums += in_view.gather(part)
        elif scores.lowest or scores.highest:
            sums += in_view.gather(scores.raw) * self._runner.weights[plugin.name]
        return True

    def _run_cacheable_pre_scores(
        self, static_state: CycleState, pod: PodInfo
    ) -> tuple[PreScorePlugin, ...]:
        """Call the PreScore plugins whose answers are cacheable, once; return the others."""
        cacheable: list[PreScorePlugin] = []
        others: list[PreScorePlugin] = []
        for plugin in self._runner.pre_scores:
            (cacheable if self._caller.is_cacheable(plugin, pod) else others).append(plugin)
        self._runner.pre_score(cacheable, static_state, pod, Nodes(self._snapshot))
        return tuple(others)

    def _up_to_date(self, entry: CacheEntry, pod: PodInfo, nodes: Nodes) -> ScoreCache:
        """The cached scores, up to date for the nodes. Raises PluginError; nothing is cached
        then."""
        cache, entry.score = entry.score, None
        if cache is None:
            cache = self._build_cache(entry.static_state, pod)
            if cache.row_scorer and entry.pod_count >= ALL_NODES_MIN:
                self._refresh_rows(cache, entry.static_state, pod, Nodes(nodes.snapshot))
        self._refresh(cache, entry.static_state, pod, nodes)
        entry.score = cache
        return cache

    def _build_cache(self, static_state: CycleState, pod: PodInfo) -> ScoreCache:
        """Calls the NODE plugins for every node, once. Raises PluginError."""
        cache = ScoreCache.zeros(self._snapshot, self.shift)
        for plugin in self._runner.plugins:
            if plugin.name in static_state.skip_score:
                continue
            scope = self._caller.scope_for(plugin, pod)
            if scope is Scope.CLUSTER:
                cache.uncached.append(plugin)
            elif scope is Scope.ROW:
                cache.add_row_plugin(plugin, self._runner.weights[plugin.name])
            else:
                key = self._caller.cache_key(plugin, pod)
                scores = self._shared.scores(self._runner, plugin, static_state, pod, key)
                cache.add_node_plugin(plugin, self._runner.weights[plugin.name], scores)
        plugins = cache.row_plugins
        if not cache.raw_row_plugins:
            cache.row_scorer = self._caller.row_scorer(
                plugins, static_state, pod, cache.snapshot, cache.shift
            )
        if cache.row_scorer and cache.row_sums is not None:
            keys = [(plugin.name, self._caller.cache_key(plugin, pod)) for plugin in plugins]
            if all(key is not None for _, key in keys):
                shared = self._cache.row_sums
                cache.row_sums = shared.setdefault(tuple(keys), cache.row_sums)
        return cache

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
            # For all nodes, the log says which have changed; in-tree plugins may be given more.
            in_view = Nodes(nodes.snapshot) if cache.row_scorer and nodes.are_most else nodes
            self._refresh_rows(cache, static_state, pod, in_view)

    def _refresh_rows(
        self, cache: ScoreCache, static_state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        """Calls the ROW plugins for those of the nodes that have changed. Raises PluginError."""
        row_sums = cache.row_sums
        stale = row_sums.stale.renew(nodes) if row_sums is not None else ()
        if row_sums is None or not stale:
            return
        if isinstance(stale, list):
            totals = self._caller.row_totals(cache.row_scorer, self._snapshot, stale)
            if totals is not None:
                row_sums.store(stale, totals)
                return
            stale = Nodes(self._snapshot, np.array(stale, dtype=np.intp))
        rows = slice(None) if stale.rows is None else stale.rows
        try:
            sums: Scores | None = None
            for plugin, weight in cache.row_plugins.items():
                scores = self._runner.raw_scores(plugin, static_state, pod, stale)
                part = scores if weight == 1 else scores * weight
                sums = part if sums is None else sums + part
            if sums is not None:
                row_sums.store_all(stale, sums << cache.shift)
            for plugin in cache.raw_row_plugins:
                scores = self._runner.raw_scores(plugin, static_state, pod, stale)
                cache.raw[plugin.name][rows] = scores
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
        nodes, raw = Nodes(self._snapshot), scores.raw.clip(*extremes)
        try:
            part = self._runner.weighted(scores.plugin, static_state, pod, nodes, raw)
        except PluginError:
            part = None
        scores.store_part(extremes, part)
        return part
