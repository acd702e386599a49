"""Groups of nodes that are alike, and how an autoscaler changes their sizes; from files of
kind Autoscaler.

Terms and defaults are those of the cluster-autoscaler's flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ksched_cli.cluster.objects import CSINode, Node
from ksched_cli.cluster.objects.node import HOSTNAME_LABEL
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.near_names import near_hint
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.nodes import copy_of_csi_node, copy_of_node
from ksched_cli.scenario.objects import load_objects
from ksched_cli.scenario.own_document import OwnDocument, read_own_document
from ksched_cli.scenario.prices import NodePrice, Price, Prices, price_from
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
    """The state without these nodes; their pods are left as they are."""
    csi_nodes = state.csi_nodes
    if not names.isdisjoint(csi_nodes):
        csi_nodes = {name: item for name, item in csi_nodes.items() if name not in names}
    nodes = tuple(node for node in state.nodes if node.name not in names)
    return replace(state, nodes=nodes, csi_nodes=csi_nodes)


# -- files ----------------------------------------------------------------------------------------


_HINT = "Expected apiVersion: ksched/v1, kind: Autoscaler (docs/autoscaler.md)."


def read_autoscaler(path: str, state: ClusterState, name: str = "") -> AutoscalerSettings:
    """state: that has the nodes which groups are like; name: of the file in messages, its path by
    default.

    Raises InputError, with line and column where the text has them.
    """
    document = read_own_document(path, "Autoscaler", _HINT, name)
    nodes = {node.name: node for node in state.nodes}
    return _Reader(document, state, nodes).settings(document.data)


@dataclass(frozen=True, slots=True)
class _Reader:
    """nodes: of the state, by name"""

    file: OwnDocument
    state: ClusterState
    nodes: Mapping[str, Node]

    def settings(self, data: Mapping[str, Any]) -> AutoscalerSettings:
        groups = tuple(
            self._group(item, "nodeGroups", index) for index, item in enumerate(data["nodeGroups"])
        )
        names: set[str] = set()
        for index, group in enumerate(groups):
            if group.name in names:
                problem = f'two node groups are named "{group.name}"'
                raise self.file.error(problem, "nodeGroups", index, "name")
            names.add(group.name)
        expanders = data.get("expanders") or [Expander.LEAST_WASTE]
        return AutoscalerSettings(
            groups,
            self.file.time(data.get("scanInterval"), 10 * SECOND, "scanInterval", least=SECOND),
            tuple(map(Expander, expanders)),
            data.get("maxNodesTotal"),
            data.get("expendablePodsPriorityCutoff", -10),
            data.get("skipNodesWithSystemPods", True),
            data.get("skipNodesWithLocalStorage", True),
            self._scale_down(data.get("scaleDown") or {}),
        )

    def _scale_down(self, data: Mapping[str, Any]) -> ScaleDown:
        unneeded, delay = (
            self.file.time(data.get(key), 10 * MINUTE, "scaleDown", key)
            for key in ("unneededTime", "delayAfterAdd")
        )
        return ScaleDown(
            data.get("enabled", True),
            unneeded,
            float(data.get("utilizationThreshold", 0.5)),
            delay,
            data.get("maxEmptyBulkDelete", 10),
        )

    def _group(self, data: Mapping[str, Any], *place: str | int) -> NodeGroup:
        least, most = data.get("minSize", 0), data["maxSize"]
        if least > most:
            problem = f"minSize {least} is more than maxSize {most}"
            raise self.file.error(problem, *place, "minSize")
        template, csi_node = self._model(data, *place)
        return NodeGroup(
            data["name"],
            template,
            csi_node,
            dict(data.get("nodeSelector") or {}),
            least,
            most,
            self.file.time(data.get("provisioningDelay"), 2 * MINUTE, *place, "provisioningDelay"),
            data.get("priority", 0),
            price_from(self.file, data["price"], *place, "price") if "price" in data else None,
        )

    def _model(self, data: Mapping[str, Any], *place: str | int) -> tuple[Node, CSINode | None]:
        """Return the model that the group's new nodes are copies of."""
        if "template" in data:
            return self._template(data["template"], data["name"], *place, "template"), None
        like = data["like"]
        if like in self.nodes:
            return self.nodes[like], self.state.csi_nodes.get(like)
        hint = near_hint(like, self.nodes, cutoff=0.5)
        problem = f'no node "{like}" in the state ({len(self.nodes)} nodes){hint}'
        raise self.file.error(problem, *place, "like")

    def _template(self, manifest: Mapping[str, Any], name: str, *place: str | int) -> Node:
        metadata = manifest.get("metadata") or {}
        given = metadata.get("labels") or {} if isinstance(metadata, dict) else None
        if not isinstance(given, dict):
            raise self.file.error("metadata and its labels: expected objects", *place)
        # The kubelet labels its node with its host name.
        metadata = {**metadata, "name": name, "labels": {HOSTNAME_LABEL: name, **given}}
        node = {"apiVersion": "v1", **manifest, "kind": "Node", "metadata": metadata}
        try:
            nodes = load_objects(self.state, [node], self.file.name).nodes
        except InputError as error:
            subject = f": {error.subject}" if error.subject else ""
            raise self.file.error(f"{error.problem}{subject}", *place) from None
        if not nodes:
            problem = f'a Node has apiVersion "v1", not "{node["apiVersion"]}"'
            raise self.file.error(problem, *place, "apiVersion")
        return nodes[0]
