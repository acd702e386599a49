"""A whole run at one instant, and questions to its cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from operator import attrgetter

from msgspec import structs

from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Engine, carry_over
from ksched_cli.engine.passes import PassScheduler
from ksched_cli.engine.queue import Backlog, Entry, Queue, fill, in_order_of_creation
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.framework.device_classes import BackingClasses
from ksched_cli.framework.resource_claims import ClaimStore

MAX_PASSES = 10


@dataclass(slots=True)
class Simulation(Engine):
    """A simulation, which commands ask their questions. scheduler: tries the pods, and holds their
    results"""

    scheduler: PassScheduler = field(init=False)

    def __post_init__(self, before: Engine | None) -> None:
        Engine.__post_init__(self, before)
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
        before = list(self.snapshot.pods[row])
        self.snapshot.remove(pod, row)
        try:
            with self._without_extended_claim(unplaced):
                yield unplaced
        finally:
            self.snapshot.add(pod, row)
            self.snapshot.pods[row][:] = before

    def has_devices(self, pod: PodInfo) -> bool:
        """Whether the pod has claims of devices, of its own or made for its extended resources."""
        return bool(pod.spec.resource_claims) or self._has_extended_claim(pod)

    def _has_extended_claim(self, pod: PodInfo) -> bool:
        return bool(self.handle.service(BackingClasses).requested(pod))

    def _without_extended_claim(self, pod: PodInfo) -> AbstractContextManager[None]:
        if not self._has_extended_claim(pod):
            return nullcontext()
        return self.handle.service(ClaimStore).without_extended_claim(pod)

    @property
    def resource_claims(self) -> Mapping[tuple[str, str], ResourceClaim]:
        """The claims as they are allocated now."""
        store = self.handle.services.get(ClaimStore)
        return store.current() if isinstance(store, ClaimStore) else self.state.resource_claims

    def queue(self) -> Queue:
        """The pods that wait for a node; makes the nominations that the state has."""
        queue = fill(self.pending(), self.frameworks, self.queued_groups)
        self.waiting.clock.jump(max((queued.timestamp for queued in queue.queued), default=0.0))
        nominated = queue.active
        if self.configuration.release.rules.nominates_gated_pods and queue.held:
            both = sorted((*queue.queued, *queue.held), key=attrgetter("sequence"))
            nominated = tuple(queued.pod for queued in both)
        for pod in nominated:
            if pod.pod.status.nominated_node_name:
                self.nominator.nominate(pod, pod.pod.status.nominated_node_name)
        return queue

    def run(self, only: PodInfo | None = None) -> RunRecord:
        """Tries every pending pod, and again those that failed while others came or went.

        only: the one pod that is tried
        """
        with gc_rare():
            for _ in self.steps(only):
                pass
        return self.record()

    def steps(self, only: PodInfo | None = None) -> Iterator[None]:
        """The same, with a pause after each pod or group that was tried."""
        queue = self.queue()
        if only is not None:
            queue = queue.only(only)
        if self.options.cache_answers:
            active = queue.active
            for framework in self.frameworks.values():
                framework.answer_cache.expect(active)
        self.scheduler.backlog = Backlog.of(queue, self.frameworks, self.queued_groups)
        return self.scheduler.steps(MAX_PASSES if self.options.retries else 1)

    def record(self) -> RunRecord:
        """The result of the run so far."""
        scheduler = self.scheduler
        return RunRecord(
            tuple(scheduler.attempts),
            dict(scheduler.placements),
            tuple(scheduler.backlog.entries),
            in_order_of_creation(scheduler.backlog),
            tuple(scheduler.evicted),
            scheduler.last,
            tuple(sorted(scheduler.failed)),
            self.ignored(),
        )

    def current_state(self) -> ClusterState:
        """The objects as they are now. Pods that wait in Permit have no node; those of a node stay
        in their order, which plugins see."""
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

    def renewed(self, state: ClusterState) -> Simulation:
        """Return a simulation of these objects that replaces this one, and has not run yet."""
        after = self.replaced(state)
        after.pipeline.search.next_start = self.pipeline.search.next_start
        carry_over(self, after)
        self.close()
        return after

    def try_pod(self, pod: PodInfo) -> list[Attempt]:
        """One attempt, and where it made room, the one right after; of a pod that is in no
        queue."""
        before = len(self.scheduler.attempts)
        self.scheduler.schedule(Entry.alone(pod))
        return self.scheduler.attempts[before:]
