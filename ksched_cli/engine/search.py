"""Which nodes are looked at, and how many: the rotating start, and stopping when enough fit.

Upstream: pkg/scheduler/schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.framework.filtering import Filtering
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import Code
from ksched_cli.framework.verdicts import Verdicts

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5
DEFAULT_PERCENTAGE = 50
NODES_PER_PERCENT = 125


def feasible_nodes_to_find(percentage: int, count: int) -> int:
    """How many fitting nodes are enough, of `count`; percentage 0 adapts to the cluster's size."""
    if count < MIN_FEASIBLE_NODES:
        return count
    if percentage == 0:
        percentage = max(DEFAULT_PERCENTAGE - count // NODES_PER_PERCENT, MIN_PERCENTAGE)
    return max(count * percentage // 100, MIN_FEASIBLE_NODES)


@dataclass(frozen=True, slots=True)
class Found:
    """feasible: rows in the order found. error: what ended the search."""

    feasible: Rows
    error: str = ""


class Search:
    """Remembers where the last search ended. `next_start` is a place in the order of visits."""

    def __init__(self) -> None:
        self.next_start = 0

    def run(
        self,
        filtering: Filtering,
        state: CycleState,
        pod: PodInfo,
        candidates: Rows,
        wanted: int,
        statuses: NodeStatuses,
    ) -> Found:
        """candidates: rows in the order of visits. Rejections on the way go to `statuses`."""
        if not len(candidates):
            return Found(candidates)
        start = self.next_start % len(candidates)
        visits = np.concatenate((candidates[start:], candidates[:start]))
        if not filtering.plugins:
            return Found(visits[:wanted])
        feasible: list[Rows] = []
        count = done = 0
        while done < len(visits) and count < wanted:
            chunk = visits[done : done + _chunk_size(wanted - count, done, count)]
            snapshot = statuses.snapshot
            verdicts = filtering.with_nominated(state, pod, Nodes(snapshot, chunk))
            passing = np.flatnonzero(verdicts.ids == 0)
            end = len(chunk)
            if count + len(passing) >= wanted:
                end = int(passing[wanted - count - 1]) + 1
            error = _first_error(verdicts, end)
            end = end if error is None else error
            statuses.add(chunk[:end], verdicts.ids[:end], verdicts.statuses)
            feasible.append(chunk[passing[passing < end]])
            count += len(feasible[-1])
            if error is not None:
                message = verdicts.statuses[verdicts.ids[error]].message
                return Found(np.concatenate(feasible), message)
            done += len(chunk)
        return Found(np.concatenate(feasible))

    def advance(self, processed: int, count: int) -> None:
        """Upstream moves on by the nodes that it came to a verdict about."""
        self.next_start = (self.next_start + processed) % count


def _chunk_size(missing: int, done: int, found: int) -> int:
    """Enough nodes to find the missing ones, at the rate of those looked at so far."""
    rate = found / done if done and found else 0.9
    return max(int(missing / rate) + 1, 16)


def _first_error(verdicts: Verdicts, end: int) -> int | None:
    """The first place before `end` where a plugin failed."""
    failed = [i for i, status in enumerate(verdicts.statuses) if status.code == Code.ERROR]
    if not failed:
        return None
    places = np.flatnonzero(np.isin(verdicts.ids[:end], failed))
    return int(places[0]) if len(places) else None
