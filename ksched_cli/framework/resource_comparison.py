"""Filter plugins that only compare sums of requests: what a dry run can compute without them.

Upstream has no such contract: there every dry run calls every plugin for every pod put back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ksched_cli.framework.interface import FilterPlugin

if TYPE_CHECKING:
    from ksched_cli.cluster.node_columns import Column
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.framework.cycle_state import CycleState
    from ksched_cli.framework.nodes import Nodes
    from ksched_cli.framework.results import Verdicts


class ComparesResources(FilterPlugin):
    """Passes a node exactly where it has room for one more pod, and of every resource it compares
    at least the compared amount besides what the node's pods request."""

    @abstractmethod
    def compared_requests(self, state: CycleState, pod: PodInfo) -> Mapping[str, int] | None:
        """Resource → amount, in scheduler units; None where the answer is not such a comparison."""

    @abstractmethod
    def compare_nodes(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, used: Mapping[str, Column]
    ) -> Verdicts:
        """As `filter_nodes`, where the pods of the nodes request `used`: resource → amount per
        node, of those compared, and the number of pods under PODS."""
