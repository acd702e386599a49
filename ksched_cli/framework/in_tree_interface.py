"""The part of the contract that is for ksched's own plugins alone, besides `interface`.

- Scores of a few nodes, one by one, which are quicker there than arrays. A plugin prepares a
  function for the pods of one shape, which is then called with the amounts of a row: its columns of
  Snapshot.usage and Snapshot.capacity. It holds until the snapshot is `huge`. Without it, the
  instructions of `basic`, 5,000 nodes, adaptive, are 1.56 times as many.
- Comparisons of sums of requests, which a dry run of preemption makes for many nodes at once.
  Upstream has no such contract: there every dry run calls every plugin for every pod put back.
- Plugins of pod groups that rank nodes, and that make room in the minors whose queue has no groups.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ksched_cli.cluster.snapshot import RowAmounts, Snapshot
from ksched_cli.framework.interface import FilterPlugin, Plugin, ScorePlugin

if TYPE_CHECKING:
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.cluster.snapshot import Rows
    from ksched_cli.framework.cycle_state import CycleState
    from ksched_cli.framework.pod_groups import (
        PlacedPod,
        PodGroup,
    )
    from ksched_cli.framework.status import Status

# (a row's amounts) → the score.
RowScorer: TypeAlias = Callable[[RowAmounts], int]


class ScoresRows(ScorePlugin):
    """Scores node by node, too."""

    @abstractmethod
    def row_scorer(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowScorer | None:
        """Return a scorer of rows for the pod, after PreScore. Return None where only `score_nodes`
        can decide."""


class ComparesResources(FilterPlugin):
    """Passes a node exactly where it has room for one more pod, and of every resource it compares
    at least the compared amount besides what the node's pods request."""

    @abstractmethod
    def compared_requests(self, state: CycleState, pod: PodInfo) -> Mapping[str, int] | None:
        """Return resource → amount, in scheduler units, or None where the answer is not such a
        comparison."""


class JudgesResizes(Plugin):
    """Decides about running pods whose resize is deferred, too; the other plugins only about where
    a pod goes (InPlacePodVerticalScalingSchedulerPreemption)."""


class RankNodesPlugin(Plugin):
    """Ranks the nodes that a pod of a group is tried on: of those that fit, the lowest rank counts.
    Upstream: RankNodesPlugin."""

    @abstractmethod
    def rank_nodes(self, state: CycleState, pod: PodInfo, rows: Rows) -> RankedNodes | None:
        """Rank the nodes of these rows, which are in the order of visits. Return None without an
        opinion."""


class RankedNodes(NamedTuple):
    """rows: in the order in which they are tried; ranks: of each"""

    rows: Rows
    ranks: Rows


class GroupPreemptionPlugin(Plugin):
    """Makes room for a group that does not fit, in minors whose queue has no groups. Upstream:
    PodGroupPostFilterPlugin of 1.36."""

    @abstractmethod
    def preempt_for_group(
        self, group: PodGroup, pods: Sequence[PodInfo], try_group: Callable[[], Status]
    ) -> tuple[Status, tuple[PlacedPod, ...]]:
        """Return the pods to evict, where the status is success.

        try_group: tests whether the group fits on the nodes as they are now; the plugin leaves them
            unchanged
        """
