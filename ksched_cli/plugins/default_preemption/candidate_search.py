"""The search for candidate nodes: node after node, until there are enough of them.

Upstream: pkg/scheduler/framework/preemption/preemption.go (findCandidates, DryRunPreemption), which
tries nodes one by one from the first. Here they are tried many at a time, and results that upstream
would not compute are left out of account.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.node_columns import Mask, Rows
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.status import Code, Rejection, Status
from ksched_cli.plugins.default_preemption.dry_run_columns import (
    CANDIDATE,
    DryRunColumns,
    LazyMapping,
)
from ksched_cli.plugins.default_preemption.victims import NO_VICTIMS

MIN_BATCH_SIZE = 16


class CandidateSearch(Struct):
    """The nodes tried so far.

    columns:         the results
    num_candidates:  enough, where one of them violates no budget
    rows:            of the nodes that upstream tries, in order
    without_victims: how many nodes have no pods of lower priority and are not in `rows`
    """

    columns: DryRunColumns
    num_candidates: int
    rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    without_victims: int = 0

    def run(self, potential: Rows, dry_run: Callable[[Rows], None]) -> None:
        """Try nodes until enough are candidates. potential: in order; dry_run: adds the results of
        rows that have none"""
        # One candidate per node at most: fewer nodes are never enough.
        tried = max(self.num_candidates, MIN_BATCH_SIZE)
        while True:
            # Only rows without a result are tried: others have one from an earlier, equal pod.
            rows = potential[:tried]
            missing = self.columns.missing(rows)
            if len(missing):
                dry_run(missing)
            end = self._end(rows)
            if end is not None or len(rows) == len(potential):
                self.rows = rows[:end]
                return
            tried = tried + max(self._nodes_to_try(rows), tried)

    def _end(self, rows: Rows) -> int | None:
        """Return how many of the rows upstream tries; None where all of them are not enough."""
        # Upstream stops once there are enough candidates, at least one of them without violations.
        is_candidate = self.columns.ids[rows] == CANDIDATE
        violating = is_candidate & self._violates(rows)
        enough = self.num_candidates
        non_violating_counts = np.minimum((is_candidate & ~violating).cumsum(), enough)
        violating_counts = np.minimum(violating.cumsum(), enough)
        is_over = (non_violating_counts > 0) & (non_violating_counts + violating_counts >= enough)
        return int(is_over.argmax()) + 1 if is_over.any() else None

    def _nodes_to_try(self, rows: Rows) -> int:
        """Return how many nodes to try next for the missing candidates, at the rate so far."""
        count = int(np.count_nonzero(self.columns.ids[rows] == CANDIDATE))
        missing = max(self.num_candidates - count, 0)
        return missing * len(rows) // count + 1 if count else missing

    def _violates(self, rows: Rows) -> Mask:
        """The rows of candidates where an eviction violates a budget."""
        violations: Mask = self.columns.measures[0, rows] < 0
        return violations

    @property
    def candidate_rows(self) -> Rows:
        return self.rows[self.columns.ids[self.rows] == CANDIDATE]

    @property
    def candidates(self) -> LazyMapping[Victims]:
        return self.columns.candidates(self.candidate_rows)

    @property
    def rejected(self) -> LazyMapping[Rejection]:
        return self.columns.rejected(self.rows[self.columns.ids[self.rows] != CANDIDATE])

    def selected(self) -> Rows:
        """The first num_candidates of those without and of those with violations, as upstream."""
        rows = self.candidate_rows
        violates = self._violates(rows)
        enough = self.num_candidates
        return np.concatenate((rows[~violates][:enough], rows[violates][:enough]))

    def rejection_counts(self) -> Counter[Status]:
        """Return how many of the nodes tried have each status."""
        ids = self.columns.ids[self.rows]
        counts: Counter[Status] = Counter()
        for number, count in enumerate(np.bincount(ids).tolist()):
            if count and number != CANDIDATE:
                counts[self.columns.rejection(number).status] += count
        if self.without_victims:
            counts[NO_VICTIMS.status] += self.without_victims
        return counts

    @property
    def error(self) -> str:
        """The plugins' errors as Go's Aggregate prints them, or ""."""
        ids = self.columns.ids[self.rows]
        first = dict.fromkeys(ids[ids != CANDIDATE].tolist())
        statuses = [self.columns.rejection(number).status for number in first]
        messages = [status.message for status in statuses if status.code == Code.ERROR]
        distinct = list(dict.fromkeys(messages))
        return f"[{', '.join(distinct)}]" if len(distinct) > 1 else "".join(distinct)
