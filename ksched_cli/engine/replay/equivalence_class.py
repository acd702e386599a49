"""Pods in the queue that are equal in everything that decides about them except their order.

In a full cluster, thousands of them wait. They move from one place of the queue to another as one.
If an attempt with one of them shows that none fits, those ahead of any other pod are rejected as
one: as many attempts, at the same times and in the same order as one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo

# Takes a pod's key, how often it was rejected since it was called last, and the last message.
OnRejections = Callable[[str, int, str], None]
_Numbers = NDArray[np.int64]
# Members, their sequences, and how often each was rejected, without `shift` and `rejections`.
_Segment = tuple[NDArray[Any], _Numbers, _Numbers]


@dataclass(slots=True, eq=False)
class EquivalenceClass(QueuedPodInfo):
    """Represents its members in the queue: pods of one signature, timestamp, backoff and message.

    `pod` is the first of them, `sequence` is its sequence. What a member has of its own, as the
    number of its attempts, is written into it when it leaves, and by `refresh`.

    shift:      to be added to the members' sequences
    rejections: how often the class was rejected; to be added to the members' numbers
    """

    on_rejections: OnRejections | None = None
    shift: int = 0
    rejections: int = 0
    _segments: list[_Segment] = field(default_factory=list)
    _count: int = 0

    @classmethod
    def of(cls, first: QueuedPodInfo, on_rejections: OnRejections | None) -> EquivalenceClass:
        """A class of one member."""
        alike = cls(
            first.pod,
            first.timestamp,
            first.sequence,
            unschedulable_count=first.unschedulable_count,
            unschedulable_plugins=first.unschedulable_plugins,
            pending_plugins=first.pending_plugins,
            message=first.message,
            repeats=True,
            on_rejections=on_rejections,
        )
        alike.add(first)
        return alike

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """The members in order, as they were written last."""
        return iter(self.in_order()[0].tolist())

    def by_sequence(self) -> Iterator[tuple[int, QueuedPodInfo]]:
        """The members with their sequences."""
        members, sequences, _ = self.in_order()
        return zip((sequences + self.shift).tolist(), members.tolist(), strict=True)

    def add(self, queued: QueuedPodInfo) -> None:
        """A pod becomes a member, or the members of another class do."""
        if isinstance(queued, EquivalenceClass):
            members, sequences, rejections = queued.in_order()
            sequences = sequences + (queued.shift - self.shift)
            rejections = rejections + (queued.rejections - self.rejections)
        else:
            queued.is_member = True
            queued.entry += 1
            members = np.empty(1, dtype=np.object_)
            members[0] = queued
            sequences = np.array([queued.sequence - self.shift])
            rejections = np.array([-self.rejections])
        self._segments.append((members, sequences, rejections))
        self._count += len(members)

    def in_order(self) -> _Segment:
        """The arrays of all members."""
        if len(self._segments) > 1:
            parts = zip(*self._segments, strict=True)
            members, sequences, rejections = (np.concatenate(part) for part in parts)
            if (sequences[1:] < sequences[:-1]).any():
                order = np.argsort(sequences, kind="stable")
                members, sequences, rejections = members[order], sequences[order], rejections[order]
            self._segments = [(members, sequences, rejections)]
        return self._segments[0]

    def use(self, segment: _Segment) -> None:
        self._segments, self._count = [segment], len(segment[0])
        self.begin_with_first()

    def begin_with_first(self) -> None:
        """`pod` and `sequence` become those of the first member."""
        members, sequences, _ = self.in_order()
        if self._count:
            self.pod, self.sequence = members[0].pod, sequences.item(0) + self.shift

    @property
    def last_sequence(self) -> int:
        return self.in_order()[1].item(-1) + self.shift

    # -- members that leave -----------------------------------------------------------------------

    def _write(self, queued: QueuedPodInfo, sequence: int, rejections: int) -> None:
        """Write into a member the values that are its own."""
        count = rejections + self.rejections
        queued.timestamp, queued.sequence = self.timestamp, sequence + self.shift
        queued.unschedulable_plugins = self.unschedulable_plugins
        queued.pending_plugins = self.pending_plugins
        queued.message, queued.backoff_expiration = self.message, None
        queued.place = self.place
        if count:
            queued.attempts += count
            queued.unschedulable_count += count
            if self.on_rejections is not None:
                self.on_rejections(queued.pod.key, count, self.message)

    def refresh(self) -> None:
        """Write into the members the values that are their own."""
        members, sequences, rejections = self.in_order()
        own = zip(members.tolist(), sequences.tolist(), rejections.tolist(), strict=True)
        for queued, sequence, count in own:
            self._write(queued, sequence, count)
        self._segments = [(members, sequences, np.full(len(members), -self.rejections))]

    def dissolve(self) -> None:
        """The members are on their own again, in no place. They must be refreshed."""
        for queued in self:
            queued.is_member, queued.place = False, Place.NOWHERE
        self._segments, self._count = [], 0

    def take(self, index: int = 0) -> QueuedPodInfo:
        """A member leaves, and is in no place."""
        members, sequences, rejections = self.in_order()
        queued: QueuedPodInfo = members[index]
        self._write(queued, sequences.item(index), rejections.item(index))
        queued.is_member, queued.place = False, Place.NOWHERE
        if index:
            rest = [np.delete(part, index) for part in (members, sequences, rejections)]
            self.use((rest[0], rest[1], rest[2]))
        else:
            self.use((members[1:], sequences[1:], rejections[1:]))
        return queued

    def index_of(self, queued: QueuedPodInfo) -> int | None:
        """Return the member's index; None if the pod is not a member."""
        members = self.in_order()[0].tolist()
        return members.index(queued) if queued in members else None

    def split(self, sequence: int) -> EquivalenceClass | None:
        """The members of lesser sequences leave, as a class; None where all would."""
        members, sequences, rejections = self.in_order()
        count = int(np.searchsorted(sequences, sequence - self.shift))
        if count == self._count:
            return None
        part = copy(self)
        part.use((members[:count], sequences[:count], rejections[:count]))
        self.use((members[count:], sequences[count:], rejections[count:]))
        return part

    # -- all members ------------------------------------------------------------------------------

    def reject(
        self, at: int, unschedulable: frozenset[str], pending: frozenset[str], message: str
    ) -> None:
        """Each member was tried, and fits nowhere."""
        self.timestamp, self.backoff_expiration = at, None
        self.unschedulable_plugins, self.pending_plugins = unschedulable, pending
        self.message = message
        self.rejections += 1
        self.unschedulable_count += 1

    def move_behind(self, sequence: int) -> None:
        """Members get greater sequences than this one, in the same order."""
        self.shift += sequence
        self.sequence += sequence
