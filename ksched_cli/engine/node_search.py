"""The sampled search for feasible nodes: from a rotating start, until enough of them fit.

kube-scheduler asks node by node in parallel. Here the plugins answer about a chunk of nodes at
once, and answers after the last node that upstream would have needed are dropped.

Upstream: pkg/scheduler/schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.framework.cache.answer_cache import CacheEntry
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.runners import FilterRunner
from ksched_cli.framework.status import Code

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5
DEFAULT_PERCENTAGE = 50
NODES_PER_PERCENT = 125

# The share of nodes that are expected to pass: where nothing is cached, and at least.
USUAL_RATE = 0.9
LEAST_RATE = 0.05


@cache
def feasible_nodes_to_find(percentage: int, count: int) -> int:
    """Return how many fitting nodes are enough, out of `count`; percentage 0 adapts to the
    cluster's size."""
    if count < MIN_FEASIBLE_NODES:
        return count
    if percentage == 0:
        percentage = max(DEFAULT_PERCENTAGE - count // NODES_PER_PERCENT, MIN_PERCENTAGE)
    return max(count * percentage // 100, MIN_FEASIBLE_NODES)


def placements_to_find(percentage: int, count: int, nodes: int) -> int:
    """Return how many placements that a group fits in are enough, out of `count` that have `nodes`
    nodes together; percentage 0 adapts to these. Upstream: numFeasiblePlacementsToFind."""
    if percentage == 0:
        percentage = max(MIN_PERCENTAGE, 100 - nodes * 9 // 500)
    return max(1, count * percentage // 100)


class SearchResult(NamedTuple):
    """feasible: the nodes that fit. error: the failure that ended the search, or ""."""

    feasible: Nodes
    error: str = ""


class NodeSearch:
    """Searches one snapshot. next_start: where the next search starts in the order of visits."""

    def __init__(self) -> None:
        self.next_start = 0
        self._ring: Rows | None = None

    def run(
        self,
        filtering: FilterRunner,
        state: CycleState,
        pod: PodInfo,
        candidates: Rows,
        limit: int,
        statuses: NodeStatuses,
        cached: CacheEntry | None = None,
        ordered: bool = False,
    ) -> SearchResult:
        """Find up to `limit` nodes that fit. Rejections on the way go to `statuses`.

        candidates: rows in the order of visits
        limit:      how many feasible nodes are enough
        ordered:    whether the nodes must come in the order of visits
        """
        snapshot = statuses.snapshot
        if not len(candidates):
            return SearchResult(Nodes(snapshot, candidates))
        # Without Filter plugins every node fits, and the first ones visited are enough.
        if not filtering.plugins:
            start = self.next_start % len(candidates)
            return SearchResult(Nodes(snapshot, self._visits(candidates, start, False)[:limit]))
        # A pod like this one may have been rejected by all nodes, none of which has changed since.
        if candidates is snapshot.order:
            rejections = filtering.rejections(state, pod, cached)
            if rejections is not None:
                statuses.share(rejections)
                return SearchResult(Nodes(snapshot, candidates[:0]))
        # Where every node is wanted, the order of visits makes no difference unless a plugin fails.
        if limit >= len(snapshot.nodes) and not ordered:
            result = self._search_all(filtering, state, pod, statuses, cached)
            if result is not None:
                return result
        return self._search_in_order(filtering, state, pod, candidates, limit, statuses, cached)

    def _search_in_order(
        self,
        filtering: FilterRunner,
        state: CycleState,
        pod: PodInfo,
        candidates: Rows,
        limit: int,
        statuses: NodeStatuses,
        cached: CacheEntry | None,
    ) -> SearchResult:
        """Ask chunk by chunk, from the rotating start, until enough nodes fit."""
        snapshot = statuses.snapshot
        feasible: list[Rows] = []
        count = done = 0
        start = self.next_start % len(candidates)
        all_nodes = candidates is snapshot.order
        visits = self._visits(candidates, start, all_nodes)
        rate = USUAL_RATE if cached is None else cached.rate
        total = len(candidates)
        while done < total and count < limit:
            # 1. The next chunk, as long as the rate so far suggests. A few nodes more are cheaper
            # than a second call.
            missing = limit - count
            size = missing if rate == 1 else int(missing / max(rate, LEAST_RATE) * 1.05) + 16
            chunk = visits[done : done + size]
            first = start + done
            side_by_side = all_nodes and first + len(chunk) <= total
            nodes = Nodes(snapshot, chunk, first if side_by_side else None)
            # 2. One cached answer may say that all of the chunk fits, and is all that is needed.
            if len(chunk) == limit and filtering.all_pass(state, pod, nodes, cached):
                return SearchResult(nodes)
            # 3. Else the plugins are asked. Verdicts after the last node needed do not count.
            verdicts = filtering.run_with_nominated_pods(state, pod, nodes, entry=cached)
            passed, error = _passing(chunk, verdicts, missing, statuses)
            feasible.append(passed)
            if error:
                return SearchResult(Nodes(snapshot, np.concatenate(feasible)), error)
            # 4. The rate for the next chunk, and in the end for the next pod like this one.
            count += len(passed)
            done += len(chunk)
            rate = count / done if count < limit else count / (count + statuses.own_count)
        if cached is not None:
            cached.rate = rate
        rows = feasible[0] if len(feasible) == 1 else np.concatenate(feasible)
        return SearchResult(Nodes(snapshot, rows))

    def _search_all(
        self,
        filtering: FilterRunner,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeStatuses,
        cached: CacheEntry | None,
    ) -> SearchResult | None:
        """Return all nodes, in no order, or None where a plugin failed, because then the order
        matters."""
        nodes = Nodes(statuses.snapshot)
        if filtering.all_pass(state, pod, nodes, cached):
            return SearchResult(nodes)
        verdicts = filtering.run_with_nominated_pods(state, pod, nodes, entry=cached)
        if first_error(verdicts, len(nodes)) is not None:
            return None
        if len(verdicts.statuses) == 1:
            return SearchResult(nodes)
        statuses.add(None, verdicts.ids, verdicts.statuses)
        return SearchResult(Nodes(statuses.snapshot, (verdicts.ids == 0).nonzero()[0]))

    def visits(self, candidates: Rows) -> Rows:
        """Return the candidates in the order in which a search would visit them now."""
        return self._visits(candidates, self.next_start % len(candidates), False)

    def _visits(self, candidates: Rows, start: int, all_nodes: bool) -> Rows:
        """Return the candidates from the rotating start to the end, then those before it."""
        if not start:
            return candidates
        if not all_nodes:
            return np.concatenate((candidates[start:], candidates[:start]))
        if self._ring is None:
            self._ring = np.concatenate((candidates, candidates))
        return self._ring[start : start + len(candidates)]

    def advance(self, processed: int, count: int) -> None:
        """Move the start on by the nodes that got a verdict, as upstream does."""
        self.next_start = (self.next_start + processed) % count


def _passing(
    chunk: Rows, verdicts: Verdicts, missing: int, statuses: NodeStatuses
) -> tuple[Rows, str]:
    """Return the rows that pass, up to the last one missing or to a plugin's failure, and that
    failure's text or "". The rejections before that go to `statuses`."""
    if len(verdicts.statuses) == 1:
        return chunk[:missing], ""
    passing = (verdicts.ids == 0).nonzero()[0]
    # The search ends at the last node needed, or before it, where a plugin failed.
    end = passing.item(missing - 1) + 1 if len(passing) >= missing else len(chunk)
    failed = first_error(verdicts, end)
    end_of_verdicts = end if failed is None else failed
    statuses.add(chunk[:end_of_verdicts], verdicts.ids[:end_of_verdicts], verdicts.statuses)
    if failed is not None:
        error = verdicts.statuses[verdicts.ids[failed]].message
        return chunk[passing[passing < failed]], error
    return chunk[passing[:missing]], ""


def first_error(verdicts: Verdicts, end: int) -> int | None:
    """Return the first index before `end` where a plugin failed."""
    failed = [i for i, status in enumerate(verdicts.statuses) if status.code == Code.ERROR]
    if not failed:
        return None
    indices = np.flatnonzero(np.isin(verdicts.ids[:end], failed))
    return int(indices[0]) if len(indices) else None
