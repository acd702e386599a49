"""Runs the PreFilter and Filter plugins of a profile. The first plugin that rejects a node decides.

What plugins have answered about pods that look the same is not asked again as long as it holds.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins, RunFilterPlugins,
RunFilterPluginsWithNominatedPods, addGENominatedPods).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import RowFork, Snapshot
from ksched_cli.framework.cache.answer_cache import AnswerCache, CacheEntry, Rejections
from ksched_cli.framework.cache.memo import StaleRows, VerdictMemo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.in_tree_interface import ComparesResources
from ksched_cli.framework.interface import (
    FilterPlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    Scope,
)
from ksched_cli.framework.node_statuses import StatusColumn, no_common_node
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, PreFilterOutcome, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status

PASSES = PreFilterOutcome()


class PreFilterRunner:
    """The PreFilter plugins of a profile, in order."""

    def __init__(
        self,
        plugins: Sequence[PreFilterPlugin],
        snapshot: Snapshot,
        caller: PluginCaller,
        idle_for_resizes: Set[str] = frozenset(),
    ) -> None:
        """Create the runner of the plugins.

        idle_for_resizes: names of plugins that only decide where a pod goes, not whether its node
            has room to resize it
        """
        self.plugins = tuple(plugins)
        self._idle_for_resizes = idle_for_resizes
        self._all_nodes = Nodes(snapshot)
        self._caller = caller

    def run(
        self, state: CycleState, pod: PodInfo, entry: CacheEntry | None = None
    ) -> PreFilterOutcome:
        """Return what the plugins answer together. One whose answers hold for all pods of the entry
        is called for the first of them only."""
        if entry is None:
            return self._run(self.plugins, state, pod)
        if entry.pre_filters is None:
            self._run_cacheable(entry, pod)
            assert entry.pre_filters is not None
        stored = entry.pre_filter_outcome
        if stored is None:
            return self._run(entry.pre_filters, state, pod)
        state.take(entry.static_state)
        state.skip_filter.update(entry.static_state.skip_filter)
        outcome = self._run(entry.pre_filters, state, pod)
        if outcome is PASSES:
            return stored
        if stored is PASSES and outcome.status.is_success:
            return outcome
        # Now it matters which of the others came before: run them all, in order.
        state.clear()
        state.skip_filter.clear()
        return self._run(self.plugins, state, pod)

    def _run_cacheable(self, entry: CacheEntry, pod: PodInfo) -> None:
        """Call the plugins whose answers are cacheable, once; the others are for every cycle."""
        cacheable: list[PreFilterPlugin] = []
        others: list[PreFilterPlugin] = []
        for plugin in self.plugins:
            (cacheable if self._caller.is_cacheable(plugin, pod) else others).append(plugin)
        outcome = self._run(cacheable, entry.static_state, pod)
        # Which nodes a ROW plugin leaves may change with every pod.
        is_cacheable = outcome.status.is_success and not any(
            plugin.name in outcome.narrowed_by
            and self._caller.scope_for(plugin, pod) is not Scope.NODE
            for plugin in cacheable
        )
        entry.pre_filters = tuple(others) if is_cacheable else self.plugins
        entry.pre_filter_outcome = outcome if is_cacheable else None

    def _run(
        self, plugins: Sequence[PreFilterPlugin], state: CycleState, pod: PodInfo
    ) -> PreFilterOutcome:
        """Return what these plugins answer together. After a rejection that preemption might lift,
        the others are called, too, because preemption needs what they prepare."""
        nodes = self._all_nodes
        names: frozenset[str] | None = None
        narrowed: list[str] = []
        rejected: Status | None = None
        for plugin in self._judges(state, plugins) if pod.is_resized else plugins:
            result, status = self._caller.pre_filter(plugin, state, pod, nodes)
            if status is SUCCESS and result is None:
                continue
            if status is SKIP or status.is_skip:
                state.skip_filter.add(plugin.name)
                continue
            # Preemption cannot lift this rejection: no other plugin is asked.
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(status.by(plugin.name))
            if status.is_rejected:
                rejected = status.by(plugin.name)
                continue
            if not status.is_success:
                message = f'running PreFilter plugin "{plugin.name}": {status.message}'
                return PreFilterOutcome(Status.error(message).by(plugin.name))
            # Several plugins may name nodes; only those that all of them name remain.
            if result is not None and result.node_names is not None:
                narrowed.append(plugin.name)
                names = result.node_names if names is None else names & result.node_names
                if not names:
                    return PreFilterOutcome(
                        no_common_node(narrowed), names, tuple(sorted(narrowed))
                    )
        if rejected is None and names is None:
            return PASSES
        return PreFilterOutcome(rejected or SUCCESS, names, tuple(sorted(narrowed)))

    def _judges(
        self, state: CycleState, plugins: Sequence[PreFilterPlugin]
    ) -> Sequence[PreFilterPlugin]:
        """Return the plugins that decide about a resize; the others do not filter either."""
        state.skip_filter |= self._idle_for_resizes
        return [plugin for plugin in plugins if plugin.name not in self._idle_for_resizes]


class NominatedRows:
    """The nominator's nominations as rows of a snapshot."""

    def __init__(self, snapshot: Snapshot, nominator: Nominator) -> None:
        self._snapshot = snapshot
        self._nominator = nominator
        # As of a version of the nominator.
        self._version = -1
        self._mask: Mask = np.zeros(0, dtype=np.bool_)
        self._fork: RowFork | None = None

    def among(self, nodes: Nodes, pod: PodInfo) -> Iterator[tuple[int, int, list[PodInfo]]]:
        """Return the nominated pods that count for `pod` on those of the nodes: index, row,
        pods."""
        if self._version != self._nominator.version:
            self._version = self._nominator.version
            row_of = self._snapshot.row
            self._mask = np.zeros(len(row_of), dtype=np.bool_)
            self._mask[[row_of[name] for name in self._nominator.nodes() if name in row_of]] = True
        indices = nodes.gather(self._mask).nonzero()[0]
        rows = nodes.indices()[indices]
        for index, row in zip(indices.tolist(), rows.tolist(), strict=True):
            pods = self.pods(row, pod)
            if pods:
                yield index, row, pods

    def pods(self, row: int, pod: PodInfo) -> list[PodInfo]:
        """Return the pods that are nominated to the row and that `pod` has to fit beside."""
        return [
            other
            for other in self._nominator.on_node(self._snapshot.names[row])
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def fork(self, snapshot: Snapshot) -> RowFork:
        """Return a RowFork of the snapshot: one that is reused for the snapshot itself, a new one
        for a fork of it.

        snapshot: the runner's snapshot, or a fork of it
        """
        if snapshot is not self._snapshot:
            return RowFork(snapshot)
        if self._fork is None:
            self._fork = RowFork(snapshot)
        return self._fork


class ExtensionsRunner:
    """The PreFilter extensions of a profile, in order."""

    def __init__(
        self, pre_filter_extensions: Sequence[PreFilterExtensions], caller: PluginCaller
    ) -> None:
        self._pre_filter_extensions = tuple(pre_filter_extensions)
        self._caller = caller

    def has_extensions(self, state: CycleState) -> bool:
        """Return whether any plugin implements AddPod and RemovePod."""
        return any(plugin.name not in state.skip_filter for plugin in self._pre_filter_extensions)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether AddPod and RemovePod have to be called for pods that look like `other`."""
        return any(
            plugin.name not in state.skip_filter
            and self._caller.concerns(plugin, state, pod, other)
            for plugin in self._pre_filter_extensions
        )

    def run_add_pod(
        self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo
    ) -> Status:
        """Call AddPod of the plugins whose Filter runs: `added` is now on `node`."""
        return self._run_extension("addPod", state, pod, added, node)

    def run_remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        """Call RemovePod of the plugins whose Filter runs: `removed` has left `node`."""
        return self._run_extension("removePod", state, pod, removed, node)

    def _run_extension(
        self, point: str, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo
    ) -> Status:
        for plugin in self._pre_filter_extensions:
            if plugin.name not in state.skip_filter:
                method = plugin.add_pod if point == "addPod" else plugin.remove_pod
                status = self._caller.status(
                    plugin, point, node.snapshot, method, state, pod, other, node
                )
                if not status.is_success:
                    extension = point[0].upper() + point[1:]
                    failed = f'running {extension} on PreFilter plugin "{plugin.name}"'
                    return Status.error(f"{failed}: {status.message}")
        return SUCCESS


# In a dry run on many nodes at once: by row, the state that AddPod and RemovePod have changed.
OwnStates: TypeAlias = Mapping[int, CycleState]

# Below this many nodes, in-tree plugins are called node by node in their plain form. Only in the
# array form, an attempt on `daemon`, 5,000 nodes, takes 1.42 times the instructions.
SCALAR_PATH_MAX = 6


class FilterRunner(ExtensionsRunner):
    """The Filter plugins of a profile, in order, and its PreFilter extensions.

    What is stored in an entry for pods that look the same is read and brought up to date; without
    an entry, only what pods of several shapes share is. A plugin that fails rejects the nodes.
    """

    def __init__(
        self,
        plugins: Sequence[FilterPlugin],
        pre_filter_extensions: Sequence[PreFilterExtensions],
        nominator: Nominator,
        caller: PluginCaller,
        cache: AnswerCache,
    ) -> None:
        super().__init__(pre_filter_extensions, caller)
        self.plugins = tuple(plugins)
        self._snapshot = snapshot = cache.snapshot
        self._nominator = nominator
        self._cache = cache
        # In-tree plugins that may be called node by node.
        self._scalar_plugins = tuple(p for p in self.plugins if caller.has_scalar_filter((p,)))
        self._array_plugins = tuple(p for p in self.plugins if p not in self._scalar_plugins)
        self._nominated_rows = NominatedRows(snapshot, nominator)

    # -- many nodes -----------------------------------------------------------------------------

    def run_with_nominated_pods(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        own_states: OwnStates | None = None,
        entry: CacheEntry | None = None,
    ) -> Verdicts:
        """Filter as `run_filters`; but on a node to which pods of no lower priority are nominated,
        the pod has to fit beside them, and then without them. Where it does not fit beside them, no
        plugin is asked again, and none notes anything of the node.

        Upstream: RunFilterPluginsWithNominatedPods.
        """
        if not self._nominator.node_by_uid:
            return self.run_filters(state, pod, nodes, own_states, entry)
        fork: RowFork | None = None
        rejected: dict[int, Status] = {}
        for i, row, nominated in self._nominated_rows.among(nodes, pod):
            if fork is None:
                fork = self._nominated_rows.fork(nodes.snapshot)
            own = state if own_states is None else own_states.get(row, state)
            status = self._with_nominated(own, pod, nominated, fork, row)
            if not status.is_success:
                rejected[i] = status
        if not rejected:
            return self.run_filters(state, pod, nodes, own_states, entry)
        is_left = np.ones(len(nodes), dtype=np.bool_)
        is_left[list(rejected)] = False
        ids, statuses = np.zeros(len(nodes), dtype=np.int32), [SUCCESS]
        if len(rejected) < len(nodes):
            left = Nodes(nodes.snapshot, nodes.indices()[is_left])
            verdicts = self.run_filters(state, pod, left, own_states, entry)
            ids[is_left], statuses = verdicts.ids, verdicts.statuses
        for i, status in rejected.items():
            ids[i] = len(statuses)
            statuses.append(status)
        return Verdicts(ids, statuses)

    def run_filters(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        own_states: OwnStates | None = None,
        entry: CacheEntry | None = None,
    ) -> Verdicts:
        """Ask each plugin about the nodes that the ones before it let pass.

        own_states: in a dry run, the states to use in place of `state`, by row
        entry: of pods like this one, where the answers stored for them may be used
        """
        verdicts = Verdicts.passing(len(nodes))
        if entry is not None and nodes.snapshot is self._snapshot:
            filters = self._filters(entry, state, pod)
            return self._run_in_order(filters, state, pod, nodes, verdicts)
        plugins = self.plugins
        if len(nodes) < SCALAR_PATH_MAX:
            status = self._scalar_status(state, pod, nodes.snapshot, nodes.indices().tolist())
            if status is SUCCESS:
                plugins = self._array_plugins
            elif status is not None and self._all_are_scalar(state):
                return Verdicts.of([status])
        return self._run_in_order(_alone(plugins), state, pod, nodes, verdicts, own_states)

    def _run_in_order(
        self,
        filters: Iterable[tuple[FilterPlugin, VerdictMemo | None]],
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        verdicts: Verdicts,
        own_states: OwnStates | None = None,
    ) -> Verdicts:
        """Return the plugins' verdicts of the nodes that pass in `verdicts`, together with those.

        The arrays and lists of `verdicts` are reused.
        """
        ids, statuses = verdicts.ids, verdicts.statuses
        passing, indices = nodes, None
        answer: Verdicts | None
        # Whether `passing` is still what the plugins before have left.
        is_current = len(statuses) == 1
        for plugin, memo in filters:
            if plugin.name in state.skip_filter:
                continue
            if not is_current:
                indices = (ids == 0).nonzero()[0]
                passing = Nodes(nodes.snapshot, nodes.indices()[indices])
                is_current = True
            if not len(passing):
                break
            if own_states and isinstance(plugin, PreFilterExtensions):
                answer = self._run_with_own_states(plugin, state, own_states, pod, passing)
            else:
                answer = self._ask(plugin, memo, state, pod, passing)
            if answer is None or len(answer.statuses) == 1 or not np.count_nonzero(answer.ids):
                continue
            if indices is None:
                ids, statuses = answer.ids.astype(np.int32), answer.statuses
            else:
                offset = len(statuses) - 1
                ids[indices] = np.where(answer.ids != 0, answer.ids + offset, 0)
                statuses += answer.statuses[1:]
            is_current = False
        return Verdicts(ids, statuses)

    # -- what is stored -------------------------------------------------------------------------

    def _ask(
        self,
        plugin: FilterPlugin,
        memo: VerdictMemo | None,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
    ) -> Verdicts | None:
        """Return the verdicts of one plugin, or None where all the nodes pass. Only this asks a
        plugin about many nodes or reads its earlier answers."""
        if memo is None and nodes.snapshot is self._snapshot:
            key = self._cache.shared_key(plugin, pod, self._caller, is_score=False)
            if key is not None and plugin.scope is Scope.ROW:
                memo = self._row_memo(plugin, key)
            elif key is not None:
                memo = self._node_memo(plugin, state, pod, key)
        if memo is None:
            return self._caller.filter_nodes(plugin, state, pod, nodes)
        self._refresh(memo, plugin, state, pod, nodes)
        return memo.verdicts(nodes) if memo.rejected else None

    def _filters(
        self, entry: CacheEntry, state: CycleState, pod: PodInfo
    ) -> Sequence[tuple[FilterPlugin, VerdictMemo | None]]:
        """Return the plugins that may reject pods of the entry, each with its stored answers, or
        with None where it is asked every time."""
        if entry.filters is None:
            filters: list[tuple[FilterPlugin, VerdictMemo | None]] = []
            for plugin in self.plugins:
                scope, memo = self._caller.scope_for(plugin, pod), None
                if scope is Scope.ROW:
                    is_foreign = plugin.name in self._caller.foreign
                    key = None if is_foreign else self._caller.cache_key(plugin, pod)
                    memo = self._row_memo(plugin, key)
                elif scope is Scope.NODE and plugin.name not in state.skip_filter:
                    key = self._caller.cache_key(plugin, pod)
                    memo = self._node_memo(plugin, state, pod, key)
                    if memo is not None and not memo.rejected:
                        continue
                filters.append((plugin, memo))
            entry.filters = filters
        return entry.filters

    def _node_memo(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, key: Hashable | None
    ) -> VerdictMemo | None:
        """Return the NODE answers about every node, which pods of several shapes share where there
        is a key. Return None where the plugin has failed, perhaps on a node that an earlier plugin
        rejects."""
        shared = self._cache.node_verdicts
        memo = None if key is None else shared.get((plugin.name, key))
        if memo is None:
            every = Nodes(self._snapshot)
            memo = VerdictMemo(self._snapshot, None, is_scalar=False)
            memo.store_verdicts(every, self._caller.filter_nodes(plugin, state, pod, every))
            if key is not None:
                shared[plugin.name, key] = memo
        return None if memo.has_error else memo

    def _row_memo(self, plugin: FilterPlugin, key: Hashable | None) -> VerdictMemo:
        """Return the ROW answers, which pods of several shapes share where there is a key."""
        memo = None if key is None else self._cache.row_verdicts.get((plugin.name, key))
        if memo is None:
            is_scalar = self._caller.has_scalar_filter((plugin,))
            stale = StaleRows(self._snapshot)
            memo = VerdictMemo(self._snapshot, stale, is_scalar=is_scalar)
            if key is not None:
                self._cache.row_verdicts[plugin.name, key] = memo
        return memo

    def _refresh(
        self, memo: VerdictMemo, plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> None:
        """Ask about those of the nodes that have changed."""
        stale = memo.renew(nodes)
        if not stale:
            return
        if isinstance(stale, list):
            if memo.is_scalar and memo.passes(stale):
                ask = self._caller.status_of_all
                if ask((plugin,), state, pod, self._snapshot, stale) is SUCCESS:
                    return
            stale = Nodes(self._snapshot, np.array(stale, dtype=np.intp))
        memo.store_verdicts(stale, self._caller.filter_nodes(plugin, state, pod, stale))

    def all_pass(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, entry: CacheEntry | None
    ) -> bool:
        """Return whether all the nodes pass by the stored answers alone; False means
        undetermined."""
        if entry is None or self._nominator.node_by_uid:
            return False
        for plugin, memo in self._filters(entry, state, pod):
            if plugin.name in state.skip_filter:
                continue
            if memo is None or memo.rejected:
                return False
            self._refresh(memo, plugin, state, pod, nodes)
            if memo.rejected:
                return False
        return True

    def rejections(
        self, state: CycleState, pod: PodInfo, entry: CacheEntry | None
    ) -> StatusColumn | None:
        """Return the statuses of all nodes if the stored answers alone reject them all; None means
        undetermined."""
        if entry is None or self._nominator.node_by_uid:
            return None
        stored = self._stored_rejections(state, pod, entry)
        if stored is not None:
            return stored.column
        filters = entry.filters or ()
        if sum(memo.rejected for _, memo in filters if memo) < len(self._snapshot):
            return None
        # The memos are asked in order, each about the nodes that the ones before let pass.
        passing, parts = Nodes(self._snapshot), []
        ids, statuses = np.zeros(len(passing), dtype=np.int32), [SUCCESS]
        for through, (plugin, memo) in enumerate(filters, start=1):
            if plugin.name in state.skip_filter:
                continue
            if memo is None:
                return None
            self._refresh(memo, plugin, state, pod, passing)
            parts.append((plugin, memo, memo.changes, passing))
            if not memo.rejected:
                continue
            if memo.has_error:
                return None
            rows, numbers = passing.indices(), memo.gather(passing)
            is_rejected = numbers != 0
            ids[rows[is_rejected]] = numbers[is_rejected] + (len(statuses) - 1)
            statuses += memo.statuses[1:]
            passing = Nodes(self._snapshot, rows[~is_rejected])
            if not len(passing):
                column = StatusColumn(self._snapshot, ids, statuses)
                entry.rejections = Rejections(column, parts, through)
                return column
        return None

    def _stored_rejections(
        self, state: CycleState, pod: PodInfo, entry: CacheEntry
    ) -> Rejections | None:
        """Return what the last pod was told, where no memo has changed since and no plugin that is
        asked every time stands before one of them."""
        stored, entry.rejections = entry.rejections, None
        if stored is None or entry.filters is None:
            return None
        for plugin, memo, changes, nodes in stored.parts:
            self._refresh(memo, plugin, state, pod, nodes)
            if memo.changes != changes:
                return None
        for plugin, maybe in entry.filters[: stored.through]:
            if maybe is None and plugin.name not in state.skip_filter:
                return None
        entry.rejections = stored
        return stored

    # -- one node -------------------------------------------------------------------------------

    def passes(self, state: CycleState, pod: PodInfo, row: int) -> bool:
        """Return whether a row passes the plugins, all called in their plain form, where no pod is
        nominated; False means undetermined."""
        return (
            not self._nominator.node_by_uid
            and self._all_are_scalar(state)
            and self._scalar_status(state, pod, self._snapshot, (row,)) is SUCCESS
        )

    def _all_are_scalar(self, state: CycleState) -> bool:
        """Return whether all plugins that run may be called node by node."""
        return all(plugin.name in state.skip_filter for plugin in self._array_plugins)

    def _scalar_status(
        self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Sequence[int]
    ) -> Status | None:
        """Return the status by the plugins that may be called node by node; see
        PluginCaller.status_of_all."""
        skipped = state.skip_filter
        plugins = [plugin for plugin in self._scalar_plugins if plugin.name not in skipped]
        return self._caller.status_of_all(plugins, state, pod, snapshot, rows)

    def _run_with_own_states(
        self,
        plugin: FilterPlugin,
        state: CycleState,
        states: OwnStates,
        pod: PodInfo,
        nodes: Nodes,
    ) -> Verdicts:
        """Return a plugin's verdicts, asked node by node where a node has a state of its own."""
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

    def run_on_node_with_nominated_pods(self, state: CycleState, pod: PodInfo, row: int) -> Status:
        """Filter one node as it is now, as `run_with_nominated_pods` does."""
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
        """Return the row's status with the nominated pods on it. fork: is moved there"""
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

    # -- dry runs -------------------------------------------------------------------------------

    def is_node_local(self, state: CycleState, pod: PodInfo) -> bool:
        """Return whether every Filter plugin that runs answers from the node and its pods alone."""
        return all(
            self._caller.is_cacheable(plugin, pod)
            for plugin in self.plugins
            if plugin.name not in state.skip_filter
        )

    def compared_requests(self, state: CycleState, pod: PodInfo) -> Mapping[str, int] | None:
        """Return resource → amount, where pods of lower priority that leave a node or come back to
        it change only the answer of the plugin that compares these amounts, as far as `concerns` is
        False for the pods. Return None where they may change another plugin's."""
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
        return None if comparing is None else self._caller.compared_requests(comparing, state, pod)

    def run_with_requests_of(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, fork: Snapshot
    ) -> Verdicts:
        """Filter as `run_filters`, except that the plugin that compares resources looks at the
        nodes of the fork, where pods have left. Where `compared_requests` is not None."""
        verdicts, before = Verdicts.passing(len(nodes)), 0
        for position, plugin in enumerate(self.plugins):
            if isinstance(plugin, ComparesResources) and plugin.name not in state.skip_filter:
                earlier = self.plugins[before:position]
                verdicts = self._run_in_order(_alone(earlier), state, pod, nodes, verdicts)
                before = position + 1
                without = self._caller.filter_nodes(plugin, state, pod, Nodes(fork, nodes.rows))
                newly = (verdicts.ids == 0) & (without.ids != 0)
                verdicts.ids[newly] = without.ids[newly] + (len(verdicts.statuses) - 1)
                verdicts.statuses += without.statuses[1:]
        return self._run_in_order(_alone(self.plugins[before:]), state, pod, nodes, verdicts)


def _alone(
    plugins: Iterable[FilterPlugin],
) -> Iterator[tuple[FilterPlugin, VerdictMemo | None]]:
    """Return the plugins, of which nothing is stored for pods like this one."""
    return ((plugin, None) for plugin in plugins)
