"""A whole run: pass after pass over the queue, until nothing changes any more."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from msgspec import structs

from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration, Profile
from ksched_cli.engine.batching import Batching
from ksched_cli.engine.binding_cycle import BindingCycle, Outcome
from ksched_cli.engine.extender_runner import ExtenderOptions, ExtenderRunner
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.engine.pod_group_cycle import GroupResult, PodGroupCycle
from ksched_cli.engine.queue import Backlog, Queue, fill, in_order_of_creation, why_ignored
from ksched_cli.engine.records import Attempt, Eviction, IgnoredPod, RunRecord
from ksched_cli.engine.retry_loop import Progress, RetryLoop
from ksched_cli.engine.scheduling_cycle import SchedulingCycle, TieBreak, first_by_name
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.pod_groups import PodGroups
from ksched_cli.framework.preemption import Preemption
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.waiting_pods import WaitingPods
from ksched_cli.kube.gates import POD_GROUP_GATE

MAX_PASSES = 10

# In whose name a waiting pod is sent back to make room.
PREEMPTOR = "DefaultPreemption"


@dataclass(frozen=True, slots=True)
class Options:
    """detailed: keep every node's verdict and scores. preempt: carry out what PostFilter finds.
    retries: try pods again that failed, once others came or went; else each is tried once.
    cache_answers: reuse plugins' answers for pods that look the same; changes only the time.
    on_progress: called after each attempt with how many pods have a node, and of how many.
    extenders: whether and how they are asked.
    plugin_timeout: seconds that a call of a plugin that is not in-tree may take; 0 for no limit"""

    tie_break: TieBreak = first_by_name
    detailed: bool = False
    preempt: bool = True
    retries: bool = True
    cache_answers: bool = True
    on_progress: Progress | None = None
    extenders: ExtenderOptions = field(default_factory=ExtenderOptions)
    plugin_timeout: float = 0


@dataclass(frozen=True, slots=True)
class Focus:
    """The pods of a run that a question is about.

    pods: their keys
    before_attempt: called before each of their attempts, with the cluster as the attempt sees it
    on_choice: called with the row of the node that such an attempt takes, before the pod is there
    records_detail: whether their attempts are recorded in detail
    """

    pods: frozenset[str]
    before_attempt: Callable[[PodInfo], None] | None = None
    on_choice: Callable[[int], None] | None = None
    records_detail: bool = True


@dataclass(slots=True)
class Simulation:
    """A cluster state under a configuration: what a command asks its questions to.

    catalog:    makes PodInfos of the state's pods
    frameworks: by scheduler name
    waiting:    the pods that Permit told to wait, and the clock
    changes:    how often a pod was bound or evicted
    waiting_rejections:      how often waiting pods gave back their room
    settled:    the pods that wait no longer, until `take_settled`
    failed:     keys of the pods whose last attempt a plugin's defect ended
    focus:      the pods that a question is about, or None
    newcomers:  pods that wait for a node besides those of the state
    pod_groups: the groups of pods that are tried together; None where the feature gate is off
    """

    state: ClusterState
    configuration: Configuration
    registry: Mapping[str, PluginEntry]
    options: Options = field(default_factory=Options)
    caller: PluginCaller = field(default_factory=PluginCaller)
    nominator: Nominator = field(default_factory=Nominator)
    waiting: WaitingPods = field(default_factory=WaitingPods)
    catalog: PodCatalog = field(init=False)
    snapshot: Snapshot = field(init=False)
    frameworks: dict[str, Framework] = field(init=False)
    extenders: ExtenderRunner = field(init=False)
    pipeline: Pipeline = field(init=False)
    cycle: SchedulingCycle = field(init=False)
    pod_groups: PodGroups | None = None
    group_cycle: PodGroupCycle | None = None
    placements: dict[str, str] = field(default_factory=dict)
    evicted: list[Eviction] = field(default_factory=list)
    changes: int = 0
    waiting_rejections: int = 0
    settled: list[tuple[PodInfo, Outcome]] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    focus: Focus | None = None
    newcomers: list[Pod] = field(default_factory=list)
    # Whether the pod tried last was one that a question is about; so before any was tried.
    _was_in_focus: bool = True

    def __post_init__(self) -> None:
        if self.options.plugin_timeout:
            self.caller.limit_calls(self.options.plugin_timeout)
        release = self.configuration.release
        self.catalog = PodCatalog(release.enabled("InPlacePodLevelResourcesVerticalScaling"))
        self.snapshot = self._running_pods()
        self.extenders = ExtenderRunner.of(
            self.configuration.extenders, self.nominator, self.options.extenders
        )
        if release.enabled(POD_GROUP_GATE):
            names = {profile.scheduler_name for profile in self.configuration.profiles}
            self.pod_groups = PodGroups(self.state, self.snapshot, names, release)
        services: dict[Callable[[Handle], object], object] = {}
        self.frameworks = {
            profile.scheduler_name: self._framework(profile, services)
            for profile in self.configuration.profiles
        }
        self.pipeline = Pipeline(
            self.snapshot,
            self.nominator,
            self.extenders,
            self.options.detailed,
            batching=Batching.of(
                self.frameworks.values(), self.options.tie_break, self.waiting.clock
            ),
        )
        binding = BindingCycle(self.snapshot, self.nominator, self.waiting, self.extenders)
        self.cycle = SchedulingCycle(self.pipeline, binding, self.options.tie_break)
        if self.pod_groups is not None:
            self.group_cycle = PodGroupCycle(
                self.pipeline,
                binding,
                self.cycle,
                self.frameworks,
                self.pod_groups,
                self._look_at_pod,
            )

    def _running_pods(self) -> Snapshot:
        """The nodes, with the pods that run on them."""
        snapshot = Snapshot(self.state.nodes, self.state.noticed_nodes)
        for pod in self.state.pods:
            row = snapshot.row.get(pod.node_name) if pod.node_name else None
            if row is not None and not pod.finished:
                snapshot.add(self.catalog.info(pod), row)
        return snapshot

    def _framework(
        self, profile: Profile, services: dict[Callable[[Handle], object], object]
    ) -> Framework:
        """services: what plugins share, of whatever profile."""
        handle = Handle(
            self.snapshot,
            self.state,
            self.nominator,
            extenders=self.extenders.extenders,
            services=services,
            waiting=self.waiting,
            release=self.configuration.release,
            pod_groups=self.pod_groups,
        )
        return Framework(profile, self.registry, handle, self.caller)

    def __reduce__(self) -> NoReturn:
        """Plugins keep answers by the identity of objects, which a copy does not preserve."""
        raise TypeError(
            "a Simulation cannot be copied or pickled: make another from its state, configuration,"
            " registry and options"
        )

    def close(self) -> None:
        """Ends the connections to extenders, and the file that a recording goes to."""
        self.extenders.close()

    def pending(self) -> list[PodInfo]:
        """The pods that want a node from one of the profiles, in the order of the state; newcomers
        after them."""
        return [
            self.catalog.info(pod)
            for pod in (*self.state.pods, *self.newcomers)
            if not pod.node_name and not why_ignored(pod, self.frameworks)
        ]

    def ignored(self) -> tuple[IgnoredPod, ...]:
        """The finished pods, and those without a node that no attempt is made for."""
        return tuple(
            IgnoredPod(pod.key, reason)
            for pod in self.state.pods
            if (not pod.node_name or pod.finished) and (reason := why_ignored(pod, self.frameworks))
        )

    @contextmanager
    def without_pod(self, pod: PodInfo) -> Iterator[tuple[PodInfo, str]]:
        """The pod as if it were still to be placed, and the node that it is taken off meanwhile,
        or ""."""
        node = pod.pod.node_name
        unplaced = self.catalog.info(structs.replace(pod.pod, node_name="")) if node else pod
        row = self.snapshot.row.get(node) if node else None
        if row is None or pod.pod.finished:
            yield unplaced, ""
            return
        before = list(self.snapshot.pods[row])
        self.snapshot.remove(pod, row)
        try:
            yield unplaced, node
        finally:
            self.snapshot.add(pod, row)
            self.snapshot.pods[row][:] = before

    def queue(self) -> Queue:
        """Who waits for a node; the nominations that the state tells of are made."""
        queue = fill(self.pending(), self.frameworks)
        self.waiting.clock.jump(max((queued.timestamp for queued in queue.queued), default=0.0))
        for pod in queue.active:
            if pod.pod.status.nominated_node_name:
                self.nominator.nominate(pod, pod.pod.status.nominated_node_name)
        return queue

    def run(self, only: PodInfo | None = None) -> RunRecord:
        """Tries every pending pod, and again those that failed while others came or went.

        only: the one pod that is tried
        """
        queue = self.queue()
        if only is not None:
            queue = queue.only(only)
        active = queue.active
        if self.options.cache_answers:
            for framework in self.frameworks.values():
                framework.answer_cache.expect(active)
        loop = RetryLoop(
            self,
            Backlog.of(queue, self.frameworks),
            self.options.on_progress,
        )
        with gc_rare():
            loop.run(MAX_PASSES if self.options.retries else 1)
        return RunRecord(
            tuple(loop.attempts),
            dict(self.placements),
            tuple(loop.backlog.entries),
            in_order_of_creation(loop.backlog),
            tuple(self.evicted),
            loop.last,
            tuple(sorted(self.failed)),
            self.ignored(),
        )

    def try_pod(self, pod: PodInfo) -> list[Attempt]:
        """One attempt, and where it made room, the one right after."""
        return [outcome.attempt for outcome in self.outcomes(pod)]

    def outcomes(self, pod: PodInfo) -> list[Outcome]:
        """As `try_pod`, with what is still to be done."""
        framework = self.frameworks[pod.spec.scheduler_name]
        focus = self.focus
        # The other pods pay no more than this, but for the one right after.
        if focus is not None and (self._was_in_focus or pod.key in focus.pods):
            self._look_at(pod, focus)
        noted = self.caller.noted
        outcome = self.cycle.attempt(framework, pod)
        outcomes = [outcome]
        if self.options.preempt:
            for action in outcome.afterwards:
                action()
        if outcome.nomination and self.options.preempt:
            self.make_room(pod, outcome.nomination, outcome.preemption or Preemption())
            self._look_at_pod(pod)
            outcome = self.cycle.attempt(framework, pod)
            outcomes.append(outcome)
        self._conclude(pod, outcome, noted)
        return outcomes

    def group_outcomes(self, pods: Sequence[PodInfo]) -> list[list[Outcome]]:
        """Tries the pods of a group together, and again where that made room. Per attempt, the
        outcome of each pod, in order of priority as `in_group_order` has them."""
        assert self.group_cycle is not None, "only pods of groups are tried together"
        noted = self.caller.noted
        result = self.group_cycle.attempt(pods)
        attempts = [[outcome for _, outcome in result.outcomes]]
        if self.options.preempt:
            self._make_room_for_group(result)
            if result.waits:
                result = self.group_cycle.attempt(pods)
                attempts.append([outcome for _, outcome in result.outcomes])
        for pod, outcome in result.outcomes:
            self._conclude(pod, outcome, noted)
        return attempts

    def _make_room_for_group(self, result: GroupResult) -> None:
        """Carries out what PostFilter asks for the pods of a group. Two of them may ask for the
        same victims."""
        gone: set[str] = set()
        for pod, outcome in result.outcomes:
            for action in outcome.afterwards:
                action()
            preemption = outcome.preemption
            if preemption is not None:
                self.make_room(pod, preemption.node, preemption, gone)
                gone.update(victim.uid for victim in preemption.victims)
            if outcome.nomination is not None:
                self.nominator.renew(pod, outcome.nomination)
        for victim, row in result.victims:
            self._evict(victim, self.snapshot.names[row], result.outcomes[0][0])
        self.settle()

    def _look_at_pod(self, pod: PodInfo) -> None:
        if self.focus is not None:
            self._look_at(pod, self.focus)

    def _look_at(self, pod: PodInfo, focus: Focus) -> None:
        """Before an attempt: whether its detail is recorded, and who wants to see the cluster."""
        is_in_focus = self._was_in_focus = pod.key in focus.pods
        self.pipeline.detailed = self.options.detailed or (is_in_focus and focus.records_detail)
        self.cycle.on_choice = focus.on_choice if is_in_focus else None
        if is_in_focus and focus.before_attempt is not None:
            focus.before_attempt(pod)

    def settle(self) -> None:
        """Binds or undoes the waiting pods that are decided, one after the other, and those that
        this decides."""
        if not self.waiting:
            return
        noted = self.caller.noted
        while (decided := self.waiting.decided()) is not None:
            outcome = self.cycle.binding.settle(decided, self.waiting.clock.now)
            self._conclude(decided.pod, outcome, noted)
            self.settled.append((decided.pod, outcome))
            noted = self.caller.noted

    def take_settled(self) -> list[tuple[PodInfo, Outcome]]:
        """The pods that wait no longer, since this was called last."""
        settled = self.settled
        if settled:
            self.settled = []
        return settled

    def _conclude(self, pod: PodInfo, outcome: Outcome, noted: int) -> None:
        """noted: how many defects were known before."""
        # A node that is nominated now was found in a second attempt, or is not to be acted on.
        if outcome.nomination == "":
            self.nominator.clear(pod)
        if outcome.row is not None and not outcome.waits:
            self.placements[pod.key] = outcome.attempt.node
            self.changes += 1
        if self.caller.noted > noted and outcome.row is None:
            self.failed.add(pod.key)
        else:
            self.failed.discard(pod.key)

    def make_room(
        self, pod: PodInfo, node: str, preemption: Preemption, gone: Container[str] = ()
    ) -> None:
        """The victims leave, those that only wait go back to the queue; lesser promises on their
        node lapse, the pod gets its own. gone: UIDs of victims that have left already"""
        # An extender may name one twice; kube-scheduler deletes it and finds that it is gone.
        for victim in {victim.uid: victim for victim in preemption.victims}.values():
            if victim.uid not in gone:
                self._evict(victim, node, pod)
        self.settle()
        if preemption.victims:
            for other in self.nominator.on_node(node):
                if other.priority < pod.priority:
                    self.nominator.clear(other)
        self.nominator.nominate(pod, node)

    def _evict(self, victim: PodInfo, node: str, preemptor: PodInfo) -> None:
        waiting = self.waiting.get(victim.uid)
        if waiting is not None:
            waiting.reject(PREEMPTOR, "preempted")
            return
        self.snapshot.remove(victim, self.snapshot.row[node])
        self.placements.pop(victim.key, None)
        if self.pod_groups is not None:
            self.pod_groups.forget(victim)
        self.evicted.append(Eviction(victim.key, node, preemptor.key))
        self.changes += 1
