"""A replay's attempts, and how their results reach the queue, the records and the cluster; the
times at which running pods end.

Upstream: pkg/scheduler/schedule_one.go (podGroupInfoForPod) and eventhandlers.go
(updatePodInSchedulingQueue).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import ParamSpec

from msgspec import structs

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.base import ObjectMeta
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.pod_group_cycle import GroupAttempt
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.replay.agenda import END, EVICTION, Agenda
from ksched_cli.engine.replay.queued_pod import QueuedPodGroupInfo, QueuedPodInfo
from ksched_cli.engine.replay.records import (
    ENDED,
    PodLog,
    PodOutcome,
    PodRecord,
    Recreation,
    ReplayAttempt,
    ReplayClock,
)
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.engine.replay.scheduling_queue import SchedulingQueue
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.scheduling_cycle import NO_NODES, AttemptOutcome
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.pod_groups import group_key
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.pod_work import PodWork
from ksched_cli.scenario.pods import pending_pod

P = ParamSpec("P")

_DEFAULT_GRACE = 30

_NO_PLUGINS: frozenset[str] = frozenset()


class ReplayScheduler(Scheduler[QueuedPodInfo]):
    """Tries the pods of the queue."""

    def __init__(
        self,
        cluster: ReplayCluster,
        queue: SchedulingQueue,
        agenda: Agenda,
        log: PodLog,
        clock: ReplayClock,
        *,
        makes_room_at_once: bool = False,
    ) -> None:
        super().__init__(cluster.engine, makes_room_at_once=makes_room_at_once)
        self.cluster = cluster
        self.queue = queue
        self.agenda = agenda
        self.log = log
        self.clock = clock
        # Nodes that have failed: no pod on them comes to its end.
        self.down_nodes: Container[str] = ()
        # Whether the queue hears of pods that arrive.
        self.hears_of_arrivals = False
        # Keys of victims of preemption that come again once they are gone.
        self.victims: set[str] = set()
        self.recreation = Recreation.GONE
        self.arrive: Callable[[Pod, PodWork], None] | None = None
        self.on_departure: Callable[[PodInfo], None] | None = None
        # The group that is tried, where it is an entity of the queue, and what the queue has yet
        # to hear of its pods.
        self._group: QueuedPodGroupInfo | None = None
        self._unheard: list[Callable[[], None]] = []

    def try_next(self) -> bool:
        """Try the next pod. Return whether there was one."""
        queued = self.queue.pop()
        if queued is None:
            return False
        if isinstance(queued, QueuedPodGroupInfo):
            self._try_group(queued.members, queued)
        elif self.is_grouped(queued.pod):
            self._try_group(sorted(self._pop_group_of(queued), key=_group_order))
        elif queued.pod.pod.deleting:
            self.queue.done(queued.pod.uid)
        else:
            self.schedule(queued)
        return True

    def _pop_group_of(self, first: QueuedPodInfo) -> Iterator[QueuedPodInfo]:
        """Pop the pods of the group that are in the queue, wherever they are there, and not held
        back."""
        groups, key = self.engine.pod_groups, group_key(first.pod.pod)
        assert groups is not None
        assert key is not None
        yield first
        yield from filter(None, map(self.queue.pop_pod, groups.members(key)))

    def _try_group(
        self, members: Sequence[QueuedPodInfo], group: QueuedPodGroupInfo | None = None
    ) -> None:
        """Try pods of a group together. group: where it is an entity of the queue"""
        for queued in members:
            if queued.pod.pod.deleting:
                self.queue.done(queued.pod.uid)
        members = [queued for queued in members if not queued.pod.pod.deleting]
        if members:
            self._group, nominator = group, self.engine.nominator
            if not self.makes_room_at_once:
                # Upstream has a nominated pod that is not queued by name: nominatedPodToInfo.
                nominator.stand_ins = {
                    pod.uid: self.cluster.info(Pod(ObjectMeta(pod.name, pod.namespace, pod.uid)))
                    for pod in (queued.pod for queued in members)
                    if nominator.node_of(pod)
                }
            self.schedule_group(members)
            nominator.stand_ins = {}
        elif group is not None:
            self.queue.end_group(group, SUCCESS)

    def _end_group(self, result: GroupAttempt) -> None:
        """The queue has the group back before it hears of the pods that were bound, and before the
        API server tells of the new conditions of the others."""
        if self._group is None or result.status is None:
            return
        group, self._group = self._group, None
        self.queue.end_group(group, result.status)
        heard, self._unheard = self._unheard, []
        for tell in heard:
            tell()

    def _tell(self, tell: Callable[P, None], *event: P.args, **more: P.kwargs) -> None:
        """Pass an event to the queue at once, or when the group under way is back."""
        if self._group is None:
            tell(*event, **more)
        else:
            self._unheard.append(partial(tell, *event, **more))

    # -- what follows from an attempt -------------------------------------------------------------

    def _begin(self, queued: QueuedPodInfo) -> None:
        self.log.try_pod(queued.pod, self.clock.now)
        if not queued.pod.is_resized:
            self.cluster.start(queued.pod, self.clock.text)

    def _take_group_again(self, members: Sequence[QueuedPodInfo]) -> list[QueuedPodInfo]:
        group = members[0].group
        if group is None:
            return super()._take_group_again(members)
        if group.gated:
            return []
        self._group = self.queue.pop_group(group)
        return list(group.members)

    def _take_again(self, queued: QueuedPodInfo) -> QueuedPodInfo | None:
        return self.queue.pop_pod(queued.pod.key)

    def _activate(self, keys: Sequence[str]) -> None:
        self.queue.activate(keys)

    def _hold(self, queued: QueuedPodInfo, outcome: AttemptOutcome) -> None:
        """Upstream: the Permit of GangScheduling activates the other pods of the gang."""
        self._trace(outcome, "waiting")
        groups, key = self.engine.pod_groups, self.engine.entity_of(queued.pod)
        if groups is not None and key is not None:
            self.queue.activate(groups.members(key))

    def _bind(self, queued: QueuedPodInfo, outcome: AttemptOutcome) -> None:
        pod = outcome.bound or queued.pod
        before, record = pod.pod, self.log.live[pod.key]
        self.cluster.place(pod, outcome.attempt.node)
        if self.is_grouped(pod) or outcome.attempt.waited is not None:
            # The news of a bound pod makes it the last of its node. Upstream: Cache.AddPod.
            snapshot = self.cluster.snapshot
            snapshot.remove(pod, snapshot.row[outcome.attempt.node])
            snapshot.add(pod, snapshot.row[outcome.attempt.node])
        self.log.place(record, outcome.attempt.node, self.clock.now)
        self.log.counts.tied += outcome.attempt.is_tied
        self.start_work(pod, record)
        self._trace(outcome, "scheduled")
        self._tell(self._hear_of_binding, before, pod)

    def _hear_of_binding(self, before: Pod, pod: PodInfo) -> None:
        """before: without its node"""
        self._hear_of_claims()
        self.queue.done(pod.uid)
        self.queue.move(events.ASSIGNED_POD_ADD, None, pod)
        rules = self.engine.configuration.release.rules
        if before.status.nominated_node_name and rules.binding_frees_nomination:
            # For the handler of pods without a node, the bound pod is a deleted one.
            old = self.cluster.info(before)
            self.queue.move(events.ASSIGNED_POD_DELETE, old, None, most_important=pod.priority)

    def _hear_of_claims(self) -> None:
        """The API server tells the scheduler of the claims that it has written."""
        claims = self.cluster.engine.claims
        if claims is not None:
            for old, new in claims.take_changes():
                self.queue.move(events.RESOURCE_CLAIM_UPDATE, old, new)

    def _put_back(self, queued: QueuedPodInfo, outcome: AttemptOutcome) -> None:
        self._trace(outcome, _result(outcome))
        # Upstream binds pods aside: one whose binding fails comes to the queue after its group.
        if outcome.attempt.bind is not None:
            self._tell(self._return, queued, outcome)
        else:
            self._return(queued, outcome)

    def _return(self, queued: QueuedPodInfo, outcome: AttemptOutcome) -> None:
        """Return the pod to the queue, and tell what follows."""
        pod, attempt, engine = queued.pod, outcome.attempt, self.engine
        message = self.log.live[pod.key].message = attempt.why_not
        if _was_assumed(outcome) and not _is_rejected(outcome):
            self.queue.move(events.ASSIGNED_POD_DELETE, self._forgotten(queued, outcome), None)
        # The scheduler writes nothing into the status of a pod that runs.
        has_news = engine.options.retries and message != queued.message and not pod.is_resized
        if engine.options.retries:
            repeats = (
                _is_rejected(outcome)
                and not self.is_grouped(pod)
                and engine.cycle.repeats_rejection(pod)
            )
            self.queue.put_back(queued, *rejectors(outcome), message, repeats=repeats)
        else:
            self.queue.set_aside(queued, message)
        self._hear_of_claims()
        if has_news:
            self._tell(self.queue.update_status, pod.key)

    def _after_failure(self, queued: QueuedPodInfo, outcome: AttemptOutcome) -> None:
        if _was_assumed(outcome) and _is_rejected(outcome):
            gone = self._forgotten(queued, outcome)
            self.queue.move(events.ASSIGNED_POD_DELETE, gone, None, skips_subject=True)
        if queued.repeats:
            self._reject_alike()

    def _forgotten(self, queued: QueuedPodInfo, outcome: AttemptOutcome) -> PodInfo:
        """Return the pod on the node that it was assumed on, as events show it."""
        return self.cluster.info(structs.replace(queued.pod.pod, node_name=outcome.left))

    def _reject_alike(self) -> None:
        """After a pod was rejected: the pods to be tried next that would be rejected, too."""
        cycle = self.engine.cycle
        rejected = self.queue.take_rejected(cycle.repeats_rejection)
        if self.log.traces:
            # Traces have each attempt of the classes.
            tried = [(*own, alike.pod) for alike in rejected for own in alike.by_sequence()]
            for _, queued, pod in sorted(tried, key=lambda attempt: attempt[0]):
                again = self.engine.cycle.repeat_rejection(pod, 0)
                attempt = structs.replace(again.attempt, pod=queued.pod.key)
                self._trace(structs.replace(again, attempt=attempt), _result(again))
        for alike in rejected:
            outcome = cycle.repeat_rejection(alike.pod, len(alike))
            unschedulable, pending = rejectors(outcome)
            self.log.counts.attempts += len(alike)
            message = outcome.attempt.why_not
            self.queue.put_back_rejected(alike, unschedulable, pending, message)

    def _nominate(self, pod: PodInfo, node: str) -> None:
        """node: "" takes the nomination back."""
        self.engine.nominator.renew(pod, node)
        before = pod.pod
        previous = before.status.nominated_node_name
        if previous == node:
            return
        status = structs.replace(before.status, nominated_node_name=node)
        pod.pod = structs.replace(before, status=status)
        self.queue.update_status(pod.key)
        if previous:
            self.lose_nomination(self.cluster.info(before))

    def lose_nomination(self, pod: PodInfo) -> None:
        """Drop the nomination: its room is free for pods of no more priority. pod: as it was when
        it was nominated"""
        self.queue.move(events.ASSIGNED_POD_DELETE, pod, None, most_important=pod.priority)

    def _delete(self, victim: PodInfo, node: str, preemptor: PodInfo) -> None:
        period = victim.spec.termination_grace_period_seconds
        grace = (_DEFAULT_GRACE if period is None else period) * SECOND
        if self.recreation is not Recreation.GONE:
            self.victims.add(victim.key)
        self.evict(victim, 0 if self.makes_room_at_once else grace)

    # -- pods that leave --------------------------------------------------------------------------

    def start_work(self, pod: PodInfo, record: PodRecord) -> None:
        """The pod on a node works there until it ends, unless the node has failed."""
        work, snapshot = record.work, self.cluster.snapshot
        row = snapshot.row[pod.pod.node_name]
        whole = work.on(snapshot.nodes[row].metadata.labels)
        framework = self.engine.frameworks.get(pod.spec.scheduler_name)
        if framework is not None and framework.run_times:
            seconds = framework.runtime(pod, NodeInfo(snapshot, row), _seconds(whole))
            whole = None if seconds is None else round(seconds * SECOND)
        record.run_time, record.run_began = whole, self.clock.now
        job = self.log.jobs[record.job]
        if whole is not None and work.shortest is None:
            job.runs_for = max(job.runs_for, whole)
        if whole is None and work.label:
            self.log.note_endless(record, work.label)
        if whole is not None and pod.pod.node_name not in self.down_nodes:
            self.end_at(self.clock.now + work.rest(whole), pod, ENDED)

    def end_at(self, at: int, pod: PodInfo, outcome: PodOutcome) -> None:
        """The pod leaves its node at that time, if it does not earlier."""
        self.agenda.schedule(END, at, partial(self.end, pod.key, outcome), pod.uid)

    def evict(self, pod: PodInfo, grace: int | None) -> None:
        """Evict a pod from a node; it stays for this many microseconds, or until its node
        answers."""
        self.log.evict(self.log.record_of(pod), self.clock.now)
        self.delete_bound(pod, grace, PodOutcome.EVICTED)

    def delete_bound(self, pod: PodInfo, grace: int | None, outcome: PodOutcome) -> None:
        """A pod on a node is deleted; see evict."""
        if grace == 0:
            self.end(pod.key, outcome)
            return
        self.log.record_of(pod)
        is_victim = outcome is PodOutcome.EVICTED
        new = self.cluster.mark_deleting(pod, self.clock.text, is_victim=is_victim)
        self.follow_resize(pod, new)
        if grace is not None:
            self.end_at(self.clock.now + grace, pod, outcome)
        self.queue.move(events.ASSIGNED_POD_UPDATE, pod, new)

    def follow_resize(self, old: PodInfo | None, new: PodInfo) -> None:
        """A pod on a node has come or changed: it is queued as long as its resize is deferred.
        Upstream: addPod, updatePod."""
        was_resized = old is not None and old.is_resized
        if new.is_resized and not was_resized:
            self.log.record_of(new)
            self.queue.add(new)
            if self.hears_of_arrivals:
                self.queue.move(events.UNSCHEDULED_POD_ADD, None, new)
        elif new.is_resized and old is not None:
            self.queue.update(old, new)
        elif was_resized:
            self.queue.delete(new.key)

    def end(self, key: str, outcome: PodOutcome) -> None:
        """A pod leaves its node."""
        pod = self.cluster.remove(key)
        if pod is not None:
            self.gone(pod, outcome)

    def gone(self, pod: PodInfo, outcome: PodOutcome) -> None:
        """A pod has left its node."""
        self.cluster.note_departure(pod)
        self.agenda.cancel(END, pod.uid)
        self.agenda.cancel(EVICTION, pod.uid)
        if self.on_departure is not None:
            self.on_departure(pod)
        record = self.log.record_of(pod)
        self.log.leave(record, outcome, self.clock.now)
        self.queue.move(events.ASSIGNED_POD_DELETE, pod, None)
        if pod.is_resized:
            self.queue.delete(pod.key)
        if pod.key in self.victims:
            self.victims.discard(pod.key)
            if outcome is PodOutcome.EVICTED:
                # A victim of preemption comes again.
                ran = self.clock.now - record.run_began
                resumes = self.recreation is Recreation.RESUMES
                if resumes and record.run_time is not None:
                    self.log.jobs[record.job].lost -= record.work.useful(ran)
                assert self.arrive is not None, "set before any pod is tried"
                work = record.work.after(ran, record.run_time, resumes=resumes)
                self.arrive(pending_pod(pod.pod), work)
                self.log.live[pod.key].first_queued = record.arrived

    def _trace(self, outcome: AttemptOutcome, result: str) -> None:
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


def _seconds(time: int | None) -> float | None:
    return None if time is None else time / SECOND


def _group_order(queued: QueuedPodInfo) -> tuple[int, int, int]:
    """Upstream: podGroupInfoForPod. Members that became active at one instant keep the
    order of the queue."""
    return -queued.pod.priority, queued.first_active or 0, queued.sequence


def rejectors(outcome: AttemptOutcome) -> tuple[frozenset[str], frozenset[str]]:
    """Return the plugins that rejected the pod, and those of them whose rejection is pending; none
    where the attempt broke. Upstream: Diagnosis.AddPluginStatus."""
    attempt = outcome.attempt
    status = attempt.reserve or attempt.permit
    if attempt.node or attempt.bind is not None:
        return _NO_PLUGINS, _NO_PLUGINS
    if status is None or status.is_wait:
        return outcome.unschedulable_plugins, outcome.pending_plugins
    if not status.is_rejected:
        return _NO_PLUGINS, _NO_PLUGINS
    plugins = frozenset((status.plugin,))
    return plugins, plugins if status.code == Code.PENDING else _NO_PLUGINS


def _was_assumed(outcome: AttemptOutcome) -> bool:
    """Return whether the pod had a node, from which it came back."""
    return outcome.attempt.bind is not None or outcome.attempt.waited is not None


def _is_rejected(outcome: AttemptOutcome) -> bool:
    """Return whether plugins rejected the pod; else its attempt broke."""
    bind = outcome.attempt.bind
    return any(rejectors(outcome)) or bool(bind and bind.is_rejected)


def _result(outcome: AttemptOutcome) -> str:
    """Return the result as in kube-scheduler's condition: unschedulable or error."""
    attempt: Attempt = outcome.attempt
    status: Status | None = attempt.reserve or attempt.permit or attempt.bind
    if status is not None and not status.is_wait:
        return "unschedulable" if status.is_rejected else "error"
    if attempt.error and attempt.error != NO_NODES:
        return "error"
    return "unschedulable"
