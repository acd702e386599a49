"""Whether a node may be the best of those that a search looked at.

In a large cluster kube-scheduler only looks for enough nodes. The search starts at a node that
moves with every attempt, failed ones included, and runs in parallel, so that any nodes may fit
first.

Upstream: pkg/scheduler/schedule_one.go (findNodesThatPassFilters).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ksched_cli.analysis.decision_verdict import best_nodes
from ksched_cli.cluster.node_columns import Mask, Rows
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.engine.simulation import Simulation

# How many beginnings of a sampled search are tried.
MAX_STARTS = 16


def may_be_sampled(
    simulation: Simulation, evaluation: Evaluation, row: int, *, parallel: bool
) -> bool:
    """Whether the row is the best of as many nodes as are enough for a search. If so, moves the
    start of the next one."""
    rows, totals = evaluation.feasible.indices(), evaluation.totals
    count = feasible_nodes_to_find(
        evaluation.framework.profile.percentage_of_nodes_to_score, len(simulation.snapshot)
    )
    own = np.flatnonzero(rows == row)
    if totals is None or not len(own) or len(rows) <= count:
        return False
    better = totals > totals[own[0]]
    if any(
        _is_best_from(simulation, evaluation, row, start)
        for start in _starts(simulation, rows, better, row, count)
    ):
        return True
    return parallel and len(rows) - int(np.count_nonzero(better)) >= count


def _starts(
    simulation: Simulation, rows: Rows, better: Mask, row: int, count: int
) -> Iterator[int]:
    """Return the starts of a search that reaches the row: first where it starts by now, then where
    it reaches the fewest better nodes."""
    search, rank = simulation.pipeline.search, simulation.snapshot.rank
    yield search.next_start
    order = np.argsort(rank[rows])
    own = int(np.flatnonzero(rows[order] == row)[0])
    firsts = (own - np.arange(count)) % len(rows)
    # How many better nodes there are up to each, once around and once more.
    better_before = np.concatenate(([0], np.cumsum(np.tile(better[order], 2))))
    better_after = better_before[firsts + count] - better_before[firsts]
    for first in firsts[np.argsort(better_after, kind="stable")[:MAX_STARTS]]:
        yield int(rank[rows[order[first]]])


def _is_best_from(simulation: Simulation, evaluation: Evaluation, row: int, start: int) -> bool:
    pipeline = simulation.pipeline
    earlier, pipeline.search.next_start = pipeline.search.next_start, start
    sampled = pipeline.evaluate(evaluation.framework, evaluation.pod, Mode.SAMPLED)
    if simulation.snapshot.names[row] in best_nodes(sampled):
        pipeline.search.advance(sampled.visited, len(simulation.snapshot))
        return True
    pipeline.search.next_start = earlier
    return False
