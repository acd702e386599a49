"""The heaps of the queue: pods to try, and pods that back off, by what they are sorted by.

Upstream: pkg/scheduler/backend/heap/heap.go, in which a pod is replaced; here its earlier entries
are void.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count

from ksched_cli.engine.replay.queue_order import Key
from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo

# What a heap is sorted by, the item's number, the pod's `entry` then, and the pod.
_Item = tuple[Key, int, int, QueuedPodInfo]


class PodHeaps:
    """One per place."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._heaps: dict[Place, list[_Item]] = {place: [] for place in places}
        # A void item may have the key of one that is not.
        self._numbers = count()

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In no order."""
        for place, heap in self._heaps.items():
            for _, _, entry, queued in heap:
                if queued.entry == entry and queued.place is place:
                    yield queued

    def push(self, place: Place, key: Key, queued: QueuedPodInfo) -> None:
        heappush(self._heaps[place], (key, next(self._numbers), queued.entry, queued))

    def peek(self, place: Place) -> QueuedPodInfo | None:
        """The first."""
        item = self.first(place)
        return None if item is None else item[3]

    def first(self, place: Place) -> _Item | None:
        """The first with its key."""
        heap = self._heaps[place]
        while heap:
            item = heap[0]
            if item[3].entry == item[2]:
                return item
            heappop(heap)
        return None

    def take(self, place: Place) -> QueuedPodInfo | None:
        """The first, which is in no place then."""
        item = self.first(place)
        if item is None:
            return None
        heappop(self._heaps[place])
        queued = item[3]
        queued.place = Place.NOWHERE
        queued.entry += 1
        return queued

    def take_while(
        self, place: Place, accepts: Callable[[QueuedPodInfo], bool]
    ) -> tuple[list[tuple[Key, QueuedPodInfo]], Key | None]:
        """The first ones with their keys, as long as they are accepted, and the key of the next;
        None where there is no other."""
        taken: list[tuple[Key, QueuedPodInfo]] = []
        while (item := self.first(place)) is not None:
            if not accepts(item[3]):
                return taken, item[0]
            self.take(place)
            taken.append((item[0], item[3]))
        return taken, None
