"""The explanation of a pod's node: every plugin's verdict on every node, not only the first. Also
why an autoscaler would order nodes for a pod, or none, and what blocks a pod group.

The decision is that of the pod's last attempt in a run, which may look at some of the nodes only.
The detail is of all nodes, and of all plugins, on the cluster as that attempt found it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import inf
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import UNSET, UnsetType, field
from msgspec.structs import replace

from ksched_cli.analysis.attempts import NodeRejection, PluginStatus, status_of, take_turn
from ksched_cli.analysis.circumstances import RecordedMessages, not_started
from ksched_cli.analysis.diagnosis import Diagnosis, diagnose, unverified, with_hints
from ksched_cli.analysis.gates import READS, held_by
from ksched_cli.analysis.held_pods import group_notes, held_notes, no_group
from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.idle_constraints import idle_constraints
from ksched_cli.analysis.named_objects import GroupName, Subject, check_nodes, find_group
from ksched_cli.analysis.question import Opened, PodOrManifest, Question
from ksched_cli.analysis.reasons import (
    FITTING,
    Distance,
    FilterStep,
    Reason,
    distances,
    funnel,
    reasons,
)
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.engine.pod_group_cycle import GroupAttempt, TriedPlacement
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import NodeScore, RunRecord
from ksched_cli.engine.scheduling_cycle import TieBreak, first_by_name
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.framework.pod_groups import GroupKey, PodGroup, group_key
from ksched_cli.framework.status import Code
from ksched_cli.run.run import NEEDS_NO_TIMELINE
from ksched_cli.scenario.owned_pods import owner_of


class GroupVerdict(StrEnum):
    """The effect of a node group for a pod. At its maximum, a group that the pod would not fit on
    anyway rejects it."""

    SCALES_UP = "scales up"
    NOT_CHOSEN = "not chosen"
    REJECTS = "rejects"
    AT_MAX_SIZE = "at maxSize"
    AT_MAX_TOTAL = "at maxNodesTotal"
    FULL = "full"


class GroupScaleUp(Part, frozen=True, kw_only=True):
    """What a node group does for a pod.

    nodes: how many it has, with those that were asked for
    verdict: scales up: it gets more nodes; not chosen: it would help, and the expanders choose
             another; rejects: the pod does not fit on a new node; at maxSize, at maxNodesTotal: it
             may have no more nodes; full: as many nodes as it may get go to other pods
    adds: how many more nodes it gets, or would get
    pods: how many pending pods these are for
    rejections: by plugins, of the pod on a new node
    """

    group: str
    nodes: Count
    max_size: Count
    verdict: GroupVerdict
    adds: Count = 0
    pods: Count = 0
    rejections: tuple[PluginStatus, ...] = ()


class ScaleUp(Part, frozen=True, kw_only=True):
    """What an autoscaler's next scan does for a pod.

    autoscaler: the file
    would_scale_up: whether it asks for nodes on which the pod has room
    because: why it asks for none, whatever the groups are; else empty
    groups: in the order of the file
    """

    autoscaler: str
    would_scale_up: bool
    because: str = ""
    groups: tuple[GroupScaleUp, ...] = field(default_factory=tuple)


def scale_up_of(subject: Subject, pod: str) -> ScaleUp:
    """subject: a Run with an autoscaler, which is asked at the end of its timeline. pod: the key of
    one that has no node. Raises KschedError."""
    opener, run = subject.opener, subject.run
    replay = opener.replay(run) if run.timeline else opener.until_scan(run)
    replay.run()
    assert replay.autoscaler is not None
    review = replay.autoscaler.review(pod)
    replay.cluster.engine.close()
    groups = []
    for each in review.groups:
        group, option = each.group, each.option
        helps = option is not None and pod in option.pods
        if each.rejections:
            verdict = GroupVerdict.REJECTS
        elif helps:
            verdict = GroupVerdict.SCALES_UP if each.is_chosen else GroupVerdict.NOT_CHOSEN
        elif each.headroom > 0:
            verdict = GroupVerdict.FULL
        elif each.size >= group.max_size:
            verdict = GroupVerdict.AT_MAX_SIZE
        else:
            verdict = GroupVerdict.AT_MAX_TOTAL
        groups.append(
            GroupScaleUp(
                group=group.name,
                nodes=each.size,
                max_size=group.max_size,
                verdict=verdict,
                adds=option.count if option is not None and helps else 0,
                pods=len(option.pods) if option is not None and helps else 0,
                rejections=tuple(map(PluginStatus.of, each.rejections)),
            )
        )
    return ScaleUp(
        autoscaler=run.autoscaler,
        would_scale_up=any(each.verdict is GroupVerdict.SCALES_UP for each in groups),
        because=review.because,
        groups=tuple(groups),
    )


# -- a pod ----------------------------------------------------------------------------------------

NEVER_PREEMPTS = "Never"


class NodeExplanation(Part, frozen=True):
    """What plugins answer about a node.

    rejections: of every plugin that rejects it; empty where the node fits
    total: the sum of its weighted scores; null where it does not fit
    rank: among all nodes that fit; equal totals share one
    distance: how far the node is from fitting
    """

    node: str
    fits: bool
    rejections: tuple[NodeRejection, ...] = ()
    scores: Mapping[str, NodeScore] = field(default_factory=dict)
    total: int | None = None
    rank: Rank | None = None
    distance: Annotated[Distance, HIDDEN] = FITTING


class BestNode(Part, frozen=True):
    """The node with the highest total. Among equal ones it is the one taken, else the first by
    name."""

    node: str
    score: int


class Explanation(StateAnswer, frozen=True, kw_only=True):
    """Why a pod goes where it goes.

    node: the node to take; empty where none fits
    running_on: the node the pod is on already; empty where it is on none. starting: it has not
                started there
    evaluated: how many nodes the attempt looked at
    score: the node's total among them; null where nodes were not scored
    best_of_all: the best of all nodes, had all been looked at; null where none fits
    feasible: how many of all nodes fit
    rank: among these, of the node the pod runs on, else of the one taken
    ties: the nodes that had the same total, where more than one
    margin: points ahead of the next node that is not tied
    diagnosis: why it fits nowhere and what to do about it; null where a node fits
    message: kube-scheduler's, or what else ended the attempt
    gated: why the pod is not in the queue; held_by: who lets it in, and what they say of it
    ignored: why the scheduler never looks at the pod, in words that follow "it is"; empty where it
             does
    undecided: a plugin's failure ended the attempt
    evicts: pods evicted for it
    evicted_by: the pod for which it is evicted later in the run; empty where it is not
    may_preempt: evicting pods of lower priority might make room
    nodes_to_find: how many fitting nodes kube-scheduler would stop at
    reasons: why nodes do not fit, counted over all of them; that of the node nearest to fitting
             first
    funnel: how many nodes the plugins leave, one after the other in the order in which they are
            asked
    scale_up: what an autoscaler would do for it, where one was given and the pod has no node
    nodes: by name: all nodes, or those that --node and --top select, with the one to take
    requested: the nodes that were asked about by name
    notes: what else there is to say about the pod, a sentence each
    node_count: how many nodes the cluster has
    """

    COMMAND: ClassVar = "explain"
    VIEW: ClassVar = "explanation:view"
    ROWS: ClassVar = "nodes"

    kind: Literal["Explanation"] = "Explanation"
    pod: str
    profile: str
    node: str = ""
    running_on: str = ""
    evaluated: Count = 0
    score: int | None = None
    best_of_all: BestNode | None = None
    feasible: Count = 0
    rank: Rank | None = None
    ties: tuple[str, ...] = ()
    margin: int | None = None
    diagnosis: Diagnosis | None = None
    message: str = ""
    error: str = ""
    gated: PluginStatus | None = None
    held_by: str = ""
    ignored: str = ""
    undecided: bool = False
    evicts: tuple[str, ...] = ()
    evicted_by: str = ""
    may_preempt: bool = False
    pre_filter: PluginStatus | None = None
    nodes_to_find: Count = 0
    reasons: tuple[Reason, ...] = ()
    funnel: tuple[FilterStep, ...] = ()
    scale_up: ScaleUp | UnsetType = UNSET
    nodes: tuple[NodeExplanation, ...] = ()
    notes: tuple[str, ...] = ()
    requested: Annotated[tuple[str, ...], HIDDEN] = ()
    starting: Annotated[bool, HIDDEN] = False
    node_count: Annotated[int, HIDDEN] = 0

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(bool(self.node), self.undecided)


def explain_subject(
    subject: Subject,
    pod: PodInfo,
    *,
    nodes: Sequence[str] = (),
    top: int = 0,
    alone: bool = False,
    all_details: bool = True,
) -> Explanation:
    """Explain a pod of the subject, on all nodes or on those that `select` selects, and what an
    autoscaler of the Run would do for it. alone, all_details: see `explain`. Raises KschedError."""
    check_nodes(subject.simulation, nodes)
    answer = explain(
        subject.simulation,
        pod,
        alone=alone,
        all_details=all_details,
        workloads=subject.run.workloads,
    )
    if subject.run.autoscaler and not (answer.node or answer.ignored):
        answer = replace(answer, scale_up=scale_up_of(subject, pod.key))
    return select(answer, nodes, top) if nodes or top else answer


def explain(
    simulation: Simulation,
    pod: PodInfo,
    *,
    alone: bool = False,
    all_details: bool = True,
    workloads: bool = True,
) -> Explanation:
    """Run the simulation, which must not have run before.

    A pod that runs already is evaluated as if it came before all others, on all nodes.
    alone: leave the other pending pods out
    all_details: of the scores of every node; else of the best and of the one taken, as a table has
    workloads: see Hints
    """
    view = _View(simulation, all_details or simulation.pod_groups is not None)
    profile = pod.spec.scheduler_name
    ignored = why_ignored(pod.pod, simulation.frameworks)
    if ignored:
        return Explanation(
            pod=pod.key,
            profile=profile,
            ignored=ignored,
            running_on=pod.pod.node_name,
            notes=tuple(held_notes(pod.pod, simulation)),
        )
    if pod.pod.node_name:
        simulation.queue()
        with simulation.without_pod(pod) as unplaced:
            defects = simulation.caller.noted
            view.look(unplaced, simulation.options.tie_break)
            answer = view.explanation
            diagnosis = answer.diagnosis
            node, waits = pod.pod.node_name, not_started(pod.pod)
            absent = "" if node in simulation.snapshot.row else f"{node} is not in the state"
            return replace(
                answer,
                running_on=node,
                starting=bool(waits),
                notes=(*filter(None, (waits, absent)), *answer.notes),
                rank=_rank_of(answer.nodes, node),
                diagnosis=None if diagnosis is None else unverified(diagnosis, simulation.state),
                undecided=bool(answer.error) and simulation.caller.noted > defects,
                may_preempt=answer.may_preempt and not answer.node,
            )
    turn = take_turn(simulation, pod, view.look, alone=alone, on_choice=view.add_details)
    attempt = turn.attempts[-1]
    answer = view.explanation
    diagnosis = None if attempt.node or attempt.error else answer.diagnosis
    if diagnosis is not None and turn.gated:
        # What helps a pod that is not in the queue shows only after its gates are gone.
        diagnosis = unverified(diagnosis, simulation.state)
    elif diagnosis is not None:
        record = simulation.record()
        hints = Hints(simulation, record, pod if alone else None, workloads=workloads)
        # The change has to help the pods of the same controller that wait, too.
        pending, owner = frozenset(record.pending), pod.pod.metadata.controller
        alike = tuple(
            each.key
            for each in simulation.state.pods
            if each.key == pod.key
            or (
                owner is not None
                and not alone
                and each.key in pending
                and each.namespace == pod.namespace
                and each.metadata.controller == owner
            )
        )
        diagnosis = with_hints(diagnosis, hints, pod, alike, pod.key, owner_of(pod.pod))
    # The notes say what bears on the pod beside its nodes.
    notes: list[str] = []
    groups, key = simulation.pod_groups, group_key(pod.pod)
    if turn.gated is not None:
        notes += held_notes(pod.pod, simulation)
    elif groups is not None and key is not None and not attempt.node:
        notes += group_notes(groups, key, simulation.state)
    notes += idle_constraints(pod.pod, simulation.state, simulation.configuration.release)
    recorded = RecordedMessages(simulation.state).differing(pod.pod, attempt.why_not)
    notes += [recorded] if recorded else []
    rank, best = _rank_of(answer.nodes, attempt.node), answer.best_of_all
    # The margin is that to the best of the nodes that were worse.
    below = [total for total in attempt.detail.totals.values() if total != attempt.score]
    margin = attempt.score - max(below) if attempt.score is not None and below else None
    return replace(
        answer,
        node=attempt.node,
        best_of_all=replace(best, node=attempt.node) if best and rank == 1 else best,
        evaluated=attempt.evaluated,
        score=attempt.score,
        ties=attempt.ties,
        margin=margin,
        rank=rank,
        diagnosis=diagnosis,
        message=attempt.why_not if not attempt.error else "",
        error=attempt.error,
        evicts=turn.evicts,
        evicted_by=turn.evicted_by,
        pre_filter=status_of(attempt.pre_filter),
        gated=status_of(turn.gated),
        held_by=held_by(pod.pod, simulation.state) if turn.gated else "",
        undecided=turn.failed,
        may_preempt=answer.may_preempt and not attempt.node,
        notes=tuple(notes),
    )


def select(explanation: Explanation, names: Sequence[str], top: int) -> Explanation:
    """Return the explanation with fewer nodes: those named, as many of the best as `top` says, and
    the one taken."""

    def best_first(node: NodeExplanation) -> tuple[float, bool, Distance, str]:
        """Sort by rank, then those that do not fit by how near they are to it."""
        rank = inf if node.rank is None else node.rank
        return rank, node.node != explanation.node, node.distance, node.node

    best = {node.node for node in sorted(explanation.nodes, key=best_first)[:top]}
    selected = best.union(names, (explanation.node,))
    nodes = tuple(node for node in explanation.nodes if node.node in selected)
    return replace(explanation, nodes=nodes, requested=tuple(names))


def ranking(explanation: Explanation) -> list[NodeExplanation]:
    """Return the nodes that fit: the one taken, whatever its rank, then the others, best first."""
    fitting = [node for node in explanation.nodes if node.rank is not None]
    return sorted(fitting, key=lambda node: (node.node != explanation.node, node.rank, node.node))


def _rank_of(nodes: Iterable[NodeExplanation], name: str) -> int | None:
    return next((node.rank for node in nodes if node.node == name), None)


class _View:
    """The pod's last look at all nodes.

    all_details: see `explain`
    """

    explanation: Explanation

    def __init__(self, simulation: Simulation, all_details: bool) -> None:
        self.simulation = simulation
        self._all_details = all_details
        self._evaluation: Evaluation | None = None

    def look(self, pod: PodInfo, tie_break: TieBreak = first_by_name) -> None:
        """Evaluate the pod as if it came now, and every node were asked.

        tie_break: chooses the node; before an attempt it must not draw, for the attempt will
        """
        evaluation = self.simulation.evaluate(pod, Mode.EXHAUSTIVE)
        self._evaluation = None if self._all_details else evaluation
        profile = evaluation.framework.profile
        names = evaluation.statuses.snapshot.names
        rows = evaluation.feasible.indices()
        totals = evaluation.totals
        if totals is None:
            totals = np.zeros(len(rows), dtype=np.int64)
        fits = len(rows) > 0 and not evaluation.error
        best = int(totals.max()) if fits else 0
        best_rows = rows[totals == best] if fits else rows[:0]
        ties = tuple(names[row] for row in best_rows.tolist())
        node = names[tie_break(best_rows) if len(ties) > 1 else best_rows[0]] if fits else ""
        below = totals[totals < best]
        # Preemption may help where a node has pods of lower priority, and is rejected only for
        # reasons that may leave with them.
        may_preempt = (
            evaluation.pod.spec.preemption_policy != NEVER_PREEMPTS
            and evaluation.pre_filter is None
            and any(
                rejections
                and all(rejection.status.code == Code.UNSCHEDULABLE for rejection in rejections)
                and any(
                    other.priority < evaluation.pod.priority
                    for other in evaluation.statuses.snapshot.pods[row]
                )
                for row, rejections in enumerate(evaluation.rejections)
            )
        )
        # The nodes in order of name. Where the evaluation broke, those that fit have neither scores
        # nor rank.
        rejected, away = evaluation.rejections or [[]] * len(names), distances(evaluation)
        by_name: dict[str, int] = {}
        if evaluation.totals is not None:
            by_name = dict(zip(evaluation.feasible.names(), totals.tolist(), strict=True))
        # Total → rank, 1 for the highest; equal totals share a rank.
        highest_first = sorted(by_name.values(), reverse=True)
        ranks = {value: rank for rank, value in reversed(list(enumerate(highest_first, 1)))}
        detailed = None if self._all_details else ()
        scores = evaluation.scores_by_node(detailed) if by_name else {}
        nodes = []
        for row, name in enumerate(names):
            if name in by_name:
                total = by_name[name]
                nodes.append(NodeExplanation(name, True, (), scores[name], total, ranks[total]))
            else:
                why = tuple(map(NodeRejection.of_node, rejected[row]))
                nodes.append(NodeExplanation(name, False, why, distance=away.at(row)))
        self.explanation = Explanation(
            pod=evaluation.pod.key,
            profile=profile.scheduler_name,
            nodes=tuple(nodes),
            node=node,
            node_count=len(names),
            evaluated=len(names),
            score=best if fits else None,
            ties=ties if len(ties) > 1 else (),
            margin=best - int(below.max()) if fits and len(below) else None,
            best_of_all=BestNode(node, best) if fits else None,
            feasible=len(rows) if fits else 0,
            nodes_to_find=feasible_nodes_to_find(profile.percentage_of_nodes_to_score, len(names)),
            message="" if fits or evaluation.error else evaluation.fit_error(),
            error=evaluation.error,
            pre_filter=status_of(evaluation.pre_filter),
            may_preempt=may_preempt,
            reasons=() if evaluation.error else reasons(evaluation),
            funnel=() if evaluation.error else funnel(evaluation),
            diagnosis=diagnose(evaluation, self.simulation.state),
        )
        if self._evaluation is not None and self.explanation.node:
            self.add_details(evaluation.statuses.snapshot.row[self.explanation.node])

    def add_details(self, row: int) -> None:
        """Add the details of the node's scores, while the cluster is still as it was."""
        evaluation, nodes = self._evaluation, list(self.explanation.nodes)
        if evaluation is not None and nodes[row].scores:
            scores = evaluation.with_score_details(nodes[row].scores, row)
            nodes[row] = replace(nodes[row], scores=scores)
            self.explanation = replace(self.explanation, nodes=tuple(nodes))


# -- a pod group: the member, the topology domain or the part of its tree that blocks it ----------
#
# The attempts are the engine's own, those of a run. A pod that finds no node in a trial is
# explained while the pods before it are assumed, on the nodes of the domain being tried.


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
    VIEW: ClassVar = "group_explanation:view"
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

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.pending, self.undecided)


def explain_group(
    simulation: Simulation, group: GroupName, *, workloads: bool = True
) -> GroupExplanation:
    """Run the simulation, which must not have run before. workloads: see Hints"""
    groups = simulation.pod_groups
    spec = None if groups is None else groups.groups.get(group.group_key)
    view = _GroupView(simulation, group, spec)
    run = simulation.run()
    simulation.focus = None
    running = {pod.key: pod.node_name for pod in simulation.state.pods if pod.key in group.pods}
    members = []
    for pod in group.pods:
        gate, attempt = run.gated.get(pod), run.last.get(pod)
        node = run.placements.get(pod, running[pod])
        gone = next((each for each in run.evicted if each.pod == pod), None)
        if gate is not None:
            member = Member(pod, gated=True, message=gate.message)
        elif gone is not None and pod not in run.placements:
            member = Member(pod, message=f"evicted for {gone.preemptor}")
        elif node:
            member = Member(pod, node, running=bool(running[pod]))
        else:
            member = Member(pod, message="" if attempt is None else attempt.why_not)
        members.append(member)
    waiting = [member for member in members if not member.node]
    key = spec.topology_key if spec is not None and groups is not None and groups.places else ""
    blocker = None
    if waiting:
        blocker = view.blocker(run) or _holder(simulation, group, spec, waiting)
        # Its diagnosis says what helps the members that wait.
        diagnosis = blocker.diagnosis
        info = next((each for each in simulation.pending() if each.key == blocker.pod), None)
        if diagnosis is not None and info is None:
            blocker = replace(blocker, diagnosis=unverified(diagnosis, simulation.state))
        elif diagnosis is not None and info is not None:
            hints = Hints(simulation, run, workloads=workloads)
            names = [member.pod for member in waiting]
            blocker = replace(blocker, diagnosis=with_hints(diagnosis, hints, info, names))
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
        members=tuple(members),
    )


def _holder(
    simulation: Simulation, group: GroupName, spec: PodGroup | None, waiting: Sequence[Member]
) -> Blocker:
    """Return why the group was not tried: it has no object, or one around it has none, too few pods
    or groups, or a pod that is held back."""
    groups = simulation.pod_groups
    if groups is not None and spec is None:
        missing = no_group(groups, group.group_key, simulation.state)
        diagnosis = Diagnosis(missing, advice="might help: create it")
        return Blocker("", "", waiting[0].message, diagnosis, group.key)
    if groups is not None and spec is not None:
        *_, root = groups.ancestors(spec)
        if root.parent:
            missing = f"{root.namespace}/{root.parent}"
            diagnosis = Diagnosis(
                f"there is no CompositePodGroup {missing}", advice="might help: create it"
            )
            return Blocker("", "", waiting[0].message, diagnosis, missing)
        if not groups.is_ready(root, groups.pod_count):
            # The smallest part of the group's tree that has too few pods or groups.
            short = spec if not groups.is_ready(spec, groups.pod_count) else root
            while short.is_composite:
                parts = groups.children(short)
                lacking = (each for each in parts if not groups.is_ready(each, groups.pod_count))
                smaller = next(lacking, None)
                if smaller is None:
                    break
                short = smaller
            what, field = (
                ("groups", "minGroupCount") if short.is_composite else ("pods", "minCount")
            )
            least = 1 if short.min_count is None else short.min_count
            parts = groups.children(short) if short.is_composite else ()
            count = len(parts) if short.is_composite else groups.pod_count(short.key)
            subject = (
                "the gang" if short is spec else f"{short.kind} {short.namespace}/{short.name}"
            )
            diagnosis = Diagnosis(
                f"{count} of the {least:,} {what} that {subject} needs are there",
                advice=f"might help: create {least - count:,} more, or lower its {field}",
            )
            part = f"{short.namespace}/{short.name}"
            return Blocker("", "", waiting[0].message, diagnosis, part)
    for pod in simulation.pending():
        status = simulation.frameworks[pod.spec.scheduler_name].pre_enqueue(pod)
        if pod.key in group.pods and not status.is_success:
            return Blocker(pod.key, "", status.message)
    return Blocker(waiting[0].pod, "", waiting[0].message)


class _GroupView:
    """What is seen of the attempts of a group's pods, of the last ones in the end.

    result: of the group's attempt; None before the first, or where pods are tried one by one
    """

    def __init__(self, simulation: Simulation, group: GroupName, spec: PodGroup | None) -> None:
        self.result: GroupAttempt | None = None
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

    def _take(self, result: GroupAttempt) -> None:
        self.result = result

    @property
    def message(self) -> str:
        """Return the message that ended the group's attempt, or why it does not fit where most of
        its members do."""
        if self.result is None:
            return ""
        outcomes = [outcome for _, outcome in self.result.outcomes]
        if all(outcome.attempt.error for outcome in outcomes):
            return outcomes[0].attempt.error
        own = self._tried_as(self._group.group_key)
        message = max(own, key=_fitting).message if own else ""
        return message or self.result.parts.get(self._group.group_key, "")

    def _tried_as(self, key: GroupKey) -> list[TriedPlacement]:
        """Return the trials of a group."""
        tried = self.result.tried if self.result is not None else ()
        return [each for each in tried if each.group == key]

    def _fails(self, group: PodGroup) -> bool:
        tried = self._tried_as(group.key)
        return bool(tried) and all(each.message for each in tried)

    def blocker(self, run: RunRecord) -> Blocker | None:
        """Return the blocker; None where no attempt identified one."""
        if self._group.plugin:
            # The last member that found no node, for whatever reason but its group's, blocks it.
            for attempt in reversed(run.attempts):
                statuses = attempt.pre_filter, attempt.reserve, attempt.permit
                is_own = any(status and status.plugin == self._group.plugin for status in statuses)
                if attempt.pod in self._group.pods and not attempt.node and not is_own:
                    diagnosis = self._diagnoses.get((attempt.pod, ""))
                    return Blocker(attempt.pod, "", attempt.why_not, diagnosis, self._group.key)
            return None
        if self.result is None:
            return None
        # The smallest group of the tree that does not fit blocks it, in the group or else beside
        # it.
        groups, root, part = self._simulation.pod_groups, self._root, self._spec
        if groups is not None and part is not None and root is not None and root.is_composite:
            part = part if self._fails(part) else root
            while (child := next(filter(self._fails, groups.children(part)), None)) is not None:
                part = child
        name = self._group.key if part is None else f"{part.namespace}/{part.name}"
        tried = self._tried_as(self._group.group_key if part is None else part.key)
        if not tried:
            return Blocker("", "", self.message, group=name)
        best = max(tried, key=_fitting)
        pod, message = _first_rejected(best)
        domain = best.placement.name
        message = message or best.message or self.message
        return Blocker(pod, domain, message, self._diagnoses.get((pod, domain)), name)

    def parts(self, run: RunRecord) -> tuple[GroupPart, ...]:
        """Return the tree that the group is in."""
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
        outcomes = self.result.outcomes if self.result is not None else ()
        placed = ((pod.key, each.row) for pod, each in outcomes if each.row is not None)
        rows = {row for key, row in placed if key in self._group.pods}
        domains = []
        for tried in self._tried_as(self._group.group_key):
            pod, message = _first_rejected(tried)
            domains.append(
                Domain(
                    tried.placement.name,
                    len(tried.placement.rows),
                    _fitting(tried),
                    len(tried.trials),
                    not tried.message,
                    bool(rows) and rows <= set(tried.placement.rows.tolist()),
                    pod,
                    message or tried.message,
                )
            )
        return tuple(domains)


def _first_rejected(tried: TriedPlacement) -> tuple[str, str]:
    """Return the first pod without a node in a trial, and why; empty if there is none."""
    for pod, trial in tried.trials:
        if trial.row is None:
            return pod.key, trial.outcome.attempt.why_not
    return "", ""


def _fitting(tried: TriedPlacement) -> int:
    """Return the number of members that found a node there."""
    return sum(trial.row is not None for _, trial in tried.trials)


# -- the questions --------------------------------------------------------------------------------


class Explain(Question[Explanation | GroupExplanation], frozen=True, kw_only=True):
    """Explain why a pod gets its node, or none; or what blocks the pods of a group.

    pod:    or a group: podgroup/NAME, compositepodgroup/NAME, or the name of neither a pod nor a
            workload
    nodes:  to show beside the chosen one; top: how many of the best nodes; otherwise all
    alone, all_details: see `explain`
    """

    USES: ClassVar = NEEDS_NO_TIMELINE
    READS: ClassVar = READS

    pod: PodOrManifest
    nodes: tuple[str, ...] = ()
    top: int = 0
    alone: bool = False
    all_details: bool = True

    def answer(self, opened: Opened) -> Explanation | GroupExplanation:
        if opened.run.autoscaler and self.alone:
            raise UsageError(
                "--autoscaler looks at all pending pods and cannot be combined with --alone"
            )
        subject = opened.subject(self.pod)
        group = find_group(subject.simulation, subject.name, subject.namespace)
        if group is None:
            return explain_subject(
                subject,
                opened.pod(subject),
                nodes=self.nodes,
                top=self.top,
                alone=self.alone,
                all_details=self.all_details,
            )
        if self.nodes or self.top or self.alone or opened.run.autoscaler:
            raise UsageError(
                "a PodGroup cannot be combined with --node, --top, --alone or --autoscaler; ask "
                "about one of its pods"
            )
        return explain_group(subject.simulation, group, workloads=opened.run.workloads)


class ExplainGroup(Question[GroupExplanation], frozen=True, kw_only=True):
    """Explain why the pods of a group get nodes together, or what blocks them."""

    group: str

    def answer(self, opened: Opened) -> GroupExplanation:
        simulation = opened.simulation()
        name = find_group(simulation, self.group, opened.run.namespace)
        if name is None:
            raise UsageError(f'no PodGroup "{self.group}" in the state')
        return explain_group(simulation, name, workloads=opened.run.workloads)
