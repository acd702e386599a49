"""Objects of a state as plain data and back, decoded and checked as a state file is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.loading.collector import Collector
from ksched_cli.cluster.loading.kinds import KINDS, ObjectKind
from ksched_cli.cluster.loading.sources import Document, Source, documents
from ksched_cli.cluster.objects import KubeObject, Node, Pod, encode_hook
from ksched_cli.cluster.objects.base import decode_hook
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.scenario.pods import replace_pods, select_by_name

Manifest = dict[str, Any]

Edited = TypeVar("Edited", Node, Pod)


def load_objects(state: ClusterState, manifests: Iterable[Plain], source: str) -> ClusterState:
    """Return a state of these objects alone, with defaults. source: what errors say they are from.

    Raises InputError for what is not valid; without a position, for there is no such text.
    """
    manifests = list(manifests)
    own = [m.get("metadata") for m in manifests if m.get("kind") == "PriorityClass"]
    names = [metadata.get("name") for metadata in own if isinstance(metadata, dict)]
    classes = {name: item for name, item in state.priority_classes.items() if name not in names}
    collector = Collector(priority_classes=classes)
    try:
        for index, manifest in enumerate(manifests):
            data = msgspec.json.encode(manifest)
            collector.add(Document(Source(source, data), index, msgspec.Raw(data)))
        return collector.finish()
    except InputError as error:
        subject, hint = error.subject, error.hint
        raise InputError(error.source, error.problem, subject=subject, hint=hint) from None


def check_documents(source: Source) -> tuple[str, ...]:
    """Return warnings about the fields of a file's objects that Kubernetes does not know.

    Raises InputError, with line and column, for an invalid object.
    """
    warnings: list[str] = []
    for document in documents(source):
        collector = Collector()
        collector.add(document)
        warnings += collector.field_warnings()
    return tuple(warnings)


def with_objects(state: ClusterState, added: ClusterState) -> ClusterState:
    """Return the state with the objects of another; of those in both, the other's, in their old
    place."""
    changes: dict[str, Any] = {}
    if added.nodes:
        new = {node.name: node for node in added.nodes}
        old = [new.pop(node.name, node) for node in state.nodes]
        changes["nodes"] = (*old, *new.values())
    if added.pods:
        arriving = {pod.key: pod for pod in added.pods}
        same_name = select_by_name(state.pods, {pod.name for pod in added.pods})
        replacements = {id(p): arriving.pop(p.key) for p in same_name if p.key in arriving}
        changes["pods"] = replace_pods(state.pods, replacements, arriving.values())
    for field in fields(state):
        value = getattr(added, field.name)
        if isinstance(value, Mapping) and value and field.name not in ("skipped", "others"):
            changes[field.name] = {**getattr(state, field.name), **value}
    return replace(state, **changes)


def plain_object(kind: ObjectKind, obj: KubeObject, **spec: Any) -> Manifest:
    """Return the object as it was read, else as it would be written. spec: fields that it gets
    instead"""
    raw = bytes(getattr(obj, "raw", b""))
    data: Manifest = plain_json(raw or msgspec.json.encode(obj, enc_hook=encode_hook))
    if isinstance(obj, Pod):
        # Not with `edited`: the typed view is ahead of the JSON here, which neither a binding nor
        # an eviction writes to.
        data["spec"] = {**(data.get("spec") or {}), "nodeName": obj.node_name}
        if obj.status is PENDING_AGAIN:
            data["status"] = {"phase": "Pending"}
        created = obj.metadata.creation_timestamp
        data["metadata"] |= {"creationTimestamp": created} if created else {}
    if spec:
        data["spec"] = {**(data.get("spec") or {}), **spec}
    group = f"{kind.group}/v1" if kind.group else "v1"
    return {"apiVersion": group, **data, "kind": kind.name}


def json_merge(value: Any, patch: Any) -> Any:
    """Merge a patch into a value as RFC 7386 says: objects are merged, null removes, and everything
    else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = json_merge(merged.get(key), item)
    return merged


def edited(obj: Edited, patch: Manifest) -> Edited:
    """Return the object with a merge patch applied to its manifest, which its typed view follows;
    an object that was made without a manifest stays without."""
    view: dict[str, Any] = {}
    for name, part in patch.items():
        attribute, kind = _typed_fields(type(obj))[name]
        before = msgspec.to_builtins(getattr(obj, attribute), enc_hook=encode_hook)
        after = json_merge(before, part) or {}
        view[attribute] = msgspec.convert(after, kind, dec_hook=decode_hook)
    raw = obj.raw
    if bytes(raw):
        raw = msgspec.Raw(msgspec.json.encode(json_merge(plain_json(raw), patch)))
    return structs.replace(obj, **view, raw=raw)


@cache
def _typed_fields(kind: type[KubeObject]) -> Mapping[str, tuple[str, Any]]:
    """Return the attribute and its type by the name of the field in a manifest."""
    return {field.encode_name: (field.name, field.type) for field in structs.fields(kind)}


def objects_of(state: ClusterState, kind: ObjectKind) -> dict[tuple[str, str], KubeObject]:
    """Return all of a kind by namespace, "" where it has none, and name."""
    value = getattr(state, kind.attribute)
    listed = value.values() if isinstance(value, Mapping) else value
    return {(obj.namespace if kind.namespaced else "", obj.name): obj for obj in listed}


def custom_objects_of(state: ClusterState, kind: str) -> dict[tuple[str, str], Plain]:
    """Return objects as `objects_of` does, of a kind that only plugins read, as
    "PodGroup.scheduling.x-k8s.io"."""
    return {custom_key(manifest): manifest for manifest in state.others.get(kind, ())}


def custom_key(manifest: Plain) -> tuple[str, str]:
    """Return the namespace and the name."""
    metadata = manifest.get("metadata") or {}
    return metadata.get("namespace") or "default", str(metadata.get("name"))


def replaced(
    state: ClusterState, kind: ObjectKind | str, manifests: Iterable[Manifest]
) -> ClusterState:
    """Return the state with these objects of a kind as the manifests have them. kind: as of
    `custom_objects_of`, too"""
    manifests = list(manifests)
    if not manifests:
        return state
    if isinstance(kind, str):
        objects = custom_objects_of(state, kind) | {custom_key(each): each for each in manifests}
        return _with_custom(state, kind, objects)
    return with_objects(state, load_objects(state, manifests, f"a changed {kind.name}"))


def _with_custom(
    state: ClusterState, kind: str, objects: Mapping[tuple[str, str], Plain]
) -> ClusterState:
    return replace(state, others={**state.others, kind: tuple(objects.values())})


def removed(
    state: ClusterState, kind: ObjectKind | str, keys: Iterable[tuple[str, str]]
) -> ClusterState:
    """Return the state without these objects; not for pods, which budgets and claims follow."""
    gone = set(keys)
    if isinstance(kind, str):
        custom = custom_objects_of(state, kind)
        rest = {key: each for key, each in custom.items() if key not in gone}
        return _with_custom(state, kind, rest)
    remaining = {key: obj for key, obj in objects_of(state, kind).items() if key not in gone}
    value: Any = getattr(state, kind.attribute)
    if not isinstance(value, Mapping):
        value = tuple(remaining.values())
    else:
        value = {(key if kind.namespaced else key[1]): obj for key, obj in remaining.items()}
    changes: dict[str, Any] = {kind.attribute: value}
    return replace(state, **changes)


_SHORT = {
    "no": "Node",
    "po": "Pod",
    "deploy": "Deployment",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "cj": "CronJob",
    "pdb": "PodDisruptionBudget",
    "pc": "PriorityClass",
    "pv": "PersistentVolume",
    "pvc": "PersistentVolumeClaim",
    "sc": "StorageClass",
    "svc": "Service",
    "ns": "Namespace",
}


def kind_of(word: str) -> ObjectKind | None:
    """Return the kind of a word of kubectl's: "deploy", "deployments", "Deployment",
    "deployment.apps"."""
    name = word.partition(".")[0].lower()
    name = _SHORT.get(name, name).lower()
    for kind in KINDS.values():
        full = kind.name.lower()
        plural = f"{full[:-1]}ies" if full.endswith("y") else f"{full}es"
        if name in (full, f"{full}s", plural):
            return kind
    return None


# -- a state as a file ----------------------------------------------------------------------------


def manifests(state: ClusterState) -> Iterator[bytes]:
    """Yield each object as JSON, pods with the node and the status that they have now."""
    for kind in KINDS.values():
        for obj in objects_of(state, kind).values():
            data = plain_object(kind, obj)
            if isinstance(obj, Pod):
                _renew(data, obj)
            yield msgspec.json.encode(data)
    for objects in state.others.values():
        for other in objects:
            yield msgspec.json.encode(other)


def _renew(data: Manifest, pod: Pod) -> None:
    status = {**(data.get("status") or {}), "phase": "Running" if pod.node_name else "Pending"}
    fields = {
        "startTime": pod.status.start_time if pod.node_name else "",
        "nominatedNodeName": pod.status.nominated_node_name,
    }
    status |= {name: value for name, value in fields.items() if value}
    if pod.finished:
        status["phase"] = pod.status.phase
    conditions = [
        {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
        for each in pod.status.conditions
    ]
    if conditions:
        status["conditions"] = conditions
    data["status"] = status
    if not pod.node_name:
        data["spec"].pop("nodeName", None)
    if pod.deleting:
        data["metadata"]["deletionTimestamp"] = pod.metadata.deletion_timestamp
