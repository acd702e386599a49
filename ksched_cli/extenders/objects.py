"""The JSON of pods and nodes in requests: the state file's, with defaults and current placement.

kube-scheduler sends objects as the API server returned them, with defaults. Filled in here
are those that an extender may decide by: namespace, UID, scheduler name, priority, requests from
limits, allocatable from capacity; and the node where the pod runs or is nominated to run.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.cluster.objects import Container, KubeObject, Node, encode_hook
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.stored_bytes import ObjectJson

_PARTS = ("metadata", "spec", "status")


def pod_json(info: PodInfo, node: str = "", nominated: str = "") -> msgspec.Raw:
    """node: where the pod runs; nominated: its nominated node; "" for none."""
    pod = info.pod
    data = _plain(pod, pod.raw)
    data["metadata"] |= {"namespace": pod.namespace, "uid": pod.uid or pod.key}
    spec = pod.spec
    fields = {
        "nodeName": node,
        "schedulerName": spec.scheduler_name,
        "priority": spec.priority,
        "priorityClassName": spec.priority_class_name,
        "preemptionPolicy": spec.preemption_policy,
    }
    _set_fields(data["spec"], fields)
    for key, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.init_containers),
    ):
        for container_data, container in zip(data["spec"].get(key) or (), containers, strict=False):
            _set_resources(container_data, container)
    if pod.status is PENDING_AGAIN:
        data["status"] = {"phase": "Pending"}
    _set_fields(data["status"], {"nominatedNodeName": nominated})
    return msgspec.Raw(msgspec.json.encode(data))


def _set_fields(part: dict[str, Any], fields: dict[str, Any]) -> None:
    """Empty fields are left out, as Go's omitempty does."""
    for name, value in fields.items():
        if value in ("", None):
            part.pop(name, None)
        else:
            part[name] = value


def _set_resources(data: dict[str, Any], container: Container) -> None:
    resources = data["resources"] = data.get("resources") or {}
    for name in ("requests", "limits"):
        amounts = getattr(container.resources, name)
        if amounts:
            resources[name] = {resource: str(amount) for resource, amount in amounts.items()}


class NodeJsonCache:
    """The JSON of nodes, encoded once per node: nodes do not change in a run."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Node, msgspec.Raw]] = {}

    def of(self, node: Node) -> msgspec.Raw:
        entry = self._entries.get(id(node))
        if entry is None:
            # The entry holds the node, so that no other object gets its id.
            entry = self._entries[id(node)] = (node, _node_json(node))
        return entry[1]


def _node_json(node: Node) -> msgspec.Raw:
    data = _plain(node, node.raw)
    amounts = node.status.allocatable
    if amounts:
        data["status"]["allocatable"] = {name: str(amount) for name, amount in amounts.items()}
    return msgspec.Raw(msgspec.json.encode(data))


def _plain(obj: KubeObject, raw: ObjectJson) -> dict[str, Any]:
    """The object as plain data with metadata, spec and status: in Go none of them can be absent.

    raw: the object's JSON, empty for an object that was not read from a file
    """
    text = bytes(raw) or msgspec.json.encode(
        {part: getattr(obj, part) for part in _PARTS}, enc_hook=encode_hook
    )
    data: dict[str, Any] = plain_json(text)
    return data | {part: data.get(part) or {} for part in _PARTS}
