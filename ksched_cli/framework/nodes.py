"""The nodes that a plugin is asked about: a selection of the snapshot's rows, or one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster import objects
from ksched_cli.cluster.node_affinity import required_node_affinity
from ksched_cli.cluster.pod_info import HostPort, PodInfo
from ksched_cli.cluster.snapshot import PRINCIPAL, Column, Rows, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_required

# Iterating over fewer nodes than this, reading the columns' own elements is quicker.
MANY_ROWS = 64


class NodeInfo(Struct, frozen=True, eq=False):
    """One node with the pods on it. Amounts: cpu in milli, everything else in units."""

    snapshot: Snapshot
    row: int

    def __repr__(self) -> str:
        return f"Node({self.name})"

    @property
    def name(self) -> str:
        return self.snapshot.names[self.row]

    @property
    def object(self) -> objects.Node:
        """Return the NodeInfo as the state file has it."""
        return self.snapshot.nodes[self.row]

    @property
    def labels(self) -> Mapping[str, str]:
        return MappingProxyType(self.object.metadata.labels)

    @property
    def pods(self) -> tuple[PodInfo, ...]:
        return tuple(self.snapshot.pods[self.row])

    def allocatable(self, resource: str, /) -> int:
        return int(self.snapshot.allocatable(resource).item(self.row))

    def requested(self, resource: str, /) -> int:
        return int(self.snapshot.requested(resource).item(self.row))

    def nonzero_requested(self, resource: str, /) -> int:
        """Return what the pods request of cpu or memory, where a container that requests none
        counts with 100m or 200Mi, as when nodes are scored."""
        return int(self.snapshot.nonzero[PRINCIPAL.index(resource)].item(self.row))

    @property
    def used_ports(self) -> frozenset[HostPort]:
        """Return the host ports in use, each with `ip`, `protocol` and `port`."""
        return frozenset(self.snapshot.ports.get(self.row, ()))


class _Amounts(dict[str, int]):
    """A row's amounts by resource: those read so far, the others when they are asked for."""

    __slots__ = ("_column", "_row")

    def __init__(self, column: Callable[[str], Column], row: int) -> None:
        self._column = column
        self._row = row

    def __missing__(self, resource: str) -> int:
        amount = self[resource] = int(self._column(resource).item(self._row))
        return amount


class _NodeOfMany(NodeInfo, frozen=True, eq=False):
    """One of many nodes that are asked one by one: to look up an amount is a call of C."""

    allocatable: Callable[[str], int]
    requested: Callable[[str], int]


class Nodes(Struct, frozen=True, eq=False):
    """Rows of the snapshot, in the order asked; rows None means every node in name order.

    first: where the rows follow each other in the order of visits, the first one's place in it
    """

    snapshot: Snapshot
    rows: Rows | None = None
    first: int | None = None

    @classmethod
    def of(cls, node: NodeInfo) -> Nodes:
        """Return the one node."""
        return cls(node.snapshot, np.array([node.row], dtype=np.intp))

    def __len__(self) -> int:
        # Without Snapshot.__len__, as nodes are counted dozens of times per pod.
        return len(self.snapshot.names if self.rows is None else self.rows)

    def __iter__(self) -> Iterator[NodeInfo]:
        if len(self) >= MANY_ROWS and type(self.snapshot) is Snapshot:
            return iter(self.snapshot.index(_NodeInfos).of(self.rows))
        rows = range(len(self)) if self.rows is None else self.rows.tolist()
        return (NodeInfo(self.snapshot, row) for row in rows)

    def selected_by(self, pod: PodInfo) -> NDArray[np.bool_]:
        """Return per node, whether the pod's nodeSelector and required node affinity select it."""
        return self.gather(matches_required(self.snapshot, required_node_affinity(pod.spec)))

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column's values for these nodes. Do not write to it: it may be the column
        itself."""
        return column if self.rows is None else column.take(self.rows, 0)

    def gather_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Gather as `gather` does, several columns at a time, one per row of the array."""
        return columns if self.rows is None else columns.take(self.rows, axis=1)

    @property
    def are_most(self) -> bool:
        """Return whether they are most of the snapshot's nodes, but not all in name order: then it
        is quicker to compute a column for all nodes, and to gather the result."""
        return self.rows is not None and 2 * len(self.rows) > len(self.snapshot)

    def names(self) -> list[str]:
        names = self.snapshot.names
        return list(names) if self.rows is None else [names[row] for row in self.rows]

    def indices(self) -> Rows:
        """Return the rows, also where they are all of them."""
        return np.arange(len(self.snapshot)) if self.rows is None else self.rows


# For how many lengths a list of nodes is kept: Filter and Score are asked about the same ones for
# pod after pod. Where nodes are listed anew each time, 5,000 nodes take 1.2 times as long.
LISTS_MAX = 4


class _NodeInfos:
    """One NodeInfo per node; the snapshot empties the requests that were read when a pod moves."""

    def __init__(self, snapshot: Snapshot) -> None:
        # Nodes of one size share what was read: the fewer objects there are, the more stay in the
        # processor's cache.
        columns = snapshot.node_columns.allocatable.values()
        sizes = list(zip(*(column.tolist() for column in columns), strict=True))
        of_size = {
            size: _Amounts(snapshot.allocatable, row).__getitem__ for row, size in enumerate(sizes)
        }
        requests = snapshot.amounts_read = [
            _Amounts(snapshot.requested, row) for row in range(len(snapshot))
        ]
        self._infos: list[NodeInfo] = [
            _NodeOfMany(snapshot, row, of_size[size], requests[row].__getitem__)
            for row, size in enumerate(sizes)
        ]
        self._lists: dict[int, tuple[Rows, list[NodeInfo]]] = {}

    def of(self, rows: Rows | None) -> list[NodeInfo]:
        """Return those of the rows, in their order."""
        if rows is None:
            return self._infos
        former, listed = self._lists.get(len(rows), (None, []))
        if former is None or not np.array_equal(former, rows):
            infos = self._infos
            listed = [infos[row] for row in rows.tolist()]
            if len(self._lists) >= LISTS_MAX:
                self._lists.clear()
            self._lists[len(rows)] = rows.copy(), listed
        return listed
