"""Documents to objects, each of its kind, with defaults, none of them twice."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec
from msgspec.structs import force_setattr, replace

from ksched_cli.cluster.custom_objects import Others, kind_with_group
from ksched_cli.cluster.loading.defaults import PriorityAdmission, UnknownPriorityClassError
from ksched_cli.cluster.loading.kinds import KINDS, Kind, find_kind
from ksched_cli.cluster.loading.object_errors import Path, Place, fault, object_fault
from ksched_cli.cluster.loading.pod_decoder import PartError, PodDecoder, PodParts
from ksched_cli.cluster.loading.sources import Document
from ksched_cli.cluster.loading.state_warnings import gaps
from ksched_cli.cluster.objects import KubeObject, Node, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError

_BETA = "/v1beta1"

# Maps of strings and of quantities: a null in one is a value, which Go reads as its zero.
_ZERO_IN_MAP = {
    **dict.fromkeys(("labels", "annotations", "matchLabels", "nodeSelector", "parameters"), ""),
    **dict.fromkeys(("requests", "limits", "capacity", "allocatable", "overhead"), "0"),
}


class _Head(PodParts, rename="camel", gc=False):
    """What tells an object's kind, and a list from an object."""

    kind: str | None = None
    api_version: str | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


class _Kind(msgspec.Struct, rename="camel", gc=False):
    kind: str | None = None
    api_version: str | None = None


class _WrongError(Exception):
    """An object decodes, and still cannot be right."""

    def __init__(self, problem: str, path: Path = (), hint: str = "") -> None:
        self.problem, self.path, self.hint = problem, path, hint
        super().__init__(problem)


class Collector:
    """Takes documents, gives a ClusterState."""

    def __init__(self, reads: Container[str] = ()) -> None:
        """reads: kinds to keep besides those that ksched knows, with their groups."""
        self._reads = reads
        self._others: dict[str, list[msgspec.Raw]] = {}
        self._head = msgspec.json.Decoder(_Head)
        self._kind = msgspec.json.Decoder(_Kind)
        self._pods = PodDecoder()
        self._found: dict[str, dict[Any, Any]] = {kind.attribute: {} for kind in KINDS.values()}
        self._skipped: dict[str, int] = {}
        # Where the pods stand that need a class; an unknown one shows when all is read.
        self._unresolved: dict[str, Place] = {}

    def add(self, document: Document) -> None:
        """Raises InputError."""
        self._add(document.data, Place(document, ()), _Head())

    def finish(self) -> ClusterState:
        """Raises InputError for a pod of an unknown priority class."""
        self._admit()
        found: dict[str, Any] = dict(self._found)
        found["nodes"] = tuple(found["nodes"].values())
        found["pods"] = tuple(found["pods"].values())
        found["others"] = Others(self._others)
        state = ClusterState(**found, skipped=self._skipped)
        return ClusterState(**found, skipped=self._skipped, warnings=tuple(gaps(state)))

    def _add(self, data: msgspec.Raw, place: Place, implied: _Head) -> None:
        """implied: the kind and version that items of a typed list need not repeat."""
        name = implied.kind or ""
        try:
            head = self._read_head(data)
            name = head.kind or name
            if head.items is not msgspec.UNSET and name.endswith("List"):
                self._add_items(head, head.items or [], place)
            else:
                version = head.api_version or implied.api_version or ""
                self._add_object(name, version, head, data, place)
        except PartError as error:
            raise object_fault(place, name, data, error.cause, error.path) from None
        except msgspec.ValidationError as error:
            raise object_fault(place, name, data, error) from None
        except _WrongError as error:
            raise fault(place, name, data, error.path, error.problem, hint=error.hint) from None
        except RecursionError:
            raise InputError(place.document.source.name, "nested too deeply") from None

    def _read_head(self, data: msgspec.Raw) -> _Head:
        try:
            return self._head.decode(data)
        except msgspec.ValidationError:
            # A kind of somebody's own may have `items` of any shape, and is skipped.
            parts = self._kind.decode(data)
            if (parts.kind or "List").endswith("List"):
                raise
            return _Head(kind=parts.kind, api_version=parts.api_version)

    def _add_items(self, head: _Head, items: list[msgspec.Raw], place: Place) -> None:
        implied = _Head()
        if head.kind and head.kind != "List":
            implied = _Head(kind=head.kind.removesuffix("List"), api_version=head.api_version)
        for index, item in enumerate(items):
            self._add(item, Place(place.document, (*place.path, "items", index)), implied)

    def _add_object(
        self, name: str, version: str, head: _Head, data: msgspec.Raw, place: Place
    ) -> None:
        kind = find_kind(version, name)
        if kind is KINDS["Pod"]:
            self._add_pod(head, data, place)
        elif kind is not None:
            self._keep(kind, self._decode(kind, version, data))
        elif name and (full := kind_with_group(version, name)) in self._reads:
            self._others.setdefault(full, []).append(data.copy())
        elif name:
            self._skipped[name] = self._skipped.get(name, 0) + 1
        else:
            raise _WrongError("kind is missing", hint="Every object needs apiVersion and kind.")

    def _add_pod(self, parts: PodParts, data: msgspec.Raw, place: Place) -> None:
        try:
            pod = self._pods.decode(parts, data)
        except PartError:
            without = _without_nulls(data)
            if without is None:
                raise
            pod = self._pods.decode(self._head.decode(without), data)
        self._keep(KINDS["Pod"], pod)
        if pod.spec.priority is None and pod.spec.priority_class_name:
            self._unresolved[pod.key] = place

    def _decode(self, kind: Kind, version: str, data: msgspec.Raw) -> KubeObject:
        content: msgspec.Raw | bytes = data
        if kind.upgrade is not None and version.endswith(_BETA):
            plain = msgspec.json.decode(data)
            kind.upgrade(plain)
            content = msgspec.json.encode(plain)
        try:
            found: KubeObject = kind.decoder.decode(content)
        except msgspec.ValidationError:
            without = _without_nulls(content)
            if without is None:
                raise
            found = kind.decoder.decode(without)
        if kind.default is not None:
            found = kind.default(found)
        if isinstance(found, Node):
            return replace(found, raw=data)
        if kind.namespaced and not found.namespace:
            return replace(found, metadata=replace(found.metadata, namespace="default"))
        return found

    def _keep(self, kind: Kind, found: KubeObject) -> None:
        meta = found.metadata
        if not meta.name:
            raise _WrongError("expected a name", ("metadata", "name"))
        known = self._found[kind.attribute]
        key = (meta.namespace, meta.name) if kind.namespaced else meta.name
        if key in known:
            raise _WrongError(f"there is another {kind.name} of this name", ("metadata", "name"))
        known[key] = found

    def _admit(self) -> None:
        admission = PriorityAdmission(self._found["priority_classes"])
        for pod in self._found["pods"].values():
            spec = pod.spec
            try:
                admitted = admission.admit(spec)
            except UnknownPriorityClassError as error:
                raise self._unknown_class(pod, error.name) from None
            if admitted is not spec:
                # Nobody else has seen the pod yet, and a copy of each would cost as much again.
                force_setattr(pod, "spec", admitted)

    def _unknown_class(self, pod: Pod, name: str) -> InputError:
        return fault(
            self._unresolved[pod.key],
            "Pod",
            pod.raw,
            ("spec", "priorityClassName"),
            f'no PriorityClass "{name}" in the state, and the pod has no priority of its own',
            hint="Add the class to the state (kubectl get priorityclasses -o yaml).",
        )


def _without_nulls(data: msgspec.Raw | bytes) -> bytes | None:
    """The same with nulls as if absent; None where there are none."""
    if b"null" not in bytes(data):
        return None
    return msgspec.json.encode(_pruned(msgspec.json.decode(data), None))


def _pruned(value: Any, zero: str | None) -> Any:
    if isinstance(value, dict):
        return {
            key: zero if item is None else _pruned(item, _ZERO_IN_MAP.get(key))
            for key, item in value.items()
            if item is not None or zero is not None
        }
    if isinstance(value, list):
        return [_pruned(item, None) for item in value]
    return value
