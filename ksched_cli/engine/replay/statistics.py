"""Waiting times in groups, and how full the cluster is over time; of bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.engine.replay.records import Count, Moment
from ksched_cli.kube.time import SECOND

# Distinct owners that are told apart; those of later pods are counted together.
MAX_GROUPS = 1_000
OTHERS = "(others)"
# Times are counted in classes of so many significant digits.
_DIGITS = 3
MAX_SAMPLES = 1_000


@dataclass(slots=True)
class WaitingTimes:
    """How long pods waited for a node, in microseconds; percentiles to three digits."""

    count: Count = 0
    total: Count = 0
    longest: Moment = 0
    _classes: dict[Moment, Count] = field(default_factory=dict)

    def add(self, waited: int) -> None:
        self.count += 1
        self.total += waited
        self.longest = max(self.longest, waited)
        excess = len(str(waited)) - _DIGITS
        rounded = waited if excess <= 0 else round(waited, -excess)
        self._classes[rounded] = self._classes.get(rounded, 0) + 1

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def percentiles(self, shares: tuple[float, ...]) -> list[int]:
        """The times that these shares of the pods did not exceed."""
        times = sorted(self._classes)
        sums = list(accumulate(self._classes[time] for time in times))
        ranks = (max(1, -(-int(share * 1000) * self.count // 1000)) for share in shares)
        return [
            next((time for time, total in zip(times, sums, strict=True) if total >= rank), 0)
            for rank in ranks
        ]


@dataclass(slots=True)
class WaitingGroups:
    """By the value that pods have of one property."""

    groups: dict[str, WaitingTimes] = field(default_factory=dict)

    def add(self, name: str, waited: int) -> None:
        group = self.groups.get(name)
        if group is None:
            if len(self.groups) >= MAX_GROUPS:
                name = OTHERS
            group = self.groups.setdefault(name, WaitingTimes())
        group.add(waited)


class UsageSample(Struct, frozen=True):
    """The cluster at a time.

    pods:     on nodes
    utilization: resource → the share of the nodes' allocatable that pods request
    fragmentation: resource → the share of what is free that lies on nodes without room for a pod of
              the mean requests of those that run
    """

    at: Moment
    nodes: Count
    pods: Count
    pending: Count
    utilization: Mapping[str, float]
    fragmentation: Mapping[str, float]


@dataclass(slots=True)
class UsageCurve:
    """Samples at least `interval` apart; where there get too many, every other one goes."""

    interval: Count = SECOND
    samples: list[UsageSample] = field(default_factory=list)
    _next: Count = 0

    def note(self, at: int, snapshot: Snapshot, pending: int) -> None:
        if at < self._next:
            return
        self.samples.append(sample(at, snapshot, pending))
        if len(self.samples) > MAX_SAMPLES:
            self.samples = self.samples[::2]
            self.interval *= 2
        self._next = at + self.interval

    def finish(self, at: int, snapshot: Snapshot, pending: int) -> None:
        """The last sample is of the end."""
        if self.samples and self.samples[-1].at == at:
            self.samples.pop()
        self.samples.append(sample(at, snapshot, pending))


def sample(at: int, snapshot: Snapshot, pending: int) -> UsageSample:
    """The cluster as it is now."""
    pods = int(snapshot.pod_count.sum())
    utilization, free, means = {}, {}, {}
    for resource, allocatable in sorted(snapshot.node_columns.allocatable.items()):
        total = int(allocatable.sum())
        if not total:
            continue
        requested = snapshot.pod_count if resource == PODS else snapshot.requested(resource)
        utilization[resource] = float(requested.sum()) / total
        free[resource] = np.maximum(allocatable - requested, 0)
        means[resource] = float(requested.sum()) / pods if pods else 0.0
    lacks_room = np.zeros(len(snapshot), dtype=np.bool_)
    for resource, column in free.items():
        lacks_room |= column < means[resource]
    fragmentation = {
        resource: float(column[lacks_room].sum() / column.sum()) if column.any() else 0.0
        for resource, column in free.items()
        if resource != PODS
    }
    return UsageSample(at, len(snapshot), pods, pending, utilization, fragmentation)
