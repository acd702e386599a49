"""The nodes that a plugin is asked about: a selection of the snapshot's rows, or one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster import objects
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.deprecation import warn_renamed

# Columns as lists, by resource: their elements are quicker to read one by one.
AsLists: TypeAlias = dict[str, list[int]]

# Iterating over fewer nodes than this, reading the columns' own elements is quicker.
MANY_ROWS = 64


class NodeInfo(Struct, frozen=True, eq=False):
    """One node with the pods on it. Amounts: cpu in milli, everything else in units."""

    snapshot: Snapshot
    row: int
    _allocatable: AsLists | None = None
    _requested: AsLists | None = None

    def __repr__(self) -> str:
        return f"Node({self.name})"

    @property
    def name(self) -> str:
        return self.snapshot.names[self.row]

    @property
    def object(self) -> objects.Node:
        """The NodeInfo as the state file has it."""
        return self.snapshot.nodes[self.row]

    @property
    def labels(self) -> Mapping[str, str]:
        return MappingProxyType(self.object.metadata.labels)

    @property
    def pods(self) -> tuple[PodInfo, ...]:
        return tuple(self.snapshot.pods[self.row])

    def allocatable(self, resource: str) -> int:
        if self._allocatable is not None:
            try:
                return self._allocatable[resource][self.row]
            except KeyError:
                self._allocatable[resource] = self.snapshot.allocatable(resource).tolist()
        return int(self.snapshot.allocatable(resource).item(self.row))

    def requested(self, resource: str) -> int:
        if self._requested is not None:
            try:
                return self._requested[resource][self.row]
            except KeyError:
                self._requested[resource] = self.snapshot.requested(resource).tolist()
        return int(self.snapshot.requested(resource).item(self.row))


class Nodes(Struct, frozen=True, eq=False):
    """Rows of the snapshot, in the order asked; rows None means every node in name order.

    first: where the rows follow each other in the order of visits, the first one's place in it
    """

    snapshot: Snapshot
    rows: Rows | None = None
    first: int | None = None

    @classmethod
    def of(cls, node: NodeInfo) -> Nodes:
        """The one node."""
        return cls(node.snapshot, np.array([node.row], dtype=np.intp))

    def __len__(self) -> int:
        return len(self.snapshot) if self.rows is None else len(self.rows)

    def __iter__(self) -> Iterator[NodeInfo]:
        if len(self) >= MANY_ROWS and type(self.snapshot) is Snapshot:
            infos = self.snapshot.index(_node_infos)
            return iter(infos if self.rows is None else [infos[row] for row in self.rows])
        rows = range(len(self)) if self.rows is None else self.rows.tolist()
        return (NodeInfo(self.snapshot, row) for row in rows)

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """A column's values for these nodes. Do not write to it: it may be the column itself."""
        return column if self.rows is None else column[self.rows]

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        warn_renamed("Nodes.take", "Nodes.gather")
        return self.gather(column)

    def gather_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        """As `gather`, of several columns at a time, one per row of the array."""
        return columns if self.rows is None else columns.take(self.rows, axis=1)

    @property
    def are_most(self) -> bool:
        """Whether they are most of the snapshot's nodes, but not all in name order: then it is
        quicker to compute a column for all nodes, and to gather the result."""
        return self.rows is not None and 2 * len(self.rows) > len(self.snapshot)

    def names(self) -> list[str]:
        names = self.snapshot.names
        return list(names) if self.rows is None else [names[row] for row in self.rows]

    def indices(self) -> Rows:
        """The rows, also where they are all of them."""
        return np.arange(len(self.snapshot)) if self.rows is None else self.rows


def _node_infos(snapshot: Snapshot) -> list[NodeInfo]:
    """One per node, sharing their columns as lists."""
    allocatable: AsLists = {}
    requested = snapshot.requested_lists
    return [NodeInfo(snapshot, row, allocatable, requested) for row in range(len(snapshot))]
