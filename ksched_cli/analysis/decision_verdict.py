"""Verdicts of ksched on real decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ksched_cli.analysis.causes import PodViews
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.framework.preemption import Preemption


class Grade(Enum):
    """How the real choice compares with ksched's.

    BEST: the one best node, or the only one that fits
    TIED: one of several that are equally good
    NOMINATED: the node that the pod was nominated to
    SAMPLED: worse than the best of all, but the best of nodes that may have been looked at
    BATCHED: the next best node of the ranking for the pod before, which looks the same
    REORDERED: as ksched's, had some of the decisions near it come before or after it
    PREEMPTS: room is made where ksched would make it, by evicting the same pods
    """

    BEST = "best"
    TIED = "tied"
    NOMINATED = "nominated"
    SAMPLED = "sampled"
    BATCHED = "batched"
    REORDERED = "reordered"
    PREEMPTS = "preempts"


@dataclass(frozen=True, slots=True)
class DecisionVerdict:
    """grade: None where ksched would not have decided so. expected: the nodes it might have taken,
    by name. reason: why the real choice cannot be its, where that is not a matter of scores."""

    grade: Grade | None
    evaluation: Evaluation
    expected: tuple[str, ...] = ()
    reason: str = ""
    preemption: Preemption | None = None


def best_nodes(evaluation: Evaluation) -> tuple[str, ...]:
    """The names of the nodes with the highest total, or of the one that fits, in order of names."""
    rows, totals = evaluation.feasible.indices(), evaluation.totals
    if totals is not None and len(rows):
        rows = rows[totals == totals.max()]
    names = evaluation.feasible.snapshot.names
    return tuple(names[row] for row in sorted(rows.tolist()))


def because(node: str, expected: Sequence[str], views: PodViews) -> str:
    """Score by score, or what rejects the real node."""
    view = views.get(node)
    if view is None:
        return "its attempt breaks"
    if view.rejection is not None:
        plugin = f"{view.rejection.plugin}: " if view.rejection.plugin else ""
        return f"{node} does not fit: {plugin}{view.rejection.message}"
    best = views[expected[0]]
    gaps = {
        plugin: (best.scores.get(plugin, 0), view.scores.get(plugin, 0))
        for plugin in {**best.scores, **view.scores}
    }
    parts = [
        f"{plugin} {theirs} against {own}"
        for plugin, (theirs, own) in sorted(
            gaps.items(), key=lambda item: -abs(item[1][0] - item[1][1])
        )
        if theirs != own
    ]
    points = f"{expected[0]} has {best.total} points, {node} {view.total}"
    return f"{points}: {', '.join(parts)}" if parts else points
