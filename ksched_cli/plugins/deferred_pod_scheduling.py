"""Decides about running pods whose resize their node deferred, behind the feature gate
InPlacePodVerticalScalingSchedulerPreemption. ksched does not follow that gate; while it is off, a
configuration may name the plugin, and it does nothing.

Upstream: plugins/deferredpodscheduling/deferred_pod_scheduling.go.
"""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import FilterPlugin, PermitPlugin, PreFilterPlugin, Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Status
from ksched_cli.plugins.helper import PreFiltered


class DeferredPodScheduling(PreFilterPlugin, FilterPlugin, PermitPlugin):
    name = "DeferredPodScheduling"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        return None, SKIP

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        return Verdicts.passing(len(nodes))

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        return SUCCESS, 0.0
