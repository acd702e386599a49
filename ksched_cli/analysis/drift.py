"""Every running pod as if it came today: whether it would go where it is.

Each pod is taken off its node, all else as it is, and all nodes are asked about and scored. Pods
that look the same come one after the other, so that the engine's cache computes anew only the nodes
that change between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ksched_cli.analysis.pending import owner as owner_of
from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import IgnoredPod
from ksched_cli.engine.scheduling_cycle import TieBreak
from ksched_cli.engine.simulation import Simulation


class Verdict(Enum):
    """How a pod's node compares with the others today."""

    BEST = "best"
    TIED = "tied"
    WORSE = "worse"
    NOT_ALLOWED = "notAllowed"


@dataclass(frozen=True, slots=True)
class PodDrift:
    """A running pod as if it came today.

    owner:       its controller, or the pod itself, as namespace/Kind/name
    rank:        of its node among those that fit, 1 for the highest score; None where it is not
                 among them, as is score
    best_node:   where it would go today: with the highest score, among equal ones as the tie-break
                 of the simulation's options says; "" where no node fits
    best_score:  None where no node fits
    rejected_by: the plugin that first rejects the pod's node, or ""
    """

    pod: str
    owner: str
    node: str
    verdict: Verdict
    rank: int | None = None
    score: int | None = None
    best_node: str = ""
    best_score: int | None = None
    rejected_by: str = ""

    @property
    def behind(self) -> int:
        """By how many points its node is worse than the best; 0 where it is not scored."""
        if self.score is None or self.best_score is None:
            return 0
        return self.best_score - self.score


@dataclass(frozen=True, slots=True)
class Drift:
    """pods: by name; ignored: running pods that no profile of the configuration places."""

    pods: tuple[PodDrift, ...]
    ignored: tuple[IgnoredPod, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many pods have it."""
        return sum(pod.verdict is verdict for pod in self.pods)


def drift(simulation: Simulation, on_progress: Callable[[int, int], None] | None = None) -> Drift:
    """on_progress: called after each pod with how many are done, and of how many"""
    simulation.queue()
    groups: dict[tuple[str, int], list[PodInfo]] = {}
    ignored = []
    for pod in simulation.state.pods:
        if not pod.node_name:
            continue
        reason = _why_ignored(simulation, pod)
        if reason:
            ignored.append(IgnoredPod(pod.key, reason))
        else:
            info = simulation.catalog.info(pod)
            groups.setdefault((pod.spec.scheduler_name, info.signature), []).append(info)
    total = sum(map(len, groups.values()))
    answers: list[PodDrift] = []
    with gc_rare():
        for (scheduler_name, _), pods in groups.items():
            cache = simulation.frameworks[scheduler_name].answer_cache
            cache.expect(pods)
            for info in pods:
                answers.append(_drift_of(simulation, info))
                if on_progress is not None:
                    on_progress(len(answers), total)
            cache.forget(pods[0])
    return Drift(tuple(sorted(answers, key=lambda answer: answer.pod)), tuple(ignored))


def _why_ignored(simulation: Simulation, pod: Pod) -> str:
    """In words that follow "it is", or ""."""
    if pod.node_name not in simulation.snapshot.row:
        return f'on the node "{pod.node_name}", which is not in the state'
    return why_ignored(pod, simulation.frameworks)


def _drift_of(simulation: Simulation, pod: PodInfo) -> PodDrift:
    framework = simulation.frameworks[pod.spec.scheduler_name]
    with simulation.without_pod(pod) as (unplaced, node):
        evaluation = simulation.pipeline.evaluate(framework, unplaced, Mode.RANKED)
        row = simulation.snapshot.row[node]
        status = evaluation.statuses.at(row)
        # Where a plugin fails, a pod is nominated, or PreFilter left the node out, only the
        # exhaustive search names the plugin.
        unnamed = evaluation.error or simulation.nominator or not status.plugin
        if evaluation.error or (unnamed and not _is_feasible(evaluation, row)):
            evaluation = simulation.pipeline.evaluate(framework, unplaced, Mode.EXHAUSTIVE)
            rejections = evaluation.rejections[row] if evaluation.rejections else []
            status = rejections[0].status if rejections else evaluation.statuses.at(row)
        return _answer(evaluation, pod, row, status.plugin, simulation.options.tie_break)


def _is_feasible(evaluation: Evaluation, row: int) -> bool:
    return bool(np.any(evaluation.feasible.indices() == row))


def _answer(
    evaluation: Evaluation, pod: PodInfo, row: int, plugin: str, tie_break: TieBreak
) -> PodDrift:
    """plugin: that rejects the row, where it is rejected"""
    key, node = pod.key, pod.pod.node_name
    owner = f"{pod.namespace}/{owner_of(pod)}"
    rows, totals = evaluation.feasible.indices(), evaluation.totals
    if totals is None or not len(rows):
        return PodDrift(key, owner, node, Verdict.NOT_ALLOWED, rejected_by=plugin)
    best_score = int(totals.max())
    best_rows = rows[totals == best_score]
    best_row = tie_break(best_rows) if len(best_rows) > 1 else best_rows.item(0)
    best_node = evaluation.statuses.snapshot.names[best_row]
    own = np.flatnonzero(rows == row)
    if not len(own):
        return PodDrift(
            key,
            owner,
            node,
            Verdict.NOT_ALLOWED,
            best_node=best_node,
            best_score=best_score,
            rejected_by=plugin,
        )
    score = int(totals[own[0]])
    rank = 1 + int(np.count_nonzero(totals > score))
    verdict = Verdict.WORSE
    if rank == 1:
        verdict = Verdict.BEST if len(best_rows) == 1 else Verdict.TIED
    return PodDrift(key, owner, node, verdict, rank, score, best_node, best_score)
