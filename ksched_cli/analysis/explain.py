"""Why a pod goes where it goes: every plugin's word on every node, not only the first.

No sampling here: all nodes are looked at, and all that fit are scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ksched_cli.analysis.shortfall import shortfalls
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.engine.records import NodeScore
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Rejection, Status


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """rejections: empty where the node fits; then scores, total and rank (ties share one).

    shortfall: the missing share of the resource that lacks most (shortfall.py)
    """

    node: str
    rejections: tuple[Rejection, ...] = ()
    scores: Mapping[str, NodeScore] = field(default_factory=dict)
    total: int | None = None
    rank: int | None = None
    shortfall: float = 0.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """node: the one to take, or ""; running_on: the node it runs on already, or "".

    margin:  by how much the node beats the next that is not tied with it; None without a next
    sampled: how many fitting nodes kube-scheduler would stop at; less than all means that it may
             decide among fewer nodes than are shown here
    gated:   why the pod is not in the queue at all
    """

    pod: str
    profile: str
    nodes: tuple[NodeExplanation, ...]
    node: str = ""
    running_on: str = ""
    ties: tuple[str, ...] = ()
    margin: int | None = None
    sampled: int = 0
    message: str = ""
    error: str = ""
    pre_filter: Status | None = None
    gated: Status | None = None


def explain(simulation: Simulation, pod: PodInfo) -> Explanation:
    """A pod that runs already is evaluated as if it were to be placed anew."""
    framework = simulation.frameworks[pod.spec.scheduler_name]
    with simulation.without_pod(pod) as (unplaced, running_on):
        gated = None if running_on else framework.pre_enqueue(unplaced)
        evaluation = simulation.pipeline.evaluate(framework, unplaced, Mode.EXHAUSTIVE)
        percentage = framework.profile.percentage_of_nodes_to_score
        return _explanation(evaluation, percentage, running_on, gated)


def _explanation(
    evaluation: Evaluation, percentage: int, running_on: str, gated: Status | None
) -> Explanation:
    names = evaluation.statuses.snapshot.names
    rows = evaluation.feasible.indices()
    totals = evaluation.totals
    if totals is None:
        totals = np.zeros(len(rows), dtype=np.int64)
    fits = len(rows) > 0 and not evaluation.error
    best = int(totals.max()) if fits else 0
    ties = tuple(names[row] for row in rows[totals == best].tolist()) if fits else ()
    below = totals[totals < best]
    return Explanation(
        pod=evaluation.pod.key,
        profile=evaluation.framework.profile.scheduler_name,
        nodes=_nodes(evaluation),
        node=ties[0] if fits else "",
        running_on=running_on,
        ties=ties if len(ties) > 1 else (),
        margin=best - int(below.max()) if fits and len(below) else None,
        sampled=feasible_nodes_to_find(percentage, len(names)),
        message="" if fits or evaluation.error else evaluation.fit_error(),
        error=evaluation.error,
        pre_filter=evaluation.pre_filter,
        gated=gated if gated is not None and not gated.is_success else None,
    )


def _nodes(evaluation: Evaluation) -> tuple[NodeExplanation, ...]:
    """In order of name. Where the evaluation broke, nodes that fit have neither scores nor rank."""
    names = evaluation.statuses.snapshot.names
    rejections = evaluation.rejections or [[]] * len(names)
    missing = shortfalls(evaluation.statuses.snapshot, evaluation.pod).tolist()
    totals: dict[str, int] = {}
    if evaluation.totals is not None:
        feasible = evaluation.feasible.names()
        totals = dict(zip(feasible, evaluation.totals.tolist(), strict=True))
    ranks = _ranks(totals)
    scores = evaluation.scores_by_node() if totals else {}
    return tuple(
        NodeExplanation(name, (), scores[name], totals[name], ranks[totals[name]])
        if name in totals
        else NodeExplanation(name, tuple(rejections[row]), shortfall=missing[row])
        for row, name in enumerate(names)
    )


def _ranks(totals: Mapping[str, int]) -> dict[int, int]:
    """Total → rank, 1 for the highest; equal totals share a rank."""
    highest_first = sorted(totals.values(), reverse=True)
    return {value: rank for rank, value in reversed(list(enumerate(highest_first, 1)))}
