"""Reasons why nodes do not fit a pod, counted by plugin and reason, with the node nearest to
fitting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.answers import HIDDEN, Count, Part
from ksched_cli.cluster.objects import Taint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.tolerations import COMPARISON_GATE, tolerated
from ksched_cli.engine.evaluation import Evaluation, PluginVerdicts
from ksched_cli.framework.results import Ids, Mask, Scores
from ksched_cli.framework.status import Code
from ksched_cli.plugins.taint_toleration import CORDON, HARD_EFFECTS


class Distance(NamedTuple):
    """How far a node is from fitting: the less, the nearer.

    obstacles:    how many reasons reject it
    unresolvable: how many of them no eviction can lift
    shortfall:    the missing share of the resource that lacks most (`shortfalls`)
    """

    obstacles: int = 0
    unresolvable: int = 0
    shortfall: float = 0.0


FITTING = Distance()


class Distances(Struct, frozen=True):
    """The columns of `Distance`, an element per row of the snapshot."""

    obstacles: Scores
    unresolvable: Scores
    shortfall: NDArray[np.float64]

    def at(self, row: int) -> Distance:
        return Distance(
            int(self.obstacles[row]), int(self.unresolvable[row]), float(self.shortfall[row])
        )

    def order(self) -> Rows:
        """Return the rows, those nearest to fitting first, equally near ones in the order of
        names."""
        return np.lexsort((self.shortfall, self.unresolvable, self.obstacles))


class NearestNode(Part, frozen=True):
    """The node nearest to fitting, the first by name.

    detail: the numbers and names that the plugin adds to its reason there
    ties: how many other nodes are as near
    tied_nodes: those, by name
    """

    node: str
    detail: str = ""
    ties: Count = 0
    tied_nodes: Annotated[tuple[str, ...], HIDDEN] = ()


class Reason(Part, frozen=True):
    """A reason why nodes do not fit.

    nodes: how many have the reason, be it beside others
    alone: how many of them have no other reason
    nearest: the one of these that is nearest to fitting, and the numbers behind the reason there
    """

    plugin: str
    reason: str
    nodes: Count
    alone: Count = 0
    nearest: NearestNode | None = None


class FilterStep(Part, frozen=True):
    """How many nodes a plugin leaves.

    rejects: how many of all nodes this plugin rejects
    left: how many nodes no plugin up to this one rejects
    """

    plugin: str
    rejects: Count
    left: Count


def independent_verdicts(evaluation: Evaluation) -> list[PluginVerdicts]:
    """The plugins' verdicts, rejections of one cause once: a cordon sets a field and a taint, so
    that TaintToleration's rejection for that taint alone counts as NodeUnschedulable's.

    evaluation: in EXHAUSTIVE or REASONS mode.
    """
    answers = list(evaluation.verdicts)
    cordoned = [a.verdicts.ids != 0 for a in answers if a.plugin == "NodeUnschedulable"]
    if not cordoned or not cordoned[0].any():
        return answers
    ids, sets = evaluation.statuses.snapshot.taint_sets
    is_cordon = [
        {taint.key for taint in untolerated_of(evaluation, taints)} == {CORDON.key}
        for taints in sets
    ]
    repeated = cordoned[0] & np.array(is_cordon, dtype=np.bool_)[ids]
    return [
        answer._replace(
            verdicts=replace(answer.verdicts, ids=np.where(repeated, 0, answer.verdicts.ids))
        )
        if answer.plugin == "TaintToleration"
        else answer
        for answer in answers
    ]


def alike(columns: Sequence[Ids]) -> Rows:
    """Return a number per row, the same for rows that have the same in all columns, of numbers from
    0 on. They are in the order of the first column, then of the next."""
    classes = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        _, classes = np.unique(classes * (int(column.max()) + 1) + column, return_inverse=True)
    return classes


def untolerated(evaluation: Evaluation, row: int) -> list[Taint]:
    """Return the taints of the node that keep the pod off it."""
    return untolerated_of(evaluation, evaluation.statuses.snapshot.nodes[row].spec.taints)


def untolerated_of(evaluation: Evaluation, taints: Iterable[Taint]) -> list[Taint]:
    """Return those of the taints that keep the pod off a node."""
    compares = evaluation.framework.handle.release.enabled(COMPARISON_GATE)
    tolerations = evaluation.pod.spec.tolerations
    hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
    return [taint for taint in hard if not tolerated(tolerations, taint, compares)]


def distances(evaluation: Evaluation) -> Distances:
    """Return how far each node is from fitting. evaluation: in EXHAUSTIVE or REASONS mode."""
    snapshot = evaluation.statuses.snapshot
    obstacles = np.zeros(len(snapshot), dtype=np.int64)
    unresolvable = np.zeros(len(snapshot), dtype=np.int64)
    for _, verdicts, *_ in independent_verdicts(evaluation):
        if len(verdicts.statuses) == 1:
            continue
        counts = np.array([0, *(max(len(s.reasons), 1) for s in verdicts.statuses[1:])])
        is_final = [s.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE for s in verdicts.statuses]
        obstacles += counts[verdicts.ids]
        unresolvable += (counts * is_final)[verdicts.ids]
    return Distances(obstacles, unresolvable, shortfalls(snapshot, evaluation.pod))


def reasons(evaluation: Evaluation) -> tuple[Reason, ...]:
    """Return the reasons, the one with the node nearest to fitting first, then the one of the most
    nodes.

    evaluation: in EXHAUSTIVE or REASONS mode
    """
    status = evaluation.pre_filter
    if status is not None:
        count = len(evaluation.statuses.snapshot)
        return tuple(Reason(status.plugin, reason, count) for reason in status.reasons)
    masks = reason_masks(evaluation)
    if not masks:
        return ()
    away = distances(evaluation)
    order = away.order()
    counted = []
    for (plugin, reason), mask in masks.items():
        # The nodes that have the reason, the nearest first.
        rows = order[mask[order]]
        if not len(rows):
            continue
        first, names = int(rows[0]), evaluation.statuses.snapshot.names
        is_tied = (
            (away.obstacles[rows] == away.obstacles[first])
            & (away.unresolvable[rows] == away.unresolvable[first])
            & (away.shortfall[rows] == away.shortfall[first])
        )
        ties = tuple(names[row] for row in rows[is_tied].tolist()[1:])
        detail = _detail(evaluation, plugin, reason, first)
        nearest = NearestNode(names[first], detail, len(ties), ties)
        alone = int(np.count_nonzero(away.obstacles[rows] == 1))
        counted.append((away.at(first), Reason(plugin, reason, len(rows), alone, nearest)))
    counted.sort(key=lambda item: (item[0], -item[1].nodes))
    return tuple(reason for _, reason in counted)


def reason_masks(evaluation: Evaluation) -> dict[tuple[str, str], Mask]:
    """Return the rows of each (plugin, reason). evaluation: in EXHAUSTIVE or REASONS mode."""
    masks: dict[tuple[str, str], Mask] = {}
    for plugin, verdicts, *_ in independent_verdicts(evaluation):
        for index, status in enumerate(verdicts.statuses):
            for reason in (status.reasons or ("",)) if index else ():
                rejected = verdicts.ids == index
                key = (plugin, reason)
                masks[key] = masks[key] | rejected if key in masks else rejected
    return masks


def _detail(evaluation: Evaluation, plugin: str, reason: str, row: int) -> str:
    """Return the reason's own line where the plugin has a line for each reason, else all lines."""
    for answer in evaluation.verdicts:
        reasons_there = answer.verdicts.statuses[answer.verdicts.ids[row]].reasons
        if answer.plugin == plugin and reason in (reasons_there or ("",)):
            lines = evaluation.rejection_details(answer, row)
            if reasons_there and len(lines) == len(reasons_there):
                return lines[reasons_there.index(reason)]
            return "; ".join(lines)
    return ""


def funnel(evaluation: Evaluation) -> tuple[FilterStep, ...]:
    """Return the plugins that were asked about nodes, in their order, then the extenders.

    evaluation: in EXHAUSTIVE or REASONS mode
    """
    count = len(evaluation.statuses.snapshot)
    if evaluation.pre_filter is not None:
        return (FilterStep(evaluation.pre_filter.plugin, count, 0),)
    passing = np.ones(count, dtype=np.bool_)
    rejected: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    left: dict[str, int] = {}
    for plugin, verdicts, *_ in evaluation.verdicts:
        rejects = verdicts.ids != 0
        passing &= ~rejects
        rejected[plugin] = rejected[plugin] | rejects if plugin in rejected else rejects
        left[plugin] = int(passing.sum())
    return tuple(
        FilterStep(plugin, int(rejects.sum()), left[plugin]) for plugin, rejects in rejected.items()
    )


def shortfalls(snapshot: Snapshot, pod: PodInfo) -> NDArray[np.float64]:
    """Return, per row, the shortage of the resource that lacks most, as a share of what the pod
    requests; 0 where there is room. A node without a place for one more pod lacks 1."""
    full = snapshot.pod_count >= snapshot.allocatable(PODS)
    missing = full.astype(np.float64)
    for resource, amount in pod.resources.requests.items():
        if amount > 0:
            free = snapshot.allocatable(resource) - snapshot.requested(resource)
            np.maximum(missing, (amount - free) / amount, out=missing)
    return missing
