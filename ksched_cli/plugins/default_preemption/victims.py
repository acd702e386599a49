"""Selects the victims of a preemption, on many nodes at once.

All pods of lower priority are removed. Where the pod fits then, they are added back one by one, and
reprieved where the pod still fits: each step on all nodes at once.

Upstream: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode), pkg/scheduler/util
(MoreImportantPod).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PodResources
from ksched_cli.cluster.snapshot import Column, Mask, PodUsageColumns, Rows, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.plugins_runner import FilterOperations
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.preemption_trial import EvictionBudgets
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import Rejection, Status
from ksched_cli.kube.sort import go_sort

# -- importance ------------------------------------------------------------------------------------
#
# The order of victims: the more important one comes first.
#
# Upstream: pkg/scheduler/util/utils.go (MoreImportantPod).


# Sorts after every timestamp: a pod that has not started counts as starting now.
NOT_STARTED_TEXT = "~"


def start_time(pod: PodInfo) -> str:
    """The pod's start as a sortable text; NOT_STARTED_TEXT where it has none."""
    return pod.pod.status.start_time or NOT_STARTED_TEXT


def sort_by_importance(pods: list[PodInfo], ages_once: Sequence[PodInfo] | None = None) -> None:
    """Highest priority first, then the longest running, in place.

    ages_once: all pods of the node in the order in which upstream takes their ages, once each: of
    those that have not started, the first is the oldest. None: it takes them at each comparison
    """
    if ages_once is None:
        ranks = {}
    else:
        ranks = {
            pod.uid: rank for rank, pod in enumerate(ages_once) if not pod.pod.status.start_time
        }

    def age(pod: PodInfo) -> tuple[int, str, int]:
        return -pod.priority, start_time(pod), ranks.get(pod.uid, 0)

    if len({age(pod) for pod in pods}) == len(pods):
        pods.sort(key=age)
    elif ages_once is None:
        go_sort(pods, _more_important)
    else:
        go_sort(pods, lambda first, second: age(first) < age(second))


def _more_important(first: PodInfo, second: PodInfo) -> bool:
    """Two pods that have not started are each more important than the other: upstream takes the
    current time for both, one after the other."""
    if first.priority != second.priority:
        return first.priority > second.priority
    second_start = start_time(second)
    return second_start == NOT_STARTED_TEXT or start_time(first) < second_start


# -- pods as columns -------------------------------------------------------------------------------
#
# The pods of nodes as columns, those below a priority in order of importance.
#
# A pod has a number, its index in the columns; per node the numbers are computed anew only where
# its pods have changed, or another priority leaves other pods below it.


# Later than every start: of a pod that has not started.
NOT_STARTED = np.iinfo(np.int64).max
LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
NEVER = -1

_NO_PODS: Rows = np.empty(0, dtype=np.intp)


class LowerPods(Struct, frozen=True):
    """Pods of several nodes, node after node, those of a node in the order they are added back.

    numbers: of the pods, in PodColumns
    counts:  per node, how many pods
    """

    numbers: Rows
    counts: Rows

    @property
    def starts(self) -> Rows:
        """Per node, where its pods begin."""
        return self.counts.cumsum() - self.counts

    @property
    def nodes(self) -> Rows:
        """Per pod, the index of its node."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


class PodColumns:
    """The pods' values that a search for victims reads, by their numbers.

    pods:       by number
    priority:   by number
    start:      by number, the start as a number that sorts as the time, or NOT_STARTED
    signature:  by number
    ages_once:  how pods are sorted that have not started, see sort_by_importance
    """

    def __init__(self, snapshot: Snapshot, *, ages_once: bool = False) -> None:
        self._snapshot = snapshot
        self.ages_once = ages_once
        self.pods: list[PodInfo] = []
        self.priority: Column = np.empty(0, dtype=np.int64)
        self.start: Column = np.empty(0, dtype=np.int64)
        self.signature: Column = np.empty(0, dtype=np.int64)
        self._resources: Rows = _NO_PODS
        self._numbers: dict[PodInfo, int] = {}
        # Distinct amounts, which pods of one template share, and columns of them by resource.
        self._amounts: list[PodResources] = []
        self._amount_numbers: dict[int, int] = {}
        self._amount_columns: dict[str, Column] = {}
        # Per row, the numbers of the lower pods; of which version of the node's pods, and for which
        # priorities: above `_highest_lower`, up to `_lowest_other`.
        rows = len(snapshot)
        self._lower: list[Rows] = [_NO_PODS] * rows
        self._versions = np.full(rows, NEVER, dtype=np.int64)
        self._highest_lower = np.full(rows, LOWEST, dtype=np.int64)
        self._lowest_other = np.full(rows, LOWEST, dtype=np.int64)

    def lower_pods(self, rows: Rows, priority: int) -> LowerPods:
        """The pods below the priority on the nodes of `rows`."""
        snapshot = self._snapshot
        touched = snapshot.touched[snapshot.rank[rows]]
        is_stale = (
            (self._versions[rows] != touched)
            | (self._highest_lower[rows] >= priority)
            | (self._lowest_other[rows] < priority)
        )
        if is_stale.any():
            self._renew(rows[is_stale].tolist(), touched[is_stale].tolist(), priority)
        lower = [self._lower[row] for row in rows.tolist()]
        counts = np.fromiter(map(len, lower), np.intp, len(lower))
        return LowerPods(np.concatenate(lower) if lower else _NO_PODS, counts)

    def requests(self, resource: str, numbers: Rows) -> Column:
        """Return what each of the pods requests of a resource."""
        column = self._amount_columns.get(resource)
        if column is None or len(column) < len(self._amounts):
            amounts = (resources.requests.get(resource, 0) for resources in self._amounts)
            column = np.fromiter(amounts, np.int64, len(self._amounts))
            self._amount_columns[resource] = column
        return column[self._resources[numbers]]

    def _renew(self, rows: list[int], versions: list[int], priority: int) -> None:
        on_node = self._snapshot.pods
        self._add_pods(pod for row in rows for pod in on_node[row] if pod.priority < priority)
        numbers = self._numbers
        for row, version in zip(rows, versions, strict=True):
            lower = [pod for pod in on_node[row] if pod.priority < priority]
            self._highest_lower[row] = max([pod.priority for pod in lower], default=LOWEST)
            others = [pod.priority for pod in on_node[row] if pod.priority >= priority]
            self._lowest_other[row] = min(others, default=HIGHEST)
            self._versions[row] = version
            sort_by_importance(lower, on_node[row] if self.ages_once else None)
            self._lower[row] = np.array([numbers[pod] for pod in lower], dtype=np.intp)

    def _add_pods(self, pods: Iterable[PodInfo]) -> None:
        new = [pod for pod in pods if pod not in self._numbers]
        if not new:
            return
        self._numbers.update(zip(new, count(len(self.pods)), strict=False))
        self.pods += new
        self.priority = _extended(self.priority, [pod.priority for pod in new])
        self.start = _extended(self.start, [start_number(pod) for pod in new])
        self.signature = _extended(self.signature, [pod.signature for pod in new])
        self._resources = _extended(self._resources, [self._amount_number(pod) for pod in new])

    def _amount_number(self, pod: PodInfo) -> int:
        number = self._amount_numbers.get(id(pod.resources))
        if number is None:
            number = self._amount_numbers[id(pod.resources)] = len(self._amounts)
            self._amounts.append(pod.resources)
        return number


# By `ages_once`, the function with which Snapshot.index makes the columns.
POD_COLUMNS = PodColumns, partial(PodColumns, ages_once=True)


def _extended(column: Column, values: Sequence[int]) -> Column:
    return np.concatenate((column, np.array(values, dtype=column.dtype)))


def start_number(pod: PodInfo) -> int:
    """A start is in UTC and whole seconds, so that its digits sort as the time does."""
    start = pod.pod.status.start_time
    digits = "".join(filter(str.isdecimal, start))
    return int(digits or 0) if start else NOT_STARTED


# -- budgets ---------------------------------------------------------------------------------------
#
# Evictions on many nodes that would violate a PodDisruptionBudget.
#
# Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).


class Disruptions(EvictionBudgets):
    """Tells them in arrays."""

    def violating(self, columns: PodColumns, lower: LowerPods) -> Mask:
        """Per pod, whether its eviction, after that of all before it on its node, violates a
        budget."""
        violating = np.zeros(len(lower.numbers), dtype=np.bool_)
        pairs = self._pairs(columns, lower.numbers) if self.budgets else []
        if not pairs:
            return violating
        entries, budgets = np.array(pairs, dtype=np.intp).T
        if self.stops and len(np.unique(entries)) < len(entries):
            nodes = lower.nodes[entries].tolist()
            violating[self._violating_in_order(entries.tolist(), budgets.tolist(), nodes)] = True
            return violating
        allowed = np.array([budget.allowed for budget in self.budgets], dtype=np.int64)
        # Pairs of one node and budget side by side, in the order of the pods.
        groups = lower.nodes[entries] * len(allowed) + budgets
        order = groups.argsort(kind="stable")
        _, first, sizes = np.unique(groups[order], return_index=True, return_counts=True)
        evictions = np.arange(1, len(order) + 1) - np.repeat(first, sizes)
        violating[entries[order][evictions > allowed[budgets[order]]]] = True
        return violating

    def _violating_in_order(
        self, entries: list[int], budgets: list[int], nodes: list[int]
    ) -> list[int]:
        """The violating entries, where a budget after the first that one violates does not count
        it."""
        evictions: Counter[tuple[int, int]] = Counter()
        violating: list[int] = []
        for entry, budget, node in zip(entries, budgets, nodes, strict=True):
            if violating and violating[-1] == entry:
                continue
            evictions[node, budget] += 1
            if evictions[node, budget] > self.budgets[budget].allowed:
                violating.append(entry)
        return violating

    def _pairs(self, columns: PodColumns, numbers: Rows) -> list[tuple[int, int]]:
        """The index of a pod in `numbers`, and that of a budget that its eviction counts against,
        in the order of the pods."""
        indices = {budget.key: index for index, budget in enumerate(self.budgets)}
        _, first, kinds = np.unique(
            columns.signature[numbers], return_index=True, return_inverse=True
        )
        matched = [bool(self.of_signature(columns.pods[n])) for n in numbers[first].tolist()]
        entries = np.array(matched, dtype=np.bool_)[kinds].nonzero()[0]
        return [
            (entry, indices[budget.key])
            for entry in entries.tolist()
            for budget in self.matching(columns.pods[numbers.item(entry)])
        ]


# -- the plugin ------------------------------------------------------------------------------------


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
