"""The explanation of a pod group's placement: the member, the topology domain or the part of its
tree that blocks it.

The attempts are the engine's own, those of a run. A pod that finds no node in a trial is explained
while the pods before it are assumed, on the nodes of the domain being tried.
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
from ksched_cli.framework.pod_groups import GroupKey, PodGroup, PodGroups


class Blocker(Part, frozen=True):
    """What keeps a group from being placed as a whole.

    group: namespace/name of the group that does not fit: the one asked about, or a part of its tree
    pod: the member that gets no node; empty if no single member blocks
    domain: the topology domain in which the most members fit; empty where nodes are not divided
    message: of that pod's attempt, or of the group's
    diagnosis: the cause, and what to do about it; null where that is not known
    """

    pod: str
    domain: str
    message: str
    diagnosis: Diagnosis | None = None
    group: str = ""


class GroupPart(Part, frozen=True):
    """A group of the tree that a group is scheduled in.

    group: namespace/name; composite: it is a CompositePodGroup
    depth: how many groups are around it
    min_count: how many pods or groups of it have to fit at once; null where any number may
    topology_key: whose domains it is tried in; empty where it is tried where the group around it is
    pods: how many it has; placed: how many of them have a node after the run
    message: why it does not fit where it was tried; empty where it does, or was not tried
    """

    group: str
    composite: bool
    depth: Count
    min_count: int | None
    topology_key: str
    pods: Count
    placed: Count
    message: str


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
    composite: it is a CompositePodGroup
    min_count: how many members, or groups of a CompositePodGroup, have to fit at once; null where
               any number may, or a plugin knows it alone
    topology_key: whose domains the group is tried in, one after the other; empty where it is tried
                  on all nodes
    placed: how many members have a node after the run; pending: how many do not
    message: of the group's last attempt; empty where it was placed, or none was made
    blocked_by: null where every member has a node
    undecided: a plugin's failure ended an attempt of a member
    evicts: pods evicted for it
    domains: in the order in which they were tried in the last attempt
    parts: the tree of groups that it is scheduled in, from the outside; empty where it is alone
    members: in the order of the state
    """

    COMMAND: ClassVar = "explain"
    ROWS: ClassVar = "members"

    kind: Literal["GroupExplanation"] = "GroupExplanation"
    group: str
    composite: bool = False
    min_count: int | None = None
    topology_key: str = ""
    placed: Count = 0
    pending: Count = 0
    message: str = ""
    blocked_by: Blocker | None = None
    undecided: bool = False
    evicts: tuple[str, ...] = ()
    domains: tuple[Domain, ...] = ()
    parts: tuple[GroupPart, ...] = ()
    members: tuple[Member, ...] = ()


def explain_group(simulation: Simulation, group: GroupName) -> GroupExplanation:
    """Runs the simulation, which must not have run before."""
    groups = simulation.pod_groups
    spec = None if groups is None else groups.groups.get(group.group_key)
    view = _View(simulation, group, spec)
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
        composite=spec is not None and spec.is_composite,
        min_count=None if spec is None else spec.min_count,
        topology_key=key,
        placed=len(members) - len(waiting),
        pending=len(waiting),
        message=view.message if waiting else "",
        blocked_by=blocker,
        undecided=any(pod in simulation.scheduler.failed for pod in group.pods),
        evicts=tuple(each.pod for each in run.evicted if each.preemptor in group.pods),
        domains=view.domains() if key else (),
        parts=view.parts(run),
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
    """Return why the group was not tried: it has no object, or one around it has none, too few pods
    or groups, or a pod that is held back."""
    groups = simulation.pod_groups
    if groups is not None and spec is None:
        diagnosis = Diagnosis(f"there is no PodGroup {group.key}", "create it")
        return Blocker("", "", waiting[0].message, diagnosis, group.key)
    if groups is not None and spec is not None:
        short = _short_part(groups, spec)
        if short is not None:
            return Blocker("", "", waiting[0].message, short[1], short[0])
    for pod in simulation.pending():
        status = simulation.frameworks[pod.spec.scheduler_name].pre_enqueue(pod)
        if pod.key in group.pods and not status.is_success:
            return Blocker(pod.key, "", status.message)
    return Blocker(waiting[0].pod, "", waiting[0].message)


def _short_part(groups: PodGroups, spec: PodGroup) -> tuple[str, Diagnosis] | None:
    """The part of the group's tree that has too few pods or groups, and what to do about it."""
    *_, root = groups.ancestors(spec)
    if root.parent:
        missing = f"{root.namespace}/{root.parent}"
        return missing, Diagnosis(f"there is no CompositePodGroup {missing}", "create it")
    if groups.is_ready(root, groups.pod_count):
        return None
    short = spec if not groups.is_ready(spec, groups.pod_count) else root
    while short.is_composite:
        lacking = (
            child
            for child in groups.children(short)
            if not groups.is_ready(child, groups.pod_count)
        )
        part = next(lacking, None)
        if part is None:
            break
        short = part
    what, field = ("groups", "minGroupCount") if short.is_composite else ("pods", "minCount")
    least = 1 if short.min_count is None else short.min_count
    count = len(groups.children(short)) if short.is_composite else groups.pod_count(short.key)
    subject = "the gang" if short is spec else f"{short.kind} {short.namespace}/{short.name}"
    cause = f"{count} of the {least:,} {what} that {subject} needs are there"
    remedy = f"create {least - count:,} more, or lower its {field}"
    return f"{short.namespace}/{short.name}", Diagnosis(cause, remedy)


class _View:
    """What is seen of the attempts of a group's pods, of the last ones in the end.

    result: of the group's attempt; None before the first, or where pods are tried one by one
    """

    def __init__(self, simulation: Simulation, group: GroupName, spec: PodGroup | None) -> None:
        self.result: GroupResult | None = None
        self._simulation = simulation
        self._group = group
        self._spec = spec
        self._root = None
        if simulation.pod_groups is not None and spec is not None:
            self._root = simulation.pod_groups.root_of(spec.key)
        # By pod and placement.
        self._diagnoses: dict[tuple[str, str], Diagnosis | None] = {}
        pods = group.pods
        if self._root is not None and simulation.pod_groups is not None:
            # A pod beside the group may block it.
            pods = (*pods, *simulation.pod_groups.members(self._root.key))
        simulation.focus = Focus(
            frozenset(pods),
            before_attempt=self._look if group.plugin else None,
            on_rejected=self._look,
            after_group=self._take,
            records_detail=False,
        )

    def _look(self, pod: PodInfo, placement: str = "") -> None:
        evaluation = self._simulation.evaluate(pod, Mode.REASONS)
        diagnosis = diagnose(evaluation, self._simulation.state)
        if diagnosis is not None or not self._group.plugin:
            self._diagnoses[pod.key, placement] = diagnosis

    def _take(self, result: GroupResult) -> None:
        self.result = result

    @property
    def message(self) -> str:
        """The message that ended the group's attempt, or why it does not fit where most of its
        members do."""
        if self.result is None:
            return ""
        outcomes = [outcome for _, outcome in self.result.outcomes]
        if all(outcome.attempt.error for outcome in outcomes):
            return outcomes[0].attempt.error
        own = self._tried_as(self._group.group_key)
        message = max(own, key=_fitting).message if own else ""
        return message or self.result.parts.get(self._group.group_key, "")

    def _tried_as(self, key: GroupKey) -> list[TriedPlacement]:
        """The trials of a group."""
        tried = self.result.tried if self.result is not None else ()
        return [each for each in tried if each.group == key]

    def _blocking(self) -> PodGroup | None:
        """The smallest group of the tree that does not fit, in the group or else beside it."""
        groups, spec = self._simulation.pod_groups, self._spec
        if groups is None or spec is None or self._root is None or not self._root.is_composite:
            return spec
        part = spec if self._fails(spec) else self._root
        while (child := next(filter(self._fails, groups.children(part)), None)) is not None:
            part = child
        return part

    def _fails(self, group: PodGroup) -> bool:
        tried = self._tried_as(group.key)
        return bool(tried) and all(each.message for each in tried)

    def blocker(self, run: RunRecord) -> Blocker | None:
        """The blocker; None where no attempt identified one."""
        if self._group.plugin:
            return self._blocker_alone(run)
        if self.result is None:
            return None
        part = self._blocking()
        name = self._group.key if part is None else f"{part.namespace}/{part.name}"
        tried = self._tried_as(self._group.group_key if part is None else part.key)
        if not tried:
            return Blocker("", "", self.message, group=name)
        best = max(tried, key=_fitting)
        pod, message = _first_rejected(best)
        domain = best.placement.name
        message = message or best.message or self.message
        return Blocker(pod, domain, message, self._diagnoses.get((pod, domain)), name)

    def _blocker_alone(self, run: RunRecord) -> Blocker | None:
        """The last member that found no node, for whatever reason but its group's."""
        for attempt in reversed(run.attempts):
            statuses = attempt.pre_filter, attempt.reserve, attempt.permit
            is_own = any(status and status.plugin == self._group.plugin for status in statuses)
            if attempt.pod in self._group.pods and not attempt.node and not is_own:
                diagnosis = self._diagnoses.get((attempt.pod, ""))
                return Blocker(attempt.pod, "", attempt.why_not, diagnosis, self._group.key)
        return None

    def parts(self, run: RunRecord) -> tuple[GroupPart, ...]:
        """The tree that the group is in."""
        groups, root = self._simulation.pod_groups, self._root
        if groups is None or root is None or not root.is_composite:
            return ()
        messages = self.result.parts if self.result is not None else {}
        on_nodes = {pod.key for pod in self._simulation.state.pods if pod.node_name}
        on_nodes = (on_nodes | run.placements.keys()) - {each.pod for each in run.evicted}
        return tuple(
            GroupPart(
                f"{part.namespace}/{part.name}",
                part.is_composite,
                len([*groups.ancestors(part)]) - 1,
                part.min_count,
                part.topology_key,
                groups.pod_count(part.key),
                sum(pod in on_nodes for pod in groups.members(part.key)),
                messages.get(part.key, "") if self._fails(part) else "",
            )
            for part in groups.tree(root)
        )

    def domains(self) -> tuple[Domain, ...]:
        return tuple(map(self._domain, self._tried_as(self._group.group_key)))

    def _domain(self, tried: TriedPlacement) -> Domain:
        outcomes = self.result.outcomes if self.result is not None else ()
        placed = ((pod.key, each.row) for pod, each in outcomes if each.row is not None)
        rows = {row for key, row in placed if key in self._group.pods}
        pod, message = _first_rejected(tried)
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


def _first_rejected(tried: TriedPlacement) -> tuple[str, str]:
    """Return the first pod without a node in a trial, and why; empty if there is none."""
    for pod, trial in tried.trials:
        if trial.row is None:
            return pod.key, trial.outcome.attempt.why_not
    return "", ""


def _fitting(tried: TriedPlacement) -> int:
    """The number of members that found a node there."""
    return sum(trial.row is not None for _, trial in tried.trials)
