"""Collects the objects of documents into a state: decoded by kind, with defaults, checked for
duplicates."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import force_setattr, replace

from ksched_cli.cluster.custom_objects import Others, kind_with_group
from ksched_cli.cluster.loading.json_pieces import JsonPieces
from ksched_cli.cluster.loading.kinds import (
    KINDS,
    ObjectKind,
    PriorityAdmission,
    UnknownPriorityClassError,
    find_kind,
    miscased,
    proper_kind,
)
from ksched_cli.cluster.loading.object_errors import (
    ObjectLocation,
    decode_error,
    object_error,
)
from ksched_cli.cluster.loading.pod_decoder import PartError, PodDecoder
from ksched_cli.cluster.loading.sources import Document, ObjectParts, PodParts
from ksched_cli.cluster.loading.state_warnings import part_warnings, state_warnings
from ksched_cli.cluster.loading.unknown_fields import FieldChecker
from ksched_cli.cluster.objects import (
    KubeObject,
    Node,
    PriorityClass,
    Workload,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, first_names
from ksched_cli.kube.documents import Path
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.kube.stored_bytes import ObjectJson, StoredJson

_BETA = "/v1beta1"
_ARRAY = re.compile(rb"\s*\[")

# What ksched reads otherwise: kind → its group, and where it goes.
_OTHER_INPUT = {
    "KubeSchedulerConfiguration": ("kubescheduler.config.k8s.io", "--config"),
    "Scenario": ("ksched", "--scenario"),
    "Expectations": ("ksched", "`ksched test`"),
}

# In maps a null is a value, which Go reads as the zero value: a string, a quantity or, in a
# ResourceSlice, an object.
_ZERO_BY_MAP: dict[str, Any] = {
    **dict.fromkeys(("labels", "annotations", "matchLabels", "nodeSelector", "parameters"), ""),
    **dict.fromkeys(("requests", "limits", "capacity", "allocatable", "overhead"), "0"),
}
_OF_METADATA = {"labels": "", "annotations": ""}
_OF_CLAIM = {**_OF_METADATA, "requests": "0", "consumedCapacity": "0"}
_OF_SLICE: dict[str, Any] = {
    **_OF_METADATA,
    "attributes": {},
    "capacity": {},
    "counters": {},
    "nodeAllocatableResources": {},
    "nodeAllocatableResourceMappings": {},
}
_ZERO_BY_KIND = {
    "ResourceClaim": _OF_CLAIM,
    "ResourceClaimTemplate": _OF_CLAIM,
    "ResourceSlice": _OF_SLICE,
}


class _ListedKind(msgspec.Struct, rename="camel"):
    """A list that was read of a cluster; namespace: "" for all."""

    kind: str
    namespace: str | None = ""
    resource_version: str = ""


class _Snapshot(msgspec.Struct, rename="camel"):
    """What `ksched snapshot` says of a cluster beside its objects (live/snapshot.py)."""

    server_version: str = ""
    taken: str = ""
    lists: tuple[_ListedKind, ...] = ()
    warnings: tuple[str, ...] = ()


class _TypeMeta(msgspec.Struct, rename="camel", gc=False):
    """An object's kind alone."""

    kind: str | None = None
    api_version: str | None = None


# Each with its place, if it is in a file that is read piece by piece.
_Items: TypeAlias = Iterable[tuple[msgspec.Raw, StoredJson | None]]


class _InvalidObjectError(Exception):
    """An object that can be decoded is invalid. path: of the field in the object."""

    def __init__(self, problem: str, path: Path = (), hint: str = "") -> None:
        self.problem, self.path, self.hint = problem, path, hint
        super().__init__(problem)


class Collector:
    """Adds documents one by one, then makes the ClusterState."""

    def __init__(
        self,
        reads: Container[str] = (),
        priority_classes: Mapping[str, PriorityClass] | None = None,
    ) -> None:
        """reads: kinds to keep besides those of KINDS, as "PodGroup.scheduling.x-k8s.io".
        priority_classes: to be there before any document is added"""
        self._reads = reads
        self._custom_objects: dict[str, list[msgspec.Raw]] = {}
        self._header = msgspec.json.Decoder(ObjectParts)
        self._type_meta = msgspec.json.Decoder(_TypeMeta)
        self._array = msgspec.json.Decoder(list[msgspec.Raw])
        self._pods = PodDecoder()
        self._objects: dict[str, dict[Any, Any]] = {kind.attribute: {} for kind in KINDS.values()}
        self._objects["priority_classes"].update(priority_classes or {})
        self._skipped: dict[str, int] = {}
        self._repeated: list[str] = []
        self._of_snapshots: list[str] = []
        self._whole_kinds: set[str] = set()
        self._taken = self._server_version = ""
        self._miscased: list[str] = []
        self._fields = FieldChecker()
        # By attribute and generateName.
        self._generated: dict[tuple[str, str], Iterator[str]] = {}
        # Locations of the pods that need a priority class, for errors: classes may come after pods.
        self._class_users: dict[str, ObjectLocation] = {}

    def add(self, document: Document) -> None:
        """Add the object in a document, or the objects of an array. Raises InputError."""
        self._fields.check_keys(document)
        try:
            parts = document.parts
            if parts is None and _ARRAY.match(document.data) is not None:
                parts = self._array.decode(document.data)
            if isinstance(parts, list):
                self._add_items(_whole(parts), document, (), ObjectParts())
            else:
                self._add(document.data, ObjectLocation(document, ()), ObjectParts(), parts)
        except RecursionError:  # of objects, or (Python 3.14 nests deeper) of their errors
            raise InputError(document.source.name, "nested too deeply") from None

    def add_pieces(self, pieces: JsonPieces) -> None:
        """Add the objects of a list. Raises InputError, UnusualFormError."""
        document = pieces.document
        header = self._read_header(document.data)
        self._add_snapshot(msgspec.json.decode(header.snapshot, type=_Snapshot))
        self._add_items(pieces.items(), document, ("items",), _implied(header))

    def finish(self, warnings: tuple[str, ...] = ()) -> ClusterState:
        """Return the state. warnings: about its files. Raises InputError for a pod of an unknown
        priority class."""
        admission = PriorityAdmission(self._objects["priority_classes"])
        for pod in self._objects["pods"].values():
            spec = pod.spec
            try:
                admitted = admission.admit(spec)
            except UnknownPriorityClassError as error:
                problem = f'no PriorityClass "{error.name}" in the state'
                raise object_error(
                    self._class_users[pod.key],
                    "Pod",
                    msgspec.Raw(bytes(pod.raw)),
                    ("spec", "priorityClassName"),
                    f"{problem}, and the pod has no spec.priority",
                    hint="Add the class to the state (kubectl get priorityclasses -o yaml).",
                ) from None
            if admitted is not spec:
                # No one else holds the pod yet, and copying every pod would double the work.
                force_setattr(pod, "spec", admitted)
        fields: dict[str, Any] = dict(self._objects)
        fields["nodes"] = tuple(fields["nodes"].values())
        fields["pods"] = tuple(fields["pods"].values())
        fields["others"] = Others(self._custom_objects)
        fields |= {"skipped": self._skipped, "whole_kinds": frozenset(self._whole_kinds)}
        fields |= {"taken": self._taken, "server_version": self._server_version}
        state = ClusterState(**fields)
        repeated = []
        if count := len(self._repeated):
            copies = "1 object is" if count == 1 else f"{count} objects are"
            repeated.append(
                f"{copies} in the state more than once (same uid); only the first copy "
                f"counts: {first_names(self._repeated)}"
            )
        warnings += (
            *self._of_snapshots,
            *repeated,
            *dict.fromkeys(self._miscased),
            *self.field_warnings(),
            *state_warnings(state),
            *part_warnings(state),
        )
        return ClusterState(**fields, warnings=warnings, unknown_fields=self._fields.places())

    def field_warnings(self) -> Iterator[str]:
        """Return a line for every field that Kubernetes does not know, and every key written
        twice."""
        return self._fields.warnings()

    def _add(
        self,
        data: msgspec.Raw,
        location: ObjectLocation,
        implied: ObjectParts,
        header: ObjectParts | None = None,
    ) -> None:
        """Add an object, or the items of a list. Raises InputError. implied: the kind and version
        that items of a typed list need not repeat; header: what was read of the object already"""
        name = implied.kind or ""
        try:
            header = header or self._read_header(data)
            name = header.kind or name
            if header.items is not msgspec.UNSET and name.endswith("List"):
                path = (*location.path, "items")
                items = _whole(header.items or ())
                self._add_items(items, location.document, path, _implied(header))
                if not header.items and name != "List":
                    self._whole_kinds.add(name.removesuffix("List"))
                if not location.path:
                    self._add_snapshot(msgspec.json.decode(header.snapshot, type=_Snapshot))
            else:
                version = header.api_version or implied.api_version or ""
                self._add_object(name, version, header, data, location)
        except PartError as error:
            raise decode_error(location, name, data, error.cause, error.path) from None
        except msgspec.ValidationError as error:
            raise decode_error(location, name, data, error) from None
        except _InvalidObjectError as error:
            raise object_error(
                location, name, data, error.path, error.problem, hint=error.hint
            ) from None

    def _add_snapshot(self, about: _Snapshot) -> None:
        self._of_snapshots += about.warnings
        self._taken = max(self._taken, about.taken)
        self._server_version = about.server_version or self._server_version
        # A snapshot of files does not know whether they had all of a kind: its lists have no
        # version.
        self._whole_kinds |= {
            entry.kind for entry in about.lists if entry.resource_version and not entry.namespace
        }

    def _read_header(self, data: msgspec.Raw) -> ObjectParts:
        try:
            return self._header.decode(data)
        except msgspec.ValidationError:
            # An object of an unknown kind may have `items` of any type; it is no list.
            parts = self._type_meta.decode(data)
            if (parts.kind or "List").endswith("List"):
                raise
            return ObjectParts(kind=parts.kind, api_version=parts.api_version)

    def _add_items(
        self, items: _Items, document: Document, path: Path, implied: ObjectParts
    ) -> None:
        """Add the items of a list. path: of the list; implied: see _add"""
        pods = self._objects["pods"]
        are_pods = False
        for index, (item, stored) in enumerate(items):
            if not (are_pods and self._add_quickly(item, stored or item, implied)):
                count = len(pods)
                self._add(item, ObjectLocation(document, (*path, index), stored), implied)
                are_pods = len(pods) > count

    def _add_quickly(self, data: msgspec.Raw, raw: ObjectJson, implied: ObjectParts) -> bool:
        """Add an object if it is a pod that `_add` would add without any more ado, as most objects
        of large states are. Returns whether it did."""
        pod = self._pods.decode_quickly(data, raw, implied.kind or "", implied.api_version or "")
        if pod is None or (pod.spec.priority is None and pod.spec.priority_class_name):
            return False
        pods, key = self._objects["pods"], (pod.metadata.namespace, pod.metadata.name)
        if not pod.metadata.name or key in pods or not self._fields.counts(pod.spec):
            return False
        pods[key] = pod
        return True

    def _add_object(
        self, name: str, version: str, parts: PodParts, data: msgspec.Raw, location: ObjectLocation
    ) -> None:
        if not location.document.source.in_folder:
            # ksched reads some other input, but not as part of a state.
            group, option = _OTHER_INPUT.get(name, ("", ""))
            if option and version.partition("/")[0] in ("", group):
                hint = f"Pass it with {option}; --state takes objects of a cluster."
                raise _InvalidObjectError(
                    f"a {name} does not belong in a cluster state", ("kind",), hint
                )
        kind = find_kind(version, name)
        if kind is None and (proper := proper_kind(version, name)):
            # The API server does not know a kind in the wrong case: an error, and a warning in a
            # folder, which may have files of others.
            problem = miscased(name, proper)
            if not location.document.source.in_folder:
                raise _InvalidObjectError(problem, ("kind",))
            self._miscased.append(problem)
        if kind is KINDS["Pod"]:
            self._add_pod(parts, data, location)
        elif kind is not None:
            obj = self._decode(kind, version, data, location.stored or data)
            if not obj.name and (content := self._with_name(kind, data)):
                self._add_object(name, version, parts, content, location._replace(stored=None))
                return
            self._store(kind, obj)
            self._fields.check(kind, version, data, location)
        elif name and (full := kind_with_group(version, name)) in self._reads:
            self._custom_objects.setdefault(full, []).append(data.copy())
        elif name:
            self._skipped[name] = self._skipped.get(name, 0) + 1
        else:
            raise _InvalidObjectError(
                "kind is missing",
                hint="Every object needs apiVersion and kind; kubectl prints them with -o yaml.",
            )

    def _add_pod(self, parts: PodParts, data: msgspec.Raw, location: ObjectLocation) -> None:
        raw = location.stored or data
        try:
            pod = self._pods.decode(parts, raw)
        except PartError:
            without = _without_nulls(data)
            if without is None:
                raise
            pod = self._pods.decode(self._header.decode(without), raw)
        if not pod.name and (content := self._with_name(KINDS["Pod"], data)):
            parts = self._read_header(content)
            self._add_pod(parts, content, location._replace(stored=None))
            return
        self._store(KINDS["Pod"], pod)
        self._fields.check_pod(KINDS["Pod"], pod.spec, data, location)
        if pod.spec.priority is None and pod.spec.priority_class_name:
            self._class_users[pod.key] = location

    def _decode(
        self, kind: ObjectKind, version: str, data: msgspec.Raw, raw: ObjectJson
    ) -> KubeObject:
        """Decode an object. raw: the JSON that the object has"""
        content: msgspec.Raw | bytes = data
        if kind.upgrade is not None and version.endswith(_BETA):
            plain = msgspec.json.decode(data)
            kind.upgrade(plain)
            content = msgspec.json.encode(plain)
        try:
            obj: KubeObject = kind.decode(content)
        except msgspec.ValidationError:
            without = _without_nulls(content)
            if without is None:
                raise
            obj = kind.decode(without)
        if kind.default is not None:
            obj = kind.default(obj)
        if isinstance(obj, Node):
            return replace(obj, raw=raw)
        if isinstance(obj, Workload):
            obj = replace(obj, raw=raw)
        if kind.namespaced and not obj.namespace:
            return replace(obj, metadata=replace(obj.metadata, namespace="default"))
        return obj

    def _with_name(self, kind: ObjectKind, data: msgspec.Raw) -> msgspec.Raw | None:
        """Return the object with a name of its generateName, which no object of its kind has so
        far; None if it has none."""
        plain = msgspec.json.decode(data)
        metadata = plain["metadata"] = plain.get("metadata") or {}
        base, namespace = metadata.get("generateName"), metadata.get("namespace") or "default"
        if not isinstance(base, str) or not base:
            return None
        objects = self._objects[kind.attribute]
        names = self._generated.setdefault((kind.attribute, base), generated_names(base, set()))
        metadata["name"] = next(
            name for name in names if (namespace, name) not in objects and name not in objects
        )
        return msgspec.Raw(msgspec.json.encode(plain))

    def _store(self, kind: ObjectKind, obj: KubeObject) -> None:
        meta = obj.metadata
        if not meta.name:
            raise _InvalidObjectError("expected a name", ("metadata", "name"))
        objects = self._objects[kind.attribute]
        key = (meta.namespace, meta.name) if kind.namespaced else meta.name
        if key in objects:
            # Only the API server gives a uid that is not made of the pod's key: where both objects
            # have it, they are one.
            if (
                meta.uid not in ("", f"{meta.namespace}/{meta.name}")
                and meta.uid == objects[key].metadata.uid
            ):
                # must-gather writes a pod into its namespace's list and into a file of its own.
                namespace = f"{meta.namespace}/" if kind.namespaced else ""
                self._repeated.append(f"{kind.name} {namespace}{meta.name}")
                return
            raise _InvalidObjectError(
                f"another {kind.name} has this name; remove one of them", ("metadata", "name")
            )
        objects[key] = obj


def _whole(items: Iterable[msgspec.Raw]) -> _Items:
    """Return the items of a list that was read as a whole."""
    return ((item, None) for item in items)


def _implied(header: ObjectParts) -> ObjectParts:
    """Return what the items of a list need not repeat."""
    if header.kind and header.kind != "List":
        return ObjectParts(kind=header.kind.removesuffix("List"), api_version=header.api_version)
    return ObjectParts()


def _without_nulls(data: msgspec.Raw | bytes) -> bytes | None:
    """Return the JSON without nulls, which Go reads as absent; None if it has none."""
    if b"null" not in bytes(data):
        return None
    value = msgspec.json.decode(data)
    kind = str(value.get("kind")) if isinstance(value, dict) else ""
    return msgspec.json.encode(_drop_nulls(value, _ZERO_BY_KIND.get(kind, _ZERO_BY_MAP), None))


def _drop_nulls(value: Any, zero_by_map: Mapping[str, Any], zero: Any) -> Any:
    """Return a value without its nulls. zero: what replaces nulls in `value` itself; None: they are
    dropped."""
    if isinstance(value, dict):
        return {
            key: zero if item is None else _drop_nulls(item, zero_by_map, zero_by_map.get(key))
            for key, item in value.items()
            if item is not None or zero is not None
        }
    if isinstance(value, list):
        return [_drop_nulls(item, zero_by_map, None) for item in value]
    return value
