"""Selects the victims of a preemption, on many nodes at once.

All pods of lower priority are removed. Where the pod fits then, they are added back one by one, and
reprieved where the pod still fits: each step on all nodes at once.

Upstream: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode), pkg/scheduler/util
(MoreImportantPod).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS, PodResources
from ksched_cli.cluster.snapshot import Column, Mask, PodUsageColumns, Rows, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.plugins_runner import FilterOperations
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.preemption_trial import EvictionBudgets
from ksched_cli.framework.results import Ids, Verdicts
from ksched_cli.framework.status import Rejection, Status
from ksched_cli.framework.victim_order import (
    NOT_STARTED,
    PRIORITY_SHIFT,
    Ages,
    measures_of_victims,
    sort_by_importance,
    start_number,
)

# -- pods as columns -------------------------------------------------------------------------------
#
# The pods of nodes as columns, those below a priority in order of importance.
#
# A pod has a number, its index in the columns; per node the numbers are computed anew only where
# its pods have changed, or another priority leaves other pods below it.


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
        """Return per node, where its pods begin."""
        return self.counts.cumsum() - self.counts

    @property
    def nodes(self) -> Rows:
        """Return per pod, the index of its node."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


class PodColumns:
    """The pods' values that a search for victims reads, by their numbers.

    pods:       by number
    priority:   by number
    start:      by number, the start as a number that sorts as the time, or NOT_STARTED
    signature:  by number
    """

    def __init__(self, snapshot: Snapshot, *, ages: Ages = Ages.TAKEN_ANEW) -> None:
        self._snapshot = snapshot
        self.ages = ages
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
        """Return the pods below the priority on the nodes of `rows`."""
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
        # Pods that are new get their numbers.
        on_node = self._snapshot.pods
        lower_on_rows = (p for row in rows for p in on_node[row] if p.priority < priority)
        new = [pod for pod in lower_on_rows if pod not in self._numbers]
        if new:
            self._numbers.update(zip(new, count(len(self.pods)), strict=False))
            self.pods += new
            self.priority = _extended(self.priority, [pod.priority for pod in new])
            self.start = _extended(self.start, [start_number(pod) for pod in new])
            self.signature = _extended(self.signature, [pod.signature for pod in new])
            amount_numbers = []
            for pod in new:
                number = self._amount_numbers.setdefault(id(pod.resources), len(self._amounts))
                if number == len(self._amounts):
                    self._amounts.append(pod.resources)
                amount_numbers.append(number)
            self._resources = _extended(self._resources, amount_numbers)
        numbers = self._numbers
        for row, version in zip(rows, versions, strict=True):
            lower = [pod for pod in on_node[row] if pod.priority < priority]
            self._highest_lower[row] = max([pod.priority for pod in lower], default=LOWEST)
            others = [pod.priority for pod in on_node[row] if pod.priority >= priority]
            self._lowest_other[row] = min(others, default=HIGHEST)
            self._versions[row] = version
            sort_by_importance(lower, self.ages, on_node[row])
            self._lower[row] = np.array([numbers[pod] for pod in lower], dtype=np.intp)


# The function with which Snapshot.index makes the columns.
POD_COLUMNS = {ages: partial(PodColumns, ages=ages) for ages in Ages}


def _extended(column: Column, values: Sequence[int]) -> Column:
    return np.concatenate((column, np.array(values, dtype=column.dtype)))


# -- budgets ---------------------------------------------------------------------------------------
#
# Evictions on many nodes that would violate a PodDisruptionBudget.
#
# Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).


class Disruptions(EvictionBudgets):
    """Tells them in arrays."""

    def violating(self, columns: PodColumns, lower: LowerPods) -> Mask:
        """Return per pod, whether its eviction, after that of all before it on its node, violates a
        budget."""
        violating = np.zeros(len(lower.numbers), dtype=np.bool_)
        if not self.budgets:
            return violating
        # Most pods are matched by no budget; those that look alike are matched alike.
        signatures = columns.signature[lower.numbers]
        _, first, kinds = np.unique(signatures, return_index=True, return_inverse=True)
        matched = [bool(self.of_signature(columns.pods[n])) for n in lower.numbers[first].tolist()]
        entries = np.array(matched, dtype=np.bool_)[kinds].nonzero()[0]
        evictions: Counter[tuple[int, str]] = Counter()
        nodes, numbers = lower.nodes[entries].tolist(), lower.numbers[entries].tolist()
        for entry, node, number in zip(entries.tolist(), nodes, numbers, strict=True):
            for budget in self.matching(columns.pods[number]):
                evictions[node, budget.key] += 1
                if evictions[node, budget.key] > budget.allowed:
                    violating[entry] = True
                    # A budget after the first that one violates does not count it.
                    if self.stops:
                        break
        return violating


# -- the plugin ------------------------------------------------------------------------------------


NO_VICTIMS = Rejection(Status.unresolvable("No preemption victims found for incoming pod"))

Explanation: TypeAlias = Callable[[str, CycleState, NodeInfo], tuple[str, ...]]
PodExtension: TypeAlias = Callable[[CycleState, PodInfo, PodInfo, NodeInfo], Status]


def no_victim(node: str, *, allowed: bool) -> Rejection:
    """Reject a node where all pods may stay although the pod does not fit there now.

    allowed: see Rules.allows_no_victims
    """
    if allowed:
        return NO_VICTIMS
    return Rejection(Status.error(f'expected at least one victim pod on node "{node}"'))


class DryRun(Struct, frozen=True):
    """Selects one pod's victims on the nodes of a snapshot. Upstream: DryRunPreemption.

    no_victims: the result for a node, by name, where all pods may stay
    explain:  the details of a rejection, given the plugin's name and the state and the node as they
              are at that point; None: no details
    concerned: the results of `concerns` by pod signature
    """

    filtering: FilterOperations
    snapshot: Snapshot
    state: CycleState
    pod: PodInfo
    disruptions: Disruptions
    no_victims: Callable[[str], Victims | Rejection] = partial(no_victim, allowed=False)
    ages: Ages = Ages.TAKEN_ANEW
    explain: Explanation | None = None
    concerned: dict[int, bool] = field(default_factory=dict)

    def concerns(self, other: PodInfo) -> bool:
        """Return whether adding or removing the pod changes the state of a plugin's PreFilter."""
        concerned = self.concerned.get(other.signature)
        if concerned is None:
            concerned = self.filtering.concerns(self.state, self.pod, other)
            self.concerned[other.signature] = concerned
        return concerned

    def victims_on(self, rows: Rows) -> list[Victims | Rejection]:
        """Return, per row, the victims, or why there are none."""
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
        # 1. All pods of lower priority are removed.
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
        # 2. Does the pod fit without them? If not, the node is decided.
        indices = self._undecided()
        verdicts = self.run_filters(indices)
        for i in np.flatnonzero(verdicts.ids).tolist():
            index = int(indices[i])
            self.results[index] = self.rejection(verdicts.statuses[verdicts.ids[i]], index)
        # 3. On the other nodes, as many of these pods as possible stay.
        undecided = self._undecided()
        _Reprieve(self, undecided, [lower[index] for index in undecided.tolist()]).run()
        return [result for result in self.results if result is not None]

    def _undecided(self) -> Rows:
        return np.array([i for i, r in enumerate(self.results) if r is None], dtype=np.intp)

    def run_filters(self, indices: Rows) -> Verdicts:
        """Return the filters' verdicts of the nodes as they are in the fork."""
        nodes = Nodes(self.fork, self.rows[indices])
        return self.run.filtering.run_with_nominated_pods(
            self.state, self.run.pod, nodes, self.states
        )

    def run_extension(self, extension: PodExtension, pod: PodInfo, index: int) -> None:
        """Run AddPod or RemovePod of the plugins; where one fails, the node is decided."""
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
            sort_by_importance(pods, selection.run.ages, list(pods))
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
        selection = self.selection
        for step in range(int(self.counts.max())):
            # 1. Every node that still has a pod to add gets its next one.
            with_pod = np.flatnonzero(self.counts > step)
            entries = self.starts[with_pod] + step
            indices = self.indices[with_pod]
            rows = selection.rows[indices]
            pods = [self.order[entry] for entry in entries.tolist()]
            selection.fork.add_each(pods, rows, usage.gather(entries))
            self._run_extension(selection.run.filtering.run_add_pod, pods, indices)
            # 2. Filter is asked again. Where the preemptor no longer fits, the added pod is a
            # victim.
            verdicts = selection.run_filters(indices)
            rejected = np.flatnonzero(verdicts.ids)
            if not len(rejected):
                continue
            self.evicted[entries[rejected]] = True
            for i in rejected.tolist() if selection.run.explain is not None else ():
                status = verdicts.statuses[verdicts.ids[i]]
                self.rejections[int(entries[i])] = selection.rejection(status, int(indices[i]))
            # 3. The victims leave again, so that the next step sees only the pods that stay.
            pods = [pods[i] for i in rejected.tolist()]
            selection.fork.remove_each(pods, rows[rejected], usage.gather(entries[rejected]))
            self._run_extension(selection.run.filtering.run_remove_pod, pods, indices[rejected])
        evicted = self.evicted.tolist()
        for i, index in enumerate(self.indices.tolist()):
            if selection.results[index] is None:
                selection.results[index] = self._result(i, index, evicted)

    def _run_extension(self, extension: PodExtension, pods: list[PodInfo], indices: Rows) -> None:
        if self.selection.states:
            for pod, index in zip(pods, indices.tolist(), strict=True):
                self.selection.run_extension(extension, pod, index)

    def _result(self, i: int, index: int, evicted: list[bool]) -> Victims | Rejection:
        start, count = int(self.starts[i]), int(self.counts[i])
        entries = range(start, start + count)
        victims = [self.order[entry] for entry in entries if evicted[entry]]
        if not victims:
            return self.selection.run.no_victims(self.selection.nodes[index].name)
        # The violating pods come first in `order`, so that their part of `evicted` is counted.
        pdb_violated_by = self.pdb_violated_by[i]
        violations = sum(evicted[start : start + len(pdb_violated_by)])
        # Only a mix of violating and other pods is out of order now.
        if 0 < len(pdb_violated_by) < count:
            sort_by_importance(victims, self.selection.run.ages, self.by_importance[i])
        if self.selection.run.explain is None:
            return Victims(tuple(victims), violations)
        return Victims(
            tuple(victims),
            violations,
            tuple(self.order[entry] for entry in entries if not evicted[entry]),
            {self.order[entry].uid: self.rejections[entry] for entry in entries if evicted[entry]},
            {pod.uid: pdb_violated_by[pod.uid] for pod in victims if pod.uid in pdb_violated_by},
        )


# -- victims in columns ----------------------------------------------------------------------------
#
# Selects victims on many nodes with array operations, where only resources decide.
#
# A pod that leaves a node or is put back changes no plugin's answer but that of the one that
# compares sums of requests. So what is left of a node is computed: without its pods of lower
# priority, and then with one more of them per step, on all nodes at once. With DryRun alone,
# `preempt`, 5,000 nodes, takes 3.5 times the instructions.
#
# Upstream: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode).


# -- results ---------------------------------------------------------------------------------------
#
# Results of dry runs as columns: per node, whether it is a candidate, and by what it is compared.
#
# The victims themselves are listed only where somebody reads them.


T = TypeVar("T")

UNKNOWN = -1
CANDIDATE = 0


class Reprieve(Struct, frozen=True):
    """The pods put back on several nodes, and those that may not stay.

    lower:    in the order they are put back
    numbers:  the same pods, those of a node in order of importance
    starts:   per node, where its pods begin in `lower`
    violates: per pod, whether its eviction violates a budget
    evicted:  per pod, whether it is a victim
    """

    columns: PodColumns
    lower: LowerPods
    numbers: Rows
    starts: Rows
    violates: Mask
    evicted: Mask

    def victims(self, index: int) -> Victims:
        """Return one node's victims. index: among the nodes"""
        start = self.starts.item(index)
        entries = slice(start, start + self.lower.counts.item(index))
        evicted, violates = self.evicted[entries], self.violates[entries]
        pods = [self.columns.pods[i] for i in self.lower.numbers[entries][evicted].tolist()]
        if violates.any() and not violates.all():
            ordered = [self.columns.pods[i] for i in self.numbers[entries].tolist()]
            sort_by_importance(pods, self.columns.ages, ordered)
        return Victims(tuple(pods), int(np.count_nonzero(violates & evicted)))


# The victims of a node, or what lists them.
Source: TypeAlias = Victims | Callable[[], Victims]


class DryRunColumns:
    """Per row of the snapshot; most are meaningful only where `ids` is CANDIDATE.

    ids:        UNKNOWN, CANDIDATE, or the index of the node's rejection in `rejections`
    rejections: the first is none
    measures:   one row of the array per criterion by which candidates are compared; the node where
                the first is highest is preferred, among equal ones by the second, and so on
    sources:    of Source
    transient_rows: whose results hold for one search only
    """

    def __init__(self, snapshot: Snapshot, criteria: int) -> None:
        """Start with no result for any row. criteria: their number"""
        count = len(snapshot)
        self.snapshot = snapshot
        self.ids: Ids = np.full(count, UNKNOWN, dtype=np.int32)
        self.rejections: list[Rejection | None] = [None]
        self.measures = np.empty((criteria, count), dtype=np.int64)
        self.sources: NDArray[Any] = np.empty(count, dtype=object)
        self.transient_rows: Sequence[int] = ()
        self._rejection_ids: dict[Rejection, int] = {}

    def forget(self, rows: Iterable[int]) -> None:
        """Drop the results on nodes that have changed."""
        rows = list(rows)
        if rows:
            self.ids[rows] = UNKNOWN

    def add(self, row: int, result: Victims | Rejection) -> None:
        """Add what a dry run of one node says."""
        if isinstance(result, Rejection):
            self.reject_node(row, result)
        else:
            measures = np.array([measures_of_victims(result)]).T
            self.add_candidates(np.array([row]), measures, [result])

    def reject_node(self, row: int, rejection: Rejection) -> None:
        self.ids[row] = self._rejection_id(rejection)

    def reject(self, rows: Rows, ids: Ids, statuses: Sequence[Status]) -> None:
        """Set the rejections of rows. ids: one per row, an index into `statuses`"""
        table = np.zeros(len(statuses), dtype=np.int32)
        for status_id in np.bincount(ids).nonzero()[0].tolist():
            table[status_id] = self._rejection_id(Rejection(statuses[status_id]))
        self.ids[rows] = table[ids]

    def _rejection_id(self, rejection: Rejection) -> int:
        number = self._rejection_ids.get(rejection)
        if number is None:
            number = self._rejection_ids[rejection] = len(self.rejections)
            self.rejections.append(rejection)
        return number

    def add_candidates(
        self, rows: Rows, measures: NDArray[np.int64], sources: Sequence[Source]
    ) -> None:
        """Add candidates: one column of `measures` and one source per row."""
        self.ids[rows] = CANDIDATE
        self.measures[:, rows] = measures
        boxed: NDArray[Any] = np.empty(len(sources), dtype=object)
        boxed[:] = sources
        self.sources[rows] = boxed

    def missing(self, rows: Rows) -> Rows:
        """Return the rows without a result."""
        return rows[self.ids[rows] == UNKNOWN]

    def victims(self, row: int) -> Victims:
        """Return a candidate's victims."""
        return _victims_of(self.sources[row])

    def candidates(self, rows: Rows) -> LazyMapping[Victims]:
        """Return the candidates by node name; rows: of candidates. Later changes do not show."""
        sources = self.sources[rows]
        names = self.snapshot.names

        def entries() -> dict[str, Victims]:
            listed = zip(rows.tolist(), sources, strict=True)
            return {names[row]: _victims_of(source) for row, source in listed}

        return LazyMapping(entries)

    def rejected(self, rows: Rows) -> LazyMapping[Rejection]:
        """Return the rejections by node name; rows: of rejected nodes. Later changes do not
        show."""
        ids, names = self.ids[rows], self.snapshot.names

        def entries() -> dict[str, Rejection]:
            listed = zip(rows.tolist(), ids.tolist(), strict=True)
            return {names[row]: self.rejection(number) for row, number in listed}

        return LazyMapping(entries)

    def rejection(self, number: int) -> Rejection:
        rejection = self.rejections[number]
        assert rejection is not None, "not of a candidate"
        return rejection


def measures_of(
    columns: PodColumns, violates: Mask, evicted: Mask, lower: LowerPods
) -> NDArray[np.int64]:
    """Return the measures of `measures_of_victims`: a row per criterion, a column per node. Nodes
    without victims have any numbers.

    violates: per pod of `lower`, of which every node has some
    evicted: per pod, whether it is a victim
    """
    priority, start = columns.priority[lower.numbers], columns.start[lower.numbers]
    starts: Rows = lower.starts
    highest = np.maximum.reduceat(np.where(evicted, priority, LOWEST), starts)
    is_highest = evicted & (priority == np.repeat(highest, lower.counts))
    return np.array(
        [
            -np.add.reduceat((violates & evicted).astype(np.int64), starts),
            -highest,
            -np.add.reduceat(np.where(evicted, priority + PRIORITY_SHIFT, 0), starts),
            -np.add.reduceat(evicted.astype(np.int64), starts),
            np.minimum.reduceat(np.where(is_highest, start, NOT_STARTED), starts),
        ]
    )


class LazyMapping(Mapping[str, T]):
    """A mapping that is made when it is read first."""

    __slots__ = ("_entries", "_factory")

    def __init__(self, factory: Callable[[], dict[str, T]]) -> None:
        self._factory = factory
        self._entries: dict[str, T] | None = None

    @property
    def _mapping(self) -> dict[str, T]:
        if self._entries is None:
            self._entries = self._factory()
        return self._entries

    def __getitem__(self, name: str) -> T:
        return self._mapping[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def __len__(self) -> int:
        return len(self._mapping)


def _victims_of(source: Source) -> Victims:
    return source if isinstance(source, Victims) else source()


# -- the plugin ------------------------------------------------------------------------------------


class ColumnDryRun:
    """One pod's dry runs.

    run:      the pod, and how to select victims where more than resources decides
    requests: what the pod needs of each resource that is compared
    """

    def __init__(self, run: DryRun, requests: Mapping[str, int], columns: PodColumns) -> None:
        self._run = run
        self._columns = columns
        self._resources = tuple(requests)
        self._needed = np.array([*requests.values(), 1], dtype=np.int64)

    def select(self, rows: Rows, results: DryRunColumns) -> Rows:
        """Add the results of the nodes; return the rows that are left out, because more than
        resources may decide there."""
        lower = self._columns.lower_pods(rows, self._run.pod.priority)
        for row in rows[lower.counts == 0].tolist():
            results.reject_node(row, NO_VICTIMS)
        # Some plugins keep counts of some of the pods.
        is_left_out = np.zeros(len(lower.counts), dtype=np.bool_)
        run = self._run
        if len(lower.numbers) and run.filtering.has_extensions(run.state):
            signatures = self._columns.signature[lower.numbers]
            _, first, kinds = np.unique(signatures, return_index=True, return_inverse=True)
            examples = (self._columns.pods[i] for i in lower.numbers[first].tolist())
            by_kind = np.array([run.concerns(pod) for pod in examples], dtype=np.bool_)
            is_left_out[lower.nodes[by_kind[kinds]]] = True
        selected = (lower.counts > 0) & ~is_left_out
        if not selected.all():
            lower = _of_nodes(lower, selected)
        self._select(rows[selected], lower, results)
        return rows[is_left_out]

    def _select(self, rows: Rows, lower: LowerPods, results: DryRunColumns) -> None:
        if not len(rows):
            return
        # 1. Subtract the pods of lower priority from what each node's pods request.
        run, snapshot = self._run, self._run.snapshot
        names = (*self._resources, PODS)
        fork = snapshot.fork(())
        leaving = np.add.reduceat(self._requests_of(lower), lower.starts, axis=1)
        fork.discount(rows, dict(zip(names, leaving, strict=True)))
        # 2. Nodes where the preemptor does not fit even then are rejected.
        nodes = Nodes(snapshot, rows)
        verdicts = run.filtering.run_with_requests_of(run.state, run.pod, nodes, fork)
        fits = verdicts.ids == 0
        if not fits.all():
            results.reject(rows[~fits], verdicts.ids[~fits], verdicts.statuses)
            lower = _of_nodes(lower, fits)
            rows = rows[fits]
        # 3. On the others, pods return as long as something is left for them.
        if len(rows):
            capacity = np.array([snapshot.allocatable(name)[rows] for name in names])
            requested = [fork.requested(name)[rows] for name in self._resources]
            used = np.array([*requested, fork.pod_count[rows]])
            left = capacity - used - self._needed[:, None]
            violates, numbers = self._run.disruptions.violating(self._columns, lower), lower.numbers
            # Pods whose eviction violates budgets come back first.
            if violates.any():
                order = np.lexsort((~violates, lower.nodes))
                lower, violates = LowerPods(lower.numbers[order], lower.counts), violates[order]
            evicted = np.zeros(len(lower.numbers), dtype=np.bool_)
            requests, starts, counts = self._requests_of(lower), lower.starts, lower.counts
            # Each step returns one pod to every node that has one left: it stays if no resource
            # runs out.
            for step in range(int(counts.max())):
                with_pod = (counts > step).nonzero()[0]
                entries = starts[with_pod] + step
                remaining = left[:, with_pod] - requests[:, entries]
                stays = (remaining >= 0).all(axis=0)
                left[:, with_pod[stays]] = remaining[:, stays]
                evicted[entries] = ~stays
            reprieve = Reprieve(self._columns, lower, numbers, lower.starts, violates, evicted)
            has_victims = np.logical_or.reduceat(evicted, reprieve.starts)
            # Upstream expects a victim: without one, the pod should have fitted before.
            for row in rows[~has_victims].tolist():
                results.add(row, self._run.no_victims(self._run.snapshot.names[row]))
            measures = measures_of(self._columns, violates, evicted, lower)
            indices = has_victims.nonzero()[0]
            sources = [partial(reprieve.victims, index) for index in indices.tolist()]
            results.add_candidates(rows[indices], measures[:, indices], sources)

    def _requests_of(self, lower: LowerPods) -> NDArray[np.int64]:
        """Return a row per resource, and one for the number of pods; a column per pod."""
        requests = [self._columns.requests(name, lower.numbers) for name in self._resources]
        return np.array([*requests, np.ones(len(lower.numbers), dtype=np.int64)])


def _of_nodes(lower: LowerPods, selected: Mask) -> LowerPods:
    """Return those on some of the nodes."""
    return LowerPods(lower.numbers[selected[lower.nodes]], lower.counts[selected])
