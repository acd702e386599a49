"""Pods without a node: which are gated, in which order the others are tried, and which are retried.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go; the rules of passes are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cmp_to_key, lru_cache
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interface import QueuedPod
from ksched_cli.framework.pod_groups import GroupKey, PodGroups
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import Status
from ksched_cli.kube.time import unix_seconds

# On the API server's copy of a pod that a kubelet runs from a file.

# Whether the first pod goes before the second.
Less = Callable[[QueuedPod, QueuedPod], bool]


# The first text is of kube-scheduler's plugin. Upstream has no text for a group that is held back.
NO_OBJECT = 'waiting for pods\'s pod group "{}" to appear in scheduling queue'
NO_PARENT = 'waiting for composite pod group "{}", or one around it, to appear'
HELD_WITH_GROUP = "pod {} of the pod group is held back: {}"


def _created(pod: PodInfo) -> float:
    return seconds(pod.pod.metadata.creation_timestamp)


def held_with_group(
    pods: Iterable[PodInfo],
    gated: Mapping[str, Status],
    held: Iterable[Entry],
    groups: PodGroups,
) -> dict[str, Status]:
    """Return the pods that no plugin holds back, but whose group is not in the queue, by key: the
    group has no object, or one around it has none, or one of its pods is held back.

    Upstream: addPodGroupMember, runPreEnqueuePlugins.
    """
    holders = {
        key: each.pod.key for each in held if (key := groups.entity_of(each.pod.pod)) is not None
    }
    with_group: dict[str, Status] = {}
    for pod in pods:
        key = groups.entity_of(pod.pod)
        if key is None or pod.is_resized:
            continue
        if groups.root_of(key) is None:
            group = groups.get(pod)
            text = NO_OBJECT.format(key[1]) if group is None else NO_PARENT.format(group.parent)
            with_group[pod.key] = Status.unresolvable(text)
        elif key in holders:
            status = gated[holders[key]]
            message = HELD_WITH_GROUP.format(holders[key], status.message)
            with_group[pod.key] = Status.unresolvable(message).by(status.plugin)
    return with_group


def why_ignored(pod: Pod, scheduler_names: Container[str]) -> str:
    """Return why the scheduler never looks at the pod, in words that follow "it is", or "".

    Upstream: pkg/scheduler/eventhandlers.go (responsibleForPod), schedule_one.go
    (skipPodSchedule).
    """
    if pod.finished:
        return f"finished ({pod.status.phase})"
    if pod.deleting:
        return "being deleted"
    if pod.node_name and pod.is_mirror:
        return "a static pod, which its kubelet runs without a scheduler"
    if pod.spec.scheduler_name not in scheduler_names:
        return for_other_scheduler(pod.spec.scheduler_name)
    return ""


def for_other_scheduler(name: str) -> str:
    """Describe a pod of a scheduler without a profile, in words that follow "it is"."""
    return f'for the scheduler "{name}", which the configuration does not have'


def in_order_of_sort(
    queued: Iterable[QueuedPod], frameworks: Mapping[str, Framework]
) -> list[QueuedPod]:
    """Sort by the queue sort plugin. Validation ensures that all profiles have the same."""
    framework = next(iter(frameworks.values()))
    if framework.sort_key is not None:
        return sorted(queued, key=framework.sort_key)
    return in_order(queued, framework.less)


def in_order(queued: Iterable[QueuedPod], less: Less) -> list[QueuedPod]:
    """Sort by the plugin; equal pods keep the order given."""

    def compare(first: QueuedPod, second: QueuedPod) -> int:
        return -1 if less(first, second) else 0  # Python's sort only asks whether one goes before

    return sorted(queued, key=cmp_to_key(compare))


@lru_cache(maxsize=1024)
def seconds(timestamp: str) -> float:
    """Return seconds since 1970 of an RFC 3339 time; 0 if there is no time."""
    return unix_seconds(timestamp) if timestamp else 0.0


class ClusterVersion(NamedTuple):
    """Counts of events in a run. A pod that failed is tried again once they have grown.

    changes:            pods bound or evicted; any failed pod is tried again
    waiting_rejections: times when pods that waited in Permit were rejected and freed their nodes;
                        pods without a feasible node are tried again
    """

    changes: int
    waiting_rejections: int


NEVER = ClusterVersion(-1, -1)


class Entry(Struct):
    """A pod that is not bound.

    queued:    what the queue is sorted by
    seen:      the cluster's version when it was tried last
    refused:   the last attempt chose a node and ended in Reserve, Permit or Bind, so that more free
               capacity is no reason to try again
    waits:     it is assumed on a node and waits in Permit
    activated: a plugin asked for another attempt, whatever has happened
    attempt:   the number of its last attempt, among those of all pods
    """

    pod: PodInfo
    queued: QueuedPod
    seen: ClusterVersion = NEVER
    refused: bool = False
    waits: bool = False
    activated: bool = False
    attempt: int = 0

    @classmethod
    def alone(cls, pod: PodInfo) -> Entry:
        """Return an entry for a pod that is in no queue."""
        return cls(pod, QueuedPod(pod, 0.0, 0))

    def is_due(self, now: ClusterVersion) -> bool:
        """Return whether to try the pod again."""
        if self.waits:
            return False
        rejected_waiting = (
            not self.refused and self.seen.waiting_rejections < now.waiting_rejections
        )
        return self.activated or self.seen.changes < now.changes or rejected_waiting


class Queue(Struct):
    """The pods of a run that are not bound yet.

    entries: by pod key, in the order in which they are tried
    groups:  those that are entities of the queue; None where pods are queued one by one
    gated:   by pod key, the status that PreEnqueue holds it back with
    held:    the gated pods, by key
    """

    frameworks: Mapping[str, Framework]
    groups: PodGroups | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    gated: dict[str, Status] = field(default_factory=dict)
    held: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        pods: Iterable[PodInfo],
        frameworks: Mapping[str, Framework],
        groups: PodGroups | None = None,
    ) -> Queue:
        """Fill the queue at the beginning of a run. pods: pending, each of a profile in
        `frameworks`, in the order of the state"""
        queue = cls(frameworks, groups)
        # A group is queued with its first pod, so that the oldest pods come first.
        if groups is not None:
            pods = sorted(pods, key=_created)
        since: dict[GroupKey, float] = {}
        for sequence, pod in enumerate(pods):
            created = _created(pod)
            key = groups.entity_of(pod.pod) if groups is not None else None
            # A pod that is to be resized is queued by itself.
            if key is not None and not pod.is_resized:
                # The group is as old as its first pod.
                created = since.setdefault(key, created)
            queue.entries[pod.key] = Entry(pod, QueuedPod(pod, created, sequence))
        queue.renew(ClusterVersion(0, 0))
        return queue

    def __iter__(self) -> Iterator[Entry]:
        """Return the queue as it is now; entries may be removed meanwhile."""
        return iter(tuple(self.entries.values()))

    @property
    def active(self) -> tuple[PodInfo, ...]:
        """Return the pods to try, in order."""
        return tuple(entry.pod for entry in self)

    def only(self, pod: PodInfo) -> Queue:
        """Return the same without the other pods to try."""
        entries = {key: entry for key, entry in self.entries.items() if entry.pod.uid == pod.uid}
        return replace(self, entries=entries)

    def activate(self, keys: Iterable[str]) -> None:
        """Try the pods with these keys again; ignore those that are bound or gated."""
        for key in keys:
            if key in self.entries:
                self.entries[key].activated = True

    def renew(self, now: ClusterVersion) -> None:
        """Call PreEnqueue again for gated and due pods, and sort the queue again."""
        # 1. Gated pods may pass PreEnqueue by now.
        for key, entry in list(self.held.items()):
            if self._gate(entry.pod).is_success:
                del self.held[key], self.gated[key]
                self.entries[key] = Entry(entry.pod, entry.queued)
        # 2. Pods that are due may be gated by now.
        for key, entry in list(self.entries.items()):
            if entry.is_due(now):
                status = self._gate(entry.pod)
                if not status.is_success:
                    self._hold(key, status)
        # 3. One pod that is held back holds back its whole group.
        if self.groups is not None:
            due = [entry.pod for entry in self if entry.is_due(now)]
            for key, status in held_with_group(
                due, self.gated, self.held.values(), self.groups
            ).items():
                self._hold(key, status)
        # 4. The QueueSort plugin decides the order, which may depend on what has happened.
        ordered = in_order_of_sort((entry.queued for entry in self), self.frameworks)
        self.entries = {queued.pod.key: self.entries[queued.pod.key] for queued in ordered}

    def _hold(self, key: str, status: Status) -> None:
        self.gated[key] = status
        self.held[key] = self.entries.pop(key)

    def _gate(self, pod: PodInfo) -> Status:
        return self.frameworks[pod.spec.scheduler_name].pre_enqueue(pod)

    def gated_by_age(self) -> dict[str, Status]:
        """Return the gated pods with their statuses, by the time of creation, then the place in the
        state."""
        queued = sorted(
            (each.queued for each in self.held.values()), key=attrgetter("timestamp", "sequence")
        )
        return {each.pod.key: self.gated[each.pod.key] for each in queued}
