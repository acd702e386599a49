"""Why nodes do not fit a pod, counted by plugin and reason, with the node nearest to fitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ksched_cli.analysis.shortfall import shortfalls
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.framework.results import Mask, Scores
from ksched_cli.framework.status import Status


@dataclass(frozen=True, slots=True)
class NearestNode:
    """detail: the numbers and names that the plugin adds to its reason there, or ""."""

    node: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """nodes: how many have the reason, be it beside others; nearest: of these the one with the
    fewest reasons, then the one that lacks the least of what the pod requests, then by name."""

    plugin: str
    reason: str
    nodes: int
    nearest: NearestNode | None = None


def reasons(evaluation: Evaluation) -> tuple[Reason, ...]:
    """Of an evaluation in EXHAUSTIVE or REASONS mode; those in the way of the nearest nodes first,
    then those of the most nodes."""
    if evaluation.pre_filter is not None:
        return _of_pre_filter(evaluation, evaluation.pre_filter)
    count = len(evaluation.statuses.snapshot)
    obstacles = np.zeros(count, dtype=np.int64)
    masks: dict[tuple[str, str], Mask] = {}
    for plugin, verdicts in evaluation.verdicts:
        per_status = [0, *(max(len(status.reasons), 1) for status in verdicts.statuses[1:])]
        obstacles += np.array(per_status, dtype=np.int64)[verdicts.ids]
        for index, status in enumerate(verdicts.statuses):
            for reason in (status.reasons or ("",)) if index else ():
                rejected = verdicts.ids == index
                key = (plugin, reason)
                masks[key] = masks[key] | rejected if key in masks else rejected
    if not masks:
        return ()
    order = _nearest_first(evaluation, obstacles)
    ranked = []
    for (plugin, reason), mask in masks.items():
        positions = np.flatnonzero(mask[order])
        if len(positions):
            row = int(order[positions[0]])
            ranked.append((int(obstacles[row]), -len(positions), plugin, reason, row))
    ranked.sort(key=lambda item: item[:2])
    return tuple(
        Reason(plugin, reason, -negated, _nearest(evaluation, plugin, row))
        for _, negated, plugin, reason, row in ranked
    )


def _of_pre_filter(evaluation: Evaluation, status: Status) -> tuple[Reason, ...]:
    count = len(evaluation.statuses.snapshot)
    return tuple(Reason(status.plugin, reason, count) for reason in status.reasons)


def _nearest_first(evaluation: Evaluation, obstacles: Scores) -> Rows:
    """The rows, those nearest to fitting first. Rows are in the order of names."""
    return np.lexsort((shortfalls(evaluation.statuses.snapshot, evaluation.pod), obstacles))


def _nearest(evaluation: Evaluation, plugin: str, row: int) -> NearestNode:
    name = evaluation.statuses.snapshot.names[row]
    return NearestNode(name, "; ".join(evaluation.details(plugin, "filter", row)))
