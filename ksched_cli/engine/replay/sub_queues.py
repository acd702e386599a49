"""The places of the pods in the queue, with classes in place of their members.

Upstream: pkg/scheduler/backend/queue has a type per place (activeQueue, backoffQueue,
unschedulablePods, which has them one by one). In its heaps (pkg/scheduler/backend/heap/heap.go) a
pod is replaced; here its earlier entries are void.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count, groupby
from typing import NamedTuple

from ksched_cli.cluster.pod_info import PodInfo, has_volume_claims
from ksched_cli.engine.replay.queued_pod import (
    ACTIVE,
    BACKOFF,
    ERROR_BACKOFF,
    NOWHERE,
    UNSCHEDULABLE,
    Backoff,
    EquivalenceClass,
    Key,
    OnRejections,
    QueuedPodGroupInfo,
    QueuedPodInfo,
    QueuePlace,
    sort_key,
)
from ksched_cli.engine.replay.records import ReplayClock
from ksched_cli.framework.runtime import Framework
from ksched_cli.kube.versions import Rules

FLUSH_INTERVAL = 30_000_000
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
    keys: by pod, those of its group, and in the group
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
        self.keys: dict[QueuedPodInfo, tuple[_GroupKey, Hashable]] = {}
        # (time of the flush, number of the entry, the pod's entry, pod); void where it has moved.
        self._flushes: list[tuple[int, int, int, QueuedPodInfo]] = []
        self._numbers = count()

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
                # A pod is here, and a pod or a class arrives.
                del self.keys[present]
                if isinstance(queued, EquivalenceClass):
                    queued.add(present)
                else:
                    alike = EquivalenceClass.of(present, self._on_rejections)
                    alike.add(queued)
                    alike.place = UNSCHEDULABLE
                    queued = alike
        group[key] = queued
        self.keys[queued] = group_key, key
        if queued.gated:
            self.gated_count += queued.size
        if self._rules.flushes_gated_pods or not queued.gated:
            due = (
                (max(queued.timestamp, queued.flushed) + _MAX_STAY)
                // FLUSH_INTERVAL
                * FLUSH_INTERVAL
            )
            flush = (due + FLUSH_INTERVAL, next(self._numbers), queued.entry, queued)
            heappush(self._flushes, flush)

    def remove(self, queued: QueuedPodInfo) -> None:
        """No member of a class."""
        group_key, key = self.keys.pop(queued)
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
            if queued.place is UNSCHEDULABLE and queued.entry == entry:
                return due
            heappop(flushes)
        return None

    def take_overdue(self, now: int) -> list[QueuedPodInfo]:
        """Return the pods that a flush moves now; they are still here."""
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
    """Return whether the pod may join a class."""
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


# What a heap is sorted by, the item's number, the pod's `entry` then, and the pod.
_Item = tuple[Key, int, int, QueuedPodInfo]


class PodHeaps:
    """Pods to try and pods that back off, in sort order: a heap per place."""

    def __init__(self, places: Iterable[QueuePlace]) -> None:
        self._heaps: dict[QueuePlace, list[_Item]] = {place: [] for place in places}
        # A void item may have the key of one that is not.
        self._numbers = count()

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Iterate in no particular order."""
        for place, heap in self._heaps.items():
            for _, _, entry, queued in heap:
                if queued.entry == entry and queued.place is place:
                    yield queued

    def push(self, place: QueuePlace, key: Key, queued: QueuedPodInfo) -> None:
        heappush(self._heaps[place], (key, next(self._numbers), queued.entry, queued))

    def peek(self, place: QueuePlace) -> QueuedPodInfo | None:
        """Return the first."""
        item = self.first(place)
        return None if item is None else item[3]

    def first(self, place: QueuePlace) -> _Item | None:
        """Return the first with its key."""
        heap = self._heaps[place]
        while heap:
            item = heap[0]
            if item[3].entry == item[2]:
                return item
            heappop(heap)
        return None

    def take(self, place: QueuePlace) -> QueuedPodInfo | None:
        """Return the first, which is in no place then."""
        item = self.first(place)
        if item is None:
            return None
        heappop(self._heaps[place])
        queued = item[3]
        queued.place = NOWHERE
        queued.entry += 1
        return queued

    def take_while(
        self, place: QueuePlace, accepts: Callable[[QueuedPodInfo], bool]
    ) -> tuple[list[tuple[Key, QueuedPodInfo]], Key | None]:
        """Return the first ones with their keys, as long as they are accepted, and the key of the
        next; None if there is no other."""
        taken: list[tuple[Key, QueuedPodInfo]] = []
        while (item := self.first(place)) is not None:
            if not accepts(item[3]):
                return taken, item[0]
            self.take(place)
            taken.append((item[0], item[3]))
        return taken, None


# Whether the pod would be rejected as one alike just was.
IsRejected = Callable[[PodInfo], bool]

RETRIES = (BACKOFF, ERROR_BACKOFF)


class SubQueues:
    """framework: whose QueueSort plugin sorts the pods"""

    def __init__(
        self,
        framework: Framework,
        backoff: Backoff,
        clock: ReplayClock,
        on_rejections: OnRejections | None = None,
    ) -> None:
        self.framework = framework
        self.heaps = PodHeaps((ACTIVE, *RETRIES))
        self.unschedulable = UnschedulablePods(
            backoff.longest_after(),
            on_rejections,
            forms_classes=framework.sort_key is not None,
            rules=framework.handle.release.rules,
        )
        self._backoff = backoff
        self._clock = clock

    def put(self, queued: QueuedPodInfo, place: QueuePlace) -> None:
        """Take the pod out of the place where it is, and into another."""
        if queued.is_member:
            # It leaves its class, which stays where it is unless it is empty now.
            alike = self._class_of(queued)
            former = alike.place
            self.put(alike, NOWHERE)
            alike.take(alike.index_of(queued) or 0)
            if len(alike):
                self.put(alike, former)
        elif queued.place is UNSCHEDULABLE:
            self.unschedulable.remove(queued)
        queued.entry += 1
        queued.place = place
        if isinstance(queued, QueuedPodGroupInfo):
            queued.stand_in(place)
        if place is UNSCHEDULABLE:
            self.unschedulable.add(queued)
        elif place is not NOWHERE:
            if isinstance(queued, EquivalenceClass):
                queued.begin_with_first()
            key = sort_key(queued, self.framework, self._clock)
            if place is not ACTIVE:
                key = (self._backoff.expiration(queued), key[0]), key[1]
            self.heaps.push(place, key, queued)

    def take(self, place: QueuePlace) -> QueuedPodInfo | None:
        """Return the first pod of a heap, which is in no place then."""
        queued = self.heaps.take(place)
        if not isinstance(queued, EquivalenceClass):
            return queued
        first = queued.take()
        if len(queued):
            self.put(queued, place)
        return first

    # -- classes ----------------------------------------------------------------------------------

    def classes(self) -> Iterator[EquivalenceClass]:
        for place in (self.unschedulable, self.heaps):
            yield from (queued for queued in place if isinstance(queued, EquivalenceClass))

    def dissolve_classes(self) -> None:
        """Their members, which must be refreshed, are in no place then."""
        for alike in list(self.classes()):
            self.put(alike, NOWHERE)
            alike.dissolve()

    def place_of(self, queued: QueuedPodInfo) -> QueuePlace:
        return self._class_of(queued).place if queued.is_member else queued.place

    def _class_of(self, queued: QueuedPodInfo) -> EquivalenceClass:
        signature = queued.pod.signature
        candidates = (each for each in self.classes() if each.pod.signature == signature)
        return next(each for each in candidates if each.index_of(queued) is not None)

    def take_rejected(
        self, place: QueuePlace, is_rejected: IsRejected, sequence: int
    ) -> tuple[list[EquivalenceClass], int]:
        """Return the first classes of a heap that would be rejected, as far as they come before any
        other pod.

        sequence: that was given last; their members get greater ones, in order. Returns the last of
        these, too
        """
        taken, limit = self.heaps.take_while(
            place, lambda queued: isinstance(queued, EquivalenceClass) and is_rejected(queued.pod)
        )
        rejected: list[EquivalenceClass] = []
        for head, pairs in groupby(taken, lambda pair: pair[0][0]):
            classes = [each for _, each in pairs if isinstance(each, EquivalenceClass)]
            if limit is not None and limit[0] == head:
                classes = [self._split(alike, limit[1], place) for alike in classes]
            behind = sequence + 1 - min(alike.sequence for alike in classes)
            for alike in classes:
                alike.move_behind(behind)
            sequence = max(alike.last_sequence for alike in classes)
            rejected += classes
        return rejected, sequence

    def _split(self, alike: EquivalenceClass, sequence: int, place: QueuePlace) -> EquivalenceClass:
        """Return the members before that sequence; the others go back."""
        part = alike.split(sequence)
        if part is None:
            return alike
        self.put(alike, place)
        return part
