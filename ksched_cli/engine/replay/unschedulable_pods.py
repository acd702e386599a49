"""The pods that were tried and fit nowhere, or are gated, in groups that events treat alike.

Upstream: pkg/scheduler/backend/queue/unschedulable_pods.go, which has them one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import heappop, heappush

from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo

_FLUSH_INTERVAL = 30_000_000
_MAX_STAY = 300_000_000

Group = dict[str, QueuedPodInfo]


class UnschedulablePods:
    """Groups by pod signature and by the plugins that rejected: hints say the same of all pods of
    a group, but of the pod that an event is about. A pod with volumes or claims has its own."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, Group] = {}
        self._group_keys: dict[str, Hashable] = {}
        # (time of the flush, sequence, entry, pod); void where the pod has moved since.
        self._flushes: list[tuple[int, int, int, QueuedPodInfo]] = []

    def __len__(self) -> int:
        return len(self._group_keys)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (queued for group in self._groups.values() for queued in group.values())

    def groups(self) -> Iterable[Group]:
        """Copies: pods may leave meanwhile."""
        return [dict(group) for group in self._groups.values()]

    def add(self, queued: QueuedPodInfo) -> None:
        uid = queued.pod.uid
        key = self._group_keys[uid] = _group_key(queued)
        self._groups.setdefault(key, {})[uid] = queued
        if not queued.gated:
            due = (queued.timestamp + _MAX_STAY) // _FLUSH_INTERVAL * _FLUSH_INTERVAL
            flush = (due + _FLUSH_INTERVAL, queued.sequence, queued.entry, queued)
            heappush(self._flushes, flush)

    def remove(self, queued: QueuedPodInfo) -> None:
        uid = queued.pod.uid
        key = self._group_keys.pop(uid)
        group = self._groups[key]
        del group[uid]
        if not group:
            del self._groups[key]

    def next_flush(self) -> int | None:
        """When a flush moves the next pod: the first of the flushes, every thirty seconds, after
        five minutes."""
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
            overdue.append(heappop(self._flushes)[3])
        return overdue


def _group_key(queued: QueuedPodInfo) -> Hashable:
    pod = queued.pod
    is_alone = bool(pod.spec.volumes or pod.spec.resource_claims)
    return (
        pod.signature,
        queued.unschedulable_plugins,
        queued.pending_plugins,
        queued.gating_plugin,
        pod.uid if is_alone else "",
    )
