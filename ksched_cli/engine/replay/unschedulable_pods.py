"""The pods that were tried and fit nowhere, or are gated, in groups that events treat alike.

Upstream: pkg/scheduler/backend/queue/unschedulable_pods.go, which has them one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from ksched_cli.cluster.pod_info import has_volume_claims
from ksched_cli.engine.replay.equivalence_class import EquivalenceClass, OnRejections
from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo
from ksched_cli.engine.replay.queued_pod_group import QueuedPodGroupInfo
from ksched_cli.kube.versions import Rules

_FLUSH_INTERVAL = 30_000_000
_MAX_STAY = 300_000_000
_NEWEST = Rules()

# By uid; classes, and pods that may become some, by what their members share besides.
Group = dict[Hashable, QueuedPodInfo]


class _GroupKey(NamedTuple):
    """The values that hints read. owner: the UID of a pod that has a group of its own"""

    signature: int
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    gating_plugin: str
    owner: str


class UnschedulablePods:
    """Groups by pod signature and by the plugins that rejected: hints say the same of all pods of
    a group, but of the pod that an event is about. A pod with claims has its own.

    longest_after: after so many rejections the backoff does not grow any more
    forms_classes: whether pods become members of classes
    rules: see Rules.flushes_gated_pods, remembers_flushes
    gated_count: how many of the pods are gated
    """

    def __init__(
        self,
        longest_after: int = 1,
        on_rejections: OnRejections | None = None,
        *,
        forms_classes: bool = False,
        rules: Rules = _NEWEST,
    ) -> None:
        self._longest_after = longest_after
        self._on_rejections = on_rejections
        self._forms_classes = forms_classes
        self._rules = rules
        self.gated_count = 0
        self._groups: dict[_GroupKey, Group] = {}
        self._keys: dict[QueuedPodInfo, tuple[_GroupKey, Hashable]] = {}
        # (time of the flush, number of the entry, the pod's entry, pod); void where it has moved.
        self._flushes: list[tuple[int, int, int, QueuedPodInfo]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Pods, and classes in place of theirs."""
        return (queued for group in self._groups.values() for queued in group.values())

    def groups(self) -> Iterable[Group]:
        """Copies: pods may leave meanwhile."""
        return [dict(group) for group in self._groups.values()]

    def add(self, queued: QueuedPodInfo) -> None:
        group_key = _group_key(queued)
        group = self._groups.setdefault(group_key, {})
        key: Hashable = queued.pod.uid
        if self._forms_classes and _may_join(queued):
            rejections = min(queued.unschedulable_count, self._longest_after)
            key = queued.timestamp, rejections, queued.message
            present = group.get(key)
            if isinstance(present, EquivalenceClass):
                present.add(queued)
                return
            if present is not None:
                queued = self._merge(present, queued)
        group[key] = queued
        self._keys[queued] = group_key, key
        if queued.gated:
            self.gated_count += queued.size
        if self._rules.flushes_gated_pods or not queued.gated:
            due = (
                (max(queued.timestamp, queued.flushed) + _MAX_STAY)
                // _FLUSH_INTERVAL
                * _FLUSH_INTERVAL
            )
            flush = (due + _FLUSH_INTERVAL, next(self._numbers), queued.entry, queued)
            heappush(self._flushes, flush)

    def _merge(self, present: QueuedPodInfo, queued: QueuedPodInfo) -> EquivalenceClass:
        """Merges a pod that is here with a pod or a class that arrives."""
        del self._keys[present]
        if isinstance(queued, EquivalenceClass):
            queued.add(present)
            return queued
        alike = EquivalenceClass.of(present, self._on_rejections)
        alike.add(queued)
        alike.place = Place.UNSCHEDULABLE
        return alike

    def remove(self, queued: QueuedPodInfo) -> None:
        """No member of a class."""
        group_key, key = self._keys.pop(queued)
        if group_key.gating_plugin:
            self.gated_count -= queued.size
        group = self._groups[group_key]
        del group[key]
        if not group:
            del self._groups[group_key]

    def next_flush(self) -> int | None:
        """Return when a flush moves the next pod: the first of the flushes, every thirty seconds,
        after five minutes."""
        flushes = self._flushes
        while flushes:
            due, _, entry, queued = flushes[0]
            if queued.place is Place.UNSCHEDULABLE and queued.entry == entry:
                return due
            heappop(flushes)
        return None

    def take_overdue(self, now: int) -> list[QueuedPodInfo]:
        """The pods that a flush moves now; they are still here."""
        overdue = []
        while (due := self.next_flush()) is not None and due <= now:
            queued = heappop(self._flushes)[3]
            queued.flushed = now if self._rules.remembers_flushes else now - _MAX_STAY
            overdue.append(queued)
        return overdue


def _is_alone(queued: QueuedPodInfo) -> bool:
    spec = queued.pod.spec
    return bool(spec.resource_claims) or has_volume_claims(spec)


def _may_join(queued: QueuedPodInfo) -> bool:
    """Whether the pod may join a class."""
    return (
        queued.repeats
        and not queued.gated
        and not queued.pod.pod.status.nominated_node_name
        and not _is_alone(queued)
    )


def _group_key(queued: QueuedPodInfo) -> _GroupKey:
    pod = queued.pod
    return _GroupKey(
        pod.signature,
        queued.unschedulable_plugins,
        queued.pending_plugins,
        queued.gating_plugin,
        pod.uid if _is_alone(queued) or isinstance(queued, QueuedPodGroupInfo) else "",
    )
