"""The pods of nodes as columns, those below a priority in order of importance.

A pod has a number, its index in the columns; per node the numbers are computed anew only where its
pods have changed, or another priority leaves other pods below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.node_columns import Column, Rows
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PodResources
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.plugins.default_preemption.importance import sort_by_importance

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
