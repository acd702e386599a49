"""The explanation of a pod's node: every plugin's verdict on every node, not only the first.

The decision is that of the pod's last attempt in a run, which may look at some of the nodes only.
The detail is of all nodes, and of all plugins, on the cluster as that attempt found it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import UNSET, UnsetType, field
from msgspec.structs import replace

from ksched_cli.analysis.attempts import NodeRejection, PluginStatus, status_of
from ksched_cli.analysis.diagnosis import Diagnosis, diagnose
from ksched_cli.analysis.reasons import (
    FITTING,
    Distance,
    FilterStep,
    Reason,
    distances,
    funnel,
    reasons,
)
from ksched_cli.analysis.scale_up import ScaleUp
from ksched_cli.analysis.turn import take_turn
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import Attempt, NodeScore
from ksched_cli.engine.scheduling_cycle import TieBreak, first_by_name
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Code

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
    running_on: the node the pod runs on already; empty where it does not
    evaluated: how many nodes the attempt looked at
    score: the node's total among them; null where nodes were not scored
    best_of_all: the best of all nodes, had all been looked at; null where none fits
    feasible: how many of all nodes fit
    rank: among these, of the node the pod runs on, else of the one taken
    ties: the nodes that had the same total, where more than one
    margin: points ahead of the next node that is not tied
    diagnosis: why it fits nowhere and what to do about it; null where a node fits
    message: kube-scheduler's, or what else ended the attempt
    gated: why the pod is not in the queue
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
    node_count: how many nodes the cluster has
    """

    COMMAND: ClassVar = "explain"
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
    node_count: Annotated[int, HIDDEN] = 0


def explain(
    simulation: Simulation, pod: PodInfo, *, alone: bool = False, all_details: bool = True
) -> Explanation:
    """Runs the simulation, which must not have run before.

    A pod that runs already is evaluated as if it came before all others, on all nodes.
    alone: leave the other pending pods out
    all_details: of the scores of every node; else of the best and of the one taken, as a table has
    """
    view = _View(simulation, all_details or simulation.pod_groups is not None)
    profile = pod.spec.scheduler_name
    ignored = why_ignored(pod.pod, simulation.frameworks)
    if ignored:
        return Explanation(
            pod=pod.key, profile=profile, ignored=ignored, running_on=pod.pod.node_name
        )
    if pod.pod.node_name:
        simulation.queue()
        with simulation.without_pod(pod) as unplaced:
            return _of_running_pod(view, unplaced, pod.pod.node_name)
    turn = take_turn(simulation, pod, view.look, alone=alone, on_choice=view.add_details)
    attempt = turn.attempts[-1]
    answer = view.explanation
    rank, best = _rank_of(answer.nodes, attempt.node), answer.best_of_all
    return replace(
        answer,
        node=attempt.node,
        best_of_all=replace(best, node=attempt.node) if best and rank == 1 else best,
        evaluated=attempt.evaluated,
        score=attempt.score,
        ties=attempt.ties,
        margin=_margin(attempt),
        rank=rank,
        diagnosis=None if attempt.node or attempt.error else answer.diagnosis,
        message=attempt.why_not if not attempt.error else "",
        error=attempt.error,
        evicts=turn.evicts,
        evicted_by=turn.evicted_by,
        pre_filter=status_of(attempt.pre_filter),
        gated=status_of(turn.gated),
        undecided=turn.failed,
        may_preempt=answer.may_preempt and not attempt.node,
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
    """The nodes that fit: the one taken, whatever its rank, then the others, best first."""
    fitting = [node for node in explanation.nodes if node.rank is not None]
    return sorted(fitting, key=lambda node: (node.node != explanation.node, node.rank, node.node))


def _of_running_pod(view: _View, pod: PodInfo, running_on: str) -> Explanation:
    caller = view.simulation.caller
    defects = caller.noted
    view.look(pod, view.simulation.options.tie_break)
    answer = view.explanation
    failed = bool(answer.error) and caller.noted > defects
    rank = _rank_of(answer.nodes, running_on)
    return replace(
        answer,
        running_on=running_on,
        rank=rank,
        undecided=failed,
        may_preempt=answer.may_preempt and not answer.node,
    )


def _rank_of(nodes: Iterable[NodeExplanation], name: str) -> int | None:
    return next((node.rank for node in nodes if node.node == name), None)


def _margin(attempt: Attempt) -> int | None:
    """Return the margin; None where no node was worse."""
    below = [total for total in attempt.detail.totals.values() if total != attempt.score]
    if attempt.score is None or not below:
        return None
    return attempt.score - max(below)


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
        self.explanation = replace(
            _of_all_nodes(evaluation, tie_break, all_details=self._all_details),
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


def _of_all_nodes(evaluation: Evaluation, tie_break: TieBreak, *, all_details: bool) -> Explanation:
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
    return Explanation(
        pod=evaluation.pod.key,
        profile=profile.scheduler_name,
        nodes=_nodes(evaluation, all_details),
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
        may_preempt=_may_preempt(evaluation),
        reasons=() if evaluation.error else reasons(evaluation),
        funnel=() if evaluation.error else funnel(evaluation),
    )


def _may_preempt(evaluation: Evaluation) -> bool:
    """Whether a node has pods of lower priority, and is rejected only for reasons that may leave
    with them."""
    pod, snapshot = evaluation.pod, evaluation.statuses.snapshot
    if pod.spec.preemption_policy == NEVER_PREEMPTS or evaluation.pre_filter is not None:
        return False
    return any(
        rejections
        and all(rejection.status.code == Code.UNSCHEDULABLE for rejection in rejections)
        and any(other.priority < pod.priority for other in snapshot.pods[row])
        for row, rejections in enumerate(evaluation.rejections)
    )


def _nodes(evaluation: Evaluation, all_details: bool) -> tuple[NodeExplanation, ...]:
    """Return the nodes in order of name. Where the evaluation broke, nodes that fit have neither
    scores nor rank."""
    names = evaluation.statuses.snapshot.names
    rejections = evaluation.rejections or [[]] * len(names)
    away = distances(evaluation)
    totals: dict[str, int] = {}
    if evaluation.totals is not None:
        feasible = evaluation.feasible.names()
        totals = dict(zip(feasible, evaluation.totals.tolist(), strict=True))
    ranks = _ranks(totals)
    scores = evaluation.scores_by_node(None if all_details else ()) if totals else {}
    return tuple(
        NodeExplanation(name, True, (), scores[name], totals[name], ranks[totals[name]])
        if name in totals
        else NodeExplanation(
            name, False, tuple(map(NodeRejection.of_node, rejections[row])), distance=away.at(row)
        )
        for row, name in enumerate(names)
    )


def _ranks(totals: Mapping[str, int]) -> dict[int, int]:
    """Total → rank, 1 for the highest; equal totals share a rank."""
    highest_first = sorted(totals.values(), reverse=True)
    return {value: rank for rank, value in reversed(list(enumerate(highest_first, 1)))}
