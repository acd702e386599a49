"""Plugins of pod groups: a configuration may name them, and they do nothing while the feature gates
of pod groups are off, as they are by default. ksched does not implement these gates.

Upstream: plugins/gangscheduling, plugins/topologyaware, plugins/podgrouppodscount.
"""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    PermitPlugin,
    Plugin,
    PreEnqueuePlugin,
    ReservePlugin,
)
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, Status


class GangScheduling(PreEnqueuePlugin, ReservePlugin, PermitPlugin):
    """A pod without a group passes."""

    name = "GangScheduling"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def pre_enqueue(self, pod: PodInfo) -> Status:
        return SUCCESS

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Nothing was reserved."""

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        return SUCCESS, 0.0


class TopologyPlacementGenerator(Plugin):
    """Placements of pod groups."""

    name = "TopologyPlacementGenerator"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass


class PodGroupPodsCount(Plugin):
    """Scores of placements of pod groups."""

    name = "PodGroupPodsCount"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass
