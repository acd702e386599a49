"""The objects of a state as a tree: nodes, namespaces with workloads and their pods, other kinds;
an object's manifest, and the change that an edited one comes to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.analysis.diagnosis import POD, owner_of
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects.node import Node
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError
from ksched_cli.kube.documents import load_documents
from ksched_cli.report.table import printable
from ksched_cli.scenario.arguments import WORKLOADS
from ksched_cli.scenario.objects import Manifest, objects_of, plain_object

# How many objects of a folder, or of a search, are listed.
MAX_LISTED = 200
NODES, NAMESPACE = "nodes", "namespace/"
PENDING = "pending"
# What a person does not edit, and kubectl does not show either.
_HIDDEN = "managedFields"


class TreeItem(Struct, frozen=True, omit_defaults=True):
    """An object, or a folder of objects.

    path: of the folder; "" for an object
    kind: of the object, or of the workload whose folder it is
    size: how many objects the folder has, or how many pods the workload
    note: what there is to say of the object in a word
    """

    name: str
    path: str = ""
    kind: str = ""
    namespace: str = ""
    size: int = 0
    note: str = ""


class Listing(Struct, frozen=True):
    """The contents of a folder, or the results of a search. more: how many objects are not
    listed"""

    items: tuple[TreeItem, ...]
    more: int


@dataclass(frozen=True)
class ObjectTree:
    """Folders of a state, made when the first is asked for. standings: what becomes of its pods, by
    their keys, where that is not what the state says"""

    state: ClusterState
    standings: Mapping[str, str]

    @cached_property
    def folders(self) -> Mapping[str, list[TreeItem]]:
        """The folders by path; "" is the root."""
        folders: dict[str, list[TreeItem]] = {NODES: [*map(_node, self.state.nodes)]}
        owned: dict[tuple[str, str], list[TreeItem]] = {}
        for pod in self.state.pods:
            owned.setdefault((pod.namespace, owner_of(pod)), []).append(self._pod(pod))
        for kind in WORKLOADS:
            for namespace, name in objects_of(self.state, KINDS[kind]):
                item = TreeItem(name, "", kind, namespace)
                owned.setdefault((namespace, f"{kind}/{name}"), []).insert(0, item)
        for (namespace, owner), pods in sorted(owned.items()):
            kind, _, name = owner.partition("/")
            path = f"{NAMESPACE}{namespace}"
            if kind == POD:
                folders.setdefault(path, []).extend(pods)
                continue
            size = sum(item.kind == POD for item in pods)
            item = TreeItem(name, f"{path}/{owner}", kind, namespace, size)
            folders.setdefault(path, []).append(item)
            folders[item.path] = pods
        for item in self._others():
            path = f"{NAMESPACE}{item.namespace}" if item.namespace else item.kind
            folders.setdefault(path, []).append(item)
        roots = {
            path: sum(item.size if item.path else 1 for item in items)
            for path, items in folders.items()
            if path.count("/") < 2
        }
        folders[""] = [
            TreeItem(path.removeprefix(NAMESPACE), path, size=size)
            for path, size in sorted(roots.items(), key=lambda root: _order(root[0]))
        ]
        return folders

    def _pod(self, pod: Pod) -> TreeItem:
        note = "finished" if pod.finished else pod.node_name or PENDING
        note = self.standings.get(pod.key, note)
        return TreeItem(pod.name, "", POD, pod.namespace, note=printable(note))

    def _others(self) -> Iterator[TreeItem]:
        for kind in KINDS.values():
            if kind.name not in (POD, "Node", "Namespace", *WORKLOADS):
                for namespace, name in objects_of(self.state, kind):
                    yield TreeItem(name, "", kind.name, namespace)

    def listing(self, path: str, search: str) -> Listing:
        """Return the contents of a folder; with `search`, the objects of any folder whose names
        have the words. Raises UsageError where there is no such folder."""
        if search:
            parts = search.lower().split()
            items = [
                item
                for folder, listed in self.folders.items()
                for item in listed
                if folder
                and (item.path or item.kind not in WORKLOADS)
                and all(part in _searched(item) for part in parts)
            ]
        elif path not in self.folders:
            raise UsageError(f"there is no {path} in the state")
        else:
            items = self.folders[path]
        return Listing(tuple(items[:MAX_LISTED]), max(0, len(items) - MAX_LISTED))

    def manifest(self, kind: str, namespace: str, name: str) -> Manifest:
        """Raises UsageError where it is not in the state."""
        type_ = KINDS.get(kind)
        obj = objects_of(self.state, type_).get((namespace, name)) if type_ else None
        if type_ is None or obj is None:
            raise UsageError(f"there is no {kind} {name} in the state")
        data = msgspec.json.decode(msgspec.json.encode(plain_object(type_, obj)))
        data["metadata"].pop(_HIDDEN, None)
        if namespace:
            data["metadata"].setdefault("namespace", namespace)
        if not (data.get("spec") or {}).get("nodeName", True):
            del data["spec"]["nodeName"]
        return {"apiVersion": data.pop("apiVersion"), "kind": data.pop("kind"), **data}


def change_of(before: Manifest, text: str) -> str | dict[str, Any]:
    """The change that an edited manifest comes to: a patch where it names the same object, else an
    object to apply. Raises InputError, UsageError."""
    documents = [each for each in load_documents(text, "the edited object") if each is not None]
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise UsageError("expected one object, as YAML or JSON")
    (after,) = documents
    kind, namespace, name = _identity(before)
    if _identity(after) not in ((kind, namespace, name), (kind, "", name)):
        return {"apply": after}
    patch = merge_patch(before, after)
    if not patch:
        raise UsageError("the object is as it was: nothing is edited")
    where = f" -n {shlex.quote(namespace)}" if namespace else ""
    quoted = shlex.quote(msgspec.json.encode(patch).decode())
    return f"patch {shlex.quote(f'{kind.lower()}/{name}')}{where} --type=merge -p {quoted}"


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) from one object to another."""
    patch: dict[str, Any] = {key: None for key in before if after.get(key) is None}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if nested := merge_patch(old, value):
                patch[key] = nested
        elif value != old:
            patch[key] = value
    return patch


def _identity(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise UsageError("the object has no metadata.name")
    return str(manifest.get("kind")), str(metadata.get("namespace") or ""), metadata["name"]


def _searched(item: TreeItem) -> str:
    return f"{item.kind}/{item.namespace}/{item.name} {item.note}".lower()


def _order(path: str) -> tuple[bool, bool, str]:
    return path != NODES, not path.startswith(NAMESPACE), path


def _node(node: Node) -> TreeItem:
    return TreeItem(node.name, "", "Node", note="cordoned" if node.spec.unschedulable else "")
