"""All that makes a snapshot, as a value: what copies and forks are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.node_columns import Column, Columns, NodeColumns
from ksched_cli.cluster.pod_info import HostPort, PodInfo


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

    def writeable(self) -> SnapshotContents:
        """With copies of the columns: protocol 5 of pickle leaves arrays read-only that are."""
        requested = {name: column.copy() for name, column in self.requested.items()}
        return self._replace(usage=self.usage.copy(), requested=requested)
