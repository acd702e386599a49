"""What goes over the wire, both ways, with the names as Go puts them there.

Upstream: k8s.io/kube-scheduler/extender/v1/types.go, whose types have no tags: the names begin with
capitals. What is inside of Pod and Nodes is named as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ksched_cli.extenders.go_json import Value, read

MAX_EXTENDER_PRIORITY = 10


@dataclass(frozen=True, slots=True)
class FilterResult:
    """nodes and node_names are None where the answer has none, which is not an empty list."""

    nodes: tuple[msgspec.Raw, ...] | None
    node_names: tuple[str, ...] | None
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]
    error: str


@dataclass(frozen=True, slots=True)
class MetaVictims:
    """uids: of the pods to evict."""

    uids: tuple[str, ...]
    pdb_violations: int


def extender_args(
    pod: msgspec.Raw, nodes: Sequence[msgspec.Raw] | None, node_names: Sequence[str] | None
) -> bytes:
    """Of `nodes` and `node_names` the one that the extender wants; None for the other."""
    listed = None if nodes is None else {"metadata": {}, "items": nodes}
    return msgspec.json.encode({"Pod": pod, "Nodes": listed, "NodeNames": node_names})


def preemption_args(
    pod: msgspec.Raw,
    victims: Mapping[str, tuple[Sequence[msgspec.Raw], int]] | None,
    meta_victims: Mapping[str, tuple[Sequence[str], int]] | None,
) -> bytes:
    """Per node the pods, or their UIDs, and how many disruption budgets they violate."""
    full = meta = None
    if victims is not None:
        full = {node: _victims(list(pods), number) for node, (pods, number) in victims.items()}
    if meta_victims is not None:
        meta = {
            node: _victims([{"UID": uid} for uid in uids], number)
            for node, (uids, number) in meta_victims.items()
        }
    return msgspec.json.encode(
        {"Pod": pod, "NodeNameToVictims": full, "NodeNameToMetaVictims": meta}
    )


def _victims(pods: Sequence[Any], violations: int) -> dict[str, Any]:
    return {"Pods": pods, "NumPDBViolations": violations}


def binding_args(namespace: str, name: str, uid: str, node: str) -> dict[str, str]:
    return {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node}


def filter_result(body: bytes) -> FilterResult:
    """Raises ExtenderError, as the other readers do."""
    names = ("Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error")
    found = read(body).fields("ExtenderFilterResult", names)
    return FilterResult(
        _node_list(found["Nodes"]) if "Nodes" in found else None,
        _texts(found["NodeNames"]) if "NodeNames" in found else None,
        _text_map(found.get("FailedNodes")),
        _text_map(found.get("FailedAndUnresolvableNodes")),
        found["Error"].text() if "Error" in found else "",
    )


def _node_list(value: Value) -> tuple[msgspec.Raw, ...]:
    items = value.fields("NodeList", ("items",)).get("items")
    return () if items is None else tuple(item.raw for item in items.items("[]v1.Node"))


def _texts(value: Value) -> tuple[str, ...]:
    return tuple(item.text() for item in value.items("[]string"))


def _text_map(value: Value | None) -> dict[str, str]:
    if value is None:
        return {}
    return {key: item.text() for key, item in value.members("v1.FailedNodesMap").items()}


def host_priorities(body: bytes) -> list[tuple[str, int]]:
    """Host and score, as often and in the order as the answer has them."""
    found = []
    for item in read(body).items("v1.HostPriorityList"):
        fields = item.fields("HostPriority", ("Host", "Score"))
        host = fields["Host"].text() if "Host" in fields else ""
        found.append((host, fields["Score"].integer() if "Score" in fields else 0))
    return found


def preemption_result(body: bytes) -> dict[str, MetaVictims]:
    """By node name, in order of name."""
    names = ("NodeNameToMetaVictims",)
    found = read(body).fields("ExtenderPreemptionResult", names).get(names[0])
    if found is None:
        return {}
    members = found.members("map[string]*v1.MetaVictims")
    return {node: _meta_victims(members[node]) for node in sorted(members)}


def _meta_victims(value: Value) -> MetaVictims:
    fields = value.fields("MetaVictims", ("Pods", "NumPDBViolations"))
    pods = fields["Pods"].items("[]*v1.MetaPod") if "Pods" in fields else []
    uids = [pod.fields("MetaPod", ("UID",)).get("UID") for pod in pods]
    number = fields["NumPDBViolations"].integer() if "NumPDBViolations" in fields else 0
    return MetaVictims(tuple("" if uid is None else uid.text() for uid in uids), number)


def binding_error(body: bytes) -> str:
    found = read(body).fields("ExtenderBindingResult", ("Error",)).get("Error")
    return "" if found is None else found.text()
