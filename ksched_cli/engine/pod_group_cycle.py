"""One attempt to schedule the pods of a group together.

First a trial: one pod after the other is evaluated and assumed, so that the next one sees it. Then
all are taken back, and the cycle binds either those that found a node, or no pod.

PodGroupCycle holds what all minors have in common. PermittedGroupCycle holds the rules of minors
whose queue has no groups: a trial asks Permit, and each pod asks PostFilter. The rules of the other
minors are in pod_group_entity_cycle.py.

Upstream: pkg/scheduler/schedule_one_podgroup.go, schedule_one.go (assumeAndReserve,
unreserveAndForget).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

from msgspec import Struct
from msgspec import field as struct_field
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo, has_volume_claims
from ksched_cli.engine.batching import Batching
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.scheduling_cycle import (
    NO_NODES,
    Assumed,
    AttemptOutcome,
    BindingCycle,
    RandomChoice,
    SchedulingCycle,
    first_by_name,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.node_statuses import NOT_LOOKED_AT, counts_message
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.pod_groups import (
    GroupKey,
    PlacedPod,
    Placement,
    PodGroups,
    TrialListing,
    group_key,
)
from ksched_cli.framework.resource_claims import may_allocate_devices
from ksched_cli.framework.runtime import Framework, PodGroupPlugins
from ksched_cli.framework.status import SUCCESS, PluginError, Status


class PodTrial(Struct, frozen=True):
    """The result of one pod in a trial.

    row:         where it was assumed, or None
    needs_room:  preemption must make room on its node
    permit:      of an assumed pod
    """

    outcome: AttemptOutcome
    state: CycleState
    row: int | None = None
    needs_room: bool = False
    permit: Status = SUCCESS

    @property
    def error(self) -> str:
        """Return the error that ends the trial of the whole group, or ""."""
        error = self.outcome.attempt.error
        return "" if self.row is not None or error == NO_NODES else error


@dataclass(slots=True)
class TrialBinding(BindingCycle):
    """Assumes pods until they are taken back.

    assumed: each with the pod as it was tried, the node of its nomination, and the versions
             of the snapshot before and with it
    permit:  of the pod assumed last; asks_permit: see PermittedGroupCycle
    """

    assumed: list[tuple[Assumed, PodInfo, str, int, int]] = field(default_factory=list)
    permit: Status = SUCCESS
    asks_permit: bool = True

    def assume(
        self, framework: Framework, state: CycleState, pod: PodInfo, row: int, record: Attempt
    ) -> AttemptOutcome:
        nominated = self.nominator.node_of(pod)
        before, tried = self.snapshot.version, pod
        if state.on_node is not None:
            pod = state.on_node(pod, row)
        self.snapshot.add(pod, row)
        self.nominator.clear(pod)
        node = NodeInfo(self.snapshot, row)
        assumed = Assumed(framework, state, pod, node, record)
        self.assumed.append((assumed, tried, nominated, before, self.snapshot.version))
        state.trial_group = group_key(pod.pod)
        status = framework.reserve(state, pod, node)
        if not status.is_success:
            self._take_back_last()
            return refused(replace(record, reserve=status), status)
        if not self.asks_permit:
            return AttemptOutcome(record, row)
        self.permit = framework.permit(state, pod, node).status
        if self.permit.is_success:
            return AttemptOutcome(record, row)
        record = replace(record, permit=self.permit)
        if self.permit.is_wait:
            return AttemptOutcome(record, row)
        self._take_back_last()
        return refused(record, self.permit)

    def take_back(self, mark: int = 0) -> None:
        """Take back all pods but the first `mark` of them, the last one first."""
        while len(self.assumed) > mark:
            self._take_back_last()

    def _take_back_last(self) -> None:
        assumed, tried, nominated, before, came = self.assumed.pop()
        assumed.framework.unreserve(assumed.state, assumed.pod, assumed.node)
        self.snapshot.retract(assumed.pod, assumed.node.row, came, before)
        if nominated:
            self.nominator.nominate(tried, nominated)


@dataclass(slots=True)
class TrialCycle(SchedulingCycle):
    """Tries pods of a group.

    state:    of the pod tried last
    preempts: PostFilter is run
    advances: by how many nodes the search's start moved on, and in how many, since it was cleared
    """

    state: CycleState = field(default_factory=CycleState)
    preempts: bool = True
    advances: list[tuple[int, int]] = field(default_factory=list)

    def attempt(self, framework: Framework, pod: PodInfo) -> AttemptOutcome:
        pipeline = self.pipeline
        if pipeline.batching is not None:
            pipeline.batching.hint = None
        self.state = CycleState()
        placement = pipeline.placement
        node_count = len(pipeline.snapshot if placement is None else placement)
        if not node_count:
            record = Attempt(pod.key, framework.profile.scheduler_name, error=NO_NODES)
            return AttemptOutcome(record, nomination="")
        evaluation = pipeline.evaluate(framework, pod, Mode.SAMPLED)
        self.state = evaluation.state
        pipeline.search.advance(evaluation.visited, node_count)
        self.advances.append((evaluation.visited, node_count))
        if evaluation.error:
            return self._failed(evaluation)
        if len(evaluation.feasible):
            return self._choose(evaluation)
        return self._no_fit(evaluation, preempts=self.preempts)


def refused(record: Attempt, status: Status) -> AttemptOutcome:
    """Return the outcome where Reserve or Permit refuses the pod on the chosen node."""
    if status.is_rejected:
        message = counts_message(1, {status: 1}, NOT_LOOKED_AT)
        return AttemptOutcome(replace(record, node="", message=message), nomination="")
    return AttemptOutcome(replace(record, node="", error=status.message), nomination="")


def blank_attempt(pod: PodInfo) -> Attempt:
    """Return an empty attempt record."""
    return Attempt(pod.key, pod.spec.scheduler_name)


UNSCHEDULABLE = "pod group is unschedulable"
WAITS_FOR_PREEMPTION = f"{UNSCHEDULABLE}, pod group is waiting for preemption to complete"
NO_PLACEMENT = "0/{} placements are available, first placement status: {}"
OTHER_FAILED = "failed to schedule other pod from a pod group: {}"
NO_OBJECT = 'failed to get pod group object: podgroup.scheduling.k8s.io "{}" not found'
NO_PLUGIN = "default preemption plugin is not registered, workload aware preemption is disabled"
CONSTRAINED = (
    "workload aware preemption is not supported for pod groups with scheduling constraints"
)
TWO_SCHEDULERS = (
    "all pods in a single pod group should have the same .spec.schedulerName set,"
    ' got: "{}" and "{}"'
)


class TriedPlacement(Struct, frozen=True, eq=False):
    """The result of trying a group on the nodes of a placement.

    group:   its key
    trials:  of its pods that were tried, in their order
    message: why the group does not fit there; "" where it does
    """

    placement: Placement
    group: GroupKey | None
    trials: Sequence[tuple[PodInfo, PodTrial]]
    message: str


class GroupAttempt(Struct, frozen=True):
    """outcomes: by pod, in their order; waits: for victims to leave, so that it is tried again;
    victims: of the whole group, most important first; afterwards: what plugins want done besides
    nodes: see GroupRoom
    status: of the attempt, where groups are entities of the queue
    parts: by key, why the groups of a tree do not fit; "" where they do
    tried: in order, without the trials in which somebody looked for victims"""

    outcomes: tuple[tuple[PodInfo, AttemptOutcome], ...]
    waits: bool = False
    victims: tuple[PlacedPod, ...] = ()
    afterwards: tuple[Callable[[], None], ...] = ()
    nodes: tuple[str, ...] = ()
    status: Status | None = None
    parts: Mapping[GroupKey, str] = struct_field(default_factory=dict)
    tried: tuple[TriedPlacement, ...] = ()


class _Moment(Struct, frozen=True):
    """The values that an attempt of a group depends on, besides its pods.

    snapshot, nominations, pods: versions of the snapshot, the nominator and the groups
    start: where the search starts; -1 where that makes no difference
    """

    snapshot: int
    nominations: int
    pods: int
    start: int
    carries_out: bool


class _Refusal(Struct, frozen=True):
    """An attempt of a group that placed no pod and changed nothing; advances: see TrialCycle"""

    moment: _Moment
    result: GroupAttempt
    advances: tuple[tuple[int, int], ...]


class PodGroupCycle(ABC):
    """Runs attempts of groups, one after the other.

    frameworks: by scheduler name
    look_at:    called before each pod's trial; with True on another set of nodes than the first
    look_at_rejected: called after the trial of a pod that found no node, while those before it are
                still assumed; with the placement's name
    """

    def __init__(
        self,
        cycle: SchedulingCycle,
        frameworks: Mapping[str, Framework],
        groups: PodGroups,
        look_at: Callable[[PodInfo, bool], None],
        look_at_rejected: Callable[[PodInfo, str], None],
    ) -> None:
        self._pipeline, self._binding = cycle.pipeline, cycle.binding
        binding = TrialBinding(
            self._pipeline.snapshot, self._pipeline.nominator, cycle.binding.waiting
        )
        self._trial_binding = binding
        self._trial_cycle = TrialCycle(cycle.pipeline, binding, cycle.tie_break, cycle.choose)
        self._frameworks = frameworks
        self._plugins = {
            name: PodGroupPlugins(
                framework.profile, framework.plugin, framework.caller, framework.handle.release
            )
            for name, framework in frameworks.items()
        }
        self._groups = groups
        self._look_at = look_at
        self._look_at_rejected = look_at_rejected
        self._tried: list[TriedPlacement] = []
        self._carries_out = True
        # The last attempts of groups that would be refused again, by uid and signature of the pods.
        self._refusals: dict[tuple[tuple[str, int], ...], _Refusal] = {}

    def attempt(
        self, pods: Sequence[PodInfo], *, carries_out: bool = True, repeats: bool = False
    ) -> GroupAttempt:
        """Try to place the pods of a group.

        pods: those without a node; the first ones first
        carries_out: what PostFilter decides takes effect
        repeats: an attempt that must fail as it failed before need not be made, and then has no
            `tried`
        """
        search, batching = self._pipeline.search, self._pipeline.batching
        may_repeat = repeats and self._may_repeat(pods)
        if batching is not None:
            self._begin(batching, pods)
        key = tuple((pod.uid, pod.signature) for pod in pods) if may_repeat else ()
        moment = self._moment(pods, carries_out=carries_out) if may_repeat else None
        refusal = self._refusals.pop(key, None)
        # 1. The same pods were just refused, and nothing has changed since.
        if refusal is not None and refusal.moment == moment:
            self._refusals[key] = refusal
            for visited, node_count in refusal.advances:
                search.advance(visited, node_count)
            return refusal.result
        # 2. They are tried.
        unseen = self._unseen() if moment is not None else ()
        self._trial_cycle.advances.clear()
        self._tried.clear()
        self._carries_out = carries_out
        result = replace(self._attempt(pods), tried=tuple(self._tried))
        # 3. The result is kept if it depends on nothing else, and nothing came of the attempt.
        if moment is None or not _changes_nothing(result) or self._unseen() != unseen:
            return result
        after = self._moment(pods, carries_out=carries_out)
        is_same = replace(after, start=moment.start) == moment
        if is_same and (batching is None or batching.is_over):
            first = next(iter(self._refusals.values()), None)
            if first is not None and first.moment.snapshot != moment.snapshot:
                self._refusals.clear()
            advances = tuple(self._trial_cycle.advances)
            self._refusals[key] = _Refusal(moment, replace(result, tried=()), advances)
        return result

    def _unseen(self) -> tuple[object, ...]:
        """Return the traces that an attempt may leave besides its result: draws among ties, and
        defects of plugins, which all profiles share."""
        tie_break, framework = self._trial_cycle.tie_break, next(iter(self._frameworks.values()))
        draws = tie_break.state if isinstance(tie_break, RandomChoice) else None
        return draws, framework.caller.noted

    def _may_repeat(self, pods: Sequence[PodInfo]) -> bool:
        """Return whether an attempt of the pods depends on nothing but them and the moment. Plugins
        that are not in-tree, extenders, claims and pods that wait in Permit change without
        notice."""
        pipeline, tie_break = self._pipeline, self._trial_cycle.tie_break
        framework, nominator = self._frameworks[pods[0].spec.scheduler_name], pipeline.nominator
        return (
            not (framework.caller.foreign or framework.caller.trace is not None)
            and not (pipeline.detailed or pipeline.extenders.extenders)
            and not len(self._binding.waiting)
            and (tie_break is first_by_name or isinstance(tie_break, RandomChoice))
            and self._trial_cycle.choose is None
            and (pipeline.batching is None or pipeline.batching.is_over)
            and not any(
                nominator.node_of(pod)
                or has_volume_claims(pod.spec)
                or may_allocate_devices(pod, framework.handle)
                for pod in pods
            )
        )

    def _moment(self, pods: Sequence[PodInfo], *, carries_out: bool) -> _Moment:
        pipeline, count = self._pipeline, len(self._pipeline.snapshot)
        framework = self._frameworks[pods[0].spec.scheduler_name]
        percentage = framework.profile.percentage_of_nodes_to_score
        # Where every node is asked and scored, the order in which that happens has no effect.
        is_thorough = (
            feasible_nodes_to_find(percentage, count) >= count
            and framework.scoring.plugins
            and framework.filtering.plugins
        )
        start = -1 if is_thorough else pipeline.search.next_start
        versions = pipeline.snapshot.version, pipeline.nominator.version, self._groups.version
        return _Moment(*versions, start, carries_out)

    @abstractmethod
    def _begin(self, batching: Batching, pods: Sequence[PodInfo]) -> None:
        """Count an attempt of the pods."""

    @abstractmethod
    def _attempt(self, pods: Sequence[PodInfo]) -> GroupAttempt:
        """Do the work of `attempt`, and fill _tried."""

    @contextmanager
    def _within(self, placement: Placement) -> Iterator[None]:
        """Try pods only on the nodes of a placement."""
        before = self._pipeline.placement
        if len(placement.rows) < len(self._binding.snapshot):
            self._pipeline.placement = placement.rows
        try:
            yield
        finally:
            self._pipeline.placement = before

    def _bind(
        self, framework: Framework, pod: PodInfo, trial: PodTrial, row: int
    ) -> AttemptOutcome:
        """Bind the pod to the node of its trial."""
        record = replace(trial.outcome.attempt, permit=None)
        trial.state.trial_group = None
        bound = self._binding.assume(framework, trial.state, pod, row, record)
        status = bound.attempt.reserve or bound.attempt.permit
        if bound.row is not None or status is None:
            return bound
        return replace(bound, attempt=refused(bound.attempt, status).attempt)


class _Verdict(Struct, frozen=True):
    """A trial's verdict. message: why the group is not scheduled, else ""; waits: for victims"""

    message: str = ""
    error: str = ""
    waits: bool = False


class PermittedGroupCycle(PodGroupCycle):
    """The rules of minors whose queue has no groups."""

    def _begin(self, batching: Batching, pods: Sequence[PodInfo]) -> None:
        # Each pod counts as one, all before the first is tried.
        batching.attempts += len(pods)

    def _attempt(self, pods: Sequence[PodInfo]) -> GroupAttempt:
        first, *others = dict.fromkeys(pod.spec.scheduler_name for pod in pods)
        if others:
            message = TWO_SCHEDULERS.format(first, others[0])
            return GroupAttempt(tuple((pod, errored(blank_attempt(pod), message)) for pod in pods))
        framework = self._frameworks[first]
        listing = TrialListing.of(pods, self._binding.snapshot)
        trials, verdict = self._try_placements(framework, pods, listing)
        victims: tuple[PlacedPod, ...] = ()
        if self._groups.preempts and verdict.message and not verdict.error:
            verdict, victims = self._preempt(framework, pods, listing, verdict)
        # What PostFilter did in any trial, be it on other nodes, binding finds done.
        everywhere = chain.from_iterable(placement.trials for placement in self._tried)
        for action in chain.from_iterable(trial.outcome.afterwards for _, trial in everywhere):
            if self._carries_out:
                action()
        outcomes = []
        for pod, trial in zip(pods, trials, strict=False):
            outcome = self._conclude(pod, trial, verdict, framework)
            outcomes.append((pod, replace(outcome, afterwards=())))
        for pod in pods[len(trials) :]:
            if verdict.error:
                outcomes.append((pod, errored(blank_attempt(pod), verdict.error)))
            else:
                outcomes.append((pod, AttemptOutcome(left(blank_attempt(pod), verdict.message))))
        return GroupAttempt(tuple(outcomes), verdict.waits, victims)

    def _preempt(
        self,
        framework: Framework,
        pods: Sequence[PodInfo],
        listing: TrialListing,
        verdict: _Verdict,
    ) -> tuple[_Verdict, tuple[PlacedPod, ...]]:
        """Search for victims that make room for the group. Upstream: runWorkloadAwarePreemption."""
        plugin = self._plugins[framework.profile.scheduler_name].preemption
        group = self._groups.get(pods[0])
        if plugin is None:
            return _with_reason(verdict, NO_PLUGIN), ()
        if group is None:
            name = pods[0].spec.scheduling_group
            error = NO_OBJECT.format(name.pod_group_name if name else "")
            return _Verdict(error, error), ()
        if group.topology_key:
            return _with_reason(verdict, CONSTRAINED), ()

        def try_group() -> Status:
            _, result = self._try_placements(framework, pods, listing, is_dry_run=True)
            if result.error:
                return Status.error(result.error)
            return Status.unschedulable(result.message) if result.message else SUCCESS

        status, victims = framework.caller.preempt_for_group(plugin, group, pods, try_group)
        if status.is_success:
            return replace(verdict, waits=True), victims
        if status.is_rejected:
            return _with_reason(verdict, status.message), ()
        return _Verdict(status.message, status.message), ()

    def _try_placements(
        self,
        framework: Framework,
        pods: Sequence[PodInfo],
        listing: TrialListing,
        *,
        is_dry_run: bool = False,
    ) -> tuple[list[PodTrial], _Verdict]:
        """Try the group on each of several sets of nodes, and take the best that it fits on.

        Upstream: podGroupSchedulingPlacementAlgorithm, findBestPlacement.
        """
        key = group_key(pods[0].pod)
        every_node = Placement("", self._binding.snapshot.order)
        if not self._groups.places or key is None:
            trials = self._try_all(framework, pods, listing, every_node, is_dry_run=is_dry_run)
            return trials, _verdict(trials)
        plugins = self._plugins[framework.profile.scheduler_name]
        placements, status = plugins.generate(key, every_node)
        if not status.is_success:
            error = "" if status.is_rejected else status.message
            return [], _Verdict(status.message, error)
        tried: list[tuple[Placement, list[PodTrial], _Verdict]] = []
        for placement in placements:
            trials = self._try_all(
                framework, pods, listing, placement, is_dry_run=is_dry_run, again=bool(tried)
            )
            verdict = _verdict(trials)
            if verdict.error:
                return trials, verdict
            tried.append((placement, trials, verdict))
        fitting = [entry for entry in tried if not entry[2].message or entry[2].waits]
        if not fitting:
            message = NO_PLACEMENT.format(len(placements), UNSCHEDULABLE)
            return tried[0][1], _Verdict(message)
        if len(fitting) == 1:
            return fitting[0][1:]
        candidates = [(place, placed_pods(pods, trials)) for place, trials, _ in fitting]
        try:
            best = plugins.best(key, candidates)
        except PluginError as error:
            return [], _Verdict(str(error), str(error))
        return fitting[best][1:]

    def _try_all(
        self,
        framework: Framework,
        pods: Sequence[PodInfo],
        listing: TrialListing,
        placement: Placement,
        *,
        is_dry_run: bool = False,
        again: bool = False,
    ) -> list[PodTrial]:
        """Try all pods on one set of nodes, until one fails with an error. Upstream:
        podGroupSchedulingDefaultAlgorithm.

        is_dry_run: skips PostFilter and observers; again: see `look_at`
        """
        trials: list[PodTrial] = []
        self._groups.trial = listing
        self._trial_cycle.preempts = not is_dry_run
        try:
            with self._within(placement):
                for pod in pods:
                    if not is_dry_run:
                        self._look_at(pod, again)
                    trials.append(self._try(framework, pod))
                    if trials[-1].row is None and not is_dry_run:
                        self._look_at_rejected(pod, placement.name)
                    if trials[-1].error:
                        break
        finally:
            self._trial_binding.take_back()
            self._groups.trial = None
        if not is_dry_run:
            verdict = _verdict(trials)
            message = "" if verdict.waits else verdict.message
            key = group_key(pods[0].pod)
            tried = [*zip(pods, trials, strict=False)]
            self._tried.append(TriedPlacement(placement, key, tried, message))
        return trials

    def _try(self, framework: Framework, pod: PodInfo) -> PodTrial:
        """Try a pod of the group, and assume it on its node. Upstream:
        podGroupPodSchedulingAlgorithm."""
        outcome = self._trial_cycle.attempt(framework, pod)
        state = self._trial_cycle.state
        if outcome.row is not None:
            return PodTrial(outcome, state, outcome.row, permit=self._trial_binding.permit)
        row = self._binding.snapshot.row.get(outcome.nomination or "")
        if row is None:
            return PodTrial(outcome, state)
        # Those that come after it see the pod on its nominated node.
        assumed = self._trial_binding.assume(framework, state, pod, row, outcome.attempt)
        if assumed.row is None:
            return PodTrial(replace(assumed, preemption=outcome.preemption), state)
        outcome = replace(outcome, attempt=assumed.attempt)
        return PodTrial(outcome, state, row, needs_room=True, permit=self._trial_binding.permit)

    def _conclude(
        self, pod: PodInfo, trial: PodTrial, verdict: _Verdict, framework: Framework
    ) -> AttemptOutcome:
        """Return the outcome of a pod by the group's verdict. Upstream:
        submitPodGroupAlgorithmResult."""
        outcome, record = trial.outcome, trial.outcome.attempt
        if verdict.error:
            return errored(record, trial.error or verdict.error)
        if trial.row is None:
            return outcome
        if not verdict.message:
            return self._bind(framework, pod, trial, trial.row)
        if not verdict.waits:
            message = f"{UNSCHEDULABLE}, {trial.permit.message}"
            return AttemptOutcome(
                left(record, message),
                preemption=outcome.preemption,
                nomination="",
                afterwards=outcome.afterwards,
            )
        if trial.needs_room:
            return outcome
        return AttemptOutcome(left(record, verdict.message), nomination=record.node)


def _changes_nothing(result: GroupAttempt) -> bool:
    """Return whether the pods were all rejected, nobody makes room, and nothing is to be done."""
    outcomes = [outcome for _, outcome in result.outcomes]
    outcomes += [trial.outcome for placement in result.tried for _, trial in placement.trials]
    return (
        not (result.waits or result.victims or result.afterwards or result.nodes)
        and (result.status is None or result.status.is_rejected)
        and all(outcome.row is None for _, outcome in result.outcomes)
        and not any(
            outcome.preemption
            or outcome.nomination
            or outcome.afterwards
            or outcome.activated
            or outcome.attempt.error
            for outcome in outcomes
        )
    )


def _verdict(trials: Sequence[PodTrial]) -> _Verdict:
    """Decide whether the group is scheduled. The last pod that Permit lets through decides."""
    verdict, needs_room = _Verdict(UNSCHEDULABLE), False
    for trial in trials:
        if trial.error:
            error = OTHER_FAILED.format(trial.error)
            return _Verdict(error, error)
        needs_room = needs_room or trial.needs_room
        if trial.row is not None and trial.permit.is_success:
            verdict = _Verdict(WAITS_FOR_PREEMPTION, waits=True) if needs_room else _Verdict()
    return verdict


def _with_reason(verdict: _Verdict, reason: str) -> _Verdict:
    return replace(verdict, message=f"{verdict.message}, {reason}")


def placed_pods(pods: Sequence[PodInfo], trials: Sequence[PodTrial]) -> list[PodInfo]:
    """Return the pods that have a node in a trial."""
    return [pod for pod, trial in zip(pods, trials, strict=False) if trial.row is not None]


def errored(record: Attempt, error: str) -> AttemptOutcome:
    return AttemptOutcome(replace(record, node="", message="", error=error), nomination="")


def left(record: Attempt, message: str) -> Attempt:
    """Return the record of a pod whose node is not used."""
    return replace(record, node="", message=message)
