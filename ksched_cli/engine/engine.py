"""The common part of a run at one instant and of a replay: an opened state and configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, NoReturn, Self

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.loading.gc_control import gc_paused
from ksched_cli.cluster.objects import Pod, ResourceClaim
from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.cluster.resources import resize_is_deferred
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration, Profile
from ksched_cli.engine.batching import Batching
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.extender_runner import ExtenderOptions, ExtenderRunner
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.engine.pod_group_cycle import GroupAttempt, PermittedGroupCycle, PodGroupCycle
from ksched_cli.engine.pod_group_entity_cycle import PodGroupEntityCycle
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import IgnoredPod
from ksched_cli.engine.scheduling_cycle import (
    BindingCycle,
    Choose,
    SchedulingCycle,
    TieBreak,
    first_by_name,
)
from ksched_cli.framework.call_trace import CallTrace
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.carry_over import CarriesOver
from ksched_cli.framework.handle import Handle, Nominator, WaitingPods
from ksched_cli.framework.plugin_use import PluginUse
from ksched_cli.framework.pod_groups import GroupKey, PodGroups
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.framework.runtime import Framework
from ksched_cli.kube.gates import POD_GROUP_GATE, RESIZE_GATE

# Takes how many pods have a node, and of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """detailed: keep every node's verdict and scores. preempt: carry out what PostFilter finds.
    retries: try pods again that failed, once others came or went; else each is tried once.
    cache_answers: reuse plugins' answers for pods that look the same; changes only the time.
    on_progress: called after each attempt with how many pods have a node, and of how many.
    extenders: whether and how they are asked.
    plugin_timeout: seconds that a call of a plugin that is not in-tree may take; 0 for no limit
    trace_calls: note which plugins are called about each pod
    checks_trials: see PluginCaller
    choose: see SchedulingCycle; then pods are not batched, as with a Score plugin that signs no pod
    """

    tie_break: TieBreak = first_by_name
    choose: Choose | None = None
    detailed: bool = False
    preempt: bool = True
    retries: bool = True
    cache_answers: bool = True
    on_progress: Progress | None = None
    extenders: ExtenderOptions = field(default_factory=ExtenderOptions)
    plugin_timeout: float = 0
    trace_calls: bool = False
    checks_trials: bool = False


class Focus(Struct, frozen=True):
    """The pods of a run that a question is about.

    pods: their keys
    before_attempt: called before each of their attempts, with the cluster as the attempt sees it
    before_group: called before the group of such a pod is tried, with the pod
    on_rejected: called after such a pod found no node in a trial of its group, while those before
        it are assumed; with the pod and the name of the placement
    after_group: called after such a pod was tried with its group, with what came of it
    on_choice: called with the row of the node that such an attempt takes, before the pod is there
    records_detail: whether their attempts are recorded in detail
    in_every_placement: before_attempt is called on each set of nodes that a group may go to, not on
                        the first alone
    """

    pods: frozenset[str]
    before_attempt: Callable[[PodInfo], None] | None = None
    before_group: Callable[[PodInfo], None] | None = None
    on_rejected: Callable[[PodInfo, str], None] | None = None
    after_group: Callable[[GroupAttempt], None] | None = None
    on_choice: Callable[[int], None] | None = None
    records_detail: bool = True
    in_every_placement: bool = False


@dataclass(slots=True)
class Engine:
    """A cluster state under a configuration: columns over nodes, plugins, and the cycles that try
    pods and groups of pods.

    catalog:    makes PodInfos of the state's pods
    frameworks: by scheduler name
    waiting:    the pods that wait in Permit, and the clock
    pod_groups: the groups of pods that are tried together; None where the feature gate is off
    focus:      the pods that a question is about, or None
    newcomers:  pods that wait for a node besides those of the state
    before:     the engine of the same run that this one replaces: a recording of extenders
                continues
    pods:       the catalog, where it is the successor of another
    columns:    the snapshot, where there is one of these nodes and their pods already
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
    pod_groups: PodGroups | None = field(init=False, default=None)
    group_cycle: PodGroupCycle | None = field(init=False, default=None)
    focus: Focus | None = None
    newcomers: list[Pod] = field(default_factory=list)
    # Whether the pod tried last was one that a question is about; so before any was tried.
    _was_in_focus: bool = field(init=False, default=True)
    # Those that were looked at since the attempt of a group began, by key.
    _looked_at: set[str] = field(init=False, default_factory=set)
    before: InitVar[Engine | None] = None
    pods: InitVar[PodCatalog | None] = None
    columns: InitVar[Snapshot | None] = None

    def __post_init__(
        self, before: Engine | None, pods: PodCatalog | None, columns: Snapshot | None
    ) -> None:
        if self.options.plugin_timeout:
            self.caller.limit_calls(self.options.plugin_timeout)
        if self.options.trace_calls and self.caller.trace is None:
            self.caller.trace = CallTrace()
        self.caller.checks_trials = self.options.checks_trials
        release = self.configuration.release
        self.catalog = pods or PodCatalog.of(release)
        self.snapshot = self._running_pods() if columns is None else columns
        self.snapshot.guard = self.caller.watcher
        self.extenders = ExtenderRunner.of(
            self.configuration.extenders,
            self.nominator,
            self.options.extenders,
            None if before is None else before.extenders,
        )
        if release.enabled(POD_GROUP_GATE):
            names = {profile.scheduler_name for profile in self.configuration.profiles}
            self.pod_groups = PodGroups(self.state, self.snapshot, names, release)
        services: dict[Callable[[Handle], object], object] = {}
        self.frameworks = {
            profile.scheduler_name: self._framework(profile, services)
            for profile in self.configuration.profiles
        }
        self.snapshot.pod_use = PluginUse.of(self.frameworks.values(), self.caller)
        self.pipeline = Pipeline(
            self.snapshot,
            self.nominator,
            self.extenders,
            self.options.detailed,
            batching=None
            if self.options.choose is not None
            else Batching.of(self.frameworks.values(), self.options.tie_break, self.waiting.clock),
        )
        binding = BindingCycle(self.snapshot, self.nominator, self.waiting, self.extenders)
        choice = self.options.tie_break, self.options.choose
        self.cycle = SchedulingCycle(self.pipeline, binding, *choice)
        if self.pod_groups is not None:
            entities = self.pod_groups.are_entities
            cycle_of = PodGroupEntityCycle if entities else PermittedGroupCycle
            parts = (self.cycle, self.frameworks, self.pod_groups)
            self.group_cycle = cycle_of(*parts, self.look_at, self._look_at_rejected)

    @property
    def queued_groups(self) -> PodGroups | None:
        """Return the groups that are entities of the queue, or None in minors whose queue has no
        groups."""
        groups = self.pod_groups
        return groups if groups is not None and groups.are_entities else None

    def entity_of(self, pod: PodInfo) -> GroupKey | None:
        """Return what the pod is tried with, see PodGroups.entity_of, or None where it is tried
        alone."""
        return None if self.pod_groups is None else self.pod_groups.entity_of(pod.pod)

    @property
    def handle(self) -> Handle:
        """Return the handle of any profile: they share their services."""
        return next(iter(self.frameworks.values())).handle

    @property
    def claims(self) -> ClaimStore | None:
        """Return the claims of devices as the scheduler has written them; None before it looked at
        any."""
        store = self.handle.services.get(ClaimStore)
        return store if isinstance(store, ClaimStore) else None

    @property
    def resource_claims(self) -> Mapping[tuple[str, str], ResourceClaim]:
        """Return the claims as they are allocated now."""
        return self.state.resource_claims if self.claims is None else self.claims.current()

    def _running_pods(self) -> Snapshot:
        """Return the nodes, with the pods that run on them."""
        saturates = self.configuration.release.rules.saturates_sums
        snapshot = Snapshot(self.state.nodes, self.state.noticed_nodes, saturates=saturates)
        row_of, info = snapshot.row, self.catalog.info
        running = [
            pod
            for pod in self.state.pods
            if pod.node_name and pod.node_name in row_of and not pod.finished
        ]
        rows = np.array([row_of[pod.node_name] for pod in running], dtype=np.intp)
        with gc_paused():
            snapshot.fill([info(pod) for pod in running], rows)
        return snapshot

    def _framework(
        self, profile: Profile, services: dict[Callable[[Handle], object], object]
    ) -> Framework:
        """Create the framework of a profile. services: what the plugins of all profiles share"""
        handle = Handle(
            self.snapshot,
            self.state,
            self.nominator,
            extenders=self.extenders.extenders,
            services=services,
            waiting=self.waiting,
            release=self.configuration.release,
            pod_groups=self.pod_groups,
            profile_name=profile.scheduler_name,
        )
        return Framework(profile, self.registry, handle, self.caller)

    def __reduce__(self) -> NoReturn:
        """Refuse copies and pickles: plugins keep answers by the identity of objects, which a copy
        does not preserve."""
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: make another from its state,"
            " configuration, registry and options"
        )

    def evaluate(self, pod: PodInfo, mode: Mode) -> Evaluation:
        """Return how an attempt to place the pod now would judge the nodes."""
        return self.pipeline.evaluate(self.frameworks[pod.spec.scheduler_name], pod, mode)

    def renewed(self, state: ClusterState, columns: Snapshot | None = None, **others: Any) -> Self:
        """Return an engine of these objects that continues where this one is: plugins and services
        keep what they have assumed, and the next search of nodes starts where it would have.

        columns: of the nodes and their pods, where they were made of this engine's
        others: what is not as it is here, or shared
        """
        parts = {"options": self.options, "caller": self.caller, "before": self, **others}
        parts |= {"columns": columns, "pods": self.catalog}
        after = type(self)(state, self.configuration, self.registry, **parts)
        after.pipeline.search.next_start = self.pipeline.search.next_start
        for factory, service in self.handle.services.items():
            if isinstance(service, CarriesOver):
                after.caller.tell(after.handle.service(factory), "carry_over", service)
        for name, framework in after.frameworks.items():
            framework.carry_over(self.frameworks[name])
        return after

    def close(self) -> None:
        """Close the connections to extenders, and the file that a recording is written to."""
        self.extenders.close()

    def pending(self) -> list[PodInfo]:
        """Return the pods that want a node from one of the profiles, or to be resized on theirs, in
        the order of the state; newcomers after them."""
        knows_resizes = self.configuration.release.enabled(RESIZE_GATE)
        return [
            self.catalog.info(pod)
            for pod in (*self.state.pods, *self.newcomers)
            if (not pod.node_name or (knows_resizes and resize_is_deferred(pod)))
            and not why_ignored(pod, self.frameworks)
        ]

    def ignored(self) -> tuple[IgnoredPod, ...]:
        """Return the finished pods, and those without a node that no attempt is made for."""
        return tuple(
            IgnoredPod(pod.key, reason)
            for pod in self.state.pods
            if (not pod.node_name or pod.finished) and (reason := why_ignored(pod, self.frameworks))
        )

    def look_at(self, pod: PodInfo, again: bool = False) -> None:
        """Prepare an attempt: decide whether to record its detail, and show observers the cluster.
        again: the pod's group is tried on another set of nodes than the first"""
        focus = self.focus
        if again and (focus is None or not focus.in_every_placement):
            return
        # The other pods pay no more than this, but for the one right after.
        if focus is None or not (self._was_in_focus or pod.key in focus.pods):
            return
        is_in_focus = self._was_in_focus = pod.key in focus.pods
        self.pipeline.detailed = self.options.detailed or (is_in_focus and focus.records_detail)
        self.cycle.on_choice = focus.on_choice if is_in_focus else None
        if is_in_focus and focus.before_attempt is not None:
            self._looked_at.add(pod.key)
            focus.before_attempt(pod)

    def _look_at_rejected(self, pod: PodInfo, placement: str) -> None:
        """Look at a pod of a group that found no node in its trial."""
        focus = self.focus
        if focus is not None and focus.on_rejected is not None and pod.key in focus.pods:
            focus.on_rejected(pod, placement)

    def look_at_group(self, result: GroupAttempt) -> None:
        """Look at the pods of a group after an attempt, also at those that were not tried."""
        focus = self.focus
        if focus is None:
            return
        pods = [pod for pod, _ in result.outcomes if pod.key in focus.pods]
        for pod in pods:
            if pod.key not in self._looked_at:
                self.look_at(pod)
        self._looked_at.clear()
        if pods and focus.after_group is not None:
            focus.after_group(result)
