"""The JSON of requests to extenders and of their responses, of either side.

kube-scheduler sends objects as the API server returned them, with defaults. Filled in here
are those that an extender may decide by: namespace, UID, scheduler name, priority, requests from
limits, allocatable from capacity; and the node where the pod runs or is nominated to run.

Upstream: k8s.io/kube-scheduler/extender/v1/types.go, whose types have no tags: names begin with
capitals, except inside of Pod and Nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.cluster.objects import KubeObject, Node, encode_hook
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.preemption import ExtenderError
from ksched_cli.kube.go_json import GoJsonError, GoValue, decode_first
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.stored_bytes import ObjectJson

MAX_EXTENDER_PRIORITY = 10


class FilterResult(Struct, frozen=True):
    """nodes, node_names: None where the response has none, which differs from an empty list.
    failed, failed_and_unresolvable: node name → why it was rejected
    """

    nodes: tuple[msgspec.Raw, ...] | None
    node_names: tuple[str, ...] | None
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]
    error: str


class MetaVictims(Struct, frozen=True):
    """uids: of the pods to evict. pdb_violations: how many disruption budgets that violates."""

    uids: tuple[str, ...]
    pdb_violations: int


class Named(Struct, rename={"uid": "UID"}, frozen=True):
    """A pod that is only named."""

    uid: str = ""


class _Victims(Struct, frozen=True, rename="pascal"):
    """pods: of NodeNameToMetaVictims"""

    pods: tuple[Named, ...] | None = ()
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _Meta(Struct):
    name: str = ""
    uid: str = ""


class _Object(Struct):
    metadata: _Meta


class _WholeVictims(Struct, frozen=True, rename="pascal"):
    """pods: of NodeNameToVictims"""

    pods: tuple[_Object, ...] | None = ()
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _NodeList(Struct, frozen=True):
    items: list[msgspec.Raw] | None = None


class _Args(Struct, frozen=True, rename="pascal"):
    """What Filter and Prioritize are sent."""

    pod: msgspec.Raw
    nodes: _NodeList | None = None
    node_names: list[str] | None = None


class _PreemptionArgs(Struct, frozen=True, rename="pascal"):
    pod: msgspec.Raw
    node_name_to_victims: dict[str, _WholeVictims] | None = None
    node_name_to_meta_victims: dict[str, _Victims] | None = None


class ReceivedNodes(Struct, frozen=True):
    """The nodes of a request. whole: their JSON in the same order; None where names were sent."""

    pod: msgspec.Raw
    names: list[str]
    whole: list[msgspec.Raw] | None


class ReceivedVictims(Struct, frozen=True):
    """The candidates of a preemption. victims: by node name"""

    pod: msgspec.Raw
    victims: Mapping[str, MetaVictims]


# -- requests, as an extender reads them; raise msgspec.DecodeError --------------------------------

_args = msgspec.json.Decoder(_Args)
_preemption_args = msgspec.json.Decoder(_PreemptionArgs)
_object = msgspec.json.Decoder(_Object)


def received_nodes(body: bytes) -> ReceivedNodes:
    args = _args.decode(body)
    if args.node_names is not None or args.nodes is None:
        return ReceivedNodes(args.pod, args.node_names or [], None)
    items = args.nodes.items or []
    return ReceivedNodes(args.pod, [_object.decode(item).metadata.name for item in items], items)


def received_victims(body: bytes) -> ReceivedVictims:
    args = _preemption_args.decode(body)
    victims = {}
    for node, meta in (args.node_name_to_meta_victims or {}).items():
        uids = tuple(pod.uid for pod in meta.pods or ())
        victims[node] = MetaVictims(uids, meta.num_pdb_violations)
    for node, whole in (args.node_name_to_victims or {}).items():
        uids = tuple(pod.metadata.uid for pod in whole.pods or ())
        victims[node] = MetaVictims(uids, whole.num_pdb_violations)
    return ReceivedVictims(args.pod, victims)


# -- responses, as an extender writes them ---------------------------------------------------------


def filter_answer(
    received: ReceivedNodes,
    passing: Collection[str],
    failed: Mapping[str, str],
    unresolvable: Mapping[str, str],
) -> bytes:
    """Return the response to a Filter request. It has whole nodes or names, as the request does.

    passing: the names of the nodes that pass
    """
    if received.whole is None:
        nodes: dict[str, Any] = {"NodeNames": [n for n in received.names if n in passing]}
    else:
        pairs = zip(received.names, received.whole, strict=True)
        nodes = {"Nodes": {"items": [item for name, item in pairs if name in passing]}}
    both = {"FailedNodes": failed, "FailedAndUnresolvableNodes": unresolvable}
    return msgspec.json.encode({**nodes, **both})


def filter_error(message: str) -> bytes:
    return msgspec.json.encode({"Error": message})


def priorities_answer(scores: Iterable[tuple[str, int]]) -> bytes:
    return msgspec.json.encode([{"Host": host, "Score": score} for host, score in scores])


def preemption_answer(victims: Mapping[str, MetaVictims]) -> bytes:
    meta = {
        node: _victims([{"UID": uid} for uid in each.uids], each.pdb_violations)
        for node, each in victims.items()
    }
    return msgspec.json.encode({"NodeNameToMetaVictims": meta})


# -- requests, as a scheduler writes them ----------------------------------------------------------


def extender_args(
    pod: msgspec.Raw, nodes: Sequence[msgspec.Raw] | None, node_names: Sequence[str] | None
) -> bytes:
    """Return the arguments of Filter and Prioritize: nodes or their names, None for what is not
    sent."""
    node_list = None if nodes is None else {"metadata": {}, "items": nodes}
    return msgspec.json.encode({"Pod": pod, "Nodes": node_list, "NodeNames": node_names})


def preemption_args(
    pod: msgspec.Raw,
    victims: Mapping[str, tuple[Sequence[msgspec.Raw], int]] | None,
    meta_victims: Mapping[str, tuple[Sequence[str], int]] | None,
) -> bytes:
    """Return the arguments of preemption: victims or their UIDs, None for what is not sent.

    Both: node name → the pods (or their UIDs) and how many disruption budgets they violate.
    """
    full = meta = None
    if victims is not None:
        full = {node: _victims(list(pods), count) for node, (pods, count) in victims.items()}
    if meta_victims is not None:
        meta = {
            node: _victims([{"UID": uid} for uid in uids], count)
            for node, (uids, count) in meta_victims.items()
        }
    return msgspec.json.encode(
        {"Pod": pod, "NodeNameToVictims": full, "NodeNameToMetaVictims": meta}
    )


def _victims(pods: Sequence[Any], violations: int) -> dict[str, Any]:
    return {"Pods": pods, "NumPDBViolations": violations}


def binding_args(namespace: str, name: str, uid: str, node: str) -> dict[str, str]:
    """Return the arguments of Bind."""
    return {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node}


# -- responses: each function raises ExtenderError with the message of Go's decoder ----------------


def filter_result(body: bytes) -> FilterResult:
    with _extender_errors():
        names = ("Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error")
        fields = decode_first(body).fields("v1.ExtenderFilterResult", names)
        nodes = node_names = None
        if "Nodes" in fields:
            listed = fields["Nodes"].fields("v1.NodeList", ("items",)).get("items")
            items = () if listed is None else listed.items("[]v1.Node")
            nodes = tuple(item.raw for item in items)
        if "NodeNames" in fields:
            node_names = tuple(item.text() for item in fields["NodeNames"].items("[]string"))
        return FilterResult(
            nodes,
            node_names,
            _text_map(fields.get("FailedNodes")),
            _text_map(fields.get("FailedAndUnresolvableNodes")),
            fields["Error"].text() if "Error" in fields else "",
        )


def host_priorities(body: bytes) -> list[tuple[str, int]]:
    """Return hosts and scores in the order of the response; a host may be repeated."""
    with _extender_errors():
        priorities = []
        for item in decode_first(body).items("v1.HostPriorityList"):
            fields = item.fields("v1.HostPriority", ("Host", "Score"))
            host = fields["Host"].text() if "Host" in fields else ""
            priorities.append((host, fields["Score"].integer() if "Score" in fields else 0))
        return priorities


def preemption_result(body: bytes) -> dict[str, MetaVictims]:
    """Return the victims of the response by node name, in order of name."""
    with _extender_errors():
        name = "NodeNameToMetaVictims"
        fields = decode_first(body).fields("v1.ExtenderPreemptionResult", (name,))
        if name not in fields:
            return {}
        members = fields[name].members("map[string]*v1.MetaVictims")
        result = {}
        for node in sorted(members):
            own = members[node].fields("v1.MetaVictims", ("Pods", "NumPDBViolations"))
            pods = own["Pods"].items("[]*v1.MetaPod") if "Pods" in own else []
            uids = [pod.fields("v1.MetaPod", ("UID",)).get("UID") for pod in pods]
            violations = own["NumPDBViolations"].integer() if "NumPDBViolations" in own else 0
            texts = tuple("" if uid is None else uid.text() for uid in uids)
            result[node] = MetaVictims(texts, violations)
        return result


def binding_error(body: bytes) -> str:
    """Return the error that the response names, or ""."""
    with _extender_errors():
        error = decode_first(body).fields("v1.ExtenderBindingResult", ("Error",)).get("Error")
        return "" if error is None else error.text()


@contextmanager
def _extender_errors() -> Iterator[None]:
    try:
        yield
    except GoJsonError as error:
        raise ExtenderError(str(error)) from None


def _text_map(value: GoValue | None) -> dict[str, str]:
    if value is None:
        return {}
    return {key: item.text() for key, item in value.members("v1.FailedNodesMap").items()}


_PARTS = ("metadata", "spec", "status")


def pod_json(info: PodInfo, node: str = "", nominated: str = "") -> msgspec.Raw:
    """Return the pod as JSON, as kube-scheduler sends it.

    node: where the pod runs, or ""
    nominated: its nominated node, or ""
    """
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
            resources = container_data["resources"] = container_data.get("resources") or {}
            for name in ("requests", "limits"):
                amounts = getattr(container.resources, name)
                if amounts:
                    resources[name] = {
                        resource: str(amount) for resource, amount in amounts.items()
                    }
    if pod.status is PENDING_AGAIN:
        data["status"] = {"phase": "Pending"}
    _set_fields(data["status"], {"nominatedNodeName": nominated})
    return msgspec.Raw(msgspec.json.encode(data))


def _set_fields(part: dict[str, Any], fields: dict[str, Any]) -> None:
    """Set the fields. Empty ones are left out, as Go's omitempty does."""
    for name, value in fields.items():
        if value in ("", None):
            part.pop(name, None)
        else:
            part[name] = value


class NodeJsonCache:
    """The JSON of nodes, encoded once per node: nodes do not change in a run."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Node, msgspec.Raw]] = {}

    def of(self, node: Node) -> msgspec.Raw:
        entry = self._entries.get(id(node))
        if entry is None:
            data = _plain(node, node.raw)
            amounts = node.status.allocatable
            if amounts:
                texts = {name: str(amount) for name, amount in amounts.items()}
                data["status"]["allocatable"] = texts
            # The entry holds the node, so that no other object gets its id.
            entry = self._entries[id(node)] = (node, msgspec.Raw(msgspec.json.encode(data)))
        return entry[1]


def _plain(obj: KubeObject, raw: ObjectJson) -> dict[str, Any]:
    """Return the object as plain data with metadata, spec and status: in Go none of them can be
    absent.

    raw: the object's JSON, empty for an object that was not read from a file
    """
    text = bytes(raw) or msgspec.json.encode(
        {part: getattr(obj, part) for part in _PARTS}, enc_hook=encode_hook
    )
    data: dict[str, Any] = plain_json(text)
    return data | {part: data.get(part) or {} for part in _PARTS}
