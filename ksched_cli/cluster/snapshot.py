"""The nodes and the pods on them, as columns: one contiguous array per quantity, a row per node.

Rows are in order of node name. Upstream: pkg/scheduler/framework/types.go (NodeInfo) and
pkg/scheduler/backend/cache (snapshot.go; node_tree.go for the order of visits).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.objects import REGION_LABEL, ZONE_LABEL, Node, Taint
from ksched_cli.cluster.pod_info import HostPort, PodInfo
from ksched_cli.cluster.resources import (
    CPU,
    HUGE,
    MANY_PODS,
    MEMORY,
    PODS,
    PodResources,
    node_allocatable,
)
from ksched_cli.kube.int64 import MAX_INT64, wrap

T = TypeVar("T")
Column = NDArray[np.int64]
Columns = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
RowAmounts: TypeAlias = tuple[int, ...]

MISSING = -1
USAGE_DIGITS = 6  # of what pods use, after the point


class LabelColumn(Struct, frozen=True):
    """codes[row] is the index in `values` of the node's value, or MISSING, which finds the last
    entry of a table that has one entry more than `values`."""

    codes: NDArray[np.intp]
    values: tuple[str, ...]
    index: dict[str, int]

    @property
    def present(self) -> Mask:
        return self.codes != MISSING

    def isin(self, values: Sequence[str]) -> Mask:
        """Return the nodes whose value is one of `values`."""
        codes = [self.index[value] for value in dict.fromkeys(values) if value in self.index]
        if not codes:
            return np.zeros(len(self.codes), dtype=np.bool_)
        if len(codes) == 1:
            return self.codes == codes[0]
        return np.isin(self.codes, codes)


class LabelColumns:
    """The columns of all label keys asked for so far: each is made on first use, and never changes
    in a run."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._columns: dict[str, LabelColumn] = {}

    def __getitem__(self, key: str) -> LabelColumn:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._make(key)
        return column

    def _make(self, key: str) -> LabelColumn:
        values = [node.metadata.labels.get(key) for node in self._nodes]
        present = (value for value in dict.fromkeys(values) if value is not None)
        index = {value: code for code, value in enumerate(present)}
        coded = (MISSING if value is None else index[value] for value in values)
        column = np.fromiter(coded, np.intp, len(values))
        return LabelColumn(column, tuple(index), index)


# The resources that plugins ask about in every cycle, and what NodeColumns.capacity is of.
PRINCIPAL = (CPU, MEMORY)
COUNTABLE = (*PRINCIPAL, PODS)

# The older name goes first where a node has both.
OLDER_ZONE_LABEL = "failure-domain.beta.kubernetes.io/zone"
OLDER_REGION_LABEL = "failure-domain.beta.kubernetes.io/region"
ZONE_LABELS = (OLDER_ZONE_LABEL, ZONE_LABEL)
REGION_LABELS = (OLDER_REGION_LABEL, REGION_LABEL)
_PLACE_LABELS = frozenset((*ZONE_LABELS, *REGION_LABELS))


class ImageColumn(Struct, frozen=True):
    """An image on the nodes that have it: its size in bytes, and their rows."""

    size: int
    rows: Rows


class NodeColumns:
    """The part of a snapshot about its nodes alone, by node name; pods do not change it.

    Read-only, and so shared by a snapshot and its forks. Most of it is made on first use.

    nodes, names: per row
    row:          node name → row
    labels:       a column of codes per label key
    capacity:     allocatable cpu (milli), memory (bytes) and pods, one array of three columns
    allocatable:  resource → column, of those that some node has; for COUNTABLE, rows of `capacity`
    zero:         the column of a resource that no node has
    """

    def __init__(
        self, nodes: Iterable[Node], noticed: Sequence[str] = (), *, saturates: bool = False
    ) -> None:
        """noticed: names in the order in which the scheduler noticed the nodes, others after them;
        by name where it is empty; saturates: see Rules.saturates_sums"""
        self.saturates = saturates
        self.nodes: tuple[Node, ...] = tuple(sorted(nodes, key=lambda node: node.name))
        self.names: tuple[str, ...] = tuple(node.name for node in self.nodes)
        self.row: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        self.noticed = tuple(noticed)
        self.labels = LabelColumns(self.nodes)
        count = len(self.nodes)
        self._set_allocatable(
            np.zeros((len(COUNTABLE), count), dtype=np.int64), {}, dict(enumerate(self.nodes))
        )

    def _set_allocatable(
        self, capacity: Columns, others: Mapping[str, Column], nodes: Mapping[int, Node]
    ) -> None:
        """Take over these arrays, filled but for `nodes`, by row. others: besides COUNTABLE."""
        columns = {**others, **dict(zip(COUNTABLE, capacity, strict=True))}
        # Many nodes are of one size, and equal amounts are mostly one object, which the nodes hold.
        sizes: dict[tuple[object, ...], dict[str, int]] = {}
        for row, node in nodes.items():
            listed = node.status.allocatable
            key = (*listed, *map(id, listed.values()))
            size = sizes.get(key)
            if size is None:
                size = sizes[key] = node_allocatable(node, self.saturates)
            for resource, amount in size.items():
                if resource not in columns:
                    columns[resource] = np.zeros(len(self.nodes), dtype=np.int64)
                columns[resource][row] = amount
        self.capacity = capacity
        self.allocatable: dict[str, Column] = columns
        self.zero: Column = np.zeros(len(self.nodes), dtype=np.int64)
        for column in (capacity, *columns.values(), self.zero):
            column.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild a copy: copied one by one, the columns would no longer be rows of `capacity`."""
        make = partial(type(self), saturates=True) if self.saturates else type(self)
        return (make, (self.nodes, self.noticed))

    def _as_noticed(self) -> Iterator[tuple[int, Node]]:
        """Return rows and nodes in the order in which the scheduler noticed them."""
        if not self.noticed:
            return enumerate(self.nodes)
        rows = dict.fromkeys(self.row[name] for name in self.noticed if name in self.row)
        rows |= dict.fromkeys(range(len(self.nodes)))
        return ((row, self.nodes[row]) for row in rows)

    @cached_property
    def principal_range(self) -> tuple[int, int]:
        """Return the least and the most that a node has of cpu or of memory."""
        amounts = self.capacity[: len(PRINCIPAL)]
        return (int(amounts.min()), int(amounts.max())) if amounts.size else (0, 0)

    @cached_property
    def principal_floats(self) -> Floats:
        """Return the allocatable cpu and memory, which floats divide several times as fast as
        integers."""
        amounts = self.capacity[: len(PRINCIPAL)].astype(np.float64)
        amounts.flags.writeable = False
        return amounts

    @cached_property
    def order(self) -> Rows:
        """Return the rows in the order of visits: round robin over zones, zones by first
        appearance."""
        labels = [node.metadata.labels for node in self.nodes]
        if not self.noticed and all(map(_PLACE_LABELS.isdisjoint, labels)):
            return np.arange(len(self.nodes))  # One zone; to tell takes a third of the time.
        zones: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for row, node in self._as_noticed():
            zones[zone_key(node)].append(row)
        in_zones = np.fromiter(chain.from_iterable(zones.values()), np.intp, len(self.nodes))
        turns = np.concatenate([[], *(np.arange(len(rows)) for rows in zones.values())])
        return in_zones[turns.argsort(kind="stable")]

    @cached_property
    def rank(self) -> Rows:
        """rank[row] is the row's index in `order`."""
        rank = np.empty(len(self.nodes), dtype=np.intp)
        rank[self.order] = np.arange(len(self.nodes))
        return rank

    @cached_property
    def rank_by_row(self) -> Sequence[int]:
        """The same: a single one is quicker to read than in an array."""
        return self.rank.tolist()

    @cached_property
    def row_by_rank(self) -> Sequence[int]:
        """As `order`, likewise."""
        return self.order.tolist()

    @cached_property
    def unschedulable(self) -> Mask:
        """Return the nodes marked spec.unschedulable."""
        return np.array([bool(node.spec.unschedulable) for node in self.nodes], dtype=np.bool_)

    @cached_property
    def taint_sets(self) -> tuple[NDArray[np.int32], tuple[tuple[Taint, ...], ...]]:
        """Return an id per row, and the taints of each id."""
        index: dict[tuple[Taint, ...], int] = {}
        ids = np.array(
            [index.setdefault(tuple(node.spec.taints), len(index)) for node in self.nodes],
            dtype=np.int32,
        )
        return ids, tuple(index)

    @cached_property
    def images(self) -> Mapping[str, ImageColumn]:
        """Return per image name. Upstream takes the size from the first node that has the image."""
        sizes: dict[str, int] = {}
        rows: dict[str, dict[int, None]] = {}
        for row, node in self._as_noticed():
            for image in node.status.images:
                for name in image.names:
                    sizes.setdefault(name, image.size_bytes)
                    rows.setdefault(name, {})[row] = None
        return {
            name: ImageColumn(size, np.array(list(rows[name]), dtype=np.intp))
            for name, size in sizes.items()
        }


def zone_key(node: Node) -> tuple[str, str]:
    """Return the region and the zone of a node; upstream: component-helpers/node/topology
    (GetZoneKey)."""
    labels = node.metadata.labels
    return (
        labels.get(OLDER_REGION_LABEL, labels.get(REGION_LABEL, "")),
        labels.get(OLDER_ZONE_LABEL, labels.get(ZONE_LABEL, "")),
    )


class PodUsageColumns(Struct, frozen=True):
    """The usage of its node by each of many pods: one entry per pod in every column.

    Upstream: pkg/scheduler/framework/types.go (NodeInfo.update, one pod at a time).
    """

    requests: dict[str, Column]
    nonzero_cpu: Column
    nonzero_memory: Column

    @classmethod
    def of(cls, pods: Sequence[PodInfo]) -> PodUsageColumns:
        # Pods of one template share the object with their amounts.
        ids = np.array([id(pod.resources) for pod in pods], dtype=np.int64)
        _, first, kinds = np.unique(ids, return_index=True, return_inverse=True)
        distinct = [pods[index].resources for index in first.tolist()]
        names = dict.fromkeys(name for kind in distinct for name in kind.requests)
        return cls(
            {
                name: _column(kind.requests.get(name, 0) for kind in distinct)[kinds]
                for name in names
            },
            _column(kind.nonzero_cpu for kind in distinct)[kinds],
            _column(kind.nonzero_memory for kind in distinct)[kinds],
        )

    def gather(self, indices: Rows) -> PodUsageColumns:
        """Return the columns of some of the pods."""
        return PodUsageColumns(
            {name: column[indices] for name, column in self.requests.items()},
            self.nonzero_cpu[indices],
            self.nonzero_memory[indices],
        )


def _column(amounts: Iterable[int]) -> Column:
    return np.fromiter(amounts, dtype=np.int64)


class SnapshotContents(NamedTuple):
    """The contents of a snapshot: what a fork shares or copies, and what a copy takes along.

    node_columns: never changes, and is shared. All the rest is one snapshot's own
    usage:        one array of five columns: cpu, memory, pods, nonzero cpu and nonzero memory
    requested:    resource → column, of what is not in `usage`

    The others are as in Snapshot.
    """

    node_columns: NodeColumns
    pods: list[list[PodInfo]]
    usage: Columns
    requested: dict[str, Column]
    ports: dict[int, set[HostPort]]
    log: list[int]
    touched: NDArray[np.int32]
    huge: bool
    saturates: bool

    def writeable(self) -> SnapshotContents:
        """Return the contents with copies of the columns: protocol 5 of pickle leaves arrays
        read-only that are."""
        requested = {name: column.copy() for name, column in self.requested.items()}
        return self._replace(usage=self.usage.copy(), requested=requested)


class PodMove(NamedTuple):
    """A pod that came to a row or left it, and what it takes to take that back.

    place:  the index that it left in the row's list; None where it came
    usage:  the row's column of `usage` before
    others: the row's other amounts before
    ports:  the row's host ports before
    """

    pod: PodInfo
    row: int
    place: int | None
    usage: Column
    others: dict[str, int]
    ports: frozenset[HostPort]
    huge: bool


class SealedError(Exception):
    """Somebody wants to change a snapshot that is only to be read just now."""


@runtime_checkable
class MovesRows(Protocol):
    """An index that can be that of another snapshot, too, which has rows of its own snapshot's."""

    def moved(self, snapshot: Snapshot, row_of: Sequence[int]) -> MovesRows: ...

    def close(self) -> None: ...


class PodUse(Protocol):
    """Says what a pod uses of its node, by resource, in the units of its requests.

    gpus: the resources of which one is a GPU, beside those whose names end in /gpu
    """

    gpus: Collection[str]

    def __call__(self, pod: PodInfo) -> Mapping[str, float]: ...


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
    saturates:     then they end at the largest int64 (Rules.saturates_sums); else they wrap
    log:           the rows changed so far, in order; a cache notes its length
    touched:       how long the log was when a row was last changed, by the row's `rank`
    version:       of the pods on the nodes: every change makes another, and `retract` brings the
                   former back
    sealed:        pods may not come or go just now
    journal:       what was changed, so that `take_back` can undo it; None while nobody tries

    A deep copy or an unpickled snapshot is one of its own that nobody has subscribed to.
    """

    def __init__(
        self, nodes: Iterable[Node], noticed: Sequence[str] = (), *, saturates: bool = False
    ) -> None:
        """noticed: see NodeColumns"""
        columns = NodeColumns(nodes, noticed, saturates=saturates)
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
                saturates=saturates,
            )
        )

    def __setstate__(self, contents: SnapshotContents) -> None:
        """Take over what is in `contents`; nothing is copied."""
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
        self.version = len(contents.log)
        self.touched = contents.touched
        self.huge, self.saturates = contents.huge, contents.saturates
        self.sealed = False
        self.journal: list[PodMove] | None = None
        self._rows_amounts: list[RowAmounts | None] = [None] * len(self.nodes)
        # Per row, what was read of its requests, for plugins that ask nodes one by one; or empty.
        self.amounts_read: Sequence[dict[str, int]] = ()
        # Makes of a watcher who is told in its place.
        self.guard: Callable[[PodWatcher], PodWatcher] | None = None
        # Where plugins say what pods use of their nodes; None: what they request.
        self.pod_use: PodUse | None = None
        self._watchers: list[PodWatcher] = []
        self._indexes: dict[Callable[[Snapshot], Any], Any] = {}

    def __getstate__(self) -> SnapshotContents:
        """Return the state for copies: without the columns that are views of `usage`, as copies of
        them would not be."""
        other = self.other_requested()
        contents = SnapshotContents(
            self.node_columns, self.pods, self.usage, other, self.ports, self.log, self.touched,
            self.huge, self.saturates,
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

    def rows_amounts(self, rows: Iterable[int]) -> list[RowAmounts]:
        """Return, per row, its columns of `usage` and `capacity`: for a few rows they are quicker
        to read than arrays."""
        cached = self._rows_amounts
        return [cached[row] or self.row_amounts(row) for row in rows]

    def row_amounts(self, row: int) -> RowAmounts:
        """Return the row's columns of `usage` and `capacity`."""
        amounts = self._rows_amounts[row]
        if amounts is None:
            amounts = self._rows_amounts[row] = self._read_amounts(row)
        return amounts

    def _read_amounts(self, row: int) -> RowAmounts:
        return (*self.usage[:, row].tolist(), *self.capacity[:, row].tolist())

    def other_requested(self) -> dict[str, Column]:
        """Return the columns that are not views of `usage`."""
        return {name: c for name, c in self._requested.items() if name not in PRINCIPAL}

    # -- figures of usage ---------------------------------------------------------------------

    def use_of(self, pod: PodInfo) -> Mapping[str, float]:
        """Return what the pod uses of a node in figures of usage, by resource: what it requests,
        or what plugins say. Do not change the map."""
        return pod.resources.requests if self.pod_use is None else self.pod_use(pod)

    def used(self, resource: str) -> Column | Floats:
        """Return what the pods on each node use, see use_of; of PODS how many they are.
        Read-only."""
        if resource == PODS:
            return self.pod_count
        if self.pod_use is None:
            return self.requested(resource)
        sums = [sum(self.use_of(pod).get(resource, 0) for pod in pods) for pods in self.pods]
        return np.array(sums, dtype=np.float64).round(USAGE_DIGITS)

    def is_gpu(self, resource: str) -> bool:
        """Return whether one of the resource is a GPU."""
        is_named = self.pod_use is not None and resource in self.pod_use.gpus
        return is_named or resource.endswith("/gpu")

    # -- pods ---------------------------------------------------------------------------------

    def seal(self, shut: bool) -> None:
        """Seal the snapshot, or open it: while it is shut, no pod comes or goes and the columns
        cannot be written to."""
        self.sealed = shut
        # An array of several columns goes before its rows, which may be open only if it is.
        wide = (self.usage, self.nonzero)
        columns = (*wide, self.pod_count, self.nonzero_cpu, self.nonzero_memory)
        for column in (*columns, *self._requested.values()):
            column.setflags(write=not shut)

    @contextmanager
    def unsealed(self) -> Iterator[None]:
        """Let pods come and go meanwhile, as an operation that a plugin asks for does."""
        was_sealed = self.sealed
        if was_sealed:
            self.seal(False)
        try:
            yield
        finally:
            if was_sealed:
                self.seal(True)

    def add(self, pod: PodInfo, row: int) -> None:
        """Put a pod on a node."""
        if self.sealed:
            raise SealedError("plugins may not put pods on nodes; that is the engine's part")
        if self.journal is not None:
            self._write_journal(pod, row, None)
        self.pods[row].append(pod)
        if pod.template.host_ports:
            self.take_ports(pod, row)
        column = self.usage[:, row]
        column += pod.resources.usage
        self._count(pod.resources, row, 1)
        for watcher in self._watchers:
            watcher.pod_added(pod, row)

    def remove(self, pod: PodInfo, row: int) -> None:
        """Take a pod off its node. Upstream fills the gap with the node's last pod: so do we."""
        if self.sealed:
            raise SealedError("plugins may not take pods off nodes; that is the engine's part")
        pods = self.pods[row]
        index = next(i for i, other in enumerate(pods) if other.uid == pod.uid)
        # Claims may have given it another amount than it was tried with.
        pod = pods[index]
        if self.journal is not None:
            self._write_journal(pod, row, index)
        pods[index] = pods[-1]
        pods.pop()
        if pod.template.host_ports:
            self.free_ports(pod, row)
        column = self.usage[:, row]
        column -= pod.resources.usage
        self._count(pod.resources, row, -1)
        for watcher in self._watchers:
            watcher.pod_removed(pod, row)

    def retract(self, pod: PodInfo, row: int, came: int, before: int) -> None:
        """Take off a pod that came in the change to version `came`, from version `before`, which it
        is again where nothing else has changed since."""
        is_last = self.version == came
        self.remove(pod, row)
        # Ports and sums beyond an int64 are not sure to be what they were.
        if is_last and not (pod.template.host_ports or self.huge):
            self.version = before

    def _write_journal(self, pod: PodInfo, row: int, index: int | None) -> None:
        """Note what a change of the row takes to be undone, before it is made."""
        assert self.journal is not None
        others = {name: column.item(row) for name, column in self.other_requested().items()}
        ports = frozenset(self.ports.get(row, ()))
        usage = self.usage[:, row].copy()
        self.journal.append(PodMove(pod, row, index, usage, others, ports, self.huge))

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Take back in the end what comes and goes meanwhile."""
        is_outermost = self.journal is None
        if self.journal is None:
            self.journal = []
        length = len(self.journal)
        try:
            yield
        finally:
            self.take_back(length)
            if is_outermost:
                self.journal = None

    def take_back(self, length: int) -> None:
        """Undo what the journal has beyond its first entries, the last change first. Everything
        that follows the pods hears of it as of any change."""
        assert self.journal is not None
        others = self.other_requested()
        while len(self.journal) > length:
            move = self.journal.pop()
            pod, row = move.pod, move.row
            pods = self.pods[row]
            if move.place is None:
                pods.pop()
            elif move.place == len(pods):
                pods.append(pod)
            else:
                pods.append(pods[move.place])
                pods[move.place] = pod
            self.usage[:, row] = move.usage
            for name, column in others.items():
                column[row] = move.others.get(name, 0)
            if move.ports:
                self.ports[row] = set(move.ports)
            else:
                self.ports.pop(row, None)
            self.huge = move.huge
            self._note(row)
            for watcher in self._watchers:
                notify = watcher.pod_removed if move.place is None else watcher.pod_added
                notify(pod, row)

    def with_nodes(self, nodes: Iterable[Node], noticed: Sequence[str] = ()) -> Snapshot:
        """Return a snapshot of these nodes, which may be others: those that this one has, by name,
        keep their pods. Indexes that can move to other rows follow; nobody else has subscribed."""
        after = Snapshot(nodes, noticed, saturates=self.saturates)
        row_of = self.row
        sources = np.array([row_of.get(name, MISSING) for name in after.names], dtype=np.intp)
        stay = np.flatnonzero(sources != MISSING)
        rows = sources[stay]
        after.usage[:, stay] = self.usage[:, rows]
        for name, column in self.other_requested().items():
            after._requested[name] = np.zeros(len(after), dtype=np.int64)
            after._requested[name][stay] = column[rows]
        for row, source in zip(stay.tolist(), rows.tolist(), strict=True):
            after.pods[row] = list(self.pods[source])
            if source in self.ports:
                after.ports[row] = set(self.ports[source])
        after.huge = self.huge
        row_after = np.full(len(self), MISSING, dtype=np.intp)
        row_after[rows] = stay
        for factory, index in self._indexes.items():
            if isinstance(index, MovesRows):
                after._indexes[factory] = index.moved(after, row_after.tolist())
        return after

    def close(self) -> None:
        """Free the memory of what follows the pods, without waiting for a garbage collection: the
        snapshot is not used any more."""
        self._watchers.clear()
        for index in self._indexes.values():
            if isinstance(index, MovesRows):
                index.close()

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
        self._saturate_each(rows)

    def take_ports(self, pod: PodInfo, row: int) -> None:
        self.ports.setdefault(row, set()).update(pod.template.host_ports)

    def free_ports(self, pod: PodInfo, row: int) -> None:
        """Free the pod's host ports on a row. Upstream keeps a set, not a count: a port is free
        even if another pod has it too."""
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
                column[row] = wrap(column.item(row) + sign * amount)
        if resources.huge or (len(self.pods[row]) > MANY_PODS and self._is_huge(row)):
            self.huge = True
        if self.huge and self.saturates:
            self._saturate(row)
        self._note(row)

    def _count_each(self, rows: Rows, load: PodUsageColumns, change: np.ufunc) -> None:
        """Count each pod's requests in its row. A row may occur several times."""
        for name, amounts in load.requests.items():
            if name not in self._requested:
                self._requested[name] = np.zeros(len(self), dtype=np.int64)
            change.at(self._requested[name], rows, amounts)
        change.at(self.nonzero_cpu, rows, load.nonzero_cpu)
        change.at(self.nonzero_memory, rows, load.nonzero_memory)
        change.at(self.pod_count, rows, 1)

    def _is_huge(self, row: int) -> bool:
        """Return whether the row's pods request more of anything than MANY_PODS that are not huge
        may."""
        amounts = (column.item(row) for column in self.other_requested().values())
        return max(*self.usage[:, row].tolist(), *amounts) > MANY_PODS * HUGE

    def _saturate_each(self, rows: Rows) -> None:
        if self.huge and self.saturates:
            for row in set(rows.tolist()):
                self._saturate(row)

    def _saturate(self, row: int) -> None:
        """Sum up the row's requests anew. Upstream: SaturatingAdd, recomputeRequested."""
        columns = {**self._requested, "nonzero cpu": self.nonzero_cpu}
        columns["nonzero memory"] = self.nonzero_memory
        sums = dict.fromkeys(columns, 0)
        for pod in self.pods[row]:
            resources = pod.resources
            amounts = {**resources.requests, "nonzero cpu": resources.nonzero_cpu}
            amounts["nonzero memory"] = resources.nonzero_memory
            for name, amount in amounts.items():
                sums[name] = min(sums[name] + amount, MAX_INT64)
        for name, amount in sums.items():
            columns[name][row] = amount

    def _note(self, row: int) -> None:
        self.log.append(row)
        self.version = len(self.log)
        self.touched[self.rank.item(row)] = len(self.log)
        self._rows_amounts[row] = None
        if self.amounts_read:
            self.amounts_read[row].clear()

    # -- what follows the pods ------------------------------------------------------------------

    def subscribe(self, watcher: PodWatcher) -> None:
        """Notify the watcher of every pod that comes or goes from now on, but not by forks."""
        self._watchers.append(watcher if self.guard is None else self.guard(watcher))

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
        """Return the allocatable cpu and memory as floats."""
        return self.node_columns.principal_floats

    @cached_property
    def order(self) -> Rows:
        """Return the rows in the order of visits: round robin over zones, zones by first
        appearance."""
        return self.node_columns.order

    @cached_property
    def rank(self) -> Rows:
        """rank[row] is the row's index in `order`."""
        return self.node_columns.rank

    @cached_property
    def unschedulable(self) -> Mask:
        """Return the nodes marked spec.unschedulable."""
        return self.node_columns.unschedulable

    @cached_property
    def taint_sets(self) -> tuple[NDArray[np.int32], tuple[tuple[Taint, ...], ...]]:
        """Return an id per row, and the taints of each id."""
        return self.node_columns.taint_sets

    @cached_property
    def images(self) -> Mapping[str, ImageColumn]:
        """Return per image name."""
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
        self.__setstate__(
            SnapshotContents(
                node_columns=base.node_columns,
                pods=list(base.pods),
                usage=base.usage.copy(),
                requested={name: c.copy() for name, c in base.other_requested().items()},
                ports=dict(base.ports),
                log=[],
                touched=_NOTHING_TOUCHED,
                huge=base.huge,
                saturates=base.saturates,
            )
        )
        self._own = bytearray(len(base.pods))
        for row in rows:
            self.own(row)

    def __setstate__(self, contents: SnapshotContents) -> None:
        super().__setstate__(contents)
        # Per row, whether its pods and ports are the fork's own: all are in a copy of a fork.
        self._own = bytearray(b"\1" * len(contents.pods))

    def own(self, row: int) -> None:
        """Let pods come and go on this row, too."""
        if not self._own[row]:
            self._own[row] = True
            self.pods[row] = list(self.pods[row])
            if row in self.ports:
                self.ports[row] = set(self.ports[row])

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

    def rows_amounts(self, rows: Iterable[int]) -> list[RowAmounts]:
        return [self._read_amounts(row) for row in rows]

    def _note(self, row: int) -> None:
        """Do nothing: what is cached is never of a fork."""

    def add_each(self, pods: Sequence[PodInfo], rows: Rows, load: PodUsageColumns) -> None:
        """Add each pod to its row, as `add` does, with one array operation per quantity."""
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self._check_own(row)
            self.pods[row].append(pod)
            if pod.template.host_ports:
                self.take_ports(pod, row)
        self._count_each(rows, load, np.add)
        self._saturate_each(rows)

    def remove_each(self, pods: Sequence[PodInfo], rows: Rows, load: PodUsageColumns) -> None:
        """Remove each pod from its row, as `remove` does, except that the other pods keep their
        order."""
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self._check_own(row)
            self.pods[row].remove(pod)
            if pod.template.host_ports:
                self.free_ports(pod, row)
        self._count_each(rows, load, np.subtract)
        self._saturate_each(rows)

    def discount(self, rows: Rows, amounts: Mapping[str, Column]) -> None:
        """Subtract what pods that would leave request, and their number under PODS, from the rows;
        the pods themselves stay listed. amounts: per resource, one for each row"""
        for name, leaving in amounts.items():
            column = self.pod_count if name == PODS else self._requested.get(name)
            if column is not None:
                column[rows] -= leaving


class RowFork(SnapshotFork):
    """Pods may come and go on one row, until it is moved to another: what it then costs are the
    rows that have changed, not all columns, as a fork made for each row would.

    It follows the log of `base`; a fork keeps none, so that one of a fork holds until that changes.
    """

    def __init__(self, base: Snapshot) -> None:
        super().__init__(base, ())
        self._base = base
        self._log_length = len(base.log)
        self._row: int | None = None

    def move_to(self, row: int) -> None:
        """Move to another row: it is then what `base.fork([row])` would be, without subscribers and
        indexes."""
        base = self._base
        changed = {*base.log[self._log_length :]}
        if self._row is not None:
            changed.add(self._row)
        self._log_length, self._row = len(base.log), row
        # The rows that have changed are the base's again, whose pods and ports they share.
        rows = list(changed)
        self.usage[:, rows] = base.usage[:, rows]
        for name, column in self.other_requested().items():
            column[rows] = base.requested(name)[rows]
        for name, column in base.other_requested().items():
            if name not in self._requested:
                self._requested[name] = column.copy()
        for other in rows:
            self.pods[other] = base.pods[other]
            self._own[other] = False
            if other in base.ports:
                self.ports[other] = base.ports[other]
            else:
                self.ports.pop(other, None)
        self.own(row)
        self.huge = base.huge
        self._watchers.clear()
        self._indexes.clear()
