"""One attempt of a replay, and what follows from it: for the queue, for nominations, for victims.

Upstream: pkg/scheduler/schedule_one.go (ScheduleOne, handleSchedulingFailure,
handleBindingCycleError), framework/preemption/preemption.go (prepareCandidateAsync) and
eventhandlers.go (updatePodInSchedulingQueue).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import structs

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.binding_cycle import Outcome
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.replay.cohort import Cohort
from ksched_cli.engine.replay.ends import End, Ends
from ksched_cli.engine.replay.pod_log import PodLog
from ksched_cli.engine.replay.queued_pod import QueuedPodInfo
from ksched_cli.engine.replay.records import PodOutcome, PodRecord, ReplayAttempt
from ksched_cli.engine.replay.scheduling_queue import SchedulingQueue
from ksched_cli.engine.replay.world import World
from ksched_cli.engine.scheduling_cycle import NO_NODES
from ksched_cli.engine.simulation import PREEMPTOR
from ksched_cli.framework.cluster_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    RESOURCE_CLAIM_UPDATE,
)
from ksched_cli.framework.status import Code, Status
from ksched_cli.kube.time import SECOND

_DEFAULT_GRACE = 30

_NO_PLUGINS: frozenset[str] = frozenset()


@dataclass(slots=True)
class ReplayClock:
    """now: microseconds since the start; start: seconds since 1970."""

    start: int = 0
    now: int = 0

    @property
    def seconds(self) -> float:
        """Since 1970."""
        return self.start + self.now / SECOND

    @property
    def text(self) -> str:
        """RFC 3339, in whole seconds."""
        return _time_text(self.start + self.now // SECOND)


@lru_cache(maxsize=16)
def _time_text(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(slots=True)
class Attempts:
    """Tries pods of the queue.

    waiting: by uid, the pods that Permit has wait
    failed:  keys of pods whose last attempt a plugin's defect ended
    evicts_at_once: victims leave at once, and the preemptor is tried again before any other pod
    """

    world: World
    queue: SchedulingQueue
    ends: Ends
    log: PodLog
    clock: ReplayClock
    waiting: dict[str, QueuedPodInfo] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    evicts_at_once: bool = False

    def try_next(self) -> bool:
        """Whether there was a pod to try."""
        queued = self.queue.pop()
        if queued is None:
            return False
        self._try(queued)
        return True

    def _try(self, queued: QueuedPodInfo) -> None:
        pod, simulation = queued.pod, self.world.simulation
        if pod.pod.deleting:
            self.queue.done(pod.uid)
            return
        record = self.log.try_pod(pod, self.clock.now)
        noted = simulation.caller.noted
        framework = simulation.frameworks[pod.spec.scheduler_name]
        self.world.start(pod, self.clock.text)
        outcome = simulation.cycle.attempt(framework, pod)
        preempts = simulation.options.preempt
        for action in outcome.afterwards if preempts else ():
            action()
        if simulation.caller.noted > noted and outcome.row is None:
            self.failed.add(pod.key)
        elif self.failed:
            self.failed.discard(pod.key)
        if outcome.row is None:
            self._fail(queued, record, outcome)
        elif outcome.waits:
            self.waiting[pod.uid] = queued
            self._trace(outcome, "waiting")
        else:
            self._bind(queued, record, outcome)
        if outcome.activated:
            self.queue.activate(outcome.activated)
        self.settle()
        if preempts and self.evicts_at_once and outcome.preemption is not None:
            again = self.queue.pop_pod(pod.key)
            if again is not None:
                self._try(again)

    def settle(self) -> None:
        """Goes on with the pods that Permit had wait and that are decided."""
        simulation = self.world.simulation
        if not self.waiting:
            return
        simulation.settle()
        for pod, outcome in simulation.take_settled():
            queued = self.waiting.pop(pod.uid)
            record = self.log.live[pod.key]
            if outcome.row is None:
                self._fail(queued, record, outcome)
            else:
                self._bind(queued, record, outcome)
            self.queue.activate(outcome.activated)

    # -- a pod that is bound ----------------------------------------------------------------------

    def _bind(self, queued: QueuedPodInfo, record: PodRecord, outcome: Outcome) -> None:
        pod, now = queued.pod, self.clock.now
        before = pod.pod
        self.world.place(pod, outcome.attempt.node)
        self.log.place(record, outcome.attempt.node, now)
        if record.runs_for is not None:
            end = End(now + record.runs_for, pod.key, PodOutcome.ENDED)
            self.ends.schedule(pod.uid, end)
        self._trace(outcome, "scheduled")
        self._hear_of_claims()
        self.queue.done(pod.uid)
        self.queue.move(ASSIGNED_POD_ADD, None, pod)
        rules = self.world.simulation.configuration.release.rules
        if before.status.nominated_node_name and rules.binding_frees_nomination:
            # For the handler of pods without a node, the bound pod is a deleted one.
            old = self.world.info(before)
            self.queue.move(ASSIGNED_POD_DELETE, old, None, most_important=pod.priority)

    def _hear_of_claims(self) -> None:
        """The API server tells the scheduler of the claims that it has written."""
        claims = self.world.claims
        if claims is not None:
            for old, new in claims.take_changes():
                self.queue.move(RESOURCE_CLAIM_UPDATE, old, new)

    # -- a pod that fits nowhere, or whose attempt broke ------------------------------------------

    def _fail(self, queued: QueuedPodInfo, record: PodRecord, outcome: Outcome) -> None:
        pod, attempt = queued.pod, outcome.attempt
        unschedulable, pending = rejectors(outcome)
        was_assumed = attempt.bind is not None or attempt.waited is not None
        is_rejected = bool(unschedulable) or bool(attempt.bind and attempt.bind.is_rejected)
        record.message = attempt.why_not
        self._trace(outcome, _result(outcome))
        if was_assumed and not is_rejected:
            self.queue.move(ASSIGNED_POD_DELETE, pod, None)
        options = self.world.simulation.options
        has_news = options.retries and record.message != queued.message
        repeats = False
        if options.retries:
            repeats = is_rejected and self.world.simulation.cycle.repeats_rejection(pod)
            self.queue.put_back(queued, unschedulable, pending, record.message, repeats=repeats)
        else:
            self.queue.set_aside(queued, record.message)
        self._hear_of_claims()
        if has_news:
            self.queue.update_status(pod.key)
        if outcome.nomination is not None and (options.preempt or not outcome.nomination):
            self._nominate(pod, outcome.nomination)
        if was_assumed and is_rejected:
            self.queue.move(ASSIGNED_POD_DELETE, pod, None, skips_subject=True)
        if options.preempt and outcome.preemption is not None and outcome.nomination:
            self._make_room(pod, outcome.nomination, outcome.preemption.victims)
        if repeats:
            self._reject_alike()

    def _reject_alike(self) -> None:
        """After a pod was rejected: the pods to be tried next that would be rejected, too."""
        simulation = self.world.simulation
        rejected = self.queue.take_rejected(simulation.cycle.repeats_rejection)
        if self.log.traces:
            self._trace_alike(rejected)
        for cohort in rejected:
            outcome = simulation.cycle.repeat_rejection(cohort.pod, len(cohort))
            unschedulable, pending = rejectors(outcome)
            self.log.counts.attempts += len(cohort)
            message = outcome.attempt.why_not
            self.queue.put_back_rejected(cohort, unschedulable, pending, message)

    def _trace_alike(self, cohorts: list[Cohort]) -> None:
        """Of cohorts that are going to be rejected, attempt by attempt."""
        tried = [(*own, cohort.pod) for cohort in cohorts for own in cohort.by_sequence()]
        for _, queued, pod in sorted(tried, key=lambda attempt: attempt[0]):
            outcome = self.world.simulation.cycle.repeat_rejection(pod, 0)
            attempt = structs.replace(outcome.attempt, pod=queued.pod.key)
            self._trace(structs.replace(outcome, attempt=attempt), _result(outcome))

    def _nominate(self, pod: PodInfo, node: str) -> None:
        """node: "" takes the nomination back."""
        self.world.simulation.nominator.renew(pod, node)
        before = pod.pod
        previous = before.status.nominated_node_name
        if previous == node:
            return
        status = structs.replace(before.status, nominated_node_name=node)
        pod.pod = structs.replace(before, status=status)
        self.queue.update_status(pod.key)
        if previous:
            self.lose_nomination(self.world.info(before))

    def lose_nomination(self, pod: PodInfo) -> None:
        """Its room is free for pods of no more priority. pod: as it was when it was nominated"""
        self.queue.move(ASSIGNED_POD_DELETE, pod, None, most_important=pod.priority)

    def _make_room(self, pod: PodInfo, node: str, victims: tuple[PodInfo, ...]) -> None:
        # Those that are being deleted already go when their time comes.
        unique = {victim.uid: victim for victim in victims}.values()  # an extender may repeat one
        evicted = [each for each in unique if self.evicts_at_once or not each.pod.deleting]
        if not evicted:
            return
        for other in self.world.simulation.nominator.on_node(node):
            if other.priority < pod.priority:
                self._nominate(other, "")
        for victim in evicted:
            self._evict(victim)
        self.settle()

    def _evict(self, victim: PodInfo) -> None:
        waiting = self.world.simulation.waiting.get(victim.uid)
        if waiting is not None:
            waiting.reject(PREEMPTOR, "preempted")
            return
        period = victim.spec.termination_grace_period_seconds
        grace = (_DEFAULT_GRACE if period is None else period) * SECOND
        self.evict(victim, 0 if self.evicts_at_once else grace)

    # -- pods that leave --------------------------------------------------------------------------

    def evict(self, pod: PodInfo, grace: int) -> None:
        """A pod on a node is evicted; it is there for so many microseconds more."""
        self.log.record_of(pod, 0).evicted = self.clock.now
        self.log.counts.evicted += 1
        self.delete_bound(pod, grace, PodOutcome.EVICTED)

    def delete_bound(self, pod: PodInfo, grace: int, outcome: PodOutcome) -> None:
        """A pod on a node is deleted; it is there for so many microseconds more."""
        if not grace:
            self.end(pod.key, outcome)
            return
        record = self.log.record_of(pod, 0)
        is_victim = outcome is PodOutcome.EVICTED
        new = self.world.mark_deleting(pod, self.clock.text, is_victim=is_victim)
        self.ends.schedule(pod.uid, End(self.clock.now + grace, record.pod, outcome))
        self.queue.move(ASSIGNED_POD_UPDATE, pod, new)

    def end(self, key: str, outcome: PodOutcome) -> None:
        """A pod leaves its node."""
        pod = self.world.remove(key)
        if pod is not None:
            self.gone(pod, outcome)

    def gone(self, pod: PodInfo, outcome: PodOutcome) -> None:
        """A pod has left its node."""
        self.ends.cancel(pod.uid)
        self.log.leave(self.log.record_of(pod, 0), outcome, self.clock.now)
        self.queue.move(ASSIGNED_POD_DELETE, pod, None)

    def _trace(self, outcome: Outcome, result: str) -> None:
        if not self.log.traces:
            return
        attempt, preemption = outcome.attempt, outcome.preemption
        unschedulable, pending = rejectors(outcome)
        self.log.attempts.append(
            ReplayAttempt(
                self.clock.now,
                attempt.pod,
                result,
                attempt.node,
                outcome.nomination or "",
                tuple(victim.key for victim in preemption.victims) if preemption else (),
                attempt.why_not,
                tuple(sorted(unschedulable | pending)),
            )
        )


def rejectors(outcome: Outcome) -> tuple[frozenset[str], frozenset[str]]:
    """The plugins that rejected the pod, and those of them whose rejection is pending; none where
    the attempt broke. Upstream: Diagnosis.AddPluginStatus."""
    attempt = outcome.attempt
    status = attempt.reserve or attempt.permit
    if attempt.node or attempt.bind is not None:
        return _NO_PLUGINS, _NO_PLUGINS
    if status is None:
        return outcome.unschedulable_plugins, outcome.pending_plugins
    if not status.is_rejected:
        return _NO_PLUGINS, _NO_PLUGINS
    plugins = frozenset((status.plugin,))
    return plugins, plugins if status.code == Code.PENDING else _NO_PLUGINS


def _result(outcome: Outcome) -> str:
    """As kube-scheduler's condition has it: unschedulable or error."""
    attempt: Attempt = outcome.attempt
    status: Status | None = attempt.reserve or attempt.permit or attempt.bind
    if status is not None:
        return "unschedulable" if status.is_rejected else "error"
    if attempt.error and attempt.error != NO_NODES:
        return "error"
    return "unschedulable"
