"""Pods and nodes as they are sent: the state file's JSON, and what the scheduler knows besides.

kube-scheduler sends what the API server gave it, so with defaults. Filled in here are those that
another process may decide by: namespace, UID, scheduler's name, priority, requests that follow
limits, allocatable that follows capacity; and where the pod is, or is promised to be, by now.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.cluster.objects import Container, KubeObject, Node, encode_hook
from ksched_cli.cluster.pod_info import PodInfo

_PARTS = ("metadata", "spec", "status")


def pod_json(info: PodInfo, node: str = "", nominated: str = "") -> msgspec.Raw:
    """node: where the pod runs; nominated: where it was promised a place; "" for nowhere."""
    pod = info.pod
    found = _plain(pod, pod.raw)
    found["metadata"] |= {"namespace": pod.namespace, "uid": pod.uid or pod.key}
    spec, own = found["spec"], pod.spec
    filled = {
        "nodeName": node,
        "schedulerName": own.scheduler_name,
        "priority": own.priority,
        "priorityClassName": own.priority_class_name,
        "preemptionPolicy": own.preemption_policy,
    }
    _fill(spec, filled)
    for key, containers in (
        ("containers", own.containers),
        ("initContainers", own.init_containers),
    ):
        for there, container in zip(spec.get(key) or (), containers, strict=False):
            _fill_resources(there, container)
    _fill(found["status"], {"nominatedNodeName": nominated})
    return msgspec.Raw(msgspec.json.encode(found))


def _fill(part: dict[str, Any], fields: dict[str, Any]) -> None:
    """Go leaves empty fields of these out."""
    for name, value in fields.items():
        if value in ("", None):
            part.pop(name, None)
        else:
            part[name] = value


def _fill_resources(there: dict[str, Any], container: Container) -> None:
    resources = there["resources"] = there.get("resources") or {}
    for name in ("requests", "limits"):
        amounts = getattr(container.resources, name)
        if amounts:
            resources[name] = {resource: str(amount) for resource, amount in amounts.items()}


class NodeTexts:
    """The JSON of nodes, made once per node: nothing in a run changes it."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Node, msgspec.Raw]] = {}

    def of(self, node: Node) -> msgspec.Raw:
        found = self._kept.get(id(node))
        if found is None:
            # The node is kept with its text, for its id must stay taken.
            found = self._kept[id(node)] = (node, _node_json(node))
        return found[1]


def _node_json(node: Node) -> msgspec.Raw:
    found = _plain(node, node.raw)
    amounts = node.status.allocatable
    if amounts:
        found["status"]["allocatable"] = {name: str(amount) for name, amount in amounts.items()}
    return msgspec.Raw(msgspec.json.encode(found))


def _plain(one: KubeObject, raw: msgspec.Raw) -> dict[str, Any]:
    """The object as plain data, with its three parts; in Go none of them can be absent."""
    text = bytes(raw) or msgspec.json.encode(
        {part: getattr(one, part) for part in _PARTS}, enc_hook=encode_hook
    )
    found: dict[str, Any] = msgspec.json.decode(text)
    return found | {part: found.get(part) or {} for part in _PARTS}
