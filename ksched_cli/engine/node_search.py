"""Which nodes are looked at, and how many: the rotating start, and stopping when enough fit.

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
from ksched_cli.framework.filter_runner import FilterRunner
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import Code

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5
DEFAULT_PERCENTAGE = 50
NODES_PER_PERCENT = 125

# The share of nodes that are expected to pass: of pods that nothing is known about, and at least.
USUAL_RATE = 0.9
LEAST_RATE = 0.05


@cache
def feasible_nodes_to_find(percentage: int, count: int) -> int:
    """How many fitting nodes are enough, of `count`; percentage 0 adapts to the cluster's size."""
    if count < MIN_FEASIBLE_NODES:
        return count
    if percentage == 0:
        percentage = max(DEFAULT_PERCENTAGE - count // NODES_PER_PERCENT, MIN_PERCENTAGE)
    return max(count * percentage // 100, MIN_FEASIBLE_NODES)


class Found(NamedTuple):
    """feasible: the nodes that fit. error: what ended the search."""

    feasible: Nodes
    error: str = ""


class NodeSearch:
    """Remembers where the last search ended. `next_start` is a place in the order of visits."""

    def __init__(self) -> None:
        self.next_start = 0
        self._ring: Rows | None = None

    def run(
        self,
        filtering: FilterRunner,
        state: CycleState,
        pod: PodInfo,
        candidates: Rows,
        wanted: int,
        statuses: NodeStatuses,
        known: CacheEntry | None = None,
        ordered: bool = False,
    ) -> Found:
        """candidates: rows in the order of visits. Rejections on the way go to `statuses`.

        ordered: give the nodes in the order of visits, too
        """
        snapshot = statuses.snapshot
        if not len(candidates):
            return Found(Nodes(snapshot, candidates))
        if not filtering.plugins:
            start = self.next_start % len(candidates)
            return Found(Nodes(snapshot, self._visits(candidates, start, False)[:wanted]))
        if wanted >= len(snapshot) and not ordered:
            found = self._everything(filtering, state, pod, statuses, known)
            if found is not None:
                return found
        return self._one_after_the_other(filtering, state, pod, candidates, wanted, statuses, known)

    def _one_after_the_other(
        self,
        filtering: FilterRunner,
        state: CycleState,
        pod: PodInfo,
        candidates: Rows,
        wanted: int,
        statuses: NodeStatuses,
        known: CacheEntry | None,
    ) -> Found:
        """From the rotating start on, until enough are found."""
        snapshot = statuses.snapshot
        feasible: list[Rows] = []
        count = done = 0
        start = self.next_start % len(candidates)
        all_nodes = candidates is snapshot.order
        visits = self._visits(candidates, start, all_nodes)
        rate = USUAL_RATE if known is None else known.rate
        while done < len(visits) and count < wanted:
            missing = wanted - count
            chunk = visits[done : done + _chunk_size(missing, rate)]
            first = start + done
            side_by_side = all_nodes and first + len(chunk) <= len(candidates)
            nodes = Nodes(snapshot, chunk, first if side_by_side else None)
            if len(chunk) == wanted and filtering.known_to_pass(state, pod, nodes, known):
                return Found(nodes)
            verdicts = filtering.run_with_nominated_pods(state, pod, nodes, known=known)
            passed, error = _passing(chunk, verdicts, missing, statuses)
            feasible.append(passed)
            if error:
                return Found(Nodes(snapshot, np.concatenate(feasible)), error)
            count += len(passed)
            done += len(chunk)
            rate = count / done if count < wanted else count / (count + statuses.own_count)
        if known is not None:
            known.rate = rate
        found_rows = feasible[0] if len(feasible) == 1 else np.concatenate(feasible)
        return Found(Nodes(snapshot, found_rows))

    def _everything(
        self,
        filtering: FilterRunner,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeStatuses,
        known: CacheEntry | None,
    ) -> Found | None:
        """All nodes, in no order; None where a plugin failed, for then the order matters."""
        nodes = Nodes(statuses.snapshot)
        if filtering.known_to_pass(state, pod, nodes, known):
            return Found(nodes)
        verdicts = filtering.run_with_nominated_pods(state, pod, nodes, known=known)
        if _first_error(verdicts, len(nodes)) is not None:
            return None
        if len(verdicts.statuses) == 1:
            return Found(nodes)
        statuses.add(None, verdicts.ids, verdicts.statuses)
        return Found(Nodes(statuses.snapshot, (verdicts.ids == 0).nonzero()[0]))

    def _visits(self, candidates: Rows, start: int, all_nodes: bool) -> Rows:
        """The candidates from the rotating start on, and around."""
        if not all_nodes:
            return np.concatenate((candidates[start:], candidates[:start]))
        if self._ring is None:
            self._ring = np.concatenate((candidates, candidates))
        return self._ring[start : start + len(candidates)]

    def advance(self, processed: int, count: int) -> None:
        """Upstream moves on by the nodes that it came to a verdict about."""
        self.next_start = (self.next_start + processed) % count


def _chunk_size(missing: int, rate: float) -> int:
    """Enough nodes to find the missing ones, where `rate` of the nodes pass, and a few more: to ask
    about those is cheaper than to ask again."""
    if rate == 1:
        return missing
    return int(missing / max(rate, LEAST_RATE) * 1.05) + 16


def _passing(
    chunk: Rows, verdicts: Verdicts, missing: int, statuses: NodeStatuses
) -> tuple[Rows, str]:
    """The rows that pass, up to the last one missing or to a plugin's failure, and that failure's
    text or "". The rejections before that go to `statuses`."""
    if len(verdicts.statuses) == 1:
        return chunk[:missing], ""
    passing = (verdicts.ids == 0).nonzero()[0]
    end = passing.item(missing - 1) + 1 if len(passing) >= missing else len(chunk)
    failed = _first_error(verdicts, end)
    spoken = end if failed is None else failed
    statuses.add(chunk[:spoken], verdicts.ids[:spoken], verdicts.statuses)
    if failed is not None:
        error = verdicts.statuses[verdicts.ids[failed]].message
        return chunk[passing[passing < failed]], error
    return chunk[passing[:missing]], ""


def _first_error(verdicts: Verdicts, end: int) -> int | None:
    """The first place before `end` where a plugin failed."""
    failed = [i for i, status in enumerate(verdicts.statuses) if status.code == Code.ERROR]
    if not failed:
        return None
    places = np.flatnonzero(np.isin(verdicts.ids[:end], failed))
    return int(places[0]) if len(places) else None
