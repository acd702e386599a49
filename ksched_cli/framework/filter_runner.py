"""Runs the Filter plugins over many nodes: the first plugin that rejects a node has the word.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunFilterPlugins,
RunFilterPluginsWithNominatedPods, addGENominatedPods).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.snapshot_fork import SnapshotFork
from ksched_cli.framework.cache.answer_cache import AnswerCache, CacheEntry
from ksched_cli.framework.caller import PluginCaller, expect
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin, PreFilterExtensions
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, MalformedError, PluginError, Status

# In a trial on many nodes at once: by row, what the trial on that node has led to.
OwnStates: TypeAlias = Mapping[int, CycleState]


class FilterRunner:
    """The Filter plugins of a profile, in order."""

    def __init__(
        self,
        plugins: Sequence[FilterPlugin],
        followers: Sequence[PreFilterExtensions],
        snapshot: Snapshot,
        nominator: Nominator,
        guard: PluginCaller,
        memory: AnswerCache,
    ) -> None:
        self.plugins = tuple(plugins)
        self._pre_filter_extensions = tuple(followers)
        self._snapshot = snapshot
        self._nominator = nominator
        self._guard = guard
        self._memory = memory

    def known_to_pass(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, known: CacheEntry | None
    ) -> bool:
        """Whether all the nodes pass by what is remembered alone; False leaves it open."""
        if known is None or self._nominator:
            return False
        kept = known.filter
        if kept is None or kept.rejected:
            return False
        for plugin in self.plugins[kept.count :]:
            if plugin.name not in state.skip_filter:
                return False
        kept.renew(known.static_state, pod, self, nodes)
        return not kept.rejected

    def run_with_nominated_pods(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        trial: OwnStates | None = None,
        known: CacheEntry | None = None,
    ) -> Verdicts:
        """As `run_filters`, but on a node promised to pods that must not lose their place the
        pod has to fit both with them there and without."""
        verdicts = self.run_filters(state, pod, nodes, trial, known)
        if not self._nominator:
            return verdicts
        place = {int(row): i for i, row in enumerate(nodes.indices())}
        for name in self._nominator.nodes():
            row = nodes.snapshot.row.get(name)
            if row is None or row not in place:
                continue
            own = state if trial is None else trial.get(row, state)
            first = self._with_promised(own, pod, NodeInfo(nodes.snapshot, row))
            if first is not None and not first.is_success:
                verdicts.ids[place[row]] = len(verdicts.statuses)
                verdicts.statuses.append(first)
        return verdicts

    def _with_promised(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """The node's status with its nominated pods on it; None where none of them counts."""
        promised = [
            other
            for other in self._nominator.on_node(node.name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]
        if not promised:
            return None
        own = state.clone()
        crowded = NodeInfo(SnapshotFork(node.snapshot, [node.row]), node.row)
        for other in promised:
            crowded.snapshot.add(other, node.row)
            status = self.run_add_pod(own, pod, other, crowded)
            if not status.is_success:
                return status
        return self._one(own, pod, crowded)

    def run_on_node_with_nominated_pods(self, state: CycleState, pod: PodInfo, row: int) -> Status:
        """One node as it stands now, nominations counted as in `run_with_nominated_pods`."""
        node = NodeInfo(self._snapshot, row)
        first = self._with_promised(state, pod, node)
        if first is not None and not first.is_success:
            return first
        return self._one(state, pod, node)

    def _one(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        verdicts = self.run_filters(state, pod, Nodes.of(node))
        return verdicts.statuses[verdicts.ids[0]]

    def run_filters(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        trial: OwnStates | None = None,
        known: CacheEntry | None = None,
    ) -> Verdicts:
        """Each plugin is asked only about the nodes that the ones before it let pass.

        trial: the states that follow the pods of a trial, by row, where they are not `state`
        known: what is remembered of pods like this one, up to date; only for the snapshot itself
        """
        plugins, verdicts = self._remembered(pod, nodes, known)
        ids, statuses = verdicts.ids, verdicts.statuses
        asked, places = nodes, None
        all_asked = len(statuses) == 1
        for plugin in plugins:
            if plugin.name in state.skip_filter:
                continue
            if not all_asked:
                places = (ids == 0).nonzero()[0]
                asked = Nodes(nodes.snapshot, nodes.indices()[places])
                all_asked = True
            if not len(asked):
                break
            if trial and isinstance(plugin, PreFilterExtensions):
                found = self._ask_each(plugin, state, trial, pod, asked)
            else:
                found = self.ask(plugin, state, pod, asked)
            if len(found.statuses) == 1 or not np.count_nonzero(found.ids):
                continue
            if places is None:
                ids, statuses = found.ids.astype(np.int32), found.statuses
            else:
                more = len(statuses) - 1
                ids[places] = np.where(found.ids != 0, found.ids + more, 0)
                statuses += found.statuses[1:]
            all_asked = False
        return Verdicts(ids, statuses)

    def _remembered(
        self, pod: PodInfo, nodes: Nodes, known: CacheEntry | None
    ) -> tuple[Sequence[FilterPlugin], Verdicts]:
        """The plugins still to be asked, and what the others said of pods like this one."""
        if known is None:
            return self.plugins, Verdicts.passing(len(nodes))
        kept = self._memory.filtered(known, self.plugins, pod, nodes, self)
        return self.plugins[kept.count :], kept.verdicts(nodes)

    def ask(self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        """One plugin's verdicts with its name on them; a failure rejects all nodes asked about."""
        try:
            if plugin.name in self._guard.foreign:
                ask = plugin.filter_nodes
                verdicts = self._guard.ask(plugin.name, nodes.snapshot, ask, state, pod, nodes)
                _check_shape(verdicts, len(nodes))
            else:
                verdicts = plugin.filter_nodes(state, pod, nodes)
            problem = ""
        except PluginError as refusal:
            problem = str(refusal)
        except Exception as defect:
            problem = self._guard.note(plugin.name, "filter", defect)
        if problem:
            status = Status.error(f'running "{plugin.name}" filter plugin: {problem}')
            everything = np.ones(len(nodes), dtype=np.int32)
            return Verdicts(everything, [SUCCESS, status.by(plugin.name)])
        if len(verdicts.statuses) > 1:
            verdicts.statuses = [SUCCESS, *(_named(s, plugin.name) for s in verdicts.statuses[1:])]
        return verdicts

    def have_plain_form(self, plugins: Iterable[FilterPlugin]) -> bool:
        """As FilterAsker says. Foreign plugins are asked in one form only, as the docs say."""
        return all(
            plugin.name not in self._guard.foreign
            and type(plugin).filter is not FilterPlugin.filter
            and type(plugin).filter_nodes is not FilterPlugin.filter_nodes
            for plugin in plugins
        )

    def all_pass(
        self, plugins: Sequence[FilterPlugin], state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> bool:
        """As FilterAsker says. What a plugin does wrong shows when its array form is asked."""
        snapshot = nodes.snapshot
        try:
            for row in nodes.indices().tolist():
                node = NodeInfo(snapshot, row)
                for plugin in plugins:
                    if plugin.filter(state, pod, node) is not SUCCESS:
                        return False
        except Exception:
            return False
        return True

    def _ask_each(
        self,
        plugin: FilterPlugin,
        state: CycleState,
        states: OwnStates,
        pod: PodInfo,
        nodes: Nodes,
    ) -> Verdicts:
        """Node by node where a node's trial has led to a state of its own."""
        rows = nodes.indices().tolist()
        answers = [SUCCESS] * len(rows)
        shared = [i for i, row in enumerate(rows) if row not in states]
        if shared:
            together = self.ask(plugin, state, pod, Nodes(nodes.snapshot, nodes.indices()[shared]))
            for i, answer in zip(shared, together.ids.tolist(), strict=True):
                answers[i] = together.statuses[answer]
        for i, row in enumerate(rows):
            if row in states:
                alone = Nodes(nodes.snapshot, np.array([row], dtype=np.intp))
                found = self.ask(plugin, states[row], pod, alone)
                answers[i] = found.statuses[found.ids[0]]
        return Verdicts.of(answers)

    def follows(self, state: CycleState) -> bool:
        """Whether any plugin wants to be told of pods that come and go in a trial."""
        return any(plugin.name not in state.skip_filter for plugin in self._pre_filter_extensions)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Whether pods that look like `other` have to be followed; a plugin that fails to say so
        is told of them."""
        for plugin in self._pre_filter_extensions:
            if plugin.name in state.skip_filter:
                continue
            try:
                concerned = plugin.concerns(state, pod, other)
            except Exception as defect:
                self._guard.note(plugin.name, "concerns", defect)
                concerned = True
            if concerned:
                return True
        return False

    def run_add_pod(
        self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo
    ) -> Status:
        """Tells the plugins whose Filter takes part that `added` is now on `node`."""
        for plugin in self._pre_filter_extensions:
            if plugin.name not in state.skip_filter:
                status = self._call_extension(
                    plugin, "addPod", plugin.add_pod, state, pod, added, node
                )
                if not status.is_success:
                    return _unfollowed("AddPod", plugin, status)
        return SUCCESS

    def run_remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        """Tells the plugins whose Filter takes part that `removed` has left `node`."""
        for plugin in self._pre_filter_extensions:
            if plugin.name not in state.skip_filter:
                told = plugin.remove_pod
                status = self._call_extension(plugin, "removePod", told, state, pod, removed, node)
                if not status.is_success:
                    return _unfollowed("RemovePod", plugin, status)
        return SUCCESS

    def _call_extension(
        self, plugin: PreFilterExtensions, point: str, method: Callable[..., Status], *given: Any
    ) -> Status:
        snapshot = given[-1].snapshot
        try:
            status = self._guard.ask(plugin.name, snapshot, method, *given)
            expect(status, Status, method.__name__)
            return status
        except PluginError as refusal:
            return Status.error(str(refusal))
        except Exception as defect:
            return Status.error(self._guard.note(plugin.name, point, defect))


def _unfollowed(step: str, plugin: PreFilterExtensions, status: Status) -> Status:
    return Status.error(f'running {step} on PreFilter plugin "{plugin.name}": {status.message}')


def _named(status: Status, plugin: str) -> Status:
    if status.is_rejected:
        return status.by(plugin)
    return Status.error(f'running "{plugin}" filter plugin: {status.message}').by(plugin)


def _check_shape(verdicts: Verdicts, count: int) -> None:
    """Raises MalformedError."""
    expect(verdicts, Verdicts, "filter_nodes")
    expect(verdicts.ids, np.ndarray, "filter_nodes' ids")
    if verdicts.ids.shape != (count,):
        said = f"filter_nodes returned {verdicts.ids.size} verdicts for {count} nodes"
        raise MalformedError(said)
