"""A whole run: pass after pass over the queue, until nothing changes any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration
from ksched_cli.engine.cycle import Cycle, TieBreak, first_by_name
from ksched_cli.engine.queue import Queue, fill
from ksched_cli.engine.records import Attempt, Eviction, RunRecord
from ksched_cli.framework.guard import Guard
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.preemption import Preemption
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.framework.runtime import Framework

MAX_PASSES = 10


@dataclass(frozen=True, slots=True)
class Options:
    """detailed: keep every node's verdict and scores. preempt: carry out what PostFilter finds.
    remember: keep plugins' answers for pods that look the same; changes nothing but the time.
    progress: told after each attempt how many pods have a node, of how many."""

    tie_break: TieBreak = first_by_name
    detailed: bool = False
    preempt: bool = True
    remember: bool = True
    progress: Callable[[int, int], None] | None = None


@dataclass(slots=True)
class Simulation:
    """A cluster state under a configuration: what a command asks its questions to.

    catalog:    makes PodInfos of the state's pods
    frameworks: by scheduler name
    """

    state: ClusterState
    configuration: Configuration
    registry: Mapping[str, PluginEntry]
    options: Options = field(default_factory=Options)
    guard: Guard = field(default_factory=Guard)
    catalog: PodCatalog = field(default_factory=PodCatalog)
    nominator: Nominator = field(default_factory=Nominator)
    snapshot: Snapshot = field(init=False)
    frameworks: dict[str, Framework] = field(init=False)
    cycle: Cycle = field(init=False)
    placements: dict[str, str] = field(default_factory=dict)
    evicted: list[Eviction] = field(default_factory=list)
    changes: int = 0

    def __post_init__(self) -> None:
        self.snapshot = Snapshot(self.state.nodes)
        for pod in self.state.pods:
            row = self.snapshot.row.get(pod.node_name) if pod.node_name else None
            if row is not None and not pod.finished:
                self.snapshot.add(self.catalog.info(pod), row)
        shared: dict[str, object] = {}
        self.frameworks = {
            profile.scheduler_name: Framework(
                profile,
                self.registry,
                Handle(self.snapshot, self.state, self.nominator, shared=shared),
                self.guard,
            )
            for profile in self.configuration.profiles
        }
        self.cycle = Cycle(
            self.snapshot,
            self.nominator,
            self.configuration.percentage_of_nodes_to_score,
            self.options.tie_break,
            self.options.detailed,
        )

    def pending(self) -> list[PodInfo]:
        """The pods that want a node from one of the profiles, in the order of the state."""
        return [
            self.catalog.info(pod)
            for pod in self.state.pods
            if not pod.node_name
            and not pod.finished
            and not pod.deleting
            and pod.spec.scheduler_name in self.frameworks
        ]

    def queue(self) -> Queue:
        """Who waits for a node; the nominations that the state tells of are made."""
        queue = fill(self.pending(), self.frameworks)
        for pod in queue.active:
            if pod.pod.status.nominated_node_name:
                self.nominator.nominate(pod, pod.pod.status.nominated_node_name)
        return queue

    def run(self, leave_out: PodInfo | None = None) -> RunRecord:
        """Tries every pending pod, and again those that failed while others came or went.

        leave_out: a pod that is not tried, to be asked about afterwards
        """
        queue = self.queue()
        active = [pod for pod in queue.active if leave_out is None or pod.uid != leave_out.uid]
        if self.options.remember:
            for framework in self.frameworks.values():
                framework.memory.expect(active)
        attempts: list[Attempt] = []
        last: dict[str, Attempt] = {}
        waiting: dict[str, tuple[PodInfo, int]] = {pod.key: (pod, -1) for pod in active}
        for _ in range(MAX_PASSES):
            tried = 0
            for pod, seen in list(waiting.values()):
                if seen >= self.changes:
                    continue
                tried += 1
                found = self.try_pod(pod)
                attempts += found
                last[pod.key] = found[-1]
                if last[pod.key].node:
                    del waiting[pod.key]
                else:
                    waiting[pod.key] = (pod, self.changes)
                if self.options.progress:
                    self.options.progress(len(active) - len(waiting), len(active))
            if not tried:
                break
        return RunRecord(
            tuple(attempts),
            dict(self.placements),
            tuple(waiting),
            queue.gated,
            tuple(self.evicted),
            last,
        )

    def try_pod(self, pod: PodInfo) -> list[Attempt]:
        """One attempt, and where it made room, the one right after."""
        framework = self.frameworks[pod.spec.scheduler_name]
        outcome = self.cycle.attempt(framework, pod)
        attempts = [outcome.attempt]
        if outcome.nomination and self.options.preempt:
            self._make_room(pod, outcome.nomination, outcome.preemption or Preemption())
            outcome = self.cycle.attempt(framework, pod)
            attempts.append(outcome.attempt)
        # A node that is nominated now was found in a second attempt, or is not to be acted on.
        if outcome.nomination == "":
            self.nominator.clear(pod)
        if outcome.row is not None:
            self.placements[pod.key] = outcome.attempt.node
            self.changes += 1
        return attempts

    def _make_room(self, pod: PodInfo, node: str, preemption: Preemption) -> None:
        """The victims leave, lesser promises on their node lapse, the pod gets its own."""
        for victim in preemption.victims:
            self.snapshot.remove(victim, self.snapshot.row[node])
            self.placements.pop(victim.key, None)
            self.evicted.append(Eviction(victim.key, node, pod.key))
            self.changes += 1
        if preemption.victims:
            for other in self.nominator.on_node(node):
                if other.priority < pod.priority:
                    self.nominator.clear(other)
        self.nominator.nominate(pod, node)
