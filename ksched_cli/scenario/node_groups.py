"""Groups of nodes that are alike, and how an autoscaler changes their sizes.

Terms and defaults are those of the cluster-autoscaler's flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ksched_cli.cluster.objects import CSINode, Node
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.nodes import copy_of_csi_node, copy_of_node
from ksched_cli.scenario.prices import NodePrice, Price, Prices
from ksched_cli.scenario.workloads import with_daemon_pods

MINUTE = 60 * SECOND


class Expander(StrEnum):
    """The choice of the group that gets more nodes, among those that would help."""

    LEAST_WASTE = "least-waste"
    MOST_PODS = "most-pods"
    LEAST_NODES = "least-nodes"
    PRIORITY = "priority"
    PRICE = "price"


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Times are in microseconds.

    template, csi_node: what its new nodes are copies of; no CSINode: None
    node_selector: labels of the nodes that are of it besides those that the autoscaler adds; none
                   where it is empty
    provisioning_delay: from the decision until a node is there
    priority: for the expander of that name; more is preferred
    price: of its nodes, where no other price applies to them
    """

    name: str
    template: Node
    csi_node: CSINode | None = None
    node_selector: Mapping[str, str] | None = None
    min_size: int = 0
    max_size: int = 1
    provisioning_delay: int = 2 * MINUTE
    priority: int = 0
    price: Price | None = None

    def new_node(self, name: str) -> Node:
        return copy_of_node(self.template, name)

    def new_csi_node(self, name: str) -> CSINode | None:
        return None if self.csi_node is None else copy_of_csi_node(self.csi_node, name)

    def node_price(self, node: Node, prices: Prices) -> NodePrice | None:
        """What a node of the group costs: by its name, its labels or the group's name, else the
        group's own price, else that of the node that the group is like."""
        own = prices.of_node(node, self.name)
        if own is None and self.price is not None:
            return NodePrice(self.name, self.price)
        return own or prices.of_node(self.template)

    def selects(self, node: Node) -> bool:
        """Whether the node is of the group, whoever added it."""
        labels = node.metadata.labels
        return bool(self.node_selector) and all(
            labels.get(key) == value for key, value in (self.node_selector or {}).items()
        )


@dataclass(frozen=True, slots=True)
class ScaleDown:
    """Times are in microseconds.

    unneeded_time: for how long a node must be unneeded before it is removed
    utilization_threshold: a node of which less is requested may be unneeded
    delay_after_add: after nodes were asked for, none is removed for so long
    max_empty_bulk_delete: how many empty nodes are removed at a time
    """

    enabled: bool = True
    unneeded_time: int = 10 * MINUTE
    utilization_threshold: float = 0.5
    delay_after_add: int = 10 * MINUTE
    max_empty_bulk_delete: int = 10


@dataclass(frozen=True, slots=True)
class AutoscalerSettings:
    """scan_interval: microseconds
    expanders: the first decides, the next where several groups are as good in its eyes; in the end
               the first group
    max_nodes_total: of all nodes of the cluster; None for no limit
    expendable_pods_priority_cutoff: pods of less priority add no node and keep none
    skip_nodes_with_system_pods, skip_nodes_with_local_storage: such pods keep their nodes
    """

    groups: tuple[NodeGroup, ...]
    scan_interval: int = 10 * SECOND
    expanders: tuple[Expander, ...] = (Expander.LEAST_WASTE,)
    max_nodes_total: int | None = None
    expendable_pods_priority_cutoff: int = -10
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    scale_down: ScaleDown = ScaleDown()

    def check_prices(self, prices: Prices) -> None:
        """Raises UsageError where the expander of prices lacks one."""
        if Expander.PRICE not in self.expanders:
            return
        for group in self.groups:
            if group.node_price(group.template, prices) is None:
                raise UsageError(
                    f'the expander "price" requires a price for the node group "{group.name}": '
                    f"set `price` in its file, or --price {group.name}=N"
                )


def with_new_nodes(
    state: ClusterState,
    nodes: Sequence[tuple[NodeGroup, str]],
    *,
    makes_pods: bool,
    runs_pods: bool,
) -> ClusterState:
    """The state with new nodes of groups.

    makes_pods: with the pods that DaemonSets have there; runs_pods: on the nodes already
    """
    if not nodes:
        return state
    csi_nodes = {
        name: csi_node
        for group, name in nodes
        if (csi_node := group.new_csi_node(name)) is not None
    }
    state = replace(
        state,
        nodes=(*state.nodes, *(group.new_node(name) for group, name in nodes)),
        csi_nodes={**state.csi_nodes, **csi_nodes} if csi_nodes else state.csi_nodes,
    )
    if not makes_pods:
        return state
    return with_daemon_pods(state, frozenset(name for _, name in nodes), running=runs_pods)


def without_nodes(state: ClusterState, names: frozenset[str]) -> ClusterState:
    """The state without these nodes; their pods are left as they are."""
    csi_nodes = state.csi_nodes
    if not names.isdisjoint(csi_nodes):
        csi_nodes = {name: item for name, item in csi_nodes.items() if name not in names}
    nodes = tuple(node for node in state.nodes if node.name not in names)
    return replace(state, nodes=nodes, csi_nodes=csi_nodes)
