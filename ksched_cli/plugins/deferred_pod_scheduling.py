"""Decides about running pods whose resize their node deferred, behind the feature gate
InPlacePodVerticalScalingSchedulerPreemption: kube-scheduler preempts pods on their node for them.
While the gate is off, a configuration may name the plugin, and it does nothing.

Upstream: plugins/deferredpodscheduling/deferred_pod_scheduling.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import JudgesResizes
from ksched_cli.framework.interface import FilterPlugin, PermitPlugin, PreFilterPlugin, Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Status
from ksched_cli.plugins.helper import PreFiltered

ELSEWHERE = Status.unresolvable("pod assigned to different node")
DISABLED = Status.unresolvable("node had resize preemption disabled")
FITS = Status.unresolvable("pod resize fits, waiting for Kubelet actuation")


class DeferredPodScheduling(PreFilterPlugin, FilterPlugin, PermitPlugin, JudgesResizes):
    name = "DeferredPodScheduling"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_PREEMPTION_POLICY), after_node_change
        yield ClusterEvent(NODE, Action.ADD), after_node_change

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        return None, SUCCESS if pod.is_resized else SKIP

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        if not pod.is_resized:
            return Verdicts.passing(len(nodes))
        statuses = []
        for node in nodes:
            status = DISABLED if _disables_preemption(node.object) else SUCCESS
            statuses.append(status if node.name == pod.pod.node_name else ELSEWHERE)
        return Verdicts.of(statuses)

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        return FITS if pod.is_resized else SUCCESS, 0.0


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """Return whether the pod's own node allows preemption now, and did not before."""
    is_own = pod.is_resized and pod.pod.node_name == new.name
    return is_own and (old is None or _disables_preemption(old)) and not _disables_preemption(new)


def _disables_preemption(node: Node) -> bool:
    policy = node.spec.pod_preemption_policy
    return policy is not None and bool(policy.disable_resize_preemption)
