"""Reads a file of kind Autoscaler: node groups, and when nodes join and leave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ksched_cli.cluster.objects import CSINode, Node
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.node_groups import (
    MINUTE,
    AutoscalerSettings,
    Expander,
    NodeGroup,
    ScaleDown,
)
from ksched_cli.scenario.nodes import HOSTNAME_LABEL
from ksched_cli.scenario.objects import load_objects
from ksched_cli.scenario.own_document import OwnDocument, read_own_document
from ksched_cli.scenario.prices import price_from

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
        names = list(self.nodes)
        near = get_close_matches(like, names, n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        problem = f'no node "{like}" in the state ({len(names)} nodes){hint}'
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
