"""The consequences of an attempt: the pod is bound, waits, or returns to its queue; nominations are
made and cleared, victims leave, and pods that waited for Permit continue.

A run at one instant (simulation.py) and a replay (replay/replay_scheduler.py) are the two kinds.
They differ in their queues, in their observers, and in when a victim is gone.

Upstream: pkg/scheduler/schedule_one.go (scheduleOnePod, handleSchedulingFailure,
handleBindingCycleError), schedule_one_podgroup.go (scheduleOnePodGroup) and
framework/preemption/executor.go (prepareCandidateAsync).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Sequence
from itertools import chain
from typing import Generic, Protocol, TypeVar

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.pod_group_cycle import GroupAttempt
from ksched_cli.engine.scheduling_cycle import AttemptOutcome

# In whose name a waiting pod is sent back to make room.
PREEMPTOR = "DefaultPreemption"


class HasPod(Protocol):
    """The parts of a pod that a queue holds."""

    pod: PodInfo


Queued = TypeVar("Queued", bound=HasPod)


class Scheduler(ABC, Generic[Queued]):
    """Tries pods, one after the other, and carries out the consequences.

    makes_room_at_once: victims leave at once, and the preemptor is tried again before any other
                        pod; what PostFilter finds in that attempt is not carried out
    waiting: by uid, the pods that wait in Permit
    failed:  keys of the pods whose last attempt a plugin's defect ended
    """

    def __init__(self, engine: Engine, *, makes_room_at_once: bool) -> None:
        self.engine = engine
        self.makes_room_at_once = makes_room_at_once
        self.waiting: dict[str, Queued] = {}
        self.failed: set[str] = set()

    # -- attempts ---------------------------------------------------------------------------------

    def is_grouped(self, pod: PodInfo) -> bool:
        """Return whether the pod is tried with the others of its group."""
        has_group = pod.spec.scheduling_group is not None and not pod.is_resized
        return has_group and self.engine.pod_groups is not None

    def schedule(self, queued: Queued, *, is_retry: bool = False) -> None:
        """Try one pod. is_retry: room was just made for it"""
        engine, pod = self.engine, queued.pod
        noted = engine.caller.noted
        carries_out = engine.options.preempt and not is_retry
        self._begin(queued)
        if engine.focus is not None:
            engine.look_at(pod)
        outcome = engine.cycle.attempt(engine.frameworks[pod.spec.scheduler_name], pod)
        for action in outcome.afterwards if carries_out else ():
            action()
        self._conclude(queued, outcome, noted, carries_out=carries_out)
        if carries_out and outcome.nomination and outcome.preemption is not None:
            self.make_room(pod, outcome.nomination, outcome.preemption.victims)
            self.settle()
        if outcome.activated:
            self._activate(outcome.activated)
        if self.waiting:
            self.settle()
        if carries_out and outcome.nomination and self.makes_room_at_once:
            again = self._take_again(queued)
            if again is not None:
                self.schedule(again, is_retry=True)

    def schedule_group(self, members: Sequence[Queued]) -> None:
        """Try the pods of a group together, in the order given, and again at once those for which
        room was made, or that were left when others of the group were placed."""
        is_retry = False
        while members:
            members, is_retry = self._schedule_group_once(members, is_retry=is_retry)

    def _schedule_group_once(
        self, members: Sequence[Queued], *, is_retry: bool
    ) -> tuple[Sequence[Queued], bool]:
        """Make one attempt. Return the pods that are tried again before anything else, and whether
        room was just made for them."""
        engine = self.engine
        assert engine.group_cycle is not None, "only pods of groups are tried together"
        noted = engine.caller.noted
        carries_out = engine.options.preempt and not is_retry
        for queued in members:
            self._begin(queued)
        pods = [queued.pod for queued in members]
        repeats = engine.focus is None and engine.options.cache_answers
        result = engine.group_cycle.attempt(pods, carries_out=carries_out, repeats=repeats)
        engine.look_at_group(result)
        # In the order in which they were tried, the groups of a tree one after the other.
        by_uid = {queued.pod.uid: queued for queued in members}
        members = [by_uid[pod.uid] for pod, _ in result.outcomes]
        outcomes = [outcome for _, outcome in result.outcomes]
        if carries_out:
            for action in result.afterwards:
                action()
            self._make_room_for_group(result)
        for queued, outcome in zip(members, outcomes, strict=True):
            self._conclude(queued, outcome, noted, carries_out=carries_out)
        for outcome in outcomes:
            self._activate(outcome.activated)
        rejected = self.settle()
        self._end_group(result)
        if not self.makes_room_at_once:
            return (), False
        if result.status is not None and result.status.is_success and not is_retry:
            # Without a pod that was placed, they would fail again, and without end.
            pairs = zip(members, outcomes, strict=True)
            left = [each for each, o in pairs if o.row is None or each.pod.uid in rejected]
            return (self._take_group_again(left) if 0 < len(left) < len(members) else ()), False
        if result.waits and carries_out:
            return self._take_group_again(members), True
        return (), False

    def settle(self) -> set[str]:
        """Bind or take back the waiting pods that are decided, one after the other, and those that
        this decides. Return the UIDs of those that have no node."""
        engine, rejected = self.engine, set[str]()
        while (decided := engine.waiting.decided()) is not None:
            noted = engine.caller.noted
            outcome = engine.cycle.binding.settle(decided, engine.waiting.clock.now)
            queued = self.waiting.pop(decided.pod.uid)
            self._conclude(queued, outcome, noted, carries_out=False)
            self._activate(outcome.activated)
            if outcome.row is None:
                rejected.add(queued.pod.uid)
        return rejected

    def _conclude(
        self, queued: Queued, outcome: AttemptOutcome, noted: int, *, carries_out: bool
    ) -> None:
        """Act on the outcome of a pod that was tried. noted: how many defects were known before"""
        pod = queued.pod
        if outcome.row is None:
            if self.engine.caller.noted > noted:
                self.failed.add(pod.key)
            else:
                self.failed.discard(pod.key)
            self._put_back(queued, outcome)
            nomination = None if pod.is_resized else outcome.nomination
            if nomination is not None and (carries_out or not nomination):
                self._nominate(pod, nomination)
            self._after_failure(queued, outcome)
            return
        if self.failed:
            self.failed.discard(pod.key)
        if outcome.waits:
            self.waiting[pod.uid] = queued
            self._hold(queued, outcome)
        else:
            self._bind(queued, outcome)

    # -- preemption -------------------------------------------------------------------------------

    def _make_room_for_group(self, result: GroupAttempt) -> None:
        """Make room before the pods are nominated: a nomination of one does not lapse for another's
        sake. Two of them may name the same victims."""
        gone: set[str] = set()
        for pod, outcome in result.outcomes:
            for action in outcome.afterwards:
                action()
            preemption = outcome.preemption
            if preemption is not None:
                self.make_room(pod, preemption.node, preemption.victims, gone)
                gone.update(victim.uid for victim in preemption.victims)
        # Upstream evicts no pod that is being deleted already: the group waits until it is gone.
        # Where victims leave at once, it leaves with those that are evicted, if there are any.
        leaving = [placed for placed in result.victims if not placed[0].pod.deleting]
        if leaving and self.makes_room_at_once:
            leaving = [*result.victims]
        preemptor = result.outcomes[0][0]
        for node in result.nodes if leaving else ():
            self._clear_nominations(node, preemptor)
        for victim, row in leaving:
            self._evict(victim, self.engine.snapshot.names[row], preemptor)

    def make_room(
        self, pod: PodInfo, node: str, victims: Iterable[PodInfo], gone: Container[str] = ()
    ) -> None:
        """Evict the victims, and clear nominations of less important pods to their node. Victims
        that only wait there have left after `settle`. gone: UIDs of those that were evicted
        already"""
        # An extender may name one twice. One that is being deleted leaves when its time comes.
        unique = {victim.uid: victim for victim in victims if victim.uid not in gone}
        leaving = [
            victim
            for victim in unique.values()
            if self.makes_room_at_once or not victim.pod.deleting
        ]
        rules = self.engine.configuration.release.rules
        if not leaving and rules.ends_at_terminating_victims:
            return
        self._clear_nominations(node, pod)
        snapshot = self.engine.snapshot
        for victim in leaving:
            # Most are on the node that room is made on, but not all pods of a group that is evicted
            # as one, nor all that a plugin names.
            rows = chain((snapshot.row[node],), range(len(snapshot)))
            of = (
                snapshot.names[row]
                for row in rows
                if any(other.uid == victim.uid for other in snapshot.pods[row])
            )
            self._evict(victim, next(of, node), pod)

    def _clear_nominations(self, node: str, preemptor: PodInfo) -> None:
        """Clear the nominations of less important pods to the node."""
        nominator = self.engine.nominator
        for other in nominator.on_node(node):
            if other.priority < preemptor.priority and other.uid not in nominator.stand_ins:
                self._nominate(other, "")

    def _evict(self, victim: PodInfo, node: str, preemptor: PodInfo) -> None:
        """Delete the victim; one that only waits in Permit is sent back to the queue."""
        waiting = self.engine.waiting.get(victim.uid)
        if waiting is not None:
            rules = self.engine.configuration.release.rules
            end = waiting.preempt if rules.preempts_waiting_pods else waiting.reject
            end(PREEMPTOR, "preempted")
        else:
            self._delete(victim, node, preemptor)

    # -- what the two kinds of runs do in their own ways ------------------------------------------

    def _begin(self, queued: Queued) -> None:
        """Note that an attempt begins."""

    def _end_group(self, result: GroupAttempt) -> None:
        """Note that the attempt of a group has ended, and what follows for its pods is done."""

    @abstractmethod
    def _put_back(self, queued: Queued, outcome: AttemptOutcome) -> None:
        """Return the pod, which has no node, to the queue."""

    def _after_failure(self, queued: Queued, outcome: AttemptOutcome) -> None:
        """Note that the pod is back in the queue, and that its nomination is as it should be."""

    @abstractmethod
    def _hold(self, queued: Queued, outcome: AttemptOutcome) -> None:
        """Hold the pod, which is assumed on a node: it waits in Permit."""

    @abstractmethod
    def _bind(self, queued: Queued, outcome: AttemptOutcome) -> None:
        """Record that the pod is bound."""

    @abstractmethod
    def _nominate(self, pod: PodInfo, node: str) -> None:
        """Nominate the pod to the node; "" clears the nomination."""

    @abstractmethod
    def _delete(self, victim: PodInfo, node: str, preemptor: PodInfo) -> None:
        """Delete a pod on a node, which is a victim of preemption."""

    def _take_group_again(self, members: Sequence[Queued]) -> list[Queued]:
        """Take the pods of them that are to be tried again at once."""
        return [taken for queued in members if (taken := self._take_again(queued)) is not None]

    @abstractmethod
    def _take_again(self, queued: Queued) -> Queued | None:
        """Return the pod that was just put back, to be tried again, or None where it is held
        back."""

    @abstractmethod
    def _activate(self, keys: Sequence[str]) -> None:
        """Let these pods be tried again, as plugins request."""
