"""Rejects nodes marked unschedulable, unless the pod tolerates their taint.

Upstream: plugins/nodeunschedulable/node_unschedulable.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from ksched_cli.cluster.objects import Node, Taint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.tolerations import tolerated
from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Proposal,
    Proposes,
    Scope,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.helper.signatures import Fragments, sign_tolerations

REASON = Status.unresolvable("node(s) were unschedulable")
TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(FilterPlugin, SignPlugin, Proposes):
    name = "NodeUnschedulable"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def cache_key(self, pod: PodInfo) -> Hashable:
        return pod.spec.tolerations

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_tolerations(pod)

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), after_node_change
        yield ClusterEvent(POD, Action.UPDATE_POD_TOLERATION), after_toleration_change

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if not node.object.spec.unschedulable or tolerated(pod.spec.tolerations, TAINT):
            return SUCCESS
        return REASON

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        marked = nodes.gather(nodes.snapshot.unschedulable)
        if not marked.any() or tolerated(pod.spec.tolerations, TAINT):
            return Verdicts.passing(len(nodes))
        return Verdicts.rejecting(marked, REASON)

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        yield Proposal("uncordon", f"uncordon {node.name}", (f"uncordon {node.name}",))


class PreFilteringNodeUnschedulable(NodeUnschedulable, PreFilterPlugin):
    """The plugin of later minors (Rules.pre_filters_node_name)."""

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        """Upstream skips pods with a deferred resize here, behind a gate that is off."""
        return None, SUCCESS


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """The node is schedulable, and was not, or is new."""
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def after_toleration_change(pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
    return new.key == pod.key and tolerated(new.spec.tolerations, TAINT)
