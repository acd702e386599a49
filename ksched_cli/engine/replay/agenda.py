"""What is due in a replay: one heap, and the order of what is due at one instant.

kube-scheduler, the kubelet and the controllers are processes of their own, which nothing puts in an
order. The order here is ksched's: first the cluster changes, then the scheduler hears about it, and
last it tries pods.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from typing import TypeAlias

from msgspec import Struct

from ksched_cli.engine.replay.records import ReplayClock

Act: TypeAlias = Callable[[], object]


class Rank(IntEnum):
    """Sources of what is due, in their order within an instant. Attempts follow after the last."""

    END = 0  # pods end, or their time to terminate is over
    EVENT = 1  # events of the timeline, in its order
    OUTAGE = 2  # the node lifecycle controller notices failed nodes, and taints them
    EVICTION = 3  # pods of failed nodes have tolerated the taint for long enough
    SCALE = 4  # nodes that were ordered join; the autoscaler scans
    ALARM = 5  # a plugin asked for another chance of all pods
    FLUSH = 6  # pods have been unschedulable for long, or their backoff is over
    PERMIT = 7  # a pod has waited at Permit for too long
    ROLLOUT = 8  # a pod of a rollout is available; the controller looks after the attempts


# Python 3.11 takes 0.1 µs to find a member of an Enum.
END, EVENT, OUTAGE, EVICTION, SCALE, ALARM, FLUSH, PERMIT, ROLLOUT = Rank
_LAST = len(Rank)
# They try again what failed. Where nothing else is due, nothing changes by itself any more.
_RETRIES = (ALARM, FLUSH, PERMIT)
_OTHERS = tuple(int(rank) for rank in Rank if rank not in _RETRIES)


class _Due(Struct, eq=False):
    """at: microseconds. act: None where it is done in every instant"""

    at: int
    rank: int
    subject: str
    act: Act | None


class Agenda:
    """What is due, in order of time, of rank, and of arrival.

    A subject of a rank is due once, at the earliest time given for it. What becomes due at the
    instant under way after the turn of its rank has the next turn of this instant.
    """

    def __init__(self, clock: ReplayClock) -> None:
        self._clock = clock
        # (at, turn, rank, sequence, what is due); void where the subject is no longer due then.
        self._heap: list[tuple[int, int, int, int, _Due]] = []
        self._by_subject: tuple[dict[str, _Due], ...] = tuple({} for _ in Rank)
        self._sequence = 0
        self._turn, self._rank = 0, -1

    @property
    def only_retries(self) -> bool:
        """Return whether nothing is due but to try again what failed."""
        by_subject = self._by_subject
        for rank in _OTHERS:  # noqa: SIM110  # any() would cost more, in every instant
            if by_subject[rank]:
                return False
        return True

    def schedule(self, rank: Rank, at: int, act: Act | None, subject: str = "") -> None:
        """Let something be due. Does nothing where the subject is due earlier."""
        now, by_subject = self._clock.now, self._by_subject[rank]
        if at < now:
            at = now
        earlier = by_subject.get(subject)
        if earlier is not None and earlier.at <= at:
            return
        due = by_subject[subject] = _Due(at, rank, subject, act)
        turn = 0
        if at == now:
            turn = self._turn + (rank < self._rank)
        self._sequence += 1
        heappush(self._heap, (at, turn, rank, self._sequence, due))

    def move(self, rank: Rank, at: int | None, act: Act | None) -> None:
        """Let the only subject of a rank be due at that time instead; None: never."""
        by_subject = self._by_subject[rank]
        if (before := by_subject.get("")) is not None:
            if before.at == at:
                return
            del by_subject[""]
        if at is not None:
            self.schedule(rank, at, act)

    def cancel(self, rank: Rank, subject: str = "") -> None:
        """Let a subject not be due any more."""
        self._by_subject[rank].pop(subject, None)

    @property
    def next(self) -> int | None:
        """Return when something is due next."""
        heap, by_subject = self._heap, self._by_subject
        while heap:
            due = heap[0][4]
            if by_subject[due.rank].get(due.subject) is due:
                return due.at
            heappop(heap)
        return None

    def begin(self, at: int) -> None:
        """Begin an instant, or its next turn."""
        self._turn = self._turn + 1 if at == self._clock.now else 0
        self._clock.now, self._rank = at, -1

    def act(self) -> bool:
        """Do what is due next in this turn. Return whether there was anything."""
        heap, by_subject, now, turn = self._heap, self._by_subject, self._clock.now, self._turn
        while heap and heap[0][0] == now and heap[0][1] <= turn:
            due = heappop(heap)[4]
            if by_subject[due.rank].get(due.subject) is due:
                del by_subject[due.rank][due.subject]
                self._rank = due.rank
                if due.act is not None:
                    due.act()
                return True
        self._rank = _LAST
        return False
