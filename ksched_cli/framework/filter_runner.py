"""Runs the Filter plugins over many nodes: the first plugin that rejects a node decides.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunFilterPlugins,
RunFilterPluginsWithNominatedPods, addGENominatedPods).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.row_fork import RowFork
from ksched_cli.cluster.snapshot import Column, Snapshot
from ksched_cli.framework.cache.answer_cache import (
    SCALAR_PATH_MAX,
    AnswerCache,
    CacheEntry,
    shareable,
)
from ksched_cli.framework.cache.filter_cache import FilterCache
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.extensions_runner import ExtensionsRunner
from ksched_cli.framework.interface import FilterPlugin, PreFilterExtensions, Scope
from ksched_cli.framework.node_statuses import StatusColumn
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.nominated_rows import NominatedRows
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.resource_comparison import ComparesResources
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.row_forms import all_pass, row_checks
from ksched_cli.framework.status import SUCCESS, Status

# In a dry run on many nodes at once: by row, the state that AddPod and RemovePod have changed.
OwnStates: TypeAlias = Mapping[int, CycleState]


class FilterRunner(ExtensionsRunner):
    """The Filter plugins of a profile, in order, and its PreFilter extensions."""

    def __init__(
        self,
        plugins: Sequence[FilterPlugin],
        pre_filter_extensions: Sequence[PreFilterExtensions],
        snapshot: Snapshot,
        nominator: Nominator,
        caller: PluginCaller,
        cache: AnswerCache,
    ) -> None:
        super().__init__(pre_filter_extensions, caller)
        self.plugins = tuple(plugins)
        self._snapshot = snapshot
        self._all_nodes = Nodes(snapshot)
        self._nominator = nominator
        self._cache = cache
        # In-tree plugins that may be called node by node.
        self._scalar_plugins = tuple(p for p in self.plugins if caller.has_scalar_filter((p,)))
        self._array_plugins = tuple(p for p in self.plugins if p not in self._scalar_plugins)
        # Those whose answers pods of several shapes may share.
        self._shareable = shareable(self.plugins, caller.foreign)
        self._nominated_rows = NominatedRows(snapshot, nominator)

    # -- many nodes -----------------------------------------------------------------------------

    def passes_by_cache(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry | None
    ) -> bool:
        """Whether all the nodes pass by the cache alone; False leaves it open."""
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

    def cached_rejections(
        self, state: CycleState, pod: PodInfo, entry: CacheEntry | None
    ) -> StatusColumn | None:
        """The statuses of all nodes where they all are rejected, by the cache alone; None leaves it
        open."""
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
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        own_states: OwnStates | None = None,
        entry: CacheEntry | None = None,
    ) -> Verdicts:
        """As `run_filters`, but on a node to which pods of no lower priority are nominated, the pod
        has to fit both with them there and without."""
        verdicts = self.run_filters(state, pod, nodes, own_states, entry)
        if not self._nominator.node_by_uid:
            return verdicts
        fork: RowFork | None = None
        for i, row, nominated in self._nominated_rows.among(nodes, pod):
            if fork is None:
                fork = self._nominated_rows.fork(nodes.snapshot)
            own = state if own_states is None else own_states.get(row, state)
            status = self._with_nominated(own, pod, nominated, fork, row)
            if not status.is_success:
                verdicts.ids[i] = len(verdicts.statuses)
                verdicts.statuses.append(status)
        return verdicts

    def run_filters(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        own_states: OwnStates | None = None,
        entry: CacheEntry | None = None,
    ) -> Verdicts:
        """Each plugin is called only for the nodes that the ones before it let pass.

        own_states: in a dry run, the states to use in place of `state`, by row
        entry:      the cache entry for the pod; only for nodes of the snapshot itself
        """
        if entry is not None:
            cache = self._up_to_date(entry, pod, nodes)
            verdicts = cache.verdicts(nodes)
            if cache.rejected and not cache.is_prefix:
                return self._run_uncached(cache, state, pod, nodes, verdicts)
            return self._run_in_order(cache.uncached, state, pod, nodes, own_states, verdicts)
        plugins, verdicts = self.plugins, Verdicts.passing(len(nodes))
        if len(nodes) < SCALAR_PATH_MAX and self._pass_scalar_plugins(state, pod, nodes):
            plugins = self._array_plugins
        return self._run_in_order(plugins, state, pod, nodes, own_states, verdicts)

    def _run_in_order(
        self,
        plugins: Sequence[FilterPlugin],
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        own_states: OwnStates | None,
        verdicts: Verdicts,
    ) -> Verdicts:
        """The plugins' verdicts of the nodes that pass in `verdicts`, together with those.

        The arrays and lists of `verdicts` are taken over."""
        ids, statuses = verdicts.ids, verdicts.statuses
        passing, indices = nodes, None
        # Whether `passing` is still what the plugins before have left.
        is_current = len(statuses) == 1
        for plugin in plugins:
            if plugin.name in state.skip_filter:
                continue
            if not is_current:
                indices = (ids == 0).nonzero()[0]
                passing = Nodes(nodes.snapshot, nodes.indices()[indices])
                is_current = True
            if not len(passing):
                break
            if own_states and isinstance(plugin, PreFilterExtensions):
                verdicts = self._run_with_own_states(plugin, state, own_states, pod, passing)
            elif plugin.name in self._shareable:
                verdicts = self._shareable_verdicts(plugin, state, pod, passing)
            else:
                verdicts = self._caller.filter_nodes(plugin, state, pod, passing)
            if len(verdicts.statuses) == 1 or not np.count_nonzero(verdicts.ids):
                continue
            if indices is None:
                ids, statuses = verdicts.ids.astype(np.int32), verdicts.statuses
            else:
                offset = len(statuses) - 1
                ids[indices] = np.where(verdicts.ids != 0, verdicts.ids + offset, 0)
                statuses += verdicts.statuses[1:]
            is_current = False
        return Verdicts(ids, statuses)

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

    def _pass_scalar_plugins(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> bool:
        """Whether all the nodes pass the plugins that may be called node by node; False leaves it
        open."""
        skipped = state.skip_filter
        plugins = [plugin for plugin in self._scalar_plugins if plugin.name not in skipped]
        return self._caller.passes_all(plugins, state, pod, nodes)

    def _run_with_own_states(
        self,
        plugin: FilterPlugin,
        state: CycleState,
        states: OwnStates,
        pod: PodInfo,
        nodes: Nodes,
    ) -> Verdicts:
        """Node by node where a node has a state of its own."""
        rows = nodes.indices().tolist()
        answers = [SUCCESS] * len(rows)
        shared = [i for i, row in enumerate(rows) if row not in states]
        if shared:
            selection = Nodes(nodes.snapshot, nodes.indices()[shared])
            verdicts = self._caller.filter_nodes(plugin, state, pod, selection)
            for i, status_id in zip(shared, verdicts.ids.tolist(), strict=True):
                answers[i] = verdicts.statuses[status_id]
        for i, row in enumerate(rows):
            if row in states:
                node = Nodes(nodes.snapshot, np.array([row], dtype=np.intp))
                verdicts = self._caller.filter_nodes(plugin, states[row], pod, node)
                answers[i] = verdicts.statuses[verdicts.ids[0]]
        return Verdicts.of(answers)

    # -- one node -------------------------------------------------------------------------------

    def run_on_node_with_nominated_pods(self, state: CycleState, pod: PodInfo, row: int) -> Status:
        """One node as it stands now, as `run_with_nominated_pods` has it."""
        nominated = self._nominated_rows.pods(row, pod)
        if nominated:
            fork = self._nominated_rows.fork(self._snapshot)
            status = self._with_nominated(state, pod, nominated, fork, row)
            if not status.is_success:
                return status
        return self._run_on_node(state, pod, NodeInfo(self._snapshot, row))

    def _with_nominated(
        self,
        state: CycleState,
        pod: PodInfo,
        nominated: Sequence[PodInfo],
        fork: RowFork,
        row: int,
    ) -> Status:
        """The row's status with the nominated pods on it. fork: is moved there"""
        own = state.clone()
        fork.move_to(row)
        node = NodeInfo(fork, row)
        for other in nominated:
            fork.add(other, row)
            status = self.run_add_pod(own, pod, other, node)
            if not status.is_success:
                return status
        return self._run_on_node(own, pod, node)

    def _run_on_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        verdicts = self.run_filters(state, pod, Nodes.of(node))
        return verdicts.statuses[verdicts.ids[0]]

    # -- the cache ------------------------------------------------------------------------------

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
        """Calls the NODE plugins for every node, once.

        prefix_only: nothing is cached of plugins after the first whose answers are not cacheable
        """
        cache = FilterCache.passing(self._snapshot)
        for position, plugin in enumerate(self.plugins):
            scope = self._caller.scope_for(plugin, pod)
            if scope is Scope.CLUSTER or (prefix_only and cache.uncached):
                cache.add_uncached(position, plugin)
            elif plugin.name in static_state.skip_filter:
                continue
            elif scope is Scope.ROW:
                cache.add_row_plugin(position, plugin)
            else:
                cache.add_static(position, self._node_verdicts(plugin, static_state, pod))
        cache.row_checks = row_checks(
            cache.row_plugins, self._caller.foreign, static_state, pod, self._snapshot
        )
        return cache

    def _node_verdicts(
        self, plugin: FilterPlugin, static_state: CycleState, pod: PodInfo
    ) -> Verdicts:
        """A NODE plugin's verdicts of every node, shared by the pods of one cache key."""
        key = self._caller.cache_key(plugin, pod)
        shared = self._cache.node_verdicts
        if key is not None and (plugin.name, key) in shared:
            return shared[plugin.name, key]
        verdicts = self._caller.filter_nodes(plugin, static_state, pod, Nodes(self._snapshot))
        if key is not None:
            shared[plugin.name, key] = verdicts
        return verdicts

    def _shareable_verdicts(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Verdicts:
        """A NODE plugin's verdicts, from those of every node where other pods with its cache key
        came before."""
        key = self._caller.cache_key(plugin, pod)
        is_own = nodes.snapshot is self._snapshot
        if key is None or not is_own or not self._cache.is_shared((plugin.name, key)):
            return self._caller.filter_nodes(plugin, state, pod, nodes)
        of_all = self._node_verdicts(plugin, state, pod)
        return Verdicts(nodes.gather(of_all.ids), list(of_all.statuses))

    def _refresh(
        self, cache: FilterCache, static_state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        """Calls the ROW plugins for those of the nodes that have changed."""
        stale = cache.renew(nodes)
        if stale is None:
            return
        if all_pass(cache.row_checks, stale) and cache.passes(stale):
            return
        codes = static_codes = stale.gather(cache.static_codes)
        for position, plugin in zip(cache.positions, cache.row_plugins, strict=True):
            verdicts = self._caller.filter_nodes(plugin, static_state, pod, stale)
            if len(verdicts.statuses) > 1:
                codes = np.minimum(codes, cache.encode(position, verdicts))
        if codes is not static_codes or cache.rejected:
            cache.store(stale, codes)

    # -- dry runs -------------------------------------------------------------------------------

    def is_node_local(self, state: CycleState, pod: PodInfo) -> bool:
        """Whether every Filter plugin that takes part answers from the node and its pods alone."""
        return all(
            self._caller.is_cacheable(plugin, pod)
            for plugin in self.plugins
            if plugin.name not in state.skip_filter
        )

    def compared_requests(self, state: CycleState, pod: PodInfo) -> Mapping[str, int] | None:
        """Resource → amount, where pods of lower priority that leave a node or come back to it
        change no answer but that of the plugin that compares these, as far as `concerns` is False
        for the pods. None where they may change another one's."""
        comparing: ComparesResources | None = None
        for plugin in self.plugins:
            is_foreign = plugin.name in self._caller.foreign
            if plugin.name in state.skip_filter:
                continue
            if isinstance(plugin, ComparesResources) and not is_foreign and comparing is None:
                comparing = plugin
            elif self._caller.scope_for(plugin, pod) is not Scope.NODE and (
                is_foreign or not isinstance(plugin, PreFilterExtensions)
            ):
                return None
        return None if comparing is None else comparing.compared_requests(state, pod)

    def run_with_used(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, used: Mapping[str, Column]
    ) -> Verdicts:
        """As `run_filters`, but that the plugin that compares resources is given what the pods of
        the nodes request. Where `compared_requests` is not None. used: see ComparesResources"""
        verdicts, before = Verdicts.passing(len(nodes)), 0
        for position, plugin in enumerate(self.plugins):
            if isinstance(plugin, ComparesResources) and plugin.name not in state.skip_filter:
                earlier = self.plugins[before:position]
                verdicts = self._run_in_order(earlier, state, pod, nodes, None, verdicts)
                before = position + 1
                compared = plugin.compare_nodes(state, pod, nodes, used)
                newly = (verdicts.ids == 0) & (compared.ids != 0)
                verdicts.ids[newly] = compared.ids[newly] + (len(verdicts.statuses) - 1)
                verdicts.statuses += [status.by(plugin.name) for status in compared.statuses[1:]]
        return self._run_in_order(self.plugins[before:], state, pod, nodes, None, verdicts)
