"""A whole run at one instant, and questions to its cluster.

The run makes pass after pass over the queue, until nothing changes and no pod waits. While pods are
tried, time stands still. When none is left to try, it jumps to the earliest Permit timeout or
alarm, so that a run that waits ten minutes ends at once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from operator import attrgetter

from msgspec import structs

from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.queue import NEVER, ClusterVersion, Entry, Queue
from ksched_cli.engine.records import Attempt, Eviction, RunRecord
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.scheduling_cycle import AttemptOutcome
from ksched_cli.framework.pod_groups import GroupKey
from ksched_cli.framework.resource_claims import BackingClasses, ClaimStore


class PassScheduler(Scheduler[Entry]):
    """attempts: in order; last: by pod key
    placements: pod key → node, in the order they were placed
    changes, waiting_rejections: see ClusterVersion
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, makes_room_at_once=True)
        self.queue = Queue(engine.frameworks)
        self.attempts: list[Attempt] = []
        self.last: dict[str, Attempt] = {}
        self.placements: dict[str, str] = {}
        self.evicted: list[Eviction] = []
        self.changes = self.waiting_rejections = 0
        # Pods that waited, and were sent back since an attempt began.
        self._sent_back: list[Entry] = []
        self._tried_groups: set[GroupKey | None] = set()

    # -- passes -----------------------------------------------------------------------------------

    def run(self, max_passes: int) -> None:
        """Run to the end: afterwards no pod waits."""
        for _ in self.steps(max_passes):
            pass

    def steps(self, max_passes: int) -> Iterator[None]:
        """Run, and yield after each pod or group that was tried."""
        total = len(self.queue.entries)
        for number in range(max_passes):
            if number:
                self.renew()
            while not (yield from self._run_pass(total)):
                if not self._jump():
                    return
                self.renew()
        while self._jump():
            pass

    def renew(self) -> None:
        """Begin another pass: decide which pods are gated, and the order of the others."""
        self.queue.renew(self._now())

    def _now(self) -> ClusterVersion:
        return ClusterVersion(self.changes, self.waiting_rejections)

    def _run_pass(self, total: int) -> Generator[None, None, bool]:
        """Run one pass, and return whether there was anything to try."""
        tried = False
        on_progress = self.engine.options.on_progress
        self._tried_groups.clear()
        for entry in self.queue:
            if entry.seen is not NEVER and not entry.is_due(self._now()):
                continue
            if entry.pod.is_resized and entry.pod.key not in self.queue.entries:
                continue  # evicted meanwhile
            tried = True
            if self.is_grouped(entry.pod):
                self._try_group(self.engine.entity_of(entry.pod))
            else:
                entry.activated = False
                self.schedule(entry)
                self._look_back((entry,))
            if on_progress is not None:
                on_progress(total - len(self.queue.entries), total)
            yield
        return tried

    def _try_group(self, group: GroupKey | None) -> None:
        """Try a group, once in a pass."""
        if group in self._tried_groups:
            return
        self._tried_groups.add(group)
        members = self.members(group)
        focus = self.engine.focus
        for entry in members:
            entry.activated = False
            if focus is not None and focus.before_group and entry.pod.key in focus.pods:
                focus.before_group(entry.pod)
        self.schedule_group(members)
        self._look_back(members)

    def members(self, group: GroupKey | None) -> list[Entry]:
        """Return the pods that are tried together, in order. group: see PodGroups.entity_of"""
        entity_of = self.engine.entity_of
        entries = [each for each in self.queue if not each.waits and entity_of(each.pod) == group]
        return sorted(entries, key=lambda entry: -entry.pod.priority)

    def _look_back(self, tried: Iterable[Entry]) -> None:
        """Mark events that a pod caused itself as seen: they are no reason to try it again."""
        if self._sent_back:
            self.waiting_rejections += 1
            for entry in self._sent_back:
                entry.seen = self._now()
            self._sent_back.clear()
        for entry in tried:
            if entry.pod.key in self.queue.entries:
                entry.seen = self._now()

    def _jump(self) -> bool:
        """Jump to the earliest Permit timeout or alarm. Return whether there is one."""
        waiting = self.engine.waiting
        alarm = waiting.clock.next_alarm
        times = [time for time in (waiting.next_deadline, alarm) if time is not None]
        if not times:
            return False
        waiting.clock.jump(min(times))
        if alarm is not None and alarm <= waiting.clock.now:
            self.waiting_rejections += 1
        self.settle()
        self._look_back(())
        return True

    # -- what follows from an attempt -------------------------------------------------------------

    def _record(self, entry: Entry, outcome: AttemptOutcome) -> None:
        """Record the end of a pod that waited in the record of its attempt."""
        attempt = outcome.attempt
        self.last[attempt.pod] = attempt
        if entry.waits:
            entry.waits = False
            self.attempts[entry.attempt] = attempt
        else:
            entry.attempt = len(self.attempts)
            self.attempts.append(attempt)

    def _put_back(self, queued: Entry, outcome: AttemptOutcome) -> None:
        if queued.waits:
            self._sent_back.append(queued)
        self._record(queued, outcome)
        queued.queued = queued.queued._replace(attempts=queued.queued.attempts + 1)
        attempt = outcome.attempt
        queued.refused = any((attempt.reserve, attempt.permit, attempt.bind))

    def _hold(self, queued: Entry, outcome: AttemptOutcome) -> None:
        self._record(queued, outcome)
        queued.waits = True

    def _bind(self, queued: Entry, outcome: AttemptOutcome) -> None:
        self._record(queued, outcome)
        attempt = outcome.attempt
        self.placements[attempt.pod] = attempt.node
        self.changes += 1
        self.queue.entries.pop(attempt.pod, None)

    def _nominate(self, pod: PodInfo, node: str) -> None:
        self.engine.nominator.renew(pod, node)

    def _delete(self, victim: PodInfo, node: str, preemptor: PodInfo) -> None:
        engine = self.engine
        engine.snapshot.remove(victim, engine.snapshot.row[node])
        self.placements.pop(victim.key, None)
        if victim.is_resized:
            self.queue.entries.pop(victim.key, None)
        if engine.pod_groups is not None:
            engine.pod_groups.forget(victim)
        self.evicted.append(Eviction(victim.key, node, preemptor.key))
        self.changes += 1

    def _take_again(self, queued: Entry) -> Entry | None:
        return queued

    def _activate(self, keys: Sequence[str]) -> None:
        self.queue.activate(keys)


MAX_PASSES = 10


@dataclass(slots=True)
class Simulation(Engine):
    """A simulation, which commands ask their questions. scheduler: tries the pods, and holds their
    results"""

    scheduler: PassScheduler = field(init=False)

    def __post_init__(
        self, before: Engine | None, pods: PodCatalog | None, columns: Snapshot | None
    ) -> None:
        Engine.__post_init__(self, before, pods, columns)
        self.scheduler = PassScheduler(self)

    @contextmanager
    def without_pod(self, pod: PodInfo) -> Iterator[PodInfo]:
        """Return the pod as if it were still to be placed. Meanwhile it is taken off its node, and
        so is the claim that kube-scheduler made for its extended resources."""
        unplaced = pod.unplaced()
        row = self.snapshot.row.get(pod.pod.node_name)
        if row is None or pod.pod.finished:
            yield unplaced
            return
        claim: AbstractContextManager[None] = nullcontext()
        with self.snapshot.trial():
            self.snapshot.remove(pod, row)
            if self.handle.service(BackingClasses).requested(unplaced):
                claim = self.handle.service(ClaimStore).without_extended_claim(unplaced)
            with claim:
                yield unplaced

    def has_devices(self, pod: PodInfo) -> bool:
        """Return whether the pod has claims of devices, of its own or made for its extended
        resources."""
        requested = self.handle.service(BackingClasses).requested
        return bool(pod.spec.resource_claims or requested(pod))

    def queue(self) -> Queue:
        """Return the pods that wait for a node, and make the nominations that the state has."""
        queue = Queue.of(self.pending(), self.frameworks, self.queued_groups)
        self.waiting.clock.jump(max((entry.queued.timestamp for entry in queue), default=0.0))
        nominated = queue.active
        if self.configuration.release.rules.nominates_gated_pods and queue.held:
            both = sorted((*queue, *queue.held.values()), key=attrgetter("queued.sequence"))
            nominated = tuple(entry.pod for entry in both)
        for pod in nominated:
            if pod.pod.status.nominated_node_name:
                self.nominator.nominate(pod, pod.pod.status.nominated_node_name)
        return queue

    def run(self, only: PodInfo | None = None) -> RunRecord:
        """Try every pending pod, and try those that failed again while others came or went.

        only: the one pod that is tried
        """
        with gc_rare():
            for _ in self.steps(only):
                pass
        return self.record()

    def steps(self, only: PodInfo | None = None) -> Iterator[None]:
        """Run as `run` does, and yield after each pod or group that was tried."""
        queue = self.queue()
        if only is not None:
            queue = queue.only(only)
        if self.options.cache_answers:
            active = queue.active
            for framework in self.frameworks.values():
                framework.answer_cache.expect(active)
        self.scheduler.queue = queue
        return self.scheduler.steps(MAX_PASSES if self.options.retries else 1)

    def record(self) -> RunRecord:
        """Return the result of the run so far."""
        scheduler = self.scheduler
        return RunRecord(
            tuple(scheduler.attempts),
            dict(scheduler.placements),
            tuple(scheduler.queue.entries),
            scheduler.queue.gated_by_age(),
            tuple(scheduler.evicted),
            scheduler.last,
            tuple(sorted(scheduler.failed)),
            self.ignored(),
        )

    def current_state(self) -> ClusterState:
        """Return the objects as they are now. Pods that wait in Permit have no node; those of a
        node stay in their order, which plugins see."""
        names, waiting = self.snapshot.names, self.scheduler.waiting
        running = [
            structs.replace(pod.pod, node_name=names[row])
            for row, pods in enumerate(self.snapshot.pods)
            for pod in pods
            if pod.uid not in waiting
        ]
        gone = {pod.key for pod in running} | {each.pod for each in self.scheduler.evicted}
        others = [pod for pod in self.state.pods if pod.key not in gone]
        return replace(self.state, pods=(*running, *others), resource_claims=self.resource_claims)

    def try_pod(self, pod: PodInfo) -> list[Attempt]:
        """Try a pod that is in no queue. Return the attempt and, where it made room, the one right
        after."""
        before = len(self.scheduler.attempts)
        self.scheduler.schedule(Entry.alone(pod))
        return self.scheduler.attempts[before:]
