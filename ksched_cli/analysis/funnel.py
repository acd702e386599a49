"""How many nodes each plugin leaves of those that the plugins before it left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksched_cli.engine.evaluation import Evaluation


class FilterStep(NamedTuple):
    """rejects: how many of all nodes the plugin rejects; left: how many no plugin up to this one
    does."""

    plugin: str
    rejects: int
    left: int


def funnel(evaluation: Evaluation) -> tuple[FilterStep, ...]:
    """Of an evaluation in EXHAUSTIVE or REASONS mode; the plugins that were asked about nodes, in
    their order, then the extenders."""
    count = len(evaluation.statuses.snapshot)
    if evaluation.pre_filter is not None:
        return (FilterStep(evaluation.pre_filter.plugin, count, 0),)
    passing = np.ones(count, dtype=np.bool_)
    rejected: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    left: dict[str, int] = {}
    for plugin, verdicts, _ in evaluation.verdicts:
        rejects = verdicts.ids != 0
        passing &= ~rejects
        rejected[plugin] = rejected[plugin] | rejects if plugin in rejected else rejects
        left[plugin] = int(passing.sum())
    return tuple(
        FilterStep(plugin, int(rejects.sum()), left[plugin]) for plugin, rejects in rejected.items()
    )
