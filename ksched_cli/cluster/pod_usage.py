"""The usage of nodes by many pods, as columns.

Upstream: pkg/scheduler/framework/types.go (NodeInfo.update, one pod at a time).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.node_columns import Column, Rows
from ksched_cli.cluster.pod_info import PodInfo


class PodUsageColumns(Struct, frozen=True):
    """The usage of its node by each of many pods: one entry per pod in every column."""

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
