"""The entries of kube-scheduler's queue: a pod, a group of pods, and a class of equal pods; the
order in which they are tried, and the time that they back off.

Upstream: pkg/scheduler/framework/types.go (QueuedPodInfo, QueuedPodGroupInfo) and
pkg/scheduler/backend/queue (backoff_queue.go; scheduling_queue.go takes the QueueSort plugin's
Less).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from enum import Enum
from math import sqrt
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.replay.records import ReplayClock
from ksched_cli.framework.cluster_events import ClusterEvent
from ksched_cli.framework.interface import QueuedPod
from ksched_cli.framework.pod_groups import GroupKey
from ksched_cli.framework.runtime import Framework
from ksched_cli.kube.time import SECOND

_NO_PLUGINS: frozenset[str] = frozenset()


class QueuePlace(Enum):
    """The place of a pod in the queue. NOWHERE: it is being tried, or is not queued."""

    NOWHERE = "nowhere"
    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"

    # Enum has one of its own that is much slower.
    __hash__ = object.__hash__


# Every attempt compares with these. Python 3.11 takes 0.1 µs to find a member of an Enum.
NOWHERE, ACTIVE, BACKOFF, ERROR_BACKOFF, UNSCHEDULABLE = QueuePlace


class QueuedPodInfo(Struct, eq=False):
    """A pod in the queue, and what has happened to it there.

    timestamp: when it came into the queue, or came back from an attempt; microseconds
    sequence:  orders pods of one timestamp
    unschedulable_plugins, pending_plugins: that rejected it in the last attempt
    gating_plugin: that holds it back, or ""
    message:   of the last attempt
    repeats:   the last attempt found that it fits nowhere, and would for equal pods
    first_active: when it was to be tried for the first time
    flushed:   when it was last moved because it had waited for long
    tries:     attempts that failed at its timestamp, all at that one instant
    gating_events: what the plugin that holds it back registered for
    is_member: of an EquivalenceClass, which represents it in the queue
    entry:     counts its moves; a heap's entries of earlier ones are void
    group:     the QueuedPodGroupInfo that it is in
    """

    timestamp: int
    sequence: int
    pod: PodInfo
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    unschedulable_plugins: frozenset[str] = _NO_PLUGINS
    pending_plugins: frozenset[str] = _NO_PLUGINS
    gating_plugin: str = ""
    backoff_expiration: int | None = None
    message: str = ""
    repeats: bool = False
    first_active: int | None = None
    flushed: int = 0
    tries: int = 0
    place: QueuePlace = NOWHERE
    gating_events: Sequence[ClusterEvent] = ()
    is_member: bool = False
    entry: int = 0
    group: QueuedPodGroupInfo | None = None

    @property
    def size(self) -> int:
        """Return the number of pods that it counts as in the queue's size."""
        return 1

    @property
    def gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> frozenset[str]:
        if not self.pending_plugins:
            return self.unschedulable_plugins
        return self.unschedulable_plugins | self.pending_plugins

    def forget_rejection(self) -> None:
        """A new attempt begins."""
        self.attempts += 1
        self.unschedulable_plugins = self.pending_plugins = _NO_PLUGINS
        self.gating_plugin = ""
        self.gating_events = ()


class QueuedPodGroupInfo(QueuedPodInfo, eq=False, kw_only=True):
    """pod: the first one. members: in the order in which they are tried; their places are the
    group's whenever it is in one"""

    key: GroupKey = ("", "")
    members: list[QueuedPodInfo] = field(default_factory=list)

    @classmethod
    def of(cls, key: GroupKey, first: QueuedPodInfo) -> QueuedPodGroupInfo:
        """Return a new group with its first pod, as old as that."""
        age = first.timestamp, first.sequence
        group = cls(*age, pod=first.pod, first_active=first.first_active, key=key)
        group.add(first)
        return group

    @property
    def size(self) -> int:
        return len(self.members)

    def add(self, member: QueuedPodInfo) -> None:
        """Upstream: PodGroupMemberPodsOrderingFunc."""
        insort(self.members, member, key=_member_order)
        member.group = self
        self.pod = self.members[0].pod

    def remove(self, member: QueuedPodInfo) -> None:
        self.members.remove(member)
        member.group = None
        if self.members:
            self.pod = self.members[0].pod

    def stand_in(self, place: QueuePlace) -> None:
        """The members are where the group is."""
        for member in self.members:
            member.place = place


def _member_order(member: QueuedPodInfo) -> tuple[int, int, int, int]:
    return -member.pod.priority, -member.attempts, member.timestamp, member.sequence


# Takes a pod's key, how often it was rejected since it was called last, and the last message.
OnRejections = Callable[[str, int, str], None]
_Numbers = NDArray[np.int64]
# Members, their sequences, and how often each was rejected, without `shift` and `rejections`.
_Segment = tuple[NDArray[Any], _Numbers, _Numbers]


class EquivalenceClass(QueuedPodInfo, eq=False, kw_only=True):
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
        """Return a class of one member."""
        alike = cls(
            first.timestamp,
            first.sequence,
            pod=first.pod,
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
        """Return the members in order, as they were written last."""
        return iter(self.in_order()[0].tolist())

    def by_sequence(self) -> Iterator[tuple[int, QueuedPodInfo]]:
        """Return the members with their sequences."""
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
        """Return the arrays of all members."""
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
            queued.is_member, queued.place = False, NOWHERE
        self._segments, self._count = [], 0

    def take(self, index: int = 0) -> QueuedPodInfo:
        """A member leaves, and is in no place."""
        members, sequences, rejections = self.in_order()
        queued: QueuedPodInfo = members[index]
        self._write(queued, sequences.item(index), rejections.item(index))
        queued.is_member, queued.place = False, NOWHERE
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


# What pods may share, and the sequence, which no two of them do.
Key = tuple[Any, int]


def sort_key(queued: QueuedPodInfo, framework: Framework, clock: ReplayClock) -> Key:
    """Return the key that sorts a pod in the queue."""
    seconds = clock.start + queued.timestamp / SECOND
    pod = QueuedPod(queued.pod, seconds, queued.sequence, queued.attempts)
    if framework.sort_key is not None:
        return framework.sort_key(pod), queued.sequence
    return _Compared(pod, framework), queued.sequence


class _Compared:
    """A pod that a queue sort from outside compares."""

    __slots__ = ("_framework", "_pod")

    def __init__(self, pod: QueuedPod, framework: Framework) -> None:
        self._pod = pod
        self._framework = framework

    def __lt__(self, other: _Compared) -> bool:
        if self._framework.less(self._pod, other._pod):
            return True
        if self._framework.less(other._pod, self._pod):
            return False
        return self._pod.sequence < other._pod.sequence


# The backoff of a pod that need not wait; upstream's zero time.
NO_BACKOFF = -1
# With the gate on, expirations are cut to it, so that pods of one second are ordered by priority.
# A shift beyond this exceeds every maximum.
_MAX_SHIFT = 62


class Backoff(Struct, frozen=True):
    """initial, maximum: microseconds. by_window: SchedulerPopFromBackoffQ."""

    initial: int
    maximum: int
    by_window: bool

    def expiration(self, queued: QueuedPodInfo) -> int:
        """Return when the backoff ends, or NO_BACKOFF; computed once for an attempt."""
        count = queued.consecutive_errors or queued.unschedulable_count
        if not self.maximum or not count:
            return NO_BACKOFF
        if queued.backoff_expiration is None:
            duration = self._duration(count, queued.size)
            queued.backoff_expiration = self.align(queued.timestamp + duration)
        return queued.backoff_expiration

    def _duration(self, count: int, size: int = 1) -> int:
        """size: of a group, which waits longer in the end"""
        shift = min(count - 1, _MAX_SHIFT)
        maximum = self.maximum if size == 1 else int(self.maximum * sqrt(size))
        if self.initial > maximum >> shift:
            return maximum
        return self.initial << shift

    def longest_after(self) -> int:
        """Return the number of rejections after which the backoff does not grow any more."""
        counts = range(1, _MAX_SHIFT + 1)
        lengths = (count for count in counts if self._duration(count) >= self.maximum)
        return next(lengths, _MAX_SHIFT + 1)

    def align(self, at: int) -> int:
        return at - at % SECOND if self.by_window else at

    def is_backing_off(self, queued: QueuedPodInfo, now: int) -> bool:
        """Return whether the pod backs off; it still does in the very second in which the backoff
        ends."""
        return self.expiration(queued) >= self.align(now)
