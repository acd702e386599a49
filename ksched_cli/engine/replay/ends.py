"""The times at which running pods end."""

from __future__ import annotations

from heapq import heappop, heappush

from msgspec import Struct

from ksched_cli.engine.replay.records import Moment, PodOutcome


class End(Struct, frozen=True):
    """at: microseconds since the start. outcome: what the end makes of the pod."""

    at: Moment
    key: str
    outcome: PodOutcome


class Ends:
    """The earliest end given for each pod; ends at one time keep their order of arrival."""

    def __init__(self) -> None:
        self._by_uid: dict[str, End] = {}
        self._heap: list[tuple[int, int, str]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._by_uid)

    def schedule(self, uid: str, end: End) -> None:
        """Does nothing where the pod ends earlier."""
        earlier = self._by_uid.get(uid)
        if earlier is not None and earlier.at <= end.at:
            return
        self._by_uid[uid] = end
        self._sequence += 1
        heappush(self._heap, (end.at, self._sequence, uid))

    def cancel(self, uid: str) -> None:
        """The pod has ended otherwise."""
        self._by_uid.pop(uid, None)

    def listed(self) -> tuple[tuple[str, End], ...]:
        """Return UIDs with their ends, in the order in which they are due."""
        due = {}
        for at, _, uid in sorted(self._heap):
            end = self._by_uid.get(uid)
            if end is not None and end.at == at:
                due[uid] = end
        return tuple(due.items())

    @property
    def next(self) -> int | None:
        """The time of the next end."""
        heap = self._heap
        while heap:
            at, _, uid = heap[0]
            end = self._by_uid.get(uid)
            if end is not None and end.at == at:
                return at
            heappop(heap)
        return None

    def pop(self, now: int) -> End | None:
        """The next end that is due."""
        at = self.next
        if at is None or at > now:
            return None
        return self._by_uid.pop(heappop(self._heap)[2])
