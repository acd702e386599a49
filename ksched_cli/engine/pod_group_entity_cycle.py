"""One attempt to schedule a group, in minors where groups are entities of the queue.

In a trial a plugin decides after each pod whether enough of the group have a node, or may yet get
one. Where the group does not fit, the plugins of podGroupPostFilter make room for it as a whole.

A group may be a tree of groups. The cycle tries a child within the nodes of its parent's trial,
one child after the other; each sees those before it. A group that does not fit is taken back with
all its pods. After each child the plugin decides whether enough of them fit.

Upstream: pkg/scheduler/schedule_one_podgroup.go (podGroupCycle); since 1.38 algorithm_podgroup.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.batching import Batching
from ksched_cli.engine.group_checks import tree_error
from ksched_cli.engine.group_statuses import GroupStatuses, GroupTrial, NamingStatuses
from ksched_cli.engine.node_search import placements_to_find
from ksched_cli.engine.pod_group_cycle import (
    OTHER_FAILED,
    TWO_SCHEDULERS,
    UNSCHEDULABLE,
    GroupAttempt,
    PodGroupCycle,
    PodTrial,
    TriedPlacement,
    blank_attempt,
    errored,
    left,
)
from ksched_cli.engine.scheduling_cycle import AttemptOutcome
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PlacementProgress
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
from ksched_cli.kube.versions import Rules

# By key of a group, what came of trying it.
Trials: TypeAlias = "dict[GroupKey, GroupTrial]"

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


class _TriedPlacements(Struct, eq=False):
    """What came of trying a group on placements: on the first one, on those that it fits on, and
    on one where that failed, which ends the search"""

    first: Trials = field(default_factory=dict)
    fitting: list[tuple[Placement, Trials]] = field(default_factory=list)
    failed: Trials = field(default_factory=dict)


class PodGroupEntityCycle(PodGroupCycle):
    """Runs attempts of groups that are entities of the queue."""

    @cached_property
    def _rules(self) -> Rules:
        """Return the rules of the release, which all profiles share."""
        return next(iter(self._frameworks.values())).handle.release.rules

    @cached_property
    def _statuses(self) -> GroupStatuses:
        return NamingStatuses() if self._rules.names_failed_groups else GroupStatuses()

    def _begin(self, batching: Batching, pods: Sequence[PodInfo]) -> None:
        batching.begin()
        batching.shares_attempts = True

    def _attempt(self, pods: Sequence[PodInfo]) -> GroupAttempt:
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
        """Return what is wrong with the group, or "". Upstream: validatePodGroup, or
        validatePodGroupHierarchy."""
        if self._rules.checks_trees:
            return tree_error(self._groups, root, [pod.pod for pod in pods])
        specs = [pod.spec for pod in pods]
        name, policy = specs[0].scheduler_name, _policy(specs[0].preemption_policy)
        other_policy = TWO_POLICIES
        if self._groups.have_policies:
            policy, other_policy = _policy(root.preemption_policy), OTHER_POLICY
        scheduled = (pod.spec for pod in self._groups.scheduled_pods(root.key))
        for spec in (*specs, *scheduled):
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
        """Return the trials of all groups that were tried. Upstream: runRootSchedulingAlgorithm."""
        trials: Trials = {}
        self._trial_cycle.preempts, self._trial_binding.asks_permit = False, False
        try:
            every_node = Placement("", self._binding.snapshot.order)
            trial = self._try_group(this, this.root, every_node, trials, again=False)
        finally:
            self._trial_binding.take_back()
        if trial.status.is_success and not self._any_placed(this, trials):
            trials[this.root.key] = replace(trial, status=self._statuses.nobody_placed)
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
        tried = self._try_placements(this, group, placements, again=again)
        if tried.failed:
            failed = tried.failed if self._statuses.keeps_failed_parts else {}
            trials |= failed | {group.key: tried.failed[group.key]}
            return trials[group.key]
        if not tried.fitting:
            first = tried.first[group.key]
            status = self._statuses.fits_nowhere(len(placements), first)
            trials |= tried.first | {group.key: replace(first, status=status)}
            return trials[group.key]
        best = 0
        if len(tried.fitting) > 1:
            candidates = [
                (placement, [pod for pod, _ in self._placed(this, group, own)])
                for placement, own in tried.fitting
            ]
            try:
                best = this.plugins.best(group.key, candidates)
            except PluginError as error:
                trials[group.key] = GroupTrial(Status.error(str(error)))
                return trials[group.key]
        trials |= tried.fitting[best][1]
        return trials[group.key]

    def _try_placements(
        self, this: _Attempt, group: PodGroup, placements: Sequence[Placement], *, again: bool
    ) -> _TriedPlacements:
        """Try the group on the placements, one after the other: on all of them, or first on that
        which its pods are nominated to, then until it fits on enough of the others."""
        nominated, enough = None, len(placements)
        if self._rules.prefers_nominated_domains:
            # The only one with nodes that pods are nominated to, where the group is in no tree.
            # Upstream: nominatedPlacement.
            if not this.root.is_composite:
                row_of, node_of = self._binding.snapshot.row, self._pipeline.nominator.node_of
                names = (node_of(pod) for pod in this.pods[this.root.key])
                rows = [row_of[name] for name in names if name in row_of]
                having = [each for each in placements if np.isin(rows, each.rows).any()]
                nominated = having[0] if len(having) == 1 else None
            enough = 1
            if this.plugins.score:
                percentage = this.framework.profile.percentage_of_placements_to_score
                nodes = sum(len(placement.rows) for placement in placements)
                enough = placements_to_find(percentage, len(placements), nodes)
        tried = _TriedPlacements()
        mark = len(self._trial_binding.assumed)
        for placement in sorted(placements, key=lambda each: each is not nominated):
            own: Trials = {}
            trial = self._try_on(this, group, placement, own, again=again or bool(tried.first))
            self._trial_binding.take_back(mark)
            if trial.status.code == Code.ERROR:
                tried.failed = own
                break
            tried.first = tried.first or own
            is_nominated = placement is nominated
            if not trial.status.is_success or (is_nominated and not self._any_placed(this, own)):
                continue
            tried.fitting.append((placement, own))
            if is_nominated or len(tried.fitting) >= enough:
                break
        return tried

    def _placed(
        self, this: _Attempt, group: PodGroup, trials: Trials
    ) -> Iterator[tuple[PodInfo, PodTrial]]:
        """Yield the pods that have a node, of groups that fit within groups that fit. Upstream:
        successfulLeafResults."""
        trial = trials.get(group.key)
        if trial is not None and trial.status.is_success:
            for child in self._groups.children(group):
                yield from self._placed(this, child, trials)
            for pod, each in zip(this.pods.get(group.key, ()), trial.trials, strict=False):
                if each.row is not None:
                    yield pod, each

    def _any_placed(self, this: _Attempt, trials: Trials) -> bool:
        """Return whether the root fits, and any of its pods has a node."""
        return any(True for _ in self._placed(this, this.root, trials))

    def _assume_again(self, this: _Attempt, group: PodGroup, trials: Trials) -> None:
        """Assume the pods again where they were, so that what is tried next sees them. Raises
        PluginError where they cannot be there again. Upstream: assumeSubtreeWithRevert."""
        for pod, each in self._placed(this, group, trials):
            assert each.row is not None, "it is placed"
            attempt = each.outcome.attempt
            assumed = self._trial_binding.assume(this.framework, each.state, pod, each.row, attempt)
            if assumed.row is None:
                raise PluginError(assumed.attempt.why_not)

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
        """Try the groups in a group until enough cannot fit any more. Upstream:
        compositePodGroupSchedulingDefaultAlgorithm."""
        children = self._groups.children(group)
        progress = PlacementProgress(0, len(children))
        status = this.plugins.feasible(group, progress)
        if status.code in _FINAL:
            return GroupTrial(self._statuses.not_evaluated(status))
        for child in children:
            trial = self._try_group(this, child, placement, trials, again=again)
            if trial.status.code == Code.ERROR:
                return GroupTrial(self._statuses.child_failed(group, child, trial.status))
            progress = progress.after(trial.status.is_success)
            status = this.plugins.feasible(group, progress)
            if status.code in _FINAL:
                return GroupTrial(self._statuses.not_evaluated(status))
            try:
                if progress.remaining:
                    self._assume_again(this, child, trials)
            except PluginError as error:
                status = self._statuses.not_assumed(child, str(error))
                trials[child.key] = replace(trial, status=status)
                return GroupTrial(self._statuses.child_failed(group, child, status))
        return GroupTrial(self._statuses.ended(status))

    def _try_pods(
        self, this: _Attempt, group: PodGroup, name: str | None, *, again: bool
    ) -> GroupTrial:
        """Try pods until too few of the group can still get a node. name: of the placement, if
        observers may see the trial; again: see `look_at`. Upstream:
        podGroupSchedulingDefaultAlgorithm."""
        pods, trials = this.pods[group.key], list[PodTrial]()
        progress = PlacementProgress(self._groups.scheduled_count(group.key), len(pods))
        status = this.plugins.feasible(group, progress)
        if status.code == Code.ERROR:
            return GroupTrial(Status.error(NOT_EVALUATED.format(status.message)))
        if status.code == Code.UNSCHEDULABLE:
            return GroupTrial(self._statuses.hopeless(status))
        for pod in pods:
            if name is not None:
                self._look_at(pod, again)
            outcome = self._trial_cycle.attempt(this.framework, pod)
            trials.append(PodTrial(outcome, self._trial_cycle.state, outcome.row))
            this.states[pod.uid] = self._trial_cycle.state
            if trials[-1].error:
                return GroupTrial(Status.error(OTHER_FAILED.format(trials[-1].error)), trials)
            if outcome.row is None and name is not None:
                self._look_at_rejected(pod, name)
            progress = progress.after(outcome.row is not None)
            status = this.plugins.feasible(group, progress)
            if status.code == Code.ERROR:
                return GroupTrial(Status.error(NOT_EVALUATED.format(status.message)), trials)
            if status.code == Code.UNSCHEDULABLE:
                return GroupTrial(status, trials)
        return GroupTrial(self._statuses.ended(status), trials)

    # -- what follows -----------------------------------------------------------------------------

    def _complete(
        self, group: PodGroup, trials: Trials, failed: tuple[PodGroup, Status] | None = None
    ) -> None:
        """Complete the verdicts: a group that was not tried, or fits in one that does not, shares
        that one's verdict. Upstream: completeCompositePodGroupAlgorithmResultMap.

        failed: the innermost group around it that does not fit
        """
        trial = trials.get(group.key)
        if failed is not None and (
            trial is None or trial.status.is_success or self._statuses.overrides(failed[1], trial)
        ):
            trials[group.key] = self._statuses.within(*failed, trial)
        elif trial is not None and not trial.status.is_success:
            failed = group, trial.status
        for child in self._groups.children(group):
            self._complete(child, trials, failed)

    def _make_room(self, this: _Attempt, trials: Trials) -> GroupAttempt:
        """Run PodGroupPostFilter, whose reasons are added to the groups'. Upstream:
        applyPodGroupPostFilterResult."""
        pods = [pod for own in this.pods.values() for pod in own]

        def try_group() -> tuple[Status, Sequence[Assignment]]:
            this.is_dry_run = True
            with self._ranking(this):
                again = self._try_root(this)
            if self._rules.condemns_victims:
                placed = self._placed(this, this.root, again)
            else:  # Those of groups that do not fit count, too.
                placed = (
                    (pod, each)
                    for key, own in this.pods.items()
                    if (trial := again.get(key)) is not None
                    for pod, each in zip(own, trial.trials, strict=False)
                )
            return again[this.root.key].status, [
                Assignment(pod, each.row, each.state)
                for pod, each in placed
                if each.row is not None
            ]

        if self._rules.condemns_victims and self._pipeline.batching is not None:
            self._pipeline.batching.forget(this.framework)
        rejected = RejectedGroup(
            this.root, pods, dict(this.states), self._pipeline.snapshot, try_group
        )
        status, room = this.plugins.post_filter(rejected)
        return self._concluded(this, trials, status, room)

    @contextmanager
    def _ranking(self, this: _Attempt) -> Iterator[None]:
        """Let pods choose among the nodes that plugins rank lowest, where the release does so.
        Meanwhile there are no batches."""
        pipeline = self._pipeline
        batching = pipeline.batching
        if self._rules.condemns_victims:
            pipeline.rank, pipeline.batching = this.plugins.rank, None
        try:
            yield
        finally:
            pipeline.rank, pipeline.batching = None, batching

    def _concluded(
        self,
        this: _Attempt,
        trials: Trials,
        room_status: Status | None = None,
        room: GroupRoom | None = None,
    ) -> GroupAttempt:
        """Return the outcomes of all pods. Upstream: submitPodGroupAlgorithmResult.

        room_status: the status of PodGroupPostFilter, where it ran
        """
        room = room or GroupRoom()
        waits = room_status is not None and room_status.is_success
        outcomes: list[tuple[PodInfo, AttemptOutcome]] = []
        for key, pods in this.pods.items():
            trial = trials[key]
            if trial.status.is_success:
                for pod, each in zip(pods, trial.trials, strict=True):
                    outcome = each.outcome
                    if each.row is not None:
                        outcome = self._bind(this.framework, pod, each, each.row)
                    outcomes.append((pod, outcome))
                continue
            status = trial.status
            if room_status is not None and room_status.code == Code.ERROR:
                status = room_status
            elif room_status is not None:
                status = Status(status.code, (*status.reasons, room_status.message))
            outcomes += self._left_out(this, pods, trial, status, room if waits else None)
        parts = {
            group.key: self._statuses.part(trials[group.key].status, room_status)
            for group in self._groups.tree(this.root)
        }
        return GroupAttempt(
            tuple(outcomes),
            waits,
            room.victims if waits else (),
            room.afterwards,
            room.nodes if waits else (),
            trials[this.root.key].status,
            parts,
        )

    def _left_out(
        self,
        this: _Attempt,
        pods: Sequence[PodInfo],
        trial: GroupTrial,
        status: Status,
        room: GroupRoom | None,
    ) -> Iterator[tuple[PodInfo, AttemptOutcome]]:
        """Yield the outcomes of a group of which no pod is bound.

        status: for the pods that have a node
        room: what the group waits for
        """
        nominations = room.nominations if room is not None else {}
        says = self._statuses
        for index, pod in enumerate(pods):
            each = trial.trials[index] if index < len(trial.trials) else None
            record = blank_attempt(pod)
            if each is not None and not this.root.is_composite:
                # In a tree, the trials of pods without a reason of their own say nothing.
                record = each.outcome.attempt
            nomination = nominations.get(pod.uid)
            if status.code == Code.ERROR:
                error = (each.error if each is not None else "") or says.error(pod, status)
                yield pod, errored(record, error)
            elif each is None:
                message = says.not_tried(pod, trial.status)
                yield pod, AttemptOutcome(left(record, message), nomination=nomination)
            elif each.row is None:
                own = each.outcome.nomination
                nomination = own if nomination is None else nomination
                yield pod, replace(each.outcome, nomination=nomination)
            elif room is not None:
                message = says.waits(pod, status)
                yield pod, AttemptOutcome(left(record, message), nomination=nomination)
            else:
                yield pod, AttemptOutcome(left(record, says.not_placed(pod, status)), nomination="")

    def _broken(self, pods: Sequence[PodInfo], status: Status) -> GroupAttempt:
        outcomes = tuple((pod, errored(blank_attempt(pod), status.message)) for pod in pods)
        return GroupAttempt(outcomes, status=status)


# Codes of a plugin that ends a trial.
_FINAL = frozenset({Code.ERROR, Code.UNSCHEDULABLE})


def _policy(policy: str) -> str:
    return policy or "PreemptLowerPriority"
