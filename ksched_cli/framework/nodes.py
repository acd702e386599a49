"""The nodes that a plugin is asked about: a selection of the snapshot's rows, or one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster import objects
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot


@dataclass(frozen=True, slots=True)
class Node:
    """One node with the pods on it. Amounts: cpu in milli, everything else in units."""

    snapshot: Snapshot
    row: int

    @property
    def name(self) -> str:
        return self.snapshot.names[self.row]

    @property
    def object(self) -> objects.Node:
        """The Node as the state file has it."""
        return self.snapshot.nodes[self.row]

    @property
    def labels(self) -> Mapping[str, str]:
        return MappingProxyType(self.object.metadata.labels)

    @property
    def pods(self) -> tuple[PodInfo, ...]:
        return tuple(self.snapshot.pods[self.row])

    def allocatable(self, resource: str) -> int:
        return int(self.snapshot.allocatable(resource).item(self.row))

    def requested(self, resource: str) -> int:
        return int(self.snapshot.requested(resource).item(self.row))


@dataclass(frozen=True, slots=True)
class Nodes:
    """Rows of the snapshot, in the order asked; rows None means every node in name order."""

    snapshot: Snapshot
    rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.snapshot) if self.rows is None else len(self.rows)

    def __iter__(self) -> Iterator[Node]:
        for row in range(len(self)) if self.rows is None else self.rows:
            yield Node(self.snapshot, int(row))

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """A column's values for these nodes. Do not write to it: it may be the column itself."""
        return column if self.rows is None else column[self.rows]

    def names(self) -> list[str]:
        names = self.snapshot.names
        return list(names) if self.rows is None else [names[row] for row in self.rows]

    def indices(self) -> Rows:
        """The rows, also where they are all of them."""
        return np.arange(len(self.snapshot)) if self.rows is None else self.rows
