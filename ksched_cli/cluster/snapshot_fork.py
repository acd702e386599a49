"""A snapshot to try things out on: pods come and go in it, and the original does not notice.

Upstream: NodeInfo.Snapshot, which copies one node; here a copy is good for many nodes at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Column, Rows, Snapshot


@dataclass(frozen=True, slots=True)
class PodUsageColumns:
    """What each of many pods takes of its node: one entry per pod in every column."""

    requests: dict[str, Column]
    nonzero_cpu: Column
    nonzero_memory: Column

    @classmethod
    def of(cls, pods: Sequence[PodInfo]) -> PodUsageColumns:
        # Pods of one template share the object with their amounts.
        ids = np.array([id(pod.resources) for pod in pods], dtype=np.int64)
        _, first, kinds = np.unique(ids, return_index=True, return_inverse=True)
        resources = [pods[index].resources for index in first.tolist()]
        names = dict.fromkeys(name for kind in resources for name in kind.requests)
        return cls(
            {
                name: _column(kind.requests.get(name, 0) for kind in resources)[kinds]
                for name in names
            },
            _column(kind.nonzero_cpu for kind in resources)[kinds],
            _column(kind.nonzero_memory for kind in resources)[kinds],
        )

    def gather(self, places: Rows) -> PodUsageColumns:
        return PodUsageColumns(
            {name: column[places] for name, column in self.requests.items()},
            self.nonzero_cpu[places],
            self.nonzero_memory[places],
        )


def _column(amounts: Iterable[int]) -> Column:
    return np.fromiter(amounts, dtype=np.int64)


class SnapshotFork(Snapshot):
    """Shares with `base` all that is not changed here. Nobody watches it, and it keeps no log.

    Only the nodes of `rows` may be changed.
    """

    def __init__(self, base: Snapshot, rows: Sequence[int]) -> None:
        self.__dict__.update(base.__dict__)
        self.pods = list(base.pods)
        self.ports = dict(base.ports)
        for row in rows:
            self.pods[row] = list(base.pods[row])
            if row in self.ports:
                self.ports[row] = set(self.ports[row])
        self._take_usage(
            base.usage.copy(),
            {name: column.copy() for name, column in base._requested.items()},
        )
        self.log = []
        self.watchers = []
        self.sealed = False

    def _note(self, row: int) -> None:
        """What is kept is kept of the original."""

    def add_each(self, pods: Sequence[PodInfo], rows: Rows, load: PodUsageColumns) -> None:
        """As `add` of each pod to its row, with one array operation per quantity."""
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self.pods[row].append(pod)
            if pod.template.host_ports:
                self.take_ports(pod, row)
        self._count_each(rows, load, np.add)

    def remove_each(self, pods: Sequence[PodInfo], rows: Rows, load: PodUsageColumns) -> None:
        """As `remove` of each pod from its row, but that the other pods keep their order."""
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self.pods[row].remove(pod)
            if pod.template.host_ports:
                self.free_ports(pod, row)
        self._count_each(rows, load, np.subtract)

    def _count_each(self, rows: Rows, load: PodUsageColumns, change: np.ufunc) -> None:
        """A row may occur several times."""
        for name, amounts in load.requests.items():
            change.at(self._requested[name], rows, amounts)
        change.at(self.nonzero_cpu, rows, load.nonzero_cpu)
        change.at(self.nonzero_memory, rows, load.nonzero_memory)
        change.at(self.pod_count, rows, 1)
