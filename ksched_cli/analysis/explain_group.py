"""Why the pods of a group get nodes together, or do not: the member or the topology domain that
blocks them.

The attempts are the engine's own, those of a run. Why a pod finds no node in a trial is asked while
the pods before it are assumed, on the nodes of the domain that is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from ksched_cli.analysis.diagnosis import Diagnosis, diagnose
from ksched_cli.analysis.named_objects import GroupName
from ksched_cli.answers import Count, Part, StateAnswer
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.pod_group_cycle import GroupResult, TriedPlacement
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.pod_groups import PodGroup


class Blocker(Part, frozen=True):
    """What keeps a group from being placed as a whole.

    pod: the member that gets no node; empty where it is none in particular
    domain: the topology domain in which the most members fit; empty where nodes are not divided
    message: of that pod's attempt, or of the group's
    diagnosis: the cause, and what to do about it; null where that is not known
    """

    pod: str
    domain: str
    message: str
    diagnosis: Diagnosis | None = None


class Domain(Part, frozen=True):
    """A topology domain that the group was tried in.

    nodes: how many it has
    fitting: how many of the members that were tried fit there at once
    tried: how many were tried before enough fitted, or could no longer fit
    fits: whether the group fits there; chosen: whether it goes there
    blocked_by: the first member that found no node there; empty where all did
    message: of that member, else of the group there
    """

    domain: str
    nodes: Count
    fitting: Count
    tried: Count
    fits: bool
    chosen: bool
    blocked_by: str
    message: str


class Member(Part, frozen=True):
    """A pod of the group.

    node: the one that it runs on, or gets; empty where it gets none
    running: it had the node before
    gated: it is held back
    message: why it gets no node
    """

    pod: str
    node: str = ""
    running: bool = False
    gated: bool = False
    message: str = ""


class GroupExplanation(StateAnswer, frozen=True, kw_only=True):
    """Why the pods of a group get nodes, or do not.

    group: namespace/name
    min_count: how many members have to have a node at once; null where any number may, or a plugin
               knows it alone
    topology_key: whose domains the group is tried in, one after the other; empty where it is tried
                  on all nodes
    placed: how many members have a node after the run; pending: how many do not
    message: of the group's last attempt; empty where it was placed, or none was made
    blocked_by: null where every member has a node
    undecided: a plugin's failure ended an attempt of a member
    evicts: pods evicted for it
    domains: in the order in which they were tried in the last attempt
    members: in the order of the state
    """

    COMMAND: ClassVar = "explain"
    ROWS: ClassVar = "members"

    kind: Literal["GroupExplanation"] = "GroupExplanation"
    group: str
    min_count: int | None = None
    topology_key: str = ""
    placed: Count = 0
    pending: Count = 0
    message: str = ""
    blocked_by: Blocker | None = None
    undecided: bool = False
    evicts: tuple[str, ...] = ()
    domains: tuple[Domain, ...] = ()
    members: tuple[Member, ...] = ()


def explain_group(simulation: Simulation, group: GroupName) -> GroupExplanation:
    """Runs the simulation, which must not have run before."""
    groups = simulation.pod_groups
    spec = None if groups is None else groups.groups.get((group.namespace, group.name))
    view = _View(simulation, group)
    run = simulation.run()
    simulation.focus = None
    running = {pod.key: pod.node_name for pod in simulation.state.pods if pod.key in group.pods}
    members = tuple(_member(run, pod, running[pod]) for pod in group.pods)
    waiting = [member for member in members if not member.node]
    key = spec.topology_key if spec is not None and groups is not None and groups.places else ""
    blocker = None
    if waiting:
        blocker = view.blocker(run) or _holder(simulation, group, spec, waiting)
    return GroupExplanation(
        group=group.key,
        min_count=None if spec is None else spec.min_count,
        topology_key=key,
        placed=len(members) - len(waiting),
        pending=len(waiting),
        message=view.message if waiting else "",
        blocked_by=blocker,
        undecided=any(pod in simulation.scheduler.failed for pod in group.pods),
        evicts=tuple(each.pod for each in run.evicted if each.preemptor in group.pods),
        domains=view.domains() if key else (),
        members=members,
    )


def _member(run: RunRecord, pod: str, running_on: str) -> Member:
    gate = run.gated.get(pod)
    if gate is not None:
        return Member(pod, gated=True, message=gate.message)
    node = run.placements.get(pod, running_on)
    gone = next((each for each in run.evicted if each.pod == pod), None)
    if gone is not None and pod not in run.placements:
        return Member(pod, message=f"evicted for {gone.preemptor}")
    if node:
        return Member(pod, node, running=bool(running_on))
    attempt = run.last.get(pod)
    return Member(pod, message="" if attempt is None else attempt.why_not)


def _holder(
    simulation: Simulation, group: GroupName, spec: PodGroup | None, waiting: Sequence[Member]
) -> Blocker:
    """Why the group was not tried: it has no object, too few pods, or one that is held back."""
    groups = simulation.pod_groups
    if groups is not None and spec is None:
        diagnosis = Diagnosis(f"there is no PodGroup {group.key}", "create it")
        return Blocker("", "", waiting[0].message, diagnosis)
    count = len(group.pods)
    if spec is not None and spec.min_count is not None and count < spec.min_count:
        cause = f"{count} of the {spec.min_count:,} pods that the gang needs are there"
        remedy = f"create {spec.min_count - count:,} more, or lower its minCount"
        return Blocker("", "", waiting[0].message, Diagnosis(cause, remedy))
    for pod in simulation.pending():
        status = simulation.frameworks[pod.spec.scheduler_name].pre_enqueue(pod)
        if pod.key in group.pods and not status.is_success:
            return Blocker(pod.key, "", status.message)
    return Blocker(waiting[0].pod, "", waiting[0].message)


class _View:
    """What is seen of the attempts of a group's pods, of the last ones in the end.

    result: of the group's attempt; None before the first, or where pods are tried one by one
    """

    def __init__(self, simulation: Simulation, group: GroupName) -> None:
        self.result: GroupResult | None = None
        self._simulation = simulation
        self._group = group
        # By pod and placement.
        self._diagnoses: dict[tuple[str, str], Diagnosis | None] = {}
        simulation.focus = Focus(
            frozenset(group.pods),
            before_attempt=self._look if group.plugin else None,
            on_rejected=self._look,
            after_group=self._take,
            records_detail=False,
        )

    def _look(self, pod: PodInfo, placement: str = "") -> None:
        framework = self._simulation.frameworks[pod.spec.scheduler_name]
        evaluation = self._simulation.pipeline.evaluate(framework, pod, Mode.REASONS)
        diagnosis = diagnose(evaluation, self._simulation.state)
        if diagnosis is not None or not self._group.plugin:
            self._diagnoses[pod.key, placement] = diagnosis

    def _take(self, result: GroupResult) -> None:
        self.result = result

    @property
    def message(self) -> str:
        """What ended the group's attempt, or why it does not fit where most of its members do."""
        if self.result is None:
            return ""
        outcomes = [outcome for _, outcome in self.result.outcomes]
        if all(outcome.attempt.error for outcome in outcomes):
            return outcomes[0].attempt.error
        return max(self.result.tried, key=_fitting).message if self.result.tried else ""

    def blocker(self, run: RunRecord) -> Blocker | None:
        """None where no attempt was made that says so."""
        if self._group.plugin:
            return self._blocker_alone(run)
        if self.result is None:
            return None
        if not self.result.tried:
            return Blocker("", "", self.message)
        best = max(self.result.tried, key=_fitting)
        pod, message = self._first_rejected(best)
        domain = best.placement.name
        return Blocker(pod, domain, message or self.message, self._diagnoses.get((pod, domain)))

    def _blocker_alone(self, run: RunRecord) -> Blocker | None:
        """The last member that found no node, for whatever reason but its group's."""
        for attempt in reversed(run.attempts):
            statuses = attempt.pre_filter, attempt.reserve, attempt.permit
            is_own = any(status and status.plugin == self._group.plugin for status in statuses)
            if attempt.pod in self._group.pods and not attempt.node and not is_own:
                diagnosis = self._diagnoses.get((attempt.pod, ""))
                return Blocker(attempt.pod, "", attempt.why_not, diagnosis)
        return None

    def _first_rejected(self, tried: TriedPlacement) -> tuple[str, str]:
        """The first pod without a node in a trial, and why; empty where there is none."""
        pods = (pod.key for pod, _ in self.result.outcomes) if self.result is not None else ()
        for pod, trial in zip(pods, tried.trials, strict=False):
            if trial.row is None:
                return pod, trial.outcome.attempt.why_not
        return "", ""

    def domains(self) -> tuple[Domain, ...]:
        return tuple(map(self._domain, self.result.tried)) if self.result is not None else ()

    def _domain(self, tried: TriedPlacement) -> Domain:
        outcomes = self.result.outcomes if self.result is not None else ()
        rows = {outcome.row for _, outcome in outcomes if outcome.row is not None}
        pod, message = self._first_rejected(tried)
        return Domain(
            tried.placement.name,
            len(tried.placement.rows),
            _fitting(tried),
            len(tried.trials),
            not tried.message,
            bool(rows) and rows <= set(tried.placement.rows.tolist()),
            pod,
            message or tried.message,
        )


def _fitting(tried: TriedPlacement) -> int:
    """How many members found a node there."""
    return sum(trial.row is not None for trial in tried.trials)
