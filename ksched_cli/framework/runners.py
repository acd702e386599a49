"""Runs the PreFilter, Filter, PreScore, Score and NormalizeScore plugins of a profile, and applies
the weights. The first plugin that rejects a node decides.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins, RunFilterPlugins,
RunFilterPluginsWithNominatedPods, addGENominatedPods, RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import RowFork, Snapshot
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.in_tree_interface import ComparesResources
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    FilterPlugin,
    NormalizeScore,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.node_statuses import no_common_node
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, PreFilterOutcome, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Code, PluginError, Status

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
        """idle_for_resizes: names of plugins that only decide where a pod goes, not whether its
        node has room to resize it"""
        self.plugins = tuple(plugins)
        self._idle_for_resizes = idle_for_resizes
        self._all_nodes = Nodes(snapshot)
        self._caller = caller

    def run(
        self, state: CycleState, pod: PodInfo, plugins: Sequence[PreFilterPlugin] | None = None
    ) -> PreFilterOutcome:
        """A rejection that preemption might lift does not stop the
        others, because preemption needs what they prepare. plugins: by default all"""
        nodes = self._all_nodes
        names: frozenset[str] | None = None
        narrowed: list[str] = []
        rejected: Status | None = None
        plugins = self.plugins if plugins is None else plugins
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
        """The pods that are nominated to the row and that `pod` has to fit beside."""
        return [
            other
            for other in self._nominator.on_node(self._snapshot.names[row])
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def fork(self, snapshot: Snapshot) -> RowFork:
        """To be moved to each of the rows; of the snapshot itself always the same, which follows
        it. snapshot: that, or a fork of it"""
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
        """Whether any plugin implements AddPod and RemovePod."""
        return any(plugin.name not in state.skip_filter for plugin in self._pre_filter_extensions)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Whether AddPod and RemovePod have to be called for pods that look like `other`."""
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

# One plugin's verdicts, as PluginCaller.filter_nodes gives them.
AskNodes: TypeAlias = Callable[[FilterPlugin, CycleState, PodInfo, Nodes], Verdicts]

# Below this many nodes, in-tree plugins are called node by node in their plain form. Only in the
# array form, an attempt on `daemon`, 5,000 nodes, takes 1.42 times the instructions.
SCALAR_PATH_MAX = 6


class FilterRunner(ExtensionsRunner):
    """The Filter plugins of a profile, in order, and its PreFilter extensions."""

    def __init__(
        self,
        plugins: Sequence[FilterPlugin],
        pre_filter_extensions: Sequence[PreFilterExtensions],
        snapshot: Snapshot,
        nominator: Nominator,
        caller: PluginCaller,
        ask: AskNodes | None = None,
    ) -> None:
        """ask: calls one plugin for many nodes; by default the caller does"""
        super().__init__(pre_filter_extensions, caller)
        self.plugins = tuple(plugins)
        self._snapshot = snapshot
        self._nominator = nominator
        self._ask = ask or caller.filter_nodes
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
    ) -> Verdicts:
        """As `run_filters`, but on a node to which pods of no lower priority are nominated, the pod
        has to fit both with them there and without."""

        def run(left: Nodes) -> Verdicts:
            return self.run_filters(state, pod, left, own_states)

        if not self._nominator.node_by_uid:
            return run(nodes)
        return self.beside_nominated_pods(run, state, pod, nodes, own_states)

    def beside_nominated_pods(
        self,
        run: Callable[[Nodes], Verdicts],
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        own_states: OwnStates | None = None,
    ) -> Verdicts:
        """Return the verdicts of nodes where the pod has to fit beside the nominated pods, and then
        without them. Where it does not fit beside them, no plugin is asked again, and none notes
        anything of the node. run: without them; its verdicts are taken over

        Upstream: RunFilterPluginsWithNominatedPods.
        """
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
            return run(nodes)
        is_left = np.ones(len(nodes), dtype=np.bool_)
        is_left[list(rejected)] = False
        ids, statuses = np.zeros(len(nodes), dtype=np.int32), [SUCCESS]
        if len(rejected) < len(nodes):
            verdicts = run(Nodes(nodes.snapshot, nodes.indices()[is_left]))
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
    ) -> Verdicts:
        """Each plugin is called only for the nodes that the ones before it let pass.

        own_states: in a dry run, the states to use in place of `state`, by row
        """
        plugins = self.plugins
        if len(nodes) < SCALAR_PATH_MAX:
            status = self._scalar_status(state, pod, nodes.snapshot, nodes.indices().tolist())
            if status is SUCCESS:
                plugins = self._array_plugins
            elif status is not None and self._all_are_scalar(state):
                return Verdicts.of([status])
        verdicts = Verdicts.passing(len(nodes))
        return self.run_in_order(plugins, state, pod, nodes, verdicts, own_states)

    def run_in_order(
        self,
        plugins: Sequence[FilterPlugin],
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        verdicts: Verdicts,
        own_states: OwnStates | None = None,
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
            else:
                verdicts = self._ask(plugin, state, pod, passing)
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

    def passes(self, state: CycleState, pod: PodInfo, row: int) -> bool:
        """Whether a row passes the plugins, all called in their plain form; False means
        undetermined."""
        return (
            self._all_are_scalar(state)
            and self._scalar_status(state, pod, self._snapshot, (row,)) is SUCCESS
        )

    def _all_are_scalar(self, state: CycleState) -> bool:
        """Whether all plugins that run may be called node by node."""
        return all(plugin.name in state.skip_filter for plugin in self._array_plugins)

    def _scalar_status(
        self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Sequence[int]
    ) -> Status | None:
        """The status by the plugins that may be called node by node, see there."""
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

    # -- dry runs -------------------------------------------------------------------------------

    def is_node_local(self, state: CycleState, pod: PodInfo) -> bool:
        """Whether every Filter plugin that runs answers from the node and its pods alone."""
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
                verdicts = self.run_in_order(earlier, state, pod, nodes, verdicts)
                before = position + 1
                without = self._caller.filter_nodes(plugin, state, pod, Nodes(fork, nodes.rows))
                newly = (verdicts.ids == 0) & (without.ids != 0)
                verdicts.ids[newly] = without.ids[newly] + (len(verdicts.statuses) - 1)
                verdicts.statuses += without.statuses[1:]
        return self.run_in_order(self.plugins[before:], state, pod, nodes, verdicts)
