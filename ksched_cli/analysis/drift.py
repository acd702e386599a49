"""Running pods, each judged as if it came today: would it get its current node?

Each pod is taken off its node, all else as it is, and all nodes are asked about and scored. Pods
that look the same come one after the other, so that the engine's cache computes anew only the nodes
that change between them.

Many pods may find the same node best, each on its own. So those that would go elsewhere are then
moved in turn, each decided with the ones before it moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from msgspec import structs

from ksched_cli.analysis.diagnosis import owner_path
from ksched_cli.analysis.question import Opened, PodChoice, Question
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.pod_info import PodInfo, has_volume_claims
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import IgnoredPod
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode
from ksched_cli.framework.score_runner import TIE_BITS


class Verdict(Enum):
    """The verdict on a pod's node compared with the others today."""

    BEST = "best"
    TIED = "tied"
    WORSE = "worse"
    NOT_ALLOWED = "notAllowed"


# Verdicts of pods that would not go where they are.
ELSEWHERE = (Verdict.NOT_ALLOWED, Verdict.WORSE)


class PodDrift(Part, frozen=True):
    """A running pod as if it came today.

    owner: the controller as namespace/Kind/name, else the pod itself
    verdict: its node today: the best, as good as others, worse than the best, or one that rejects
             the pod
    rank: of its node among those that fit, from 1; null where it does not fit
    feasible: whether the pod still fits on its node
    score: of its node
    best_node: the node it would go to: of those with the highest score the first by name, or a
               draw; null where no node fits
    rejected_by: the plugin that first rejects its node
    in_turn: the node that it has in the end where the pods that would go elsewhere move one after
             the other, those that are not allowed first, then the furthest behind; null where no
             node fits. A pod with devices stays
    """

    pod: str
    owner: str
    node: str
    verdict: Verdict
    rank: Rank | None = None
    feasible: bool = False
    score: int | None = None
    best_node: str | None = None
    best_score: int | None = None
    rejected_by: str | None = None
    in_turn: str | None = None

    @property
    def behind(self) -> int:
        """Return by how many points its node is worse than the best; 0 where it is not scored."""
        if self.score is None or self.best_score is None:
            return 0
        return self.best_score - self.score


class DriftSummary(Part, frozen=True):
    """Counts of running pods, by verdict.

    moved_in_turn: pods that have another node in the end where they move one after the other
    """

    running: Count
    best: Count
    tied: Count
    worse: Count
    not_allowed: Count
    moved_in_turn: Count

    @classmethod
    def of(cls, pods: Sequence[PodDrift]) -> Self:
        counts = Counter(pod.verdict for pod in pods)
        moved = sum(pod.in_turn not in (None, pod.node) for pod in pods)
        best, tied, worse, not_allowed = (counts[verdict] for verdict in Verdict)
        return cls(len(pods), best, tied, worse, not_allowed, moved)


class DriftResult(StateAnswer, frozen=True, kw_only=True):
    """Where running pods would go today.

    pods: the running pods, by name
    ignored: running pods that the configuration does not place; reason follows "it is"
    undecided: a plugin failed
    """

    COMMAND: ClassVar = "drift"
    VIEW: ClassVar = "drift:view"
    ROWS: ClassVar = "pods"

    kind: Literal["DriftResult"] = "DriftResult"
    pods: tuple[PodDrift, ...]
    ignored: tuple[IgnoredPod, ...] = ()
    summary: DriftSummary
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        leaving = self.summary.worse + self.summary.not_allowed
        return ExitCode.of(not leaving, self.undecided)


def drift(
    simulation: Simulation,
    on_progress: Callable[[int, int], None] | None = None,
    chosen: Container[str] | None = None,
) -> DriftResult:
    """Return where the running pods would go. The simulation answers no other question afterwards:
    its pods have moved.

    on_progress: called after each pod with how many are done, and of how many
    chosen: the pods to ask about; None: all
    """
    simulation.queue()
    groups: dict[tuple[str, int, int], list[PodInfo]] = {}
    ignored = []
    for pod in simulation.state.pods:
        if not pod.node_name or (chosen is not None and pod.key not in chosen):
            continue
        # In words that follow "it is".
        if pod.node_name not in simulation.snapshot.row:
            reason = f'on node "{pod.node_name}", which is missing from the state'
        else:
            reason = why_ignored(pod, simulation.frameworks)
        if reason:
            ignored.append(IgnoredPod(pod.key, reason))
        else:
            info = simulation.catalog.info(pod)
            # Pods that look the same may have been resized in place.
            key = (pod.spec.scheduler_name, info.signature, id(info.resources))
            groups.setdefault(key, []).append(info)
    total = sum(map(len, groups.values()))
    answers: dict[str, PodDrift] = {}
    with gc_rare():
        for pods in groups.values():
            rankings = _Rankings(simulation, pods)
            for info in _expected(simulation, pods):
                answers[info.key] = rankings.drift_of(info)
                if on_progress is not None:
                    on_progress(len(answers), total)
        nodes = _in_turn(simulation, [*groups.values()], answers)
    listed = [
        structs.replace(answer, in_turn=nodes.get(key, answer.node))
        for key, answer in sorted(answers.items())
    ]
    return DriftResult(pods=tuple(listed), ignored=tuple(ignored), summary=DriftSummary.of(listed))


def _expected(simulation: Simulation, pods: Sequence[PodInfo]) -> Iterator[PodInfo]:
    """Yield pods that look the same; meanwhile the engine's cache keeps its answers for them."""
    cache = simulation.frameworks[pods[0].spec.scheduler_name].answer_cache
    if simulation.options.cache_answers:
        cache.expect(pods)
    yield from pods
    cache.forget(pods[0])


def _in_turn(
    simulation: Simulation, groups: Sequence[Sequence[PodInfo]], answers: Mapping[str, PodDrift]
) -> dict[str, str | None]:
    """Move the pods that would go elsewhere. Return their nodes in the end."""

    def urgency(pod: PodInfo) -> tuple[bool, int]:
        answer = answers[pod.key]
        return (answer.verdict is not Verdict.NOT_ALLOWED, -answer.behind)

    moving = [
        sorted(elsewhere, key=urgency)
        for group in groups
        if (elsewhere := [pod for pod in group if answers[pod.key].verdict in ELSEWHERE])
    ]
    nodes: dict[str, str | None] = {}
    for pods in sorted(moving, key=lambda pods: urgency(pods[0])):
        if simulation.has_devices(pods[0]):
            continue
        rankings = _Rankings(simulation, pods)
        for pod in _expected(simulation, pods):
            nodes[pod.key] = rankings.move(pod)
    return nodes


class _Ranking(NamedTuple):
    """How a pod's node compares with the others; see PodDrift. best_rows: those with the best
    score"""

    verdict: Verdict
    best_rows: Rows
    best_score: int | None = None
    rank: int | None = None
    score: int | None = None
    rejected_by: str | None = None


class _Rankings:
    """The rankings of pods that look the same, while no pod moves.

    Whichever of those on one node leaves, the others leave behind the same cluster, and so share
    one ranking. Not where a name may matter, as to foreign plugins and extenders and in claims.
    """

    def __init__(self, simulation: Simulation, pods: Sequence[PodInfo]) -> None:
        first = pods[0]
        self._simulation = simulation
        self._framework = simulation.frameworks[first.spec.scheduler_name]
        self._are_shared = (
            simulation.options.cache_answers
            and self._framework.answer_cache.by_shape
            and not simulation.extenders.extenders
            and not simulation.has_devices(first)
            and not has_volume_claims(first.spec)
        )
        self._by_node: dict[str, _Ranking] = {}
        # The rows with the best score for a pod that has stayed on its node, or fits nowhere.
        self._best_by_node: dict[str, Rows] = {}

    def drift_of(self, pod: PodInfo) -> PodDrift:
        node = pod.pod.node_name
        ranking = self._by_node.get(node)
        if ranking is None:
            with self._simulation.without_pod(pod) as unplaced:
                ranking = self._ranking(unplaced, node)
        return PodDrift(
            pod.key,
            owner_path(pod.pod),
            node,
            ranking.verdict,
            ranking.rank,
            ranking.rank is not None,
            ranking.score,
            self._node_of(ranking.best_rows),
            ranking.best_score,
            ranking.rejected_by,
        )

    def move(self, pod: PodInfo) -> str | None:
        """Move the pod if it would go elsewhere. Return its node, or None where it fits on none."""
        node, snapshot = pod.pod.node_name, self._simulation.snapshot
        origin = snapshot.row[node]
        best_rows = self._best_by_node.get(node)
        if best_rows is not None:
            best_node = self._node_of(best_rows)
            return node if origin in best_rows else best_node
        before = list(snapshot.pods[origin])
        snapshot.remove(pod, origin)
        unplaced = pod.unplaced()
        evaluation = self._evaluate(unplaced)
        best_rows, _ = _best_of(evaluation)
        best_node = self._node_of(best_rows)
        stays = origin in best_rows
        if stays or best_node is None:
            snapshot.add(pod, origin)
            snapshot.pods[origin][:] = before
            if self._are_shared and not evaluation.error:
                self._best_by_node[node] = best_rows
        else:
            snapshot.add(unplaced, snapshot.row[best_node])
            self._best_by_node.clear()
        return node if stays else best_node

    def _node_of(self, best_rows: Rows) -> str | None:
        """The node of these that the pod would go to; None where there are none."""
        if not len(best_rows):
            return None
        options, names = self._simulation.options, self._simulation.snapshot.names
        return names[options.tie_break(best_rows) if len(best_rows) > 1 else best_rows.item(0)]

    def _evaluate(self, pod: PodInfo) -> Evaluation:
        pipeline = self._simulation.pipeline
        evaluation = pipeline.evaluate(self._framework, pod, Mode.RANKED)
        if evaluation.error:
            evaluation = pipeline.evaluate(self._framework, pod, Mode.EXHAUSTIVE)
        return evaluation

    def _ranking(self, pod: PodInfo, node: str) -> _Ranking:
        """Evaluate the pod, which has been taken off the node."""
        evaluation, row = self._evaluate(pod), self._simulation.snapshot.row[node]
        best_rows, best_score = _best_of(evaluation)
        totals = evaluation.totals
        own = (evaluation.feasible.indices() == row).nonzero()[0]
        if totals is None or not len(own):
            plugin = self._rejecting_plugin(evaluation, row)
            ranking = _Ranking(Verdict.NOT_ALLOWED, best_rows, best_score, rejected_by=plugin)
        else:
            score = totals.item(own.item(0))
            rank = 1 + int(np.count_nonzero(totals > score))
            verdict = Verdict.WORSE
            if rank == 1:
                verdict = Verdict.BEST if len(best_rows) == 1 else Verdict.TIED
            ranking = _Ranking(verdict, best_rows, best_score, rank, score)
        if self._are_shared and not evaluation.error:
            self._by_node[node] = ranking
        return ranking

    def _rejecting_plugin(self, evaluation: Evaluation, row: int) -> str | None:
        status = evaluation.statuses.at(row)
        # Where a plugin fails, a pod is nominated, or PreFilter left the node out, only the
        # exhaustive search names the plugin.
        if self._simulation.nominator or not status.plugin:
            if evaluation.mode is not Mode.EXHAUSTIVE:
                pipeline = self._simulation.pipeline
                evaluation = pipeline.evaluate(self._framework, evaluation.pod, Mode.EXHAUSTIVE)
            rejections = evaluation.rejections[row] if evaluation.rejections else []
            status = rejections[0].status if rejections else evaluation.statuses.at(row)
        return status.plugin or None


def _best_of(evaluation: Evaluation) -> tuple[Rows, int | None]:
    """Return the rows with the best score, and the score; none where no node fits."""
    feasible, scores, shift = evaluation.feasible, evaluation.sums, 0
    if evaluation.keys is not None:
        scores, shift = evaluation.keys, TIE_BITS
    if scores is None or not len(scores):
        return feasible.indices()[:0], None
    best_score = scores.item(scores.argmax()) >> shift
    ties = (scores >= best_score << shift).nonzero()[0]
    return ties if feasible.rows is None else feasible.rows[ties], best_score


class Drift(Question[DriftResult], frozen=True, kw_only=True):
    """Show for every running pod where it is, and where it would go today. shows: which pods"""

    shows: PodChoice = PodChoice()

    def answer(self, opened: Opened) -> DriftResult:
        simulation = opened.simulation()
        chosen = opened.chosen(simulation, self.shows)
        with opened.observer.progress("pods asked about") as on_progress:
            answer = drift(simulation, on_progress, chosen)
        return structs.replace(answer, undecided=bool(simulation.caller.defects))
