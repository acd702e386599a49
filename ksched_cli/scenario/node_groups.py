"""Groups of nodes that are alike, and how an autoscaler changes their sizes; from files of
kind Autoscaler.

Terms and defaults are those of the cluster-autoscaler's flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from ksched_cli.cluster.objects import CSINode, Node
from ksched_cli.cluster.objects.node import HOSTNAME_LABEL
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.file_parts import Count, FilePart, RuledPart, Text, Time
from ksched_cli.kube.file_rules import SingleKey, Unique
from ksched_cli.kube.near_names import near_hint
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.nodes import copy_of_csi_node, copy_of_node
from ksched_cli.scenario.objects import load_objects
from ksched_cli.scenario.own_document import OwnDocument, read_own_document
from ksched_cli.scenario.prices import HourlyPrice, Labels, NodePrice, Price, Prices, price_from
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

    def node_price(self, node: Node, prices: Prices) -> NodePrice | None:
        """Return what a node of the group costs: by its name, its labels or the group's name, else
        the group's own price, else that of the node that the group is like."""
        own = prices.of_node(node, self.name)
        if own is None and self.price is not None:
            return NodePrice(self.name, self.price)
        return own or prices.of_node(self.template)

    def selects(self, node: Node) -> bool:
        """Return whether the node is of the group, whoever added it."""
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
        """Check that the expander of prices has one for every group. Raises UsageError."""
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
    """Return the state with new nodes of groups.

    makes_pods: with the pods that DaemonSets have there
    runs_pods:  on the nodes already
    """
    if not nodes:
        return state
    csi_nodes = {
        name: copy_of_csi_node(group.csi_node, name)
        for group, name in nodes
        if group.csi_node is not None
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
    """Return the state without these nodes; their pods are left as they are."""
    csi_nodes = state.csi_nodes
    if not names.isdisjoint(csi_nodes):
        csi_nodes = {name: item for name, item in csi_nodes.items() if name not in names}
    nodes = tuple(node for node in state.nodes if node.name not in names)
    return replace(state, nodes=nodes, csi_nodes=csi_nodes)


# -- files ----------------------------------------------------------------------------------------


_HINT = "Expected apiVersion: ksched/v1, kind: Autoscaler (docs/autoscaler.md)."


class NodeGroupEntry(RuledPart, frozen=True, kw_only=True):
    """A node group.

    name: its new nodes are NAME-1, NAME-2 and so on
    like: a node of the state that its new nodes are copies of
    template: instead of like: a Node's labels, taints and capacity
    node_selector: labels of the nodes that are of the group, besides those that the autoscaler adds
    min_size: default 0
    provisioning_delay: from the decision until the node is there; default 2m; seconds, or a
            duration such as 90s or 1h30m
    priority: for the expander priority: more is preferred; default 0
    price: what a node of the group costs an hour, in any currency; --price comes before it
    """

    EXPECTED: ClassVar = "a node group: its name, maxSize, and either like or template"
    RULES: ClassVar = (SingleKey(("like", "template")),)

    name: Annotated[str, Meta(pattern="^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=200)]
    like: Text | UnsetType = UNSET
    template: dict[str, Any] | UnsetType = UNSET
    node_selector: Labels | UnsetType = UNSET
    min_size: Count = 0
    max_size: Annotated[int, Meta(ge=0, le=100_000)]
    provisioning_delay: Time | UnsetType = UNSET
    priority: int = 0
    price: HourlyPrice | UnsetType = UNSET


class ScaleDownEntry(FilePart, frozen=True, kw_only=True):
    """When nodes are removed.

    enabled: default true
    unneeded_time: for how long a node has to be unneeded before it is removed; default 10m;
            seconds, or a duration such as 90s or 1h30m
    utilization_threshold: a node of which a smaller share is requested may be unneeded; default 0.5
    delay_after_add: after nodes were asked for, none is removed for so long; default 10m; seconds,
            or a duration such as 90s or 1h30m
    max_empty_bulk_delete: how many empty nodes are removed at a time; default 10
    """

    enabled: bool = True
    unneeded_time: Time | UnsetType = UNSET
    utilization_threshold: Annotated[float, Meta(ge=0, le=1)] = 0.5
    delay_after_add: Time | UnsetType = UNSET
    max_empty_bulk_delete: Annotated[int, Meta(ge=1)] = 10


class AutoscalerDocument(RuledPart, frozen=True, kw_only=True):
    """Node groups, and when nodes join and leave them.

    scan_interval: how often the cluster is looked at; default 10s; seconds, or a duration such as
            90s or 1h30m
    expanders: which group gets more nodes where several would help: the first decides, the next
            where it cannot, in the end the first group; default [least-waste]
    max_nodes_total: of the whole cluster; by default, there is no limit
    expendable_pods_priority_cutoff: pods of less priority add no node and keep none; default -10
    skip_nodes_with_system_pods: a pod in kube-system that no disruption budget covers keeps its
            node; default true
    skip_nodes_with_local_storage: a pod with emptyDir or hostPath volumes keeps its node; default
            true
    """

    RULES: ClassVar = (Unique("expanders"),)

    api_version: Literal["ksched/v1"]
    kind: Literal["Autoscaler"]
    scan_interval: Time | UnsetType = UNSET
    expanders: Annotated[tuple[Expander, ...], Meta(min_length=1)] = (Expander.LEAST_WASTE,)
    max_nodes_total: Count | UnsetType = UNSET
    expendable_pods_priority_cutoff: int = -10
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    scale_down: ScaleDownEntry = ScaleDownEntry()
    node_groups: Annotated[tuple[NodeGroupEntry, ...], Meta(min_length=1)]


def read_autoscaler(path: str, state: ClusterState, name: str = "") -> AutoscalerSettings:
    """Read the settings of an autoscaler. Raises InputError, with line and column where the text
    has them.

    state: that has the nodes which groups are like
    name:  of the file in messages, its path by default
    """
    document, file = read_own_document(path, AutoscalerDocument, _HINT, name)
    nodes = {node.name: node for node in state.nodes}
    return _Reader(document, state, nodes).settings(file)


@dataclass(frozen=True, slots=True)
class _Reader:
    """nodes: of the state, by name"""

    file: OwnDocument
    state: ClusterState
    nodes: Mapping[str, Node]

    def settings(self, data: AutoscalerDocument) -> AutoscalerSettings:
        groups = tuple(
            self._group(item, "nodeGroups", index) for index, item in enumerate(data.node_groups)
        )
        names: set[str] = set()
        for index, group in enumerate(groups):
            if group.name in names:
                problem = f'two node groups are named "{group.name}"'
                raise self.file.error(problem, "nodeGroups", index, "name")
            names.add(group.name)
        scan_interval = self.file.time(
            data.scan_interval, 10 * SECOND, "scanInterval", least=SECOND
        )
        down = data.scale_down
        unneeded = self.file.time(down.unneeded_time, 10 * MINUTE, "scaleDown", "unneededTime")
        delay = self.file.time(down.delay_after_add, 10 * MINUTE, "scaleDown", "delayAfterAdd")
        return AutoscalerSettings(
            groups,
            scan_interval,
            data.expanders,
            data.max_nodes_total if data.max_nodes_total is not UNSET else None,
            data.expendable_pods_priority_cutoff,
            data.skip_nodes_with_system_pods,
            data.skip_nodes_with_local_storage,
            ScaleDown(
                down.enabled,
                unneeded,
                down.utilization_threshold,
                delay,
                down.max_empty_bulk_delete,
            ),
        )

    def _group(self, data: NodeGroupEntry, *place: str | int) -> NodeGroup:
        if data.min_size > data.max_size:
            problem = f"minSize {data.min_size} is more than maxSize {data.max_size}"
            raise self.file.error(problem, *place, "minSize")
        # The model that the group's new nodes are copies of: a template, or a node of the state.
        like, csi_node = str(data.like), None
        if data.template is not UNSET:
            own_place = (*place, "template")
            metadata = data.template.get("metadata") or {}
            given = metadata.get("labels") or {} if isinstance(metadata, dict) else None
            if not isinstance(given, dict):
                raise self.file.error("metadata and its labels: expected objects", *own_place)
            # The kubelet labels its node with its host name.
            labels = {HOSTNAME_LABEL: data.name, **given}
            metadata = {**metadata, "name": data.name, "labels": labels}
            node = {"apiVersion": "v1", **data.template, "kind": "Node", "metadata": metadata}
            try:
                nodes = load_objects(self.state, [node], self.file.name).nodes
            except InputError as error:
                subject = f": {error.subject}" if error.subject else ""
                raise self.file.error(f"{error.problem}{subject}", *own_place) from None
            if not nodes:
                problem = f'a Node has apiVersion "v1", not "{node["apiVersion"]}"'
                raise self.file.error(problem, *own_place, "apiVersion")
            template = nodes[0]
        elif like in self.nodes:
            template, csi_node = self.nodes[like], self.state.csi_nodes.get(like)
        else:
            hint = near_hint(like, self.nodes, cutoff=0.5)
            problem = f'no node "{like}" in the state ({len(self.nodes)} nodes){hint}'
            raise self.file.error(problem, *place, "like")
        delay = data.provisioning_delay
        return NodeGroup(
            data.name,
            template,
            csi_node,
            data.node_selector or {},
            data.min_size,
            data.max_size,
            self.file.time(delay, 2 * MINUTE, *place, "provisioningDelay"),
            data.priority,
            None if data.price is UNSET else price_from(self.file, data.price, *place, "price"),
        )
