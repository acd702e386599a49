"""One attempt to schedule a group, in minors where groups are entities of the queue.

In a trial a plugin says after each pod whether enough of the group have a node, or may yet have.
Where the group does not fit, the plugins of podGroupPostFilter make room for it as a whole.

Upstream: pkg/scheduler/schedule_one_podgroup.go (1.37: podGroupCycle).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.binding_cycle import Outcome
from ksched_cli.engine.pod_group_cycle import (
    OTHER_FAILED,
    TWO_SCHEDULERS,
    UNSCHEDULABLE,
    GroupResult,
    PodGroupCycle,
    TriedPlacement,
    errored,
    left,
    placed_pods,
)
from ksched_cli.engine.pod_group_trial import Trial, blank_attempt
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.pod_group_plugins import PodGroupPlugins
from ksched_cli.framework.pod_groups import (
    Assignment,
    GroupRoom,
    Placement,
    PodGroup,
    RejectedGroup,
    group_key,
)
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status

NO_PLACEMENT = "0/{} placements are available, first placement status: {}"
NO_OBJECT = "pod group object not found for pod group {}/{}"
NOT_EVALUATED = "failed to evaluate placement feasibility: {}"
TWO_PRIORITIES = (
    "all pods in a single pod group should have the same priority as the pod group's priority,"
    " got {} and {}"
)
TWO_POLICIES = (
    "all pods in a single pod group should have the same preemption policy, got {} and {}"
)
OTHER_POLICY = (
    "all pods in a single pod group should have the same preemption policy as the pod group's"
    " preemption policy, got {} and {}"
)
NOT_IN_GROUP = Status(Code.UNSCHEDULABLE, (UNSCHEDULABLE,))


class GroupTrial(Struct, frozen=True, eq=False):
    """What came of trying a group on one set of nodes.

    trials: of the first pods, in their order; the others were not tried
    status: success where enough have a node; else its first reason is UNSCHEDULABLE wherever
            upstream's error is
    """

    status: Status
    trials: Sequence[Trial] = ()

    @property
    def error(self) -> str:
        """As upstream's AsError words it."""
        reasons = self.status.reasons
        return UNSCHEDULABLE if reasons[:1] == (UNSCHEDULABLE,) else self.status.message

    @property
    def placed(self) -> bool:
        """Whether any pod has a node."""
        return self.status.is_success and any(trial.row is not None for trial in self.trials)


class _Attempt(Struct, eq=False):
    """The attempt under way. states: by uid, those of pods that were tried, their last ones"""

    framework: Framework
    plugins: PodGroupPlugins
    group: PodGroup
    pods: Sequence[PodInfo]
    states: dict[str, CycleState] = field(default_factory=dict)


class PodGroupEntityCycle(PodGroupCycle):
    """Runs attempts of groups that are entities of the queue."""

    def _attempt(self, pods: Sequence[PodInfo]) -> GroupResult:
        if self._pipeline.batching is not None:
            self._pipeline.batching.begin()
            self._pipeline.batching.shares_attempts = True
        group = self._groups.get(pods[0])
        if group is None:
            # It is in no queue, but may be asked about.
            return self._broken(pods, Status.error(NO_OBJECT.format(*group_key(pods[0].pod) or ())))
        error = self._invalid(group, pods)
        if error:
            return self._broken(pods, Status.error(error))
        framework = self._frameworks[pods[0].spec.scheduler_name]
        plugins = self._plugins[framework.profile.scheduler_name]
        this = _Attempt(framework, plugins, group, pods)
        trial = self._try_group(this)
        if trial.status.is_success:
            return self._bound(this, trial)
        if trial.status.code != Code.UNSCHEDULABLE:
            return self._left_out(this, trial, trial.status)
        return self._make_room(this, trial)

    # -- validity ---------------------------------------------------------------------------------

    def _invalid(self, group: PodGroup, pods: Sequence[PodInfo]) -> str:
        """What is wrong with the group, or "". Upstream: validatePodGroup."""
        specs = [pod.spec for pod in pods]
        name, policy = specs[0].scheduler_name, _policy(specs[0].preemption_policy)
        other_policy = TWO_POLICIES
        if self._groups.have_policies:
            policy, other_policy = _policy(group.preemption_policy), OTHER_POLICY
        for spec in (*specs, *self._groups.scheduled_specs(group.key)):
            priority, own = spec.priority or 0, _policy(spec.preemption_policy)
            if spec.scheduler_name != name:
                return TWO_SCHEDULERS.format(spec.scheduler_name, name)
            if priority != group.priority:
                return TWO_PRIORITIES.format(priority, group.priority)
            if own != policy:
                return other_policy.format(own, policy)
        return ""

    # -- trials -----------------------------------------------------------------------------------

    def _try_group(self, this: _Attempt, *, is_dry_run: bool = False) -> GroupTrial:
        """Upstream: runRootSchedulingAlgorithm."""
        trial = self._try_placements(this, is_dry_run=is_dry_run)
        if trial.status.is_success and not trial.placed:
            return replace(trial, status=NOT_IN_GROUP)
        return trial

    def _try_placements(self, this: _Attempt, *, is_dry_run: bool) -> GroupTrial:
        """On each of several sets of nodes; the best that the group fits on. Upstream:
        podGroupSchedulingPlacementAlgorithm, findBestPlacement."""
        every_node = Placement("", self._binding.snapshot.order)
        if not self._groups.places:
            return self._try_on(this, every_node, is_dry_run=is_dry_run)
        key = this.group.key
        placements, status = this.plugins.generate(key, every_node)
        if not status.is_success:
            return GroupTrial(status)
        fitting: list[tuple[Placement, GroupTrial]] = []
        first: GroupTrial | None = None
        for placement in placements:
            trial = self._try_on(this, placement, is_dry_run=is_dry_run, again=first is not None)
            if trial.status.code == Code.ERROR:
                return trial
            first = first or trial
            if trial.status.is_success:
                fitting.append((placement, trial))
        if not fitting:
            assert first is not None, "there are placements"
            message = NO_PLACEMENT.format(len(placements), first.error)
            return replace(first, status=Status.unschedulable(UNSCHEDULABLE, message))
        if len(fitting) == 1:
            return fitting[0][1]
        candidates = [(place, placed_pods(this.pods, trial.trials)) for place, trial in fitting]
        try:
            return fitting[this.plugins.best(key, candidates)][1]
        except PluginError as error:
            return GroupTrial(Status.error(str(error)))

    def _try_on(
        self, this: _Attempt, placement: Placement, *, is_dry_run: bool, again: bool = False
    ) -> GroupTrial:
        """On one set of nodes. is_dry_run: nobody looks at it; again: as `look_at` has it"""
        with self._within(placement):
            if is_dry_run:
                return self._try_all(this)
            trial = self._try_all(this, placement.name, again=again)
        message = trial.status.message or ("" if trial.placed else UNSCHEDULABLE)
        self._tried.append(TriedPlacement(placement, trial.trials, message))
        return trial

    def _try_all(
        self, this: _Attempt, name: str | None = None, *, again: bool = False
    ) -> GroupTrial:
        """Until enough pods cannot have a node any more. name: of the placement, where somebody may
        look; again: as `look_at` has it. Upstream: podGroupSchedulingDefaultAlgorithm."""
        scheduled, remaining = self._groups.scheduled_count(this.group.key), len(this.pods)
        status = this.plugins.feasible(this.group, scheduled, remaining)
        if status.code == Code.ERROR:
            return GroupTrial(Status.error(NOT_EVALUATED.format(status.message)))
        if status.code == Code.UNSCHEDULABLE:
            return GroupTrial(Status.unschedulable(UNSCHEDULABLE, *status.reasons))
        trials: list[Trial] = []
        self._trial_cycle.preempts, self._trial_binding.asks_permit = False, False
        try:
            for pod in this.pods:
                if name is not None:
                    self._look_at(pod, again)
                outcome = self._trial_cycle.attempt(this.framework, pod)
                trials.append(Trial(outcome, self._trial_cycle.state, outcome.row))
                this.states[pod.uid] = self._trial_cycle.state
                if trials[-1].error:
                    return GroupTrial(Status.error(OTHER_FAILED.format(trials[-1].error)), trials)
                if outcome.row is None and name is not None:
                    self._look_at_rejected(pod, name)
                remaining -= 1
                scheduled += outcome.row is not None
                status = this.plugins.feasible(this.group, scheduled, remaining)
                if status.code == Code.ERROR:
                    message = NOT_EVALUATED.format(status.message)
                    return GroupTrial(Status.error(message), trials)
                if status.code == Code.UNSCHEDULABLE:
                    return GroupTrial(status, trials)
        finally:
            self._trial_binding.take_back()
        return GroupTrial(SUCCESS, trials)

    # -- what follows -----------------------------------------------------------------------------

    def _make_room(self, this: _Attempt, trial: GroupTrial) -> GroupResult:
        """The plugins' reasons are added to the group's. Upstream:
        applyPodGroupPostFilterResult."""

        def try_group() -> tuple[Status, Sequence[Assignment]]:
            again = self._try_group(this, is_dry_run=True)
            pairs = zip(this.pods, again.trials, strict=False)
            return again.status, [
                Assignment(pod, each.row, each.state)
                for pod, each in pairs
                if each.row is not None and again.status.is_success
            ]

        rejected = RejectedGroup(this.group, this.pods, dict(this.states), try_group)
        status, room = this.plugins.post_filter(rejected)
        if status.code == Code.ERROR:
            result = self._left_out(this, trial, status)
            return replace(result, afterwards=room.afterwards, status=trial.status)
        reasons = (*trial.status.reasons, status.message)
        verdict = Status(trial.status.code, reasons)
        return self._left_out(this, trial, verdict, room, waits=status.is_success)

    def _bound(self, this: _Attempt, trial: GroupTrial) -> GroupResult:
        outcomes = []
        for pod, each in zip(this.pods, trial.trials, strict=True):
            if each.row is None:
                outcomes.append((pod, each.outcome))
            else:
                outcomes.append((pod, self._bind(this.framework, pod, each, each.row)))
        return GroupResult(tuple(outcomes), status=SUCCESS)

    def _left_out(
        self,
        this: _Attempt,
        trial: GroupTrial,
        status: Status,
        room: GroupRoom | None = None,
        *,
        waits: bool = False,
    ) -> GroupResult:
        """No pod is bound. status: what the pods that have a node hear. Upstream:
        submitPodGroupAlgorithmResult."""
        room = room or GroupRoom()
        nominations = room.nominations if waits else {}
        outcomes: list[tuple[PodInfo, Outcome]] = []
        for index, pod in enumerate(this.pods):
            each = trial.trials[index] if index < len(trial.trials) else None
            nomination = nominations.get(pod.uid)
            if status.code == Code.ERROR:
                record = blank_attempt(pod) if each is None else each.outcome.attempt
                error = (each.error if each is not None else "") or status.message
                outcome = errored(record, error)
            elif each is None:
                record = left(blank_attempt(pod), trial.status.message)
                outcome = Outcome(record, nomination=nomination)
            elif each.row is None:
                own = each.outcome.nomination
                outcome = replace(
                    each.outcome, nomination=own if nomination is None else nomination
                )
            elif waits:
                record = left(each.outcome.attempt, status.message)
                outcome = Outcome(record, nomination=nomination)
            else:
                record = left(each.outcome.attempt, f"{UNSCHEDULABLE}, {status.message}")
                outcome = Outcome(record, nomination="")
            outcomes.append((pod, outcome))
        victims = room.victims if waits else ()
        return GroupResult(tuple(outcomes), waits, victims, room.afterwards, trial.status)

    def _broken(self, pods: Sequence[PodInfo], status: Status) -> GroupResult:
        outcomes = tuple((pod, errored(blank_attempt(pod), status.message)) for pod in pods)
        return GroupResult(outcomes, status=status)


def _policy(policy: str) -> str:
    return policy or "PreemptLowerPriority"
