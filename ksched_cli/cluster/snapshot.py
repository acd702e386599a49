"""The nodes and the pods on them, as columns: one contiguous array per quantity, a row per node.

Rows are in order of node name. Upstream: pkg/scheduler/framework/types.go (NodeInfo) and
pkg/scheduler/backend/cache/snapshot.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.node_columns import (
    COUNTABLE,
    PRINCIPAL,
    Column,
    Columns,
    Floats,
    ImageColumn,
    Mask,
    NodeColumns,
    Rows,
)
from ksched_cli.cluster.objects import Node, Taint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pod_usage import PodUsageColumns
from ksched_cli.cluster.resources import CPU, HUGE, MANY_PODS, MEMORY, PodResources
from ksched_cli.cluster.snapshot_contents import SnapshotContents

__all__ = [
    "COUNTABLE",
    "PRINCIPAL",
    "Column",
    "Columns",
    "Floats",
    "Mask",
    "PodWatcher",
    "Rows",
    "SealedError",
    "Snapshot",
    "SnapshotFork",
]

T = TypeVar("T")
RowUsage: TypeAlias = Sequence[int]


class SealedError(Exception):
    """Somebody wants to change a snapshot that is only to be read just now."""


class PodWatcher(Protocol):
    """Something that keeps counts of pods and follows them as they come and go."""

    def pod_added(self, pod: PodInfo, row: int) -> None: ...

    def pod_removed(self, pod: PodInfo, row: int) -> None: ...


class Snapshot:
    """Columns over nodes, in name order. Only `add` and `remove` change them.

    node_columns:  what it has of the nodes alone; `names`, `nodes`, `row`, `labels`, `capacity` and
                   what is made on first use are its attributes
    usage:         requests of cpu and memory, the number of pods, and nonzero_*, one array
    nonzero_*:     requests of cpu and memory on each node, where a container that requests none
                   counts with a default; `nonzero` is both
    pods:          per row, the pods on the node, in kube-scheduler's order
    ports:         host ports in use, by row
    huge:          sums of requests may be too large to be multiplied in an int64
    log:           the rows changed so far, in order; a cache notes its length
    touched:       how long the log was when a row was last changed, by the row's `rank`
    sealed:        pods may not come or go just now

    A deep copy or an unpickled snapshot is one of its own that nobody has subscribed to.
    """

    def __init__(self, nodes: Iterable[Node], noticed: Sequence[str] = ()) -> None:
        """noticed: see NodeColumns"""
        columns = NodeColumns(nodes, noticed)
        count = len(columns.nodes)
        self.__setstate__(
            SnapshotContents(
                node_columns=columns,
                pods=[[] for _ in range(count)],
                usage=np.zeros((len(COUNTABLE) + len(PRINCIPAL), count), dtype=np.int64),
                requested={},
                ports={},
                log=[],
                touched=np.zeros(count, dtype=np.int32),
                huge=False,
            )
        )

    def __setstate__(self, contents: SnapshotContents) -> None:
        """Takes over what is in `contents`; nothing is copied."""
        columns = self.node_columns = contents.node_columns
        self.nodes, self.names, self.row = columns.nodes, columns.names, columns.row
        self.labels = columns.labels
        self.capacity, self._allocatable = columns.capacity, columns.allocatable
        self._zero = columns.zero
        self.pods = contents.pods
        self.usage = contents.usage
        cpu, memory, self.pod_count, self.nonzero_cpu, self.nonzero_memory = contents.usage
        self.nonzero = contents.usage[len(COUNTABLE) :]
        self._requested: dict[str, Column] = {**contents.requested, CPU: cpu, MEMORY: memory}
        self.ports = contents.ports
        self.log = contents.log
        self.touched = contents.touched
        self.huge = contents.huge
        self.sealed = False
        self._rows_usage: list[RowUsage | None] = [None] * len(self.nodes)
        # Per row, what was read of its requests, for plugins that ask nodes one by one; or empty.
        self.amounts_read: Sequence[dict[str, int]] = ()
        self._watchers: list[PodWatcher] = []
        self._indexes: dict[Callable[[Snapshot], Any], Any] = {}

    def __getstate__(self) -> SnapshotContents:
        """Return the state for copies: without the columns that are views of `usage`, as copies of
        them would not be."""
        other = self.other_requested()
        contents = SnapshotContents(
            self.node_columns, self.pods, self.usage, other, self.ports, self.log, self.touched,
            self.huge,
        )  # fmt: skip
        return contents.writeable() if self.sealed else contents

    def __copy__(self) -> Snapshot:
        raise TypeError(
            "a shallow copy of a Snapshot would share its columns: use copy.deepcopy, or fork(rows)"
            " to try something out"
        )

    def fork(self, rows: Sequence[int]) -> SnapshotFork:
        """Return a fork to try changes on, where pods come and go on the nodes of `rows`."""
        return SnapshotFork(self, rows)

    def __len__(self) -> int:
        return len(self.nodes)

    # -- quantities ---------------------------------------------------------------------------

    def allocatable(self, resource: str) -> Column:
        """Read-only; zeros for a resource that no node has."""
        return self._allocatable.get(resource, self._zero)

    def requested(self, resource: str) -> Column:
        """Read-only; zeros for a resource that no pod asked for."""
        return self._requested.get(resource, self._zero)

    def rows_usage(self, rows: Iterable[int]) -> list[RowUsage]:
        """Per row, its column of `usage`: of a few rows, quicker to read than an array."""
        cached = self._rows_usage
        return [cached[row] or self.row_usage(row) for row in rows]

    def row_usage(self, row: int) -> RowUsage:
        """The row's column of `usage`."""
        amounts = self._rows_usage[row]
        if amounts is None:
            amounts = self._rows_usage[row] = self.usage[:, row].tolist()
        return amounts

    def other_requested(self) -> dict[str, Column]:
        """The columns that are not views of `usage`."""
        return {name: c for name, c in self._requested.items() if name not in PRINCIPAL}

    # -- pods ---------------------------------------------------------------------------------

    def seal(self, shut: bool) -> None:
        """While it is shut, no pod comes or goes and the columns cannot be written to."""
        self.sealed = shut
        # An array of several columns goes before its rows, which may be open only if it is.
        wide = (self.usage, self.nonzero)
        columns = (*wide, self.pod_count, self.nonzero_cpu, self.nonzero_memory)
        for column in (*columns, *self._requested.values()):
            column.flags.writeable = not shut

    def add(self, pod: PodInfo, row: int) -> None:
        """Puts a pod on a node."""
        if self.sealed:
            raise SealedError("plugins may not put pods on nodes; that is the engine's part")
        self.pods[row].append(pod)
        if pod.template.host_ports:
            self.take_ports(pod, row)
        column = self.usage[:, row]
        column += pod.resources.usage
        self._count(pod.resources, row, 1)
        for watcher in self._watchers:
            watcher.pod_added(pod, row)

    def remove(self, pod: PodInfo, row: int) -> None:
        """Takes a pod off its node. Upstream fills the gap with the node's last pod: so do we."""
        if self.sealed:
            raise SealedError("plugins may not take pods off nodes; that is the engine's part")
        pods = self.pods[row]
        index = next(i for i, other in enumerate(pods) if other.uid == pod.uid)
        pods[index] = pods[-1]
        pods.pop()
        if pod.template.host_ports:
            self.free_ports(pod, row)
        column = self.usage[:, row]
        column -= pod.resources.usage
        self._count(pod.resources, row, -1)
        for watcher in self._watchers:
            watcher.pod_removed(pod, row)

    def fill(self, pods: Sequence[PodInfo], rows: Rows) -> None:
        """Add each pod to its row, as `add` does, with one array operation per quantity; before
        anybody follows the snapshot."""
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self.pods[row].append(pod)
            if pod.template.host_ports:
                self.take_ports(pod, row)
        self._count_each(rows, PodUsageColumns.of(pods), np.add)
        crowded = (row for row, each in enumerate(self.pods) if len(each) > MANY_PODS)
        self.huge = any(pod.resources.huge for pod in pods) or any(map(self._is_huge, crowded))

    def take_ports(self, pod: PodInfo, row: int) -> None:
        self.ports.setdefault(row, set()).update(pod.template.host_ports)

    def free_ports(self, pod: PodInfo, row: int) -> None:
        """Upstream keeps a set, not a count: a port is free even if another pod has it too."""
        if row in self.ports:
            self.ports[row].difference_update(pod.template.host_ports)
            if not self.ports[row]:
                del self.ports[row]

    def _count(self, resources: PodResources, row: int, sign: int) -> None:
        if resources.others:
            for resource, amount in resources.others.items():
                column = self._requested.get(resource)
                if column is None:
                    column = self._requested[resource] = np.zeros(len(self), dtype=np.int64)
                column[row] += sign * amount
        if resources.huge or (len(self.pods[row]) > MANY_PODS and self._is_huge(row)):
            self.huge = True
        self._note(row)

    def _count_each(self, rows: Rows, load: PodUsageColumns, change: np.ufunc) -> None:
        """A row may occur several times."""
        for name, amounts in load.requests.items():
            if name not in self._requested:
                self._requested[name] = np.zeros(len(self), dtype=np.int64)
            change.at(self._requested[name], rows, amounts)
        change.at(self.nonzero_cpu, rows, load.nonzero_cpu)
        change.at(self.nonzero_memory, rows, load.nonzero_memory)
        change.at(self.pod_count, rows, 1)

    def _is_huge(self, row: int) -> bool:
        """Whether the row's pods request more of anything than MANY_PODS that are not huge may."""
        amounts = (column.item(row) for column in self.other_requested().values())
        return max(*self.usage[:, row].tolist(), *amounts) > MANY_PODS * HUGE

    def _note(self, row: int) -> None:
        self.log.append(row)
        self.touched[self.rank.item(row)] = len(self.log)
        self._rows_usage[row] = None
        if self.amounts_read:
            self.amounts_read[row].clear()

    # -- what follows the pods ------------------------------------------------------------------

    def subscribe(self, watcher: PodWatcher) -> None:
        """Notify the watcher of every pod that comes or goes from now on, but not by forks."""
        self._watchers.append(watcher)

    def index(self, factory: Callable[[Snapshot], T]) -> T:
        """Return the snapshot's one result of `factory(snapshot)`, made on first use.

        A class whose constructor takes a snapshot is a factory. A fork makes one of its own.
        """
        try:
            return cast(T, self._indexes[factory])
        except KeyError:
            index = self._indexes[factory] = factory(self)
            return index

    # -- what never changes in a run: attributes here, as they are read in every cycle ------------

    @cached_property
    def principal_range(self) -> tuple[int, int]:
        """Return the least and the most that a node has of cpu or of memory."""
        return self.node_columns.principal_range

    @cached_property
    def principal_floats(self) -> Floats:
        """The allocatable cpu and memory as floats."""
        return self.node_columns.principal_floats

    @cached_property
    def capacity_by_row(self) -> Sequence[Sequence[int]]:
        """Per row, the allocatable cpu, memory and pods."""
        return self.node_columns.capacity_by_row

    @cached_property
    def order(self) -> Rows:
        """Rows in the order of visits: round robin over zones, zones by first appearance."""
        return self.node_columns.order

    @cached_property
    def rank(self) -> Rows:
        """rank[row] is the row's index in `order`."""
        return self.node_columns.rank

    @cached_property
    def unschedulable(self) -> Mask:
        """The nodes marked spec.unschedulable."""
        return self.node_columns.unschedulable

    @cached_property
    def taint_sets(self) -> tuple[NDArray[np.int32], tuple[tuple[Taint, ...], ...]]:
        """Return an id per row, and the taints of each id."""
        return self.node_columns.taint_sets

    @cached_property
    def images(self) -> Mapping[str, ImageColumn]:
        """Per image name."""
        return self.node_columns.images


# A fork keeps no log, and so notes no length of it.
_NOTHING_TOUCHED: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
_NOTHING_TOUCHED.flags.writeable = False


class SnapshotFork(Snapshot):
    """A snapshot to try things out on: pods come and go in it, and `base` does not notice.

    It shares the columns of the nodes, which never change. It copies the columns of the pods, and
    the pods and ports of the nodes of `rows`: only these nodes may be changed. It keeps no log, and
    begins without subscribers and indexes.

    Upstream: NodeInfo.Snapshot, which copies one node; here a copy is good for many nodes at once.
    """

    def __init__(self, base: Snapshot, rows: Sequence[int]) -> None:
        pods, ports = list(base.pods), dict(base.ports)
        own = bytearray(len(pods))
        for row in rows:
            own[row] = True
            pods[row] = list(base.pods[row])
            if row in ports:
                ports[row] = set(ports[row])
        self.__setstate__(
            SnapshotContents(
                node_columns=base.node_columns,
                pods=pods,
                usage=base.usage.copy(),
                requested={name: c.copy() for name, c in base.other_requested().items()},
                ports=ports,
                log=[],
                touched=_NOTHING_TOUCHED,
                huge=base.huge,
            )
        )
        self._own = own

    def __setstate__(self, contents: SnapshotContents) -> None:
        super().__setstate__(contents)
        # Per row, whether its pods and ports are the fork's own: all are in a copy of a fork.
        self._own = bytearray(b"\1" * len(contents.pods))

    def add(self, pod: PodInfo, row: int) -> None:
        self._check_own(row)
        super().add(pod, row)

    def remove(self, pod: PodInfo, row: int) -> None:
        self._check_own(row)
        super().remove(pod, row)

    def _check_own(self, row: int) -> None:
        if not self._own[row]:
            name = self.names[row]
            raise SealedError(f"node {name} is not among those that the snapshot was forked for")

    def rows_usage(self, rows: Iterable[int]) -> list[RowUsage]:
        return [self.usage[:, row].tolist() for row in rows]

    def _note(self, row: int) -> None:
        """Nothing that is cached is of a fork."""

    def add_each(self, pods: Sequence[PodInfo], rows: Rows, load: PodUsageColumns) -> None:
        """Add each pod to its row, as `add` does, with one array operation per quantity."""
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self._check_own(row)
            self.pods[row].append(pod)
            if pod.template.host_ports:
                self.take_ports(pod, row)
        self._count_each(rows, load, np.add)

    def remove_each(self, pods: Sequence[PodInfo], rows: Rows, load: PodUsageColumns) -> None:
        """Remove each pod from its row, as `remove` does, except that the other pods keep their
        order."""
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self._check_own(row)
            self.pods[row].remove(pod)
            if pod.template.host_ports:
                self.free_ports(pod, row)
        self._count_each(rows, load, np.subtract)
