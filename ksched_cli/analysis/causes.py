"""The reasons why a pod is on one node after one run and on another, or on none, after another run.

The cause is the plugin whose verdict or score decided the difference. Where a node of one run is
rejected in the
other, that is the first plugin that rejects it. Where both nodes fit in both runs, it is the plugin
whose weighted score moved most towards the other node: by D = A(a) - A(b) - B(a) + B(b), where run
A took node a, run B took node b, and A(b) is the score of b in run A.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Status


@dataclass(frozen=True, slots=True)
class Cause:
    """plugin: whose verdict or score it is, or "" if no single plugin decides

    reason: the plugin's, or what else made the difference
    detail: the node and the run that the reason is about, or ""
    points: by how many the score moved; None where it is not about scores
    """

    plugin: str
    reason: str
    detail: str = ""
    points: int | None = None

    @property
    def text(self) -> str:
        plugin = f"{self.plugin}: " if self.plugin else ""
        return f"{plugin}{self.reason}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as an attempt would judge it.

    rejection: the first, or None where the node fits
    scores:    by plugin or extender, weighted; of a node that fits
    """

    rejection: Status | None
    scores: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.scores.values())


PodViews = Mapping[str, NodeView]
"""By node, the verdict of a pod's last attempt; nodes that the run does not have are left out."""


class _FinishedError(Exception):
    """Ends a run whose rest makes no difference."""


def views(
    simulation: Simulation, run: RunRecord, nodes: Mapping[str, Collection[str]]
) -> dict[str, PodViews]:
    """Return, by pod, how its last attempt judges the given nodes.

    simulation: as the one that made the run, not run yet
    nodes:      pod key → names of nodes; pods without an attempt, or whose attempt breaks, are left
                out of the answer
    """
    attempts = Counter(attempt.pod for attempt in run.attempts)
    remaining = {pod: attempts[pod] for pod in nodes if attempts[pod]}
    if not remaining:
        return {}
    answer: dict[str, PodViews] = {}

    def look(pod: PodInfo) -> None:
        judged = node_views(simulation, pod, nodes[pod.key])
        if judged is None:
            answer.pop(pod.key, None)
        else:
            answer[pod.key] = judged
        remaining[pod.key] -= 1
        if not remaining[pod.key]:
            del remaining[pod.key]
            if not remaining:
                raise _FinishedError

    simulation.focus = Focus(frozenset(remaining), look, records_detail=False)
    with suppress(_FinishedError):
        simulation.run()
    simulation.focus = None
    return answer


def node_views(simulation: Simulation, pod: PodInfo, names: Collection[str]) -> PodViews | None:
    """Return how an attempt to place the pod now judges the nodes of these names; None if it
    breaks."""
    pipeline = simulation.pipeline
    is_detailed, pipeline.detailed = pipeline.detailed, True
    evaluation = simulation.evaluate(pod, Mode.RANKED)
    pipeline.detailed = is_detailed
    if evaluation.error:
        return None
    index_of = {name: index for index, name in enumerate(evaluation.feasible.names())}
    answer = {}
    for name in names:
        row = simulation.snapshot.row.get(name)
        if name in index_of:
            scores = {
                plugin.plugin: int(plugin.weighted[index_of[name]]) for plugin in evaluation.scores
            }
            for extender in evaluation.extender_scores:
                score = extender.by_node().get(name)
                if score is not None:
                    scores[extender.extender] = scores.get(extender.extender, 0) + score.weighted
            answer[name] = NodeView(None, scores)
        elif row is not None:
            # Where PreFilter left the node out or pods are nominated, only the exhaustive search
            # names the plugin.
            status = evaluation.statuses.at(row)
            if not status.plugin or simulation.nominator:
                exhaustive = simulation.evaluate(evaluation.pod, Mode.EXHAUSTIVE)
                rejections = exhaustive.rejections[row] if exhaustive.rejections else []
                status = rejections[0].status if rejections else status
            answer[name] = NodeView(status, {})
    return answer


def cause_of_move(
    first: tuple[str, str, PodViews | None], second: tuple[str, str, PodViews | None]
) -> Cause | None:
    """Return why the pod is on another node in the second run. Each: the run's name, the node, and
    how the pod's last attempt in that run judges both nodes; None if the run made no attempt, as
    the pod runs on the node. None if neither run made one."""
    (name_a, node_a, views_a), (name_b, node_b, views_b) = first, second
    for name, judged, node in ((name_b, views_b, node_a), (name_a, views_a, node_b)):
        obstacle = obstacle_on(name, node, judged)
        if obstacle is not None:
            return obstacle
    if views_a is None and views_b is None:
        return None
    for name, judged, taken, other in (
        (name_a, views_a, node_a, node_b),
        (name_b, views_b, node_b, node_a),
    ):
        if judged is not None and taken in judged and judged[other].total > judged[taken].total:
            reason = f"{other} has more points than {taken}, but was not looked at"
            return Cause("", reason, name)
    return _largest_gain(node_a, views_a, node_b, views_b)


def _largest_gain(
    node_a: str, views_a: PodViews | None, node_b: str, views_b: PodViews | None
) -> Cause:
    gains: Counter[str] = Counter()
    for judged, sign in ((views_a, 1), (views_b, -1)):
        if judged is None or node_a not in judged or node_b not in judged:
            continue
        for node, direction in ((node_a, sign), (node_b, -sign)):
            for plugin, score in judged[node].scores.items():
                gains[plugin] += direction * score
    if gains.total() <= 0:
        return Cause("", f"{node_a} and {node_b} are equally good")
    plugin, points = max(gains.items(), key=lambda gain: gain[1])
    return Cause(plugin, f"{node_b} gains {points} points on {node_a}", points=points)


def obstacle_on(name: str, node: str, judged: PodViews | None) -> Cause | None:
    """Return what rejects the node in the run of this name; None if it fits, or nothing is
    known."""
    if judged is None:
        return None
    view = judged.get(node)
    if view is None:
        return Cause("", "there is no such node", f"{node}, {name}")
    if view.rejection is None:
        return None
    return Cause(view.rejection.plugin, view.rejection.message, f"{node}, {name}")
