"""One attempt to schedule the pods of a group together.

First a trial: one pod after the other is evaluated and assumed, so that the next one sees it. Then
all are taken back, and either those that found a node are bound, or none is.

Upstream: pkg/scheduler/schedule_one_podgroup.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.binding_cycle import Assumed, BindingCycle, Outcome
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.scheduling_cycle import NO_NODES, SchedulingCycle
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.fit_error import counts_message
from ksched_cli.framework.node_statuses import NOT_LOOKED_AT
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.pod_groups import PlacedPod, PodGroups, TrialListing
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Status

UNSCHEDULABLE = "pod group is unschedulable"
WAITS_FOR_PREEMPTION = f"{UNSCHEDULABLE}, pod group is waiting for preemption to complete"
OTHER_FAILED = "failed to schedule other pod from a pod group: {}"
NO_OBJECT = 'failed to get pod group object: podgroup.scheduling.k8s.io "{}" not found'
TWO_SCHEDULERS = (
    "all pods in a single pod group should have the same .spec.schedulerName set,"
    ' got: "{}" and "{}"'
)


class Trial(Struct, frozen=True):
    """What became of one pod in a trial.

    row:         where it was assumed, or None
    needs_room:  its node is one that preemption has to make room on
    permit:      of an assumed pod
    """

    outcome: Outcome
    state: CycleState
    row: int | None = None
    needs_room: bool = False
    permit: Status = SUCCESS

    @property
    def error(self) -> str:
        """What ends the trial of the whole group, or ""."""
        error = self.outcome.attempt.error
        return "" if self.row is not None or error == NO_NODES else error


class GroupResult(Struct, frozen=True):
    """outcomes: by pod, in their order; waits: for victims to leave, so that it is tried again;
    victims: of the whole group, most important first"""

    outcomes: tuple[tuple[PodInfo, Outcome], ...]
    waits: bool = False
    victims: tuple[PlacedPod, ...] = ()


class _Verdict(Struct, frozen=True):
    """Of a trial. message: why the group is not scheduled; "" where it is. waits: for victims"""

    message: str = ""
    error: str = ""
    waits: bool = False


@dataclass(slots=True)
class _TrialBinding(BindingCycle):
    """Assumes pods until they are taken back.

    assumed: with the nodes that they were nominated to
    permit:  of the pod assumed last
    """

    assumed: list[tuple[Assumed, str]] = field(default_factory=list)
    permit: Status = SUCCESS

    def assume(
        self, framework: Framework, state: CycleState, pod: PodInfo, row: int, record: Attempt
    ) -> Outcome:
        nominated = self.nominator.node_of(pod)
        self.snapshot.add(pod, row)
        self.nominator.clear(pod)
        node = NodeInfo(self.snapshot, row)
        self.assumed.append((Assumed(framework, state, pod, node, record), nominated))
        status = framework.reserve(state, pod, node)
        if not status.is_success:
            self._take_back_last()
            return refused(replace(record, reserve=status), status)
        self.permit = framework.permit(state, pod, node).status
        if self.permit.is_success:
            return Outcome(record, row)
        record = replace(record, permit=self.permit)
        if self.permit.is_wait:
            return Outcome(record, row)
        self._take_back_last()
        return refused(record, self.permit)

    def take_back(self) -> None:
        """All pods, the last one first."""
        while self.assumed:
            self._take_back_last()

    def _take_back_last(self) -> None:
        assumed, nominated = self.assumed.pop()
        assumed.framework.unreserve(assumed.state, assumed.pod, assumed.node)
        self.snapshot.remove(assumed.pod, assumed.node.row)
        if nominated:
            self.nominator.nominate(assumed.pod, nominated)


@dataclass(slots=True)
class _TrialCycle(SchedulingCycle):
    """Tries pods of a group. state: of the pod tried last; preempts: PostFilter is run"""

    state: CycleState = field(default_factory=CycleState)
    preempts: bool = True

    def attempt(self, framework: Framework, pod: PodInfo) -> Outcome:
        pipeline = self.pipeline
        if pipeline.batching is not None:
            pipeline.batching.hint = None
        node_count = len(pipeline.snapshot)
        if not node_count:
            record = Attempt(pod.key, framework.profile.scheduler_name, error=NO_NODES)
            return Outcome(record, nomination="")
        evaluation = pipeline.evaluate(framework, pod, Mode.SAMPLED)
        self.state = evaluation.state
        pipeline.search.advance(evaluation.visited, node_count)
        return self._decide(evaluation)

    def _decide(self, evaluation: Evaluation) -> Outcome:
        if evaluation.error:
            return self._failed(evaluation)
        if len(evaluation.feasible):
            return self._choose(evaluation)
        return self._no_fit(evaluation) if self.preempts else Outcome(_blank(evaluation.pod))


class PodGroupCycle:
    """Runs attempts of groups, one after the other.

    frameworks: by scheduler name
    look_at:    called before each pod's trial
    """

    def __init__(
        self,
        pipeline: Pipeline,
        binding: BindingCycle,
        cycle: SchedulingCycle,
        frameworks: Mapping[str, Framework],
        groups: PodGroups,
        look_at: Callable[[PodInfo], None],
    ) -> None:
        self._pipeline = pipeline
        self._binding = binding
        self._trial_binding = _TrialBinding(binding.snapshot, binding.nominator, binding.waiting)
        self._trial_cycle = _TrialCycle(pipeline, self._trial_binding, cycle.tie_break)
        self._frameworks = frameworks
        self._groups = groups
        self._look_at = look_at

    def attempt(self, pods: Sequence[PodInfo]) -> GroupResult:
        """pods: of the group, those without a node; the first ones first."""
        if self._pipeline.batching is not None:
            # Each pod counts as one, all before the first is tried.
            self._pipeline.batching.attempts += len(pods)
        first, *others = dict.fromkeys(pod.spec.scheduler_name for pod in pods)
        if others:
            message = TWO_SCHEDULERS.format(first, others[0])
            return GroupResult(tuple((pod, _errored(_blank(pod), message)) for pod in pods))
        framework = self._frameworks[first]
        listing = TrialListing.of(pods, self._binding.snapshot)
        trials = self._try_all(framework, pods, listing)
        verdict = _verdict(trials)
        victims: tuple[PlacedPod, ...] = ()
        if self._groups.preempts and verdict.message and not verdict.error:
            verdict, victims = self._preempt(framework, pods, listing, verdict)
        tried = zip(pods, trials, strict=False)
        outcomes = [(pod, self._conclude(pod, trial, verdict, framework)) for pod, trial in tried]
        for pod in pods[len(trials) :]:
            self._look_at(pod)
            outcomes.append((pod, _errored(_blank(pod), verdict.error)))
        return GroupResult(tuple(outcomes), verdict.waits, victims)

    def _preempt(
        self,
        framework: Framework,
        pods: Sequence[PodInfo],
        listing: TrialListing,
        verdict: _Verdict,
    ) -> tuple[_Verdict, tuple[PlacedPod, ...]]:
        """Upstream: runWorkloadAwarePreemption."""
        plugin, group = framework.group_post_filter, self._groups.get(pods[0])
        if plugin is None:
            return verdict, ()
        if group is None:
            name = pods[0].spec.scheduling_group
            error = NO_OBJECT.format(name.pod_group_name if name else "")
            return _Verdict(error, error), ()
        if group.topology_key:
            return verdict, ()

        def try_group() -> Status:
            result = _verdict(self._try_all(framework, pods, listing, is_dry_run=True))
            if result.error:
                return Status.error(result.error)
            return Status.unschedulable(result.message) if result.message else SUCCESS

        status, victims = plugin.post_filter_group(group, pods, try_group)
        if status.is_success:
            return replace(verdict, waits=True), victims
        if status.is_rejected:
            return verdict, ()
        return _Verdict(status.message, status.message), ()

    def _try_all(
        self,
        framework: Framework,
        pods: Sequence[PodInfo],
        listing: TrialListing,
        *,
        is_dry_run: bool = False,
    ) -> list[Trial]:
        """Until a pod fails with an error. Upstream: podGroupSchedulingDefaultAlgorithm.

        is_dry_run: without PostFilter, and nobody looks at it
        """
        trials: list[Trial] = []
        self._groups.trial = listing
        self._trial_cycle.preempts = not is_dry_run
        try:
            for pod in pods:
                if not is_dry_run:
                    self._look_at(pod)
                trials.append(self._try(framework, pod))
                if trials[-1].error:
                    break
        finally:
            self._trial_binding.take_back()
            self._groups.trial = None
        return trials

    def _try(self, framework: Framework, pod: PodInfo) -> Trial:
        """Upstream: podGroupPodSchedulingAlgorithm."""
        outcome = self._trial_cycle.attempt(framework, pod)
        state = self._trial_cycle.state
        if outcome.row is not None:
            return Trial(outcome, state, outcome.row, permit=self._trial_binding.permit)
        row = self._binding.snapshot.row.get(outcome.nomination or "")
        if row is None:
            return Trial(outcome, state)
        # Those that come after it see the pod on the node that is promised to it.
        assumed = self._trial_binding.assume(framework, state, pod, row, outcome.attempt)
        if assumed.row is None:
            return Trial(replace(assumed, preemption=outcome.preemption), state)
        outcome = replace(outcome, attempt=assumed.attempt)
        return Trial(outcome, state, row, needs_room=True, permit=self._trial_binding.permit)

    def _conclude(
        self, pod: PodInfo, trial: Trial, verdict: _Verdict, framework: Framework
    ) -> Outcome:
        """Upstream: submitPodGroupAlgorithmResult."""
        outcome, record = trial.outcome, trial.outcome.attempt
        if verdict.error:
            return _errored(record, trial.error or verdict.error)
        if trial.row is None:
            return outcome
        if not verdict.message:
            record = replace(record, permit=None)
            bound = self._binding.assume(framework, trial.state, pod, trial.row, record)
            status = bound.attempt.reserve or bound.attempt.permit
            if bound.row is not None or status is None:
                return bound
            return replace(bound, attempt=refused(bound.attempt, status).attempt)
        if not verdict.waits:
            message = f"{UNSCHEDULABLE}, {trial.permit.message}"
            return replace(outcome, attempt=_left(record, message), row=None, nomination="")
        if trial.needs_room:
            return outcome
        return Outcome(_left(record, verdict.message), nomination=record.node)


def refused(record: Attempt, status: Status) -> Outcome:
    """Of a pod that Reserve or Permit refuses on the node that was chosen."""
    if status.is_rejected:
        message = counts_message(1, {status: 1}, NOT_LOOKED_AT)
        return Outcome(replace(record, node="", message=message), nomination="")
    return Outcome(replace(record, node="", error=status.message), nomination="")


def _verdict(trials: Sequence[Trial]) -> _Verdict:
    """Whether the group is scheduled. The last pod that Permit lets through decides."""
    verdict, needs_room = _Verdict(UNSCHEDULABLE), False
    for trial in trials:
        if trial.error:
            error = OTHER_FAILED.format(trial.error)
            return _Verdict(error, error)
        needs_room = needs_room or trial.needs_room
        if trial.row is not None and trial.permit.is_success:
            verdict = _Verdict(WAITS_FOR_PREEMPTION, waits=True) if needs_room else _Verdict()
    return verdict


def _blank(pod: PodInfo) -> Attempt:
    return Attempt(pod.key, pod.spec.scheduler_name)


def _errored(record: Attempt, error: str) -> Outcome:
    return Outcome(replace(record, node="", message="", error=error), nomination="")


def _left(record: Attempt, message: str) -> Attempt:
    """Of a pod whose node is not used."""
    return replace(record, node="", message=message)
