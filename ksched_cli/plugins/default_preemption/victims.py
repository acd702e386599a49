"""Selects the victims of a preemption, on many nodes at once.

All pods of lower priority are removed. Where the pod fits then, they are added back one by one, and
reprieved where the pod still fits: each step on all nodes at once.

Upstream: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode), pkg/scheduler/util
(MoreImportantPod).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pod_usage import PodUsageColumns
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.plugins_runner import FilterOperations
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import Rejection, Status
from ksched_cli.plugins.default_preemption.disruption_budgets import Disruptions
from ksched_cli.plugins.default_preemption.importance import sort_by_importance

NO_VICTIMS = Rejection(Status.unresolvable("No preemption victims found for incoming pod"))

Explanation: TypeAlias = Callable[[str, CycleState, NodeInfo], tuple[str, ...]]
PodExtension: TypeAlias = Callable[[CycleState, PodInfo, PodInfo, NodeInfo], Status]


def no_victim(node: str) -> Rejection:
    """Rejects a node where all pods may stay although the pod does not fit there now."""
    return Rejection(Status.error(f'expected at least one victim pod on node "{node}"'))


class DryRun(Struct, frozen=True):
    """Selects one pod's victims on the nodes of a snapshot. Upstream: DryRunPreemption.

    ages_once: see sort_by_importance
    explain:  the details of a rejection, given the plugin's name and the state and the node as they
              are at that point; None: no details
    concerned: the results of `concerns` by pod signature
    """

    filtering: FilterOperations
    snapshot: Snapshot
    state: CycleState
    pod: PodInfo
    disruptions: Disruptions
    ages_once: bool = False
    explain: Explanation | None = None
    concerned: dict[int, bool] = field(default_factory=dict)

    def concerns(self, other: PodInfo) -> bool:
        """Whether adding or removing the pod changes the state of a plugin's PreFilter."""
        concerned = self.concerned.get(other.signature)
        if concerned is None:
            concerned = self.filtering.concerns(self.state, self.pod, other)
            self.concerned[other.signature] = concerned
        return concerned

    def victims_on(self, rows: Rows) -> list[Victims | Rejection]:
        """Per row, the victims, or why there are none."""
        return _VictimSelection(self, rows).select()


class _VictimSelection:
    """The selection on some rows. Upstream: SelectVictimsOnNode.

    results: per index into `rows`, None while undecided
    states:  by row, the node's own cycle state, where pods that concern a plugin were removed
    """

    def __init__(self, run: DryRun, rows: Rows) -> None:
        self.run = run
        self.rows = rows
        self.fork = run.snapshot.fork(rows.tolist())
        self.state = run.state.clone()
        self.nodes = [NodeInfo(self.fork, row) for row in rows.tolist()]
        self.states: dict[int, CycleState] = {}
        self.results: list[Victims | Rejection | None] = [None] * len(rows)

    def select(self) -> list[Victims | Rejection]:
        # 1. Does the pod fit without any pod of lower priority? If not, the node is decided.
        lower = self._remove_lower()
        self._filter_without_lower()
        # 2. On the other nodes, as many of these pods as possible stay.
        undecided = self._undecided()
        _Reprieve(self, undecided, [lower[index] for index in undecided.tolist()]).run()
        return [result for result in self.results if result is not None]

    def _undecided(self) -> Rows:
        return np.array([i for i, r in enumerate(self.results) if r is None], dtype=np.intp)

    def _remove_lower(self) -> list[list[PodInfo]]:
        """Remove all pods of lower priority, and return them per index."""
        priority, on_node = self.run.pod.priority, self.fork.pods
        lower = [[p for p in on_node[row] if p.priority < priority] for row in self.rows.tolist()]
        flat = [pod for pods in lower for pod in pods]
        rows = np.repeat(self.rows, [len(pods) for pods in lower])
        if flat:
            self.fork.remove_each(flat, rows, PodUsageColumns.of(flat))
        # Removals change PreFilter's state only for some plugins; then a node needs its own state.
        follows = self.run.filtering.has_extensions(self.state)
        for index, pods in enumerate(lower):
            if not pods:
                self.results[index] = NO_VICTIMS
            concerning = [pod for pod in pods if self.run.concerns(pod)] if follows else ()
            if concerning:
                self.states[self.nodes[index].row] = self.run.state.clone()
            for pod in concerning:
                self.run_extension(self.run.filtering.run_remove_pod, pod, index)
        return lower

    def _filter_without_lower(self) -> None:
        indices = self._undecided()
        verdicts = self.run_filters(indices)
        for i in np.flatnonzero(verdicts.ids).tolist():
            index = int(indices[i])
            self.results[index] = self.rejection(verdicts.statuses[verdicts.ids[i]], index)

    def run_filters(self, indices: Rows) -> Verdicts:
        """The filters' verdicts of the nodes as they are in the fork."""
        nodes = Nodes(self.fork, self.rows[indices])
        return self.run.filtering.run_with_nominated_pods(
            self.state, self.run.pod, nodes, self.states
        )

    def run_extension(self, extension: PodExtension, pod: PodInfo, index: int) -> None:
        """Runs AddPod or RemovePod of the plugins; where one fails, the node is decided."""
        node = self.nodes[index]
        state = self.states.get(node.row)
        if state is not None and self.results[index] is None and self.run.concerns(pod):
            status = extension(state, self.run.pod, pod, node)
            if not status.is_success:
                self.results[index] = Rejection(status)

    def rejection(self, status: Status, index: int) -> Rejection:
        if self.run.explain is None:
            return Rejection(status)
        node = self.nodes[index]
        state = self.states.get(node.row, self.state)
        return Rejection(status, self.run.explain(status.plugin, state, node))


class _Reprieve:
    """Adds the removed pods back to the undecided nodes, one pod per node and step.

    indices: of the undecided nodes in the selection; the lists below are parallel to it
    order:   the pods of all these nodes, in the order they are added back
    by_importance: per node, its pods in order of importance
    starts:  per node, where its pods begin in `order`; counts: their number
    pdb_violated_by: per node, by UID, the pods that would violate budgets, which are added first
    evicted: per entry of `order`, whether the pod is a victim
    """

    def __init__(
        self, selection: _VictimSelection, indices: Rows, lower: list[list[PodInfo]]
    ) -> None:
        self.selection = selection
        self.indices = indices
        self.order: list[PodInfo] = []
        self.by_importance: list[list[PodInfo]] = []
        self.pdb_violated_by: list[dict[str, tuple[str, ...]]] = []
        # Pods whose eviction violates budgets come back first: they are the last ones to evict.
        for pods in lower:
            sort_by_importance(pods, list(pods) if selection.run.ages_once else None)
            self.by_importance.append(list(pods))
            pdb_violated_by = selection.run.disruptions.pdb_violated_by(pods)
            if pdb_violated_by:
                pods.sort(key=lambda pod: pod.uid not in pdb_violated_by)
            self.order += pods
            self.pdb_violated_by.append(pdb_violated_by)
        self.counts = np.array([len(pods) for pods in lower], dtype=np.intp)
        self.starts = np.cumsum(self.counts) - self.counts
        self.evicted = np.zeros(len(self.order), dtype=np.bool_)
        self.rejections: dict[int, Rejection] = {}

    def run(self) -> None:
        if not self.order:
            return
        usage = PodUsageColumns.of(self.order)
        for step in range(int(self.counts.max())):
            self._add_back(step, usage)
        evicted = self.evicted.tolist()
        for i, index in enumerate(self.indices.tolist()):
            if self.selection.results[index] is None:
                self.selection.results[index] = self._result(i, index, evicted)

    def _add_back(self, step: int, usage: PodUsageColumns) -> None:
        # 1. Every node that still has a pod to add gets its next one.
        selection = self.selection
        with_pod = np.flatnonzero(self.counts > step)
        entries = self.starts[with_pod] + step
        indices = self.indices[with_pod]
        rows = selection.rows[indices]
        pods = [self.order[entry] for entry in entries.tolist()]
        selection.fork.add_each(pods, rows, usage.gather(entries))
        self._run_extension(selection.run.filtering.run_add_pod, pods, indices)
        # 2. Filter is asked again. Where the preemptor no longer fits, the added pod is a victim.
        verdicts = selection.run_filters(indices)
        rejected = np.flatnonzero(verdicts.ids)
        if not len(rejected):
            return
        self.evicted[entries[rejected]] = True
        if selection.run.explain is not None:
            for i in rejected.tolist():
                status = verdicts.statuses[verdicts.ids[i]]
                self.rejections[int(entries[i])] = selection.rejection(status, int(indices[i]))
        # 3. The victims leave again, so that the next step sees only the pods that stay.
        pods = [pods[i] for i in rejected.tolist()]
        selection.fork.remove_each(pods, rows[rejected], usage.gather(entries[rejected]))
        self._run_extension(selection.run.filtering.run_remove_pod, pods, indices[rejected])

    def _run_extension(self, extension: PodExtension, pods: list[PodInfo], indices: Rows) -> None:
        if self.selection.states:
            for pod, index in zip(pods, indices.tolist(), strict=True):
                self.selection.run_extension(extension, pod, index)

    def _result(self, i: int, index: int, evicted: list[bool]) -> Victims | Rejection:
        start, count = int(self.starts[i]), int(self.counts[i])
        entries = range(start, start + count)
        victims = [self.order[entry] for entry in entries if evicted[entry]]
        if not victims:
            return no_victim(self.selection.nodes[index].name)
        # The violating pods come first in `order`, so that their part of `evicted` is counted.
        pdb_violated_by = self.pdb_violated_by[i]
        violations = sum(evicted[start : start + len(pdb_violated_by)])
        # Only a mix of violating and other pods is out of order now.
        if 0 < len(pdb_violated_by) < count:
            ordered = self.by_importance[i]
            sort_by_importance(victims, ordered if self.selection.run.ages_once else None)
        if self.selection.run.explain is None:
            return Victims(tuple(victims), violations)
        return Victims(
            tuple(victims),
            violations,
            tuple(self.order[entry] for entry in entries if not evicted[entry]),
            {self.order[entry].uid: self.rejections[entry] for entry in entries if evicted[entry]},
            {pod.uid: pdb_violated_by[pod.uid] for pod in victims if pod.uid in pdb_violated_by},
        )
