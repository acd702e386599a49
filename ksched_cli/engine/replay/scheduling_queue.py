"""kube-scheduler's queue: pods to try, pods that back off, pods that wait for an event.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (PriorityQueue, isPodWorthRequeuing,
isEventOfInterest) and active_queue.go (inFlightPods, inFlightEvents), with queueing hints, which
later minors cannot switch off, as pkg/scheduler/scheduler.go (buildQueueingHintMap) collects them.
There is one attempt at a time, so that there are no locks.

A pod is added, and is active or gated by PreEnqueue. It is popped, and is in flight. Where the
attempt fails, it is put back, and is unschedulable, backs off or is active again, depending on the
events since the attempt began. Later events move it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import EXTENDER
from ksched_cli.engine.replay.queued_pod import (
    ACTIVE,
    BACKOFF,
    ERROR_BACKOFF,
    NOWHERE,
    UNSCHEDULABLE,
    Backoff,
    EquivalenceClass,
    OnRejections,
    QueuedPodGroupInfo,
    QueuedPodInfo,
    QueuePlace,
    sort_key,
)
from ksched_cli.engine.replay.records import ReplayClock
from ksched_cli.engine.replay.sub_queues import FLUSH_INTERVAL, RETRIES, IsRejected, SubQueues
from ksched_cli.framework.cluster_events import (
    BY_DEFAULT,
    EVERYTHING,
    TARGET_POD_UPDATE,
    ClusterEvent,
    EventObject,
    IsConcerned,
    PreQueueingHints,
    QueueingHint,
    Registration,
    pod_events,
)
from ksched_cli.framework.interface import points_of
from ksched_cli.framework.pod_groups import GroupKey, PodGroups, group_key
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.gates import COMPOSITE_GATE, PRE_QUEUEING_HINTS
from ksched_cli.kube.time import SECOND


class QueueingStrategy(IntEnum):
    """The reaction of an unschedulable pod to an event."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class ObjectEvent(NamedTuple):
    """An event with its object before and after."""

    event: ClusterEvent
    old: EventObject
    new: EventObject


class RegisteredHint(NamedTuple):
    """hint: None where every such event may let the pod fit."""

    plugin: str
    hint: QueueingHint | None


# Upstream registers only plugins at these points for events: shouldHaveEnqueueExtensions.
_REJECTING_POINTS = frozenset({"preEnqueue", "preFilter", "filter", "reserve", "permit"})


class HintTable:
    """The queueing hints of all profiles.

    _narrowing:    the plugins that can tell which pods an event concerns, by name; empty where the
                   release does not ask them
    _unregistered: plugins that do not count then, as upstream registers them for no event
    """

    def __init__(self, frameworks: Mapping[str, Framework], *, has_extenders: bool = False) -> None:
        self._registered: dict[str, dict[str, Sequence[Registration]]] = {}
        release = next(iter(frameworks.values())).handle.release
        self._asks_silent_plugins = release.rules.asks_all_pods_of_silent_plugins
        asks = release.enabled(PRE_QUEUEING_HINTS) and (
            self._asks_silent_plugins or not release.enabled(COMPOSITE_GATE)
        )
        self._narrowing: dict[str, PreQueueingHints] = {}
        self._caller = next(iter(frameworks.values())).caller
        self._unregistered = set() if has_extenders else {EXTENDER}
        for name, framework in frameworks.items():
            adds_taints = framework.handle.release.rules.adds_taint_events
            registered = {
                plugin.name: framework.caller.registrations(plugin, adds_taints=adds_taints)
                for plugin in framework.plugins
            }
            self._registered[name] = {**registered, EXTENDER: BY_DEFAULT}
            for plugin in framework.plugins if asks else ():
                if isinstance(plugin, PreQueueingHints):
                    self._narrowing[plugin.name] = plugin
                if not points_of(type(plugin)) & _REJECTING_POINTS:
                    self._unregistered.add(plugin.name)
        self._matching: dict[tuple[str, ClusterEvent], tuple[RegisteredHint, ...]] = {}

    def events_of(self, scheduler_name: str, plugin: str) -> tuple[ClusterEvent, ...]:
        """Return the events that a plugin of a profile registered for."""
        return tuple(event for event, _ in self._registered[scheduler_name].get(plugin, ()))

    def _hints(self, scheduler_name: str, event: ClusterEvent) -> tuple[RegisteredHint, ...]:
        key = (scheduler_name, event)
        hints = self._matching.get(key)
        if hints is None:
            hints = self._matching[key] = tuple(
                RegisteredHint(plugin, hint)
                for plugin, registrations in self._registered[scheduler_name].items()
                for registered, hint in registrations
                if registered.matches(event)
            )
        return hints

    def concerned(self, happened: ObjectEvent) -> IsConcerned | None:
        """Return which pods an event concerns, where the plugins that registered for it can tell;
        else None. Upstream: runPreQueueingHintPlugins."""
        event, old, new = happened
        if not self._narrowing or event == EVERYTHING or (old is None and new is None):
            return None
        concerned: list[IsConcerned] = []
        for name in self._registered:
            for plugin, _ in self._hints(name, event):
                if plugin in self._unregistered:
                    continue
                if plugin not in self._narrowing:
                    if self._asks_silent_plugins:
                        return None
                    continue
                is_concerned = self._caller.concerned_pods(self._narrowing[plugin], event, old, new)
                if is_concerned is None:
                    return None
                concerned.append(is_concerned)
        if not concerned:
            return None
        return lambda pod: any(is_concerned(pod) for is_concerned in concerned)

    def strategy(self, queued: QueuedPodInfo, happened: ObjectEvent) -> QueueingStrategy:
        """Ask the plugins that rejected the pod about an event. A hint that fails counts as yes."""
        rejectors = queued.rejectors
        if not rejectors or happened.event == EVERYTHING:
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        pending = queued.pending_plugins
        for plugin, hint in self._hints(queued.pod.spec.scheduler_name, happened.event):
            if plugin not in rejectors or not _says_queue(hint, queued, happened):
                continue
            if plugin in pending:
                return QueueingStrategy.IMMEDIATELY
            strategy = QueueingStrategy.AFTER_BACKOFF
            if not pending:
                break
        return strategy


def _says_queue(hint: QueueingHint | None, queued: QueuedPodInfo, happened: ObjectEvent) -> bool:
    if hint is None:
        return True
    try:
        return hint(queued.pod, happened.old, happened.new)
    except Exception:
        # Upstream: a pod must not be stuck because a hint failed.
        return True


class InFlight:
    """The pods that are being tried, and the events since the first of them began.

    begins: by uid, how many events there were when the attempt began
    """

    def __init__(self) -> None:
        self.begins: dict[str, int] = {}
        self._events: list[ObjectEvent] = []

    def __contains__(self, uid: str) -> bool:
        return uid in self.begins

    def begin(self, uid: str) -> None:
        self.begins[uid] = len(self._events)

    def end(self, uid: str) -> None:
        """The attempt is over, or what comes after it needs no events any more."""
        self.begins.pop(uid, None)
        if not self.begins:
            self._events.clear()

    def note(self, happened: ObjectEvent) -> None:
        if self.begins:
            self._events.append(happened)

    def since(self, uid: str) -> Iterable[ObjectEvent]:
        """Return the events since the pod's attempt began."""
        return self._events[self.begins.get(uid, 0) :]


class SchedulingQueue:
    """The pods without a node, except those that are being tried.

    pods: by key
    _sequence: of the pod that came last, or came back last
    has_groups: pods of groups are tried together; such a pod that failed always backs off, as
                events are of no group yet
    groups: those that are entities of the queue; the rest of these attributes are about such
    entities: the groups in the queue
    incomplete: pods whose group has no object, or one around it has none, by key
    """

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        backoff: Backoff,
        clock: ReplayClock,
        on_rejections: OnRejections | None = None,
        *,
        has_groups: bool = False,
        groups: PodGroups | None = None,
        has_extenders: bool = False,
    ) -> None:
        self.backoff = backoff
        self._has_extenders = has_extenders
        self._clock = clock
        self.pods: dict[str, QueuedPodInfo] = {}
        self._sequence = 0
        self._in_flight = InFlight()
        self._has_groups = has_groups
        self.entities: dict[GroupKey, QueuedPodGroupInfo] = {}
        self.incomplete: dict[str, QueuedPodInfo] = {}
        # Those that came while their group was tried.
        self._waiting_for_group: list[QueuedPodInfo] = []
        self._group_under_way: GroupKey | None = None
        # Those before the last change of objects.
        self._former_groups: PodGroups | None = None
        first = next(iter(frameworks.values()))
        self._places = SubQueues(first, backoff, clock, on_rejections)
        self._use(frameworks, groups)

    def _use(self, frameworks: Mapping[str, Framework], groups: PodGroups | None) -> None:
        """Ask the plugins of these profiles from now on. groups: as in the constructor"""
        self._frameworks, self._groups = frameworks, groups
        self._first = self._places.framework = next(iter(frameworks.values()))
        self._hints = HintTable(frameworks, has_extenders=self._has_extenders)
        rules = self._first.handle.release.rules
        self._asks_gated_members = rules.asks_gated_members

    def renew(
        self,
        frameworks: Mapping[str, Framework],
        info: Callable[[Pod], PodInfo],
        groups: PodGroups | None,
    ) -> None:
        """Ask these plugins from now on, and give the pods new PodInfos."""
        self._former_groups = self._groups
        self._use(frameworks, groups)
        everything = [*self.entities.values(), *(q for q in self if q.group is None)]
        places = [(queued, queued.place) for queued in everything]
        self._places.dissolve_classes()
        for queued, place in places:
            self._places.put(queued, NOWHERE)
            if isinstance(queued, QueuedPodGroupInfo):
                for member in queued.members:
                    member.pod = info(member.pod.pod)
                queued.pod = queued.members[0].pod
            else:
                queued.pod = info(queued.pod.pod)
            self._places.put(queued, place)

    def __len__(self) -> int:
        return len(self.pods)

    @property
    def gated_count(self) -> int:
        """Return the number of pods that a plugin holds back."""
        return self._places.unschedulable.gated_count

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Iterate in the order in which the pods arrived, or came back."""
        for alike in self._places.classes():
            alike.refresh()
        return iter(sorted(self.pods.values(), key=attrgetter("sequence")))

    def in_place(self, *places: QueuePlace) -> list[QueuedPodInfo]:
        """Return the pods at these places, in the order in which they would be tried."""
        pods = [queued for queued in self if queued.place in places]
        return sorted(pods, key=lambda queued: sort_key(queued, self._first, self._clock))

    # -- in and out -----------------------------------------------------------------------------

    def add(self, pod: PodInfo) -> QueuedPodInfo:
        """A pod is new. Upstream: Add."""
        queued = QueuedPodInfo(self._clock.now, self._next(), pod=pod)
        # The last attempt's message, as the scheduler wrote it into the pod.
        for condition in pod.pod.status.conditions:
            if condition.type == "PodScheduled" and not queued.message:
                queued.message = condition.message
        self.pods[pod.key] = queued
        self._join(queued)
        return queued

    def pop(self) -> QueuedPodInfo | None:
        """Return the next pod to try, which is in flight then; None if there is none now."""
        # Mostly one is active.
        queued = self._places.take(ACTIVE) or self._places.take(self._next_place())
        if isinstance(queued, QueuedPodGroupInfo):
            return self.pop_group(queued)
        return None if queued is None else self._begin(queued)

    def _next_place(self) -> QueuePlace:
        """Return the place of the pod to try next, if there is one."""
        if self.backoff.by_window and self._places.heaps.peek(ACTIVE) is None:
            backing_off = self._places.heaps.peek(BACKOFF)
            if backing_off is not None and not self._is_tried_enough(backing_off):
                return BACKOFF
        return ACTIVE

    def _is_tried_enough(self, queued: QueuedPodInfo) -> bool:
        """Return whether its backoff counts even where kube-scheduler would not wait for it. Time
        does not advance during attempts here: pods that activate each other, such as those of an
        incomplete gang, would be tried for ever at one instant."""
        return queued.tries >= _MAX_TRIES and queued.timestamp == self._clock.now

    def pop_pod(self, key: str) -> QueuedPodInfo | None:
        """Return this pod to be tried next, wherever it is; None where it is held back or not here.
        Upstream: PopSpecificPod.
        """
        self.activate((key,))
        queued = self.pods.get(key)
        if queued is None or self._places.place_of(queued) is not ACTIVE:
            return None
        self._places.put(queued, NOWHERE)
        return self._begin(queued)

    def _begin(self, queued: QueuedPodInfo) -> QueuedPodInfo:
        """Begin an attempt."""
        del self.pods[queued.pod.key]
        queued.group = None
        self._in_flight.begin(queued.pod.uid)
        queued.forget_rejection()
        return queued

    def done(self, uid: str) -> None:
        """The attempt is over, or what comes after it needs no events any more."""
        self._in_flight.end(uid)

    def put_back(
        self,
        queued: QueuedPodInfo,
        unschedulable: frozenset[str],
        pending: frozenset[str],
        message: str = "",
        *,
        repeats: bool = False,
    ) -> None:
        """Put a failed pod back, with the plugins that rejected it; none where the attempt broke.

        message, repeats: see QueuedPodInfo. Upstream: AddUnschedulableIfNotPresent.
        """
        # 1. The outcome decides how long it backs off: rejections and errors are counted apart.
        queued.unschedulable_plugins, queued.pending_plugins = unschedulable, pending
        queued.message, queued.repeats = message, repeats
        if unschedulable or pending:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.tries = queued.tries + 1 if queued.timestamp == self._clock.now else 1
        queued.timestamp, queued.sequence = self._clock.now, self._next()
        queued.backoff_expiration = None
        self.pods[queued.pod.key] = queued
        # 2. A pod of a group waits with its group.
        if self._is_member(queued):
            self.done(queued.pod.uid)
            self._join(queued)
            return
        # 3. An event during the attempt may let it fit now: it is not missed.
        strategy = self._strategy_in_flight(queued)
        self.done(queued.pod.uid)
        self._requeue(queued, strategy)

    # -- groups that are entities ---------------------------------------------------------------

    def _is_member(self, queued: QueuedPodInfo) -> bool:
        """Return whether the pod is queued with its group."""
        has_group = queued.pod.spec.scheduling_group is not None and not queued.pod.is_resized
        return has_group and self._groups is not None

    def is_held(self, queued: QueuedPodInfo) -> bool:
        """Return whether a plugin holds the pod back, or its group."""
        if queued.pod.key in self.incomplete:
            return True
        return (queued.group or queued).gated

    def _join(self, queued: QueuedPodInfo) -> None:
        """A pod comes into the queue: to its group, where it has one. Upstream: addPod,
        addPodGroupMember."""
        groups = self._groups
        key = groups.entity_of(queued.pod.pod) if groups is not None else None
        if key is None or groups is None or queued.pod.is_resized:
            self._to_active(queued)
        elif groups.root_of(key) is None:
            queued.place = NOWHERE
            self.incomplete[queued.pod.key] = queued
        elif (group := self.entities.get(key)) is not None:
            self._change(group, lambda: group.add(queued))
        elif key == self._group_under_way:
            self._waiting_for_group.append(queued)
        else:
            self.entities[key] = QueuedPodGroupInfo.of(key, queued)
            self._to_active(self.entities[key])

    def follow_group(self, key: GroupKey) -> None:
        """Follow a change of a group's object: the pods in it enter the queue, or wait for another
        object. Upstream: AddPodGroup, DeletePodGroup, AddCompositePodGroup,
        DeleteCompositePodGroup."""
        groups = self._groups
        if groups is None or self._former_groups is None:
            return
        if key in groups.groups:
            root = groups.root_of(key)
            # kube-scheduler takes them from a map; here those that came first go first.
            for queued in [*self.incomplete.values()] if root is not None else ():
                if groups.root_of(_key_of(queued)) is root:
                    del self.incomplete[queued.pod.key]
                    self._join(queued)
        elif (root := self._former_groups.root_of(key)) is not None:
            group = self.entities.get(root.key)
            if group is not None:
                self._change(group, lambda: self._take_out_incomplete(group))

    def _take_out_incomplete(self, group: QueuedPodGroupInfo) -> None:
        """Remove the pods whose group has no object any more, or one around it has none."""
        assert self._groups is not None, "it has groups"
        for member in [*group.members]:
            if self._groups.root_of(_key_of(member)) is None:
                group.remove(member)
                member.place = NOWHERE
                self.incomplete[member.pod.key] = member

    def _change(self, group: QueuedPodGroupInfo, change: Callable[[], None]) -> None:
        """The group has other pods afterwards, and is where it was if it may be there."""
        strategy = _STRATEGY_OF[group.place]
        self._places.put(group, NOWHERE)
        change()
        if group.members:
            self._requeue(group, strategy)
        else:
            del self.entities[group.key]

    def pop_group(self, group: QueuedPodGroupInfo) -> QueuedPodGroupInfo:
        """Pop the group to be tried next, wherever it is."""
        if group.place is not NOWHERE:
            self._places.put(group, NOWHERE)
        del self.entities[group.key]
        self._group_under_way = group.key
        group.stand_in(NOWHERE)
        group.forget_rejection()
        for member in group.members:
            self._begin(member)
        return group

    def end_group(self, group: QueuedPodGroupInfo, status: Status) -> None:
        """End the attempt of the group: what is left of it, and what has arrived meanwhile, is
        tried again. Upstream: AddAttemptedPodGroupIfNeeded."""
        self._group_under_way = None
        left, self._waiting_for_group = self._waiting_for_group, []
        if not left:
            return
        tried = {member.pod.uid for member in group.members}
        group.members = []
        for member in left:
            group.add(member)
        is_older = status.is_success and any(member.pod.uid in tried for member in left)
        if status.is_success:
            group.unschedulable_count = group.consecutive_errors = 0
        else:
            group.backoff_expiration = None
            if status.is_rejected:
                group.unschedulable_count += 1
                group.consecutive_errors = 0
            else:
                group.consecutive_errors += 1
        if not is_older:
            group.timestamp, group.sequence = self._clock.now, self._next()
        group.flushed = 0
        self.entities[group.key] = group
        if not status.is_success and self.backoff.is_backing_off(group, self._clock.now):
            self._to_backoff(group)
        else:
            self._to_active(group)

    # -- in and out again -----------------------------------------------------------------------

    def set_aside(self, queued: QueuedPodInfo, message: str) -> None:
        """Keep a failed pod that is never tried again: no event moves it."""
        queued.message = message
        queued.timestamp, queued.sequence = self._clock.now, self._next()
        self.pods[queued.pod.key] = queued
        self.done(queued.pod.uid)

    def _strategy_in_flight(self, queued: QueuedPodInfo) -> QueueingStrategy:
        """Return where the events since its attempt began send the pod.

        Upstream: determineSchedulingHintForInFlightPod.
        """
        if not queued.rejectors or self._is_grouped(queued):
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        for happened in self._in_flight.since(queued.pod.uid):
            strategy = max(strategy, self._hints.strategy(queued, happened))
            if strategy is QueueingStrategy.IMMEDIATELY or (
                strategy and not queued.pending_plugins
            ):
                break
        return strategy

    def take_rejected(self, is_rejected: IsRejected) -> list[EquivalenceClass]:
        """Take the classes that come before any other pod and would be rejected. They are in no
        place afterwards."""
        rejected, self._sequence = self._places.take_rejected(
            self._next_place(), is_rejected, self._sequence
        )
        return rejected

    def put_back_rejected(
        self,
        alike: EquivalenceClass,
        unschedulable: frozenset[str],
        pending: frozenset[str],
        message: str,
    ) -> None:
        """Put back a class that `take_rejected` returned, as `put_back` does."""
        alike.reject(self._clock.now, unschedulable, pending, message)
        self._places.put(alike, UNSCHEDULABLE)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod in the queue has changed. Upstream: Update."""
        release = self._first.handle.release
        events = [ObjectEvent(event, old, new) for event in pod_events(old, new, release)]
        if new.uid in self._in_flight:
            for happened in events:
                self._in_flight.note(happened)
            return
        member = self.pods.get(new.key)
        if member is None:
            self.add(new)
            return
        queued = member.group or member
        place = self._places.place_of(queued)
        if isinstance(queued, QueuedPodGroupInfo) and queued.members[0] is not member:
            member.pod = new
        else:
            self._places.put(queued, NOWHERE)
            member.pod = queued.pod = new
            self._places.put(queued, place)
        if place is UNSCHEDULABLE:
            leaves = (ACTIVE, *RETRIES) if self.backoff.by_window else (ACTIVE,)
            for happened in events:
                self._requeue(queued, self._strategy(queued, happened))
                if queued.place in leaves:
                    break

    def update_status(self, key: str) -> None:
        """Record a new condition or nomination of a pod that the scheduler wrote. The API server
        reports it like any other change: a plugin that is asked about every event is asked."""
        member = self.pods.get(key)
        if member is None:
            return
        pod, queued = member.pod, member.group or member
        strategy = self._strategy(queued, ObjectEvent(TARGET_POD_UPDATE, pod, pod))
        if strategy and self._places.place_of(queued) is UNSCHEDULABLE:
            self._places.put(queued, NOWHERE)
            self._requeue(queued, strategy)

    def delete(self, key: str) -> None:
        """Delete the pod. Does nothing if it is not in the queue."""
        queued = self.pods.pop(key, None)
        if queued is None:
            return
        group = queued.group
        self.incomplete.pop(key, None)
        if group is not None:
            self._change(group, lambda: group.remove(queued))
        elif not self._is_member(queued):
            self._places.put(queued, NOWHERE)

    def activate(self, keys: Iterable[str]) -> None:
        """Pods to try at once, whatever rejected them. Upstream: Activate."""
        for key in keys:
            member = self.pods.get(key)
            if member is None:
                continue
            queued = member.group or member
            place = self._places.place_of(queued)
            if place is ACTIVE or place is NOWHERE:
                continue  # to be tried anyway, or never again
            if self._is_tried_enough(queued):
                continue
            self._to_active(queued, asks_plugins=not (self.backoff.by_window and place in RETRIES))

    # -- events ---------------------------------------------------------------------------------

    def move(
        self,
        event: ClusterEvent,
        old: EventObject = None,
        new: EventObject = None,
        most_important: int | None = None,
        skips_subject: bool = False,
    ) -> None:
        """Try the unschedulable pods again that the event may let fit.

        most_important: only pods of this priority or less
        skips_subject: but not the pod that the event is about
        Upstream: MoveAllToActiveOrBackoffQueue
        """
        if not (self._places.unschedulable.keys or self._in_flight.begins):
            return
        happened = ObjectEvent(event, old, new)
        if self._places.unschedulable.keys:
            subject = new if new is not None else old
            uid = subject.uid if isinstance(subject, PodInfo) else ""
            concerned = self._hints.concerned(happened)
            for group in self._places.unschedulable.groups():
                if concerned is not None:
                    group = {k: q for k, q in group.items() if self._is_concerned(q, concerned)}
                own = group.pop(uid, None)
                if own is not None and not skips_subject:
                    self._move_alike([own], happened, most_important)
                if group:
                    self._move_alike([*group.values()], happened, most_important)
        self._in_flight.note(happened)

    def _is_concerned(self, queued: QueuedPodInfo, concerned: IsConcerned) -> bool:
        """Return whether an event concerns a pod, or a pod of a group, which may have a node
        already."""
        if any(concerned(each.pod) for each in _members(queued)):
            return True
        if self._groups is None or not isinstance(queued, QueuedPodGroupInfo):
            return False
        on_nodes = chain.from_iterable(self._first.handle.snapshot.pods)
        return any(
            concerned(pod) and self._groups.entity_of(pod.pod) == queued.key for pod in on_nodes
        )

    def _move_alike(
        self, alike: list[QueuedPodInfo], happened: ObjectEvent, most_important: int | None
    ) -> None:
        """Move pods on which hints agree, if the event may let them fit. alike: these pods"""
        # The first pod stands for all: priority, gating events and hints are the same.
        first = alike[0]
        priority = min(each.pod.priority for each in _members(first))
        if most_important is not None and priority > most_important:
            return
        event = happened.event
        is_heard = event == EVERYTHING or any(each.matches(event) for each in first.gating_events)
        if first.gated and not is_heard:
            return
        strategy = self._strategy(first, happened)
        if strategy is not QueueingStrategy.SKIP:
            for queued in alike:
                self._places.put(queued, NOWHERE)
                self._requeue(queued, strategy)

    def _strategy(self, queued: QueuedPodInfo, happened: ObjectEvent) -> QueueingStrategy:
        """A group has the best strategy of its pods. Upstream: isEntityWorthRequeuing."""
        members = _members(queued)
        if queued.gated and self._asks_gated_members and any(each.gated for each in members):
            # PreEnqueue stopped at the pod that is held back: the others have no rejection yet.
            members = [each for each in members if each.rejectors]
        return max(self._hints.strategy(each, happened) for each in members)

    # -- time -----------------------------------------------------------------------------------

    def may_retry(self, changed: int) -> bool:
        """Return whether some pod that backs off may fit. Pods whose attempt broke, and those of
        groups, count where they were not tried since something changed, at the time `changed`."""
        if self._places.heaps.peek(BACKOFF) is not None:
            return True
        if self._places.heaps.peek(ERROR_BACKOFF) is None:
            return False
        broken = self.in_place(ERROR_BACKOFF)
        return any(queued.timestamp <= changed for queued in broken)

    def next_flush(self) -> int | None:
        """Return the time at which a pod moves without an event; None if there is none."""
        times = [self._places.unschedulable.next_flush()]
        for place in RETRIES:
            queued = self._places.heaps.peek(place)
            if queued is not None:
                # The first tick, every second, after the second in which the backoff ends.
                expiration = self.backoff.expiration(queued)
                times.append(max(expiration, 0) // SECOND * SECOND + SECOND)
        return min((time for time in times if time is not None), default=None)

    def flush(self) -> None:
        """Every second: try pods again that have been unschedulable for long, and those whose
        backoff is over. Upstream: flushUnschedulablePodsLeftover, flushBackoffQCompleted."""
        if not self._clock.now % FLUSH_INTERVAL:
            for overdue in self._places.unschedulable.take_overdue(self._clock.now):
                self._move_alike([overdue], ObjectEvent(EVERYTHING, None, None), None)
        for place in RETRIES:
            while (queued := self._places.heaps.peek(place)) is not None:
                if self.backoff.is_backing_off(queued, self._clock.now):
                    break
                self._places.put(queued, NOWHERE)
                self._to_active(queued, asks_plugins=not self.backoff.by_window)

    # -- places ---------------------------------------------------------------------------------

    def _requeue(self, queued: QueuedPodInfo, strategy: QueueingStrategy) -> None:
        """Upstream: requeuePodWithQueueingStrategy."""
        if strategy is QueueingStrategy.SKIP:
            self._places.put(queued, UNSCHEDULABLE)
        elif strategy is QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(
            queued, self._clock.now
        ):
            self._to_backoff(queued)
        else:
            self._to_active(queued)

    def _to_active(self, queued: QueuedPodInfo, asks_plugins: bool = True) -> None:
        """Upstream: moveToActiveQ."""
        if asks_plugins:
            self._run_pre_enqueue(queued)
        if not queued.gated:
            if queued.first_active is None:
                queued.first_active = self._clock.now
            for member in _members(queued):
                if member.first_active is None:
                    member.first_active = self._clock.now
            self._places.put(queued, ACTIVE)
        elif queued.place is NOWHERE or queued.place is UNSCHEDULABLE:
            self._places.put(queued, UNSCHEDULABLE)

    def _to_backoff(self, queued: QueuedPodInfo) -> None:
        """Upstream: moveToBackoffQ."""
        if self.backoff.by_window:
            self._run_pre_enqueue(queued)
            if queued.gated:
                self._places.put(queued, UNSCHEDULABLE)
                return
        # kube-scheduler takes a pod from the first of the two whenever it has nothing else to try.
        # As attempts take no time, a group would be tried again and again at one instant.
        is_poppable = bool(queued.rejectors) and not self._is_grouped(queued)
        self._places.put(queued, BACKOFF if is_poppable else ERROR_BACKOFF)

    def _is_grouped(self, queued: QueuedPodInfo) -> bool:
        return self._has_groups and queued.pod.spec.scheduling_group is not None

    def _run_pre_enqueue(self, queued: QueuedPodInfo) -> None:
        """A pod of a group that is held back holds back the whole group."""
        queued.gating_plugin = ""
        for each in _members(queued):
            each.gating_plugin = ""
            name = each.pod.spec.scheduler_name
            status = self._frameworks[name].pre_enqueue(each.pod)
            if status is SUCCESS or status.is_success:
                continue
            each.unschedulable_plugins |= {status.plugin}
            events = self._hints.events_of(name, status.plugin)
            for gated in (each, queued):
                gated.gating_plugin, gated.gating_events = status.plugin, events

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence


# Where a group whose pods change goes on.
# Attempts of one pod at one instant. `schedule`, which is one instant, makes as many passes.
_MAX_TRIES = 10
_STRATEGY_OF = {
    ACTIVE: QueueingStrategy.IMMEDIATELY,
    BACKOFF: QueueingStrategy.AFTER_BACKOFF,
    ERROR_BACKOFF: QueueingStrategy.AFTER_BACKOFF,
    UNSCHEDULABLE: QueueingStrategy.SKIP,
}


def _key_of(queued: QueuedPodInfo) -> GroupKey:
    key = group_key(queued.pod.pod)
    assert key is not None, "it is of a group"
    return key


def _members(queued: QueuedPodInfo) -> Sequence[QueuedPodInfo]:
    """Return the pods of a group; of a pod, itself."""
    return queued.members if isinstance(queued, QueuedPodGroupInfo) else (queued,)
