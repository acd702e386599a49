"""One attempt to schedule a group, in minors where groups are entities of the queue.

In a trial a plugin decides after each pod whether enough of the group have a node, or may yet get
one. Where the group does not fit, the plugins of podGroupPostFilter make room for it as a whole.

A group may be a tree of groups. The cycle tries a child within the nodes of its parent's trial,
one child after the other; each sees those before it. A group that does not fit is taken back with
all its pods. After each child the plugin decides whether enough of them fit.

Upstream: pkg/scheduler/schedule_one_podgroup.go (1.37: podGroupCycle).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.pod_group_cycle import (
    NO_PLACEMENT,
    OTHER_FAILED,
    TWO_SCHEDULERS,
    UNSCHEDULABLE,
    GroupResult,
    PodGroupCycle,
    Trial,
    TriedPlacement,
    blank_attempt,
    errored,
    left,
)
from ksched_cli.engine.scheduling_cycle import Outcome
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.pod_groups import (
    Assignment,
    GroupKey,
    GroupRoom,
    Placement,
    PodGroup,
    RejectedGroup,
    group_key,
)
from ksched_cli.framework.runtime import Framework, PodGroupPlugins
from ksched_cli.framework.status import Code, PluginError, Status

# By key of a group, what came of trying it.
Trials: TypeAlias = "dict[GroupKey, GroupTrial]"

NO_OBJECT = "pod group object not found for pod group {}/{}"
NOT_ASSUMED = "failed to assume the subtree: {}"
CHILD_FAILED = "composite pod group evaluation failed due to child error: {}"
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
    """The result of trying a group on one set of nodes.

    trials: of the first pods, in their order; the others were not tried
    status: success where enough have a node; else its first reason is UNSCHEDULABLE where
            upstream's error is
    """

    status: Status
    trials: Sequence[Trial] = ()

    @property
    def error(self) -> str:
        """The error in the words of upstream's AsError."""
        reasons = self.status.reasons
        return UNSCHEDULABLE if reasons[:1] == (UNSCHEDULABLE,) else self.status.message


class _Attempt(Struct, eq=False):
    """The attempt under way.

    root:   the group that is tried
    pods:   of the PodGroups in it, in the order in which they are tried
    states: by uid, those of pods that were tried, their last ones
    is_dry_run: observers do not see it
    """

    framework: Framework
    plugins: PodGroupPlugins
    root: PodGroup
    pods: dict[GroupKey, list[PodInfo]]
    states: dict[str, CycleState] = field(default_factory=dict)
    is_dry_run: bool = False


class PodGroupEntityCycle(PodGroupCycle):
    """Runs attempts of groups that are entities of the queue."""

    def _attempt(self, pods: Sequence[PodInfo]) -> GroupResult:
        if self._pipeline.batching is not None:
            self._pipeline.batching.begin()
            self._pipeline.batching.shares_attempts = True
        key = group_key(pods[0].pod)
        root = self._groups.root_of(key) if key is not None else None
        if root is None:
            # It is in no queue, but may be asked about.
            return self._broken(pods, Status.error(NO_OBJECT.format(*key or ())))
        pods_of: dict[GroupKey, list[PodInfo]] = {
            leaf.key: [pod for pod in pods if group_key(pod.pod) == leaf.key]
            for leaf in self._groups.leaves(root)
        }
        pods = [pod for own in pods_of.values() for pod in own]
        error = self._invalid(root, pods)
        if error:
            return self._broken(pods, Status.error(error))
        framework = self._frameworks[pods[0].spec.scheduler_name]
        plugins = self._plugins[framework.profile.scheduler_name]
        this = _Attempt(framework, plugins, root, pods_of)
        trials = self._try_root(this)
        status = trials[root.key].status
        self._complete(root, trials)
        if status.code == Code.UNSCHEDULABLE:
            return self._make_room(this, trials)
        return self._concluded(this, trials)

    # -- validity ---------------------------------------------------------------------------------

    def _invalid(self, root: PodGroup, pods: Sequence[PodInfo]) -> str:
        """Return what is wrong with the group, or "". Upstream: validatePodGroup."""
        specs = [pod.spec for pod in pods]
        name, policy = specs[0].scheduler_name, _policy(specs[0].preemption_policy)
        other_policy = TWO_POLICIES
        if self._groups.have_policies:
            policy, other_policy = _policy(root.preemption_policy), OTHER_POLICY
        for spec in (*specs, *self._groups.scheduled_specs(root.key)):
            priority, own = spec.priority or 0, _policy(spec.preemption_policy)
            if spec.scheduler_name != name:
                return TWO_SCHEDULERS.format(spec.scheduler_name, name)
            if priority != root.priority:
                return TWO_PRIORITIES.format(priority, root.priority)
            if own != policy:
                return other_policy.format(own, policy)
        return ""

    # -- trials -----------------------------------------------------------------------------------

    def _try_root(self, this: _Attempt) -> Trials:
        """The trials of all groups that were tried. Upstream: runRootSchedulingAlgorithm."""
        trials: Trials = {}
        self._trial_cycle.preempts, self._trial_binding.asks_permit = False, False
        try:
            every_node = Placement("", self._binding.snapshot.order)
            trial = self._try_group(this, this.root, every_node, trials, again=False)
        finally:
            self._trial_binding.take_back()
        if trial.status.is_success and not self._any_placed(this, trials):
            trials[this.root.key] = replace(trial, status=NOT_IN_GROUP)
        return trials

    def _try_group(
        self, this: _Attempt, group: PodGroup, around: Placement, trials: Trials, *, again: bool
    ) -> GroupTrial:
        """Try the group on each of several sets of nodes, and take the best that it fits on; its
        pods are assumed there afterwards. around: the nodes of its parent's trial; again: see
        `look_at`. Upstream: podGroupSchedulingPlacementAlgorithm,
        compositePodGroupSchedulingPlacementAlgorithm, findBestPlacement."""
        if not self._groups.places:
            return self._try_on(this, group, around, trials, again=again)
        placements, status = this.plugins.generate(group.key, around)
        if not status.is_success:
            trials[group.key] = GroupTrial(status)
            return trials[group.key]
        mark = len(self._trial_binding.assumed)
        fitting: list[tuple[Placement, Trials]] = []
        first: Trials = {}
        for placement in placements:
            own: Trials = {}
            trial = self._try_on(this, group, placement, own, again=again or bool(first))
            self._trial_binding.take_back(mark)
            if trial.status.code == Code.ERROR:
                trials[group.key] = trial
                return trial
            first = first or own
            if trial.status.is_success:
                fitting.append((placement, own))
        if not fitting:
            message = NO_PLACEMENT.format(len(placements), first[group.key].error)
            status = Status.unschedulable(UNSCHEDULABLE, message)
            trials |= first | {group.key: replace(first[group.key], status=status)}
            return trials[group.key]
        try:
            chosen = self._best(this, group, fitting)
            if self._groups.compose:
                self._assume_again(this, group, chosen)
            trials |= chosen
        except PluginError as error:
            self._trial_binding.take_back(mark)
            trials[group.key] = GroupTrial(Status.error(str(error)))
        return trials[group.key]

    def _best(
        self, this: _Attempt, group: PodGroup, fitting: Sequence[tuple[Placement, Trials]]
    ) -> Trials:
        """Return the trials on the best placement. Raises PluginError."""
        if len(fitting) == 1:
            return fitting[0][1]
        candidates = [
            (placement, [pod for pod, _ in self._placed(this, group, own)])
            for placement, own in fitting
        ]
        return fitting[this.plugins.best(group.key, candidates)][1]

    def _placed(
        self, this: _Attempt, group: PodGroup, trials: Trials
    ) -> Iterator[tuple[PodInfo, Trial]]:
        """The pods that have a node, of groups that fit within groups that fit. Upstream:
        successfulLeafResults."""
        trial = trials.get(group.key)
        if trial is not None and trial.status.is_success:
            for child in self._groups.children(group):
                yield from self._placed(this, child, trials)
            for pod, each in zip(this.pods.get(group.key, ()), trial.trials, strict=False):
                if each.row is not None:
                    yield pod, each

    def _any_placed(self, this: _Attempt, trials: Trials) -> bool:
        """Whether the root fits, and any of its pods has a node."""
        return any(True for _ in self._placed(this, this.root, trials))

    def _assume_again(self, this: _Attempt, group: PodGroup, trials: Trials) -> None:
        """Assume the pods again where they were, so that what is tried next sees them. Raises
        PluginError where they cannot be there again. Upstream: assumeSubtreeWithRevert."""
        for pod, each in self._placed(this, group, trials):
            assert each.row is not None, "it is placed"
            attempt = each.outcome.attempt
            assumed = self._trial_binding.assume(this.framework, each.state, pod, each.row, attempt)
            if assumed.row is None:
                raise PluginError(NOT_ASSUMED.format(assumed.attempt.why_not))

    def _try_on(
        self, this: _Attempt, group: PodGroup, placement: Placement, trials: Trials, *, again: bool
    ) -> GroupTrial:
        """Try the group on one set of nodes; take it back if it does not fit."""
        mark = len(self._trial_binding.assumed)
        with self._within(placement):
            if group.is_composite:
                trial = self._try_children(this, group, placement, trials, again=again)
            else:
                name = None if this.is_dry_run else placement.name
                trial = self._try_pods(this, group, name, again=again)
        if not trial.status.is_success:
            self._trial_binding.take_back(mark)
        trials[group.key] = trial
        if not this.is_dry_run:
            tried = [
                pair
                for leaf in self._groups.leaves(group)
                if (own := trials.get(leaf.key)) is not None
                for pair in zip(this.pods[leaf.key], own.trials, strict=False)
            ]
            is_empty = group is this.root and not self._any_placed(this, trials)
            message = trial.status.message or (UNSCHEDULABLE if is_empty else "")
            self._tried.append(TriedPlacement(placement, group.key, tried, message))
        return trial

    def _try_children(
        self, this: _Attempt, group: PodGroup, placement: Placement, trials: Trials, *, again: bool
    ) -> GroupTrial:
        """Until enough groups cannot fit any more. Upstream:
        compositePodGroupSchedulingDefaultAlgorithm."""
        children, scheduled = self._groups.children(group), 0
        status = this.plugins.feasible(group, 0, len(children))
        if status.code in _FINAL:
            return GroupTrial(status)
        for remaining, child in zip(reversed(range(len(children))), children, strict=True):
            trial = self._try_group(this, child, placement, trials, again=again)
            if trial.status.code == Code.ERROR:
                return GroupTrial(Status.error(CHILD_FAILED.format(trial.status.message)))
            scheduled += trial.status.is_success
            status = this.plugins.feasible(group, scheduled, remaining)
            if status.code in _FINAL:
                break
        return GroupTrial(_without_waiting(status))

    def _try_pods(
        self, this: _Attempt, group: PodGroup, name: str | None, *, again: bool
    ) -> GroupTrial:
        """Try pods until too few of the group can still get a node. name: of the placement, if
        observers may see the trial; again: see `look_at`. Upstream:
        podGroupSchedulingDefaultAlgorithm."""
        pods, trials = this.pods[group.key], list[Trial]()
        scheduled, remaining = self._groups.scheduled_count(group.key), len(pods)
        status = this.plugins.feasible(group, scheduled, remaining)
        if status.code == Code.ERROR:
            return GroupTrial(Status.error(NOT_EVALUATED.format(status.message)))
        if status.code == Code.UNSCHEDULABLE:
            return GroupTrial(Status.unschedulable(UNSCHEDULABLE, *status.reasons))
        for pod in pods:
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
            status = this.plugins.feasible(group, scheduled, remaining)
            if status.code == Code.ERROR:
                return GroupTrial(Status.error(NOT_EVALUATED.format(status.message)), trials)
            if status.code == Code.UNSCHEDULABLE:
                return GroupTrial(status, trials)
        return GroupTrial(_without_waiting(status), trials)

    # -- what follows -----------------------------------------------------------------------------

    def _complete(self, group: PodGroup, trials: Trials, around: GroupTrial | None = None) -> None:
        """A group that was not tried, or fits in one that does not, shares its verdict. Upstream:
        completeCompositePodGroupAlgorithmResultMap."""
        trial = trials.get(group.key)
        if around is not None and (
            trial is None or (trial.status.is_success and not around.status.is_success)
        ):
            trial = trials[group.key] = GroupTrial(around.status)
        for child in self._groups.children(group):
            self._complete(child, trials, trial)

    def _make_room(self, this: _Attempt, trials: Trials) -> GroupResult:
        """The plugins' reasons are added to the groups'. Upstream:
        applyPodGroupPostFilterResult."""
        pods = [pod for own in this.pods.values() for pod in own]

        def try_group() -> tuple[Status, Sequence[Assignment]]:
            this.is_dry_run = True
            again = self._try_root(this)
            return again[this.root.key].status, [
                Assignment(pod, each.row, each.state)
                for key, own in this.pods.items()
                if (trial := again.get(key)) is not None
                for pod, each in zip(own, trial.trials, strict=False)
                if each.row is not None
            ]

        rejected = RejectedGroup(this.root, pods, dict(this.states), try_group)
        status, room = this.plugins.post_filter(rejected)
        return self._concluded(this, trials, status, room)

    def _concluded(
        self,
        this: _Attempt,
        trials: Trials,
        room_status: Status | None = None,
        room: GroupRoom | None = None,
    ) -> GroupResult:
        """room_status: whether plugins did, where they were asked. Upstream:
        submitPodGroupAlgorithmResult."""
        room = room or GroupRoom()
        waits = room_status is not None and room_status.is_success
        outcomes: list[tuple[PodInfo, Outcome]] = []
        for key, pods in this.pods.items():
            trial = trials[key]
            if trial.status.is_success:
                outcomes += self._bound(this, pods, trial)
                continue
            status = trial.status
            if room_status is not None and room_status.code == Code.ERROR:
                status = room_status
            elif room_status is not None:
                status = Status(status.code, (*status.reasons, room_status.message))
            outcomes += self._left_out(this, pods, trial, status, room if waits else None)
        parts = {
            group.key: trials[group.key].status.message for group in self._groups.tree(this.root)
        }
        return GroupResult(
            tuple(outcomes),
            waits,
            room.victims if waits else (),
            room.afterwards,
            trials[this.root.key].status,
            parts,
        )

    def _bound(
        self, this: _Attempt, pods: Sequence[PodInfo], trial: GroupTrial
    ) -> Iterator[tuple[PodInfo, Outcome]]:
        for pod, each in zip(pods, trial.trials, strict=True):
            if each.row is None:
                yield pod, each.outcome
            else:
                yield pod, self._bind(this.framework, pod, each, each.row)

    def _left_out(
        self,
        this: _Attempt,
        pods: Sequence[PodInfo],
        trial: GroupTrial,
        status: Status,
        room: GroupRoom | None,
    ) -> Iterator[tuple[PodInfo, Outcome]]:
        """No pod is bound. status: what the pods that have a node hear; room: what the group waits
        for"""
        nominations = room.nominations if room is not None else {}
        for index, pod in enumerate(pods):
            each = trial.trials[index] if index < len(trial.trials) else None
            record = blank_attempt(pod)
            if each is not None and not this.root.is_composite:
                # In a tree, the trials of pods without a reason of their own say nothing.
                record = each.outcome.attempt
            nomination = nominations.get(pod.uid)
            if status.code == Code.ERROR:
                error = (each.error if each is not None else "") or status.message
                yield pod, errored(record, error)
            elif each is None:
                yield pod, Outcome(left(record, trial.status.message), nomination=nomination)
            elif each.row is None:
                own = each.outcome.nomination
                nomination = own if nomination is None else nomination
                yield pod, replace(each.outcome, nomination=nomination)
            elif room is not None:
                yield pod, Outcome(left(record, status.message), nomination=nomination)
            else:
                message = f"{UNSCHEDULABLE}, {status.message}"
                yield pod, Outcome(left(record, message), nomination="")

    def _broken(self, pods: Sequence[PodInfo], status: Status) -> GroupResult:
        outcomes = tuple((pod, errored(blank_attempt(pod), status.message)) for pod in pods)
        return GroupResult(outcomes, status=status)


# Codes of a plugin that ends a trial.
_FINAL = frozenset({Code.ERROR, Code.UNSCHEDULABLE})


def _without_waiting(status: Status) -> Status:
    """Return the status without its waiting: no other pod is left that the plugin could wait
    for."""
    return Status.unschedulable(UNSCHEDULABLE, *status.reasons) if status.is_wait else status


def _policy(policy: str) -> str:
    return policy or "PreemptLowerPriority"
