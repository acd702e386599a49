"""The rows that some pod is nominated to, and a fork to try a pod on them beside those.

Upstream: pkg/scheduler/framework/runtime/framework.go (addGENominatedPods).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.row_fork import RowFork
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.results import Mask


class NominatedRows:
    """The nominator's nominations as rows of a snapshot."""

    def __init__(self, snapshot: Snapshot, nominator: Nominator) -> None:
        self._snapshot = snapshot
        self._nominator = nominator
        # As of a version of the nominator.
        self._version = -1
        self._mask: Mask = np.zeros(0, dtype=np.bool_)
        self._fork: RowFork | None = None

    def among(self, nodes: Nodes, pod: PodInfo) -> Iterator[tuple[int, int, list[PodInfo]]]:
        """Those of the nodes that pods are nominated to which count for `pod`: index, row, pods."""
        if self._version != self._nominator.version:
            self._version = self._nominator.version
            row_of = self._snapshot.row
            self._mask = np.zeros(len(row_of), dtype=np.bool_)
            self._mask[[row_of[name] for name in self._nominator.nodes() if name in row_of]] = True
        indices = nodes.gather(self._mask).nonzero()[0]
        rows = nodes.indices()[indices]
        for index, row in zip(indices.tolist(), rows.tolist(), strict=True):
            pods = self.pods(row, pod)
            if pods:
                yield index, row, pods

    def pods(self, row: int, pod: PodInfo) -> list[PodInfo]:
        """The pods that are nominated to the row and that `pod` has to fit beside."""
        return [
            other
            for other in self._nominator.on_node(self._snapshot.names[row])
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def fork(self, snapshot: Snapshot) -> RowFork:
        """To be moved to each of the rows; of the snapshot itself always the same, which follows
        it. snapshot: that, or a fork of it"""
        if snapshot is not self._snapshot:
            return RowFork(snapshot)
        if self._fork is None:
            self._fork = RowFork(snapshot)
        return self._fork
