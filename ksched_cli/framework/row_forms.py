"""Answers about a few nodes, one by one, of plugins of ksched itself: quicker there than arrays.

A plugin prepares a function for the pods of one shape, which is then called with the amounts of a
row: its column of Snapshot.usage and of Snapshot.capacity. It holds until the snapshot is `huge`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TypeAlias

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import RowUsage, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin, ScorePlugin
from ksched_cli.framework.nodes import Nodes

# Below this many nodes, array forms cost more than one by one.
CHECKED_ROWS_MAX = 12

# (row, its usage, its capacity) → whether the node passes; False leaves it open.
RowCheck: TypeAlias = Callable[[int, RowUsage, Sequence[int]], bool]

# (a row's usage, its capacity) → the score.
RowScorer: TypeAlias = Callable[[RowUsage, Sequence[int]], int]

# With the plugins' weights.
RowScorers: TypeAlias = tuple[tuple[RowScorer, int], ...]


class ChecksRows(FilterPlugin):
    """Decides node by node, too."""

    @abstractmethod
    def row_check(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowCheck | None:
        """For the pod, after PreFilter; None where only `filter_nodes` can tell."""


class ScoresRows(ScorePlugin):
    """Scores node by node, too."""

    @abstractmethod
    def row_scorer(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowScorer | None:
        """For the pod, after PreScore; None where only `score_nodes` can tell."""


def row_checks(
    plugins: Iterable[FilterPlugin],
    foreign: Container[str],
    state: CycleState,
    pod: PodInfo,
    snapshot: Snapshot,
) -> tuple[RowCheck, ...] | None:
    """Those of the plugins, where each is in-tree and has one; else None. foreign: names"""
    checks: list[RowCheck] = []
    for plugin in plugins:
        if not isinstance(plugin, ChecksRows) or plugin.name in foreign or snapshot.huge:
            return None
        check = plugin.row_check(state, pod, snapshot)
        if check is None:
            return None
        checks.append(check)
    return tuple(checks)


def row_scorers(
    weights: Mapping[ScorePlugin, int],
    foreign: Container[str],
    state: CycleState,
    pod: PodInfo,
    snapshot: Snapshot,
) -> RowScorers:
    """Those of the plugins, where each is in-tree and has one; else none. foreign: names"""
    scorers: list[tuple[RowScorer, int]] = []
    for plugin, weight in weights.items():
        if not isinstance(plugin, ScoresRows) or plugin.name in foreign or snapshot.huge:
            return ()
        scorer = plugin.row_scorer(state, pod, snapshot)
        if scorer is None:
            return ()
        scorers.append((scorer, weight))
    return tuple(scorers)


def all_pass(checks: Sequence[RowCheck] | None, nodes: Nodes) -> bool:
    """Whether all the nodes pass; False leaves it open, as where they are too many to ask one by
    one."""
    snapshot = nodes.snapshot
    if checks is None or snapshot.huge or len(nodes) >= CHECKED_ROWS_MAX:
        return False
    capacity = snapshot.capacity_by_row
    rows = nodes.indices().tolist()
    for row, usage in zip(rows, snapshot.rows_usage(rows), strict=True):
        for check in checks:
            if not check(row, usage, capacity[row]):
                return False
    return True
