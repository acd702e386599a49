"""A state's objects renamed, so that every decision about them is the same, renamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from ksched_cli.cluster.loading.kinds import KINDS, type_of_kind
from ksched_cli.cluster.objects import Device, ObjectMeta, PodSpec, ResourceAmount
from ksched_cli.cluster.objects.devices import CELDeviceSelector
from ksched_cli.cluster.redaction.codebook import Codebook
from ksched_cli.cluster.redaction.fields import (
    FIELDS,
    KEYED_TYPES,
    LABEL_FIELDS,
    NUMERIC_OPERATORS,
)
from ksched_cli.cluster.redaction.renamer import Rename, Renamer
from ksched_cli.cluster.trimming import trimmed
from ksched_cli.kube.plain_json import plain_json

Plain = dict[str, Any]
Change = Callable[[Renamer, Any], Any]

_STATEFUL_SET = "StatefulSet"
_NAMESPACE = "Namespace"


def redacted(objects: Iterable[bytes], codebook: Codebook) -> tuple[list[bytes], Renamer]:
    """The objects without what nobody reads, renamed; those of kinds that ksched does not read are
    left out. objects: JSON. codebook: gets codes for all that it has none for."""
    trimmed_objects = [
        msgspec.json.encode(trimmed(obj)) for obj in map(plain_json, objects) if _kind(obj)
    ]
    renamer = Renamer(codebook)
    learn(renamer, map(plain_json, trimmed_objects))
    changed = [
        msgspec.json.encode(renamed(renamer, obj)) for obj in map(plain_json, trimmed_objects)
    ]
    return changed, renamer


def learn(renamer: Renamer, objects: Iterable[Plain]) -> None:
    """Before they are renamed. objects: trimmed, of kinds that ksched reads"""
    renamer.learn_more()
    for obj in objects:
        if obj["kind"] == _STATEFUL_SET:
            renamer.learn_stateful_set(_name_and_namespace(obj)[0])
        _change_of(obj)(renamer, obj)
    renamer.learned()


def object_names(objects: Iterable[bytes], renamer: Renamer) -> Iterator[tuple[str, str, str]]:
    """Kind, name after and before of each object; with its namespace where it has one."""
    for obj in map(plain_json, objects):
        if _kind(obj):
            name, namespace = _name_and_namespace(obj)
            is_namespace = obj["kind"] == _NAMESPACE
            after, before = (renamer.namespace if is_namespace else renamer.name)(name), name
            if namespace:
                after, before = f"{renamer.namespace(namespace)}/{after}", f"{namespace}/{name}"
            yield obj["kind"], after, before


def _name_and_namespace(obj: Plain) -> tuple[str, str]:
    """Return "" for what is no text, as in an object that cannot be read."""
    metadata = obj.get("metadata")
    values = (metadata if isinstance(metadata, dict) else {}).get
    name, namespace = values("name"), values("namespace")
    return (name if isinstance(name, str) else "", namespace if isinstance(namespace, str) else "")


def is_read(obj: Plain) -> bool:
    """Whether it is of a kind that ksched reads."""
    return bool(_kind(obj))


def _kind(obj: Plain) -> str:
    """ "" for an object that ksched does not read."""
    kind: str = obj.get("kind") or ""
    return kind if type_of_kind(obj.get("apiVersion") or "", kind) is not None else ""


def renamed(renamer: Renamer, obj: Plain) -> Plain:
    """An object that the renamer has learned."""
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **_change_of(obj)(renamer, obj)}


def _change_of(obj: Plain) -> Change:
    kind = type_of_kind(obj["apiVersion"], obj["kind"])
    assert kind is not None, "it is of a kind that ksched reads"
    return _of_struct(kind)


@cache
def _of_struct(struct: type[Struct]) -> Change:
    """Changes the fields of a type, and what it holds. Other fields are no text, or no part of
    the type, as the kind of an object."""
    changes = {
        field.encode_name: _of_field(struct, field) for field in msgspec.structs.fields(struct)
    }
    if struct is PodSpec:
        changes["nodeName"] = _text(Renamer.name)
    if struct is KINDS[_NAMESPACE].type:
        changes["metadata"] = _metadata_of_namespace
    values = KEYED_TYPES.get(struct, "")

    def change(renamer: Renamer, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if values:
            return _keyed(renamer, value, values)
        if struct is CELDeviceSelector:
            renamer.learn_expression(str(value.get("expression") or ""))
        return {
            key: changes[key](renamer, item) if key in changes else item
            for key, item in value.items()
            if key not in ("apiVersion", "kind") or key in changes
        }

    return change


def _metadata_of_namespace(renamer: Renamer, value: Any) -> Any:
    """Its name is a namespace, as in the objects that are in it."""
    changed = _of_struct(ObjectMeta)(renamer, value)
    if isinstance(changed, dict) and isinstance(name := value.get("name"), str):
        return {**changed, "name": renamer.namespace(name)}
    return changed


def _of_field(struct: type[Struct], field: msgspec.structs.FieldInfo) -> Change:
    name = field.encode_name
    if struct is Device and name == "attributes":
        return _attributes
    if name in LABEL_FIELDS and _is_map_of_text(field.type):
        return _labels
    rename = FIELDS.get(struct, {}).get(name)
    return _of_type(field.type, rename)


def _is_map_of_text(kind: Any) -> bool:
    return bool(get_origin(kind) is dict and get_args(kind)[1] is str)


def _of_type(kind: Any, rename: Rename | None) -> Change:
    """rename: of texts; by default they are names"""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        return _of_type(kinds[0] if len(kinds) == 1 else str, rename)
    if origin in (tuple, list):
        return _each(_of_type(args[0], rename))
    if origin is dict:
        keys = rename or (Renamer.resource if args[1] is ResourceAmount else Renamer.name)
        return _map(keys, _of_type(args[1], None))
    if kind is str:
        return _text(rename or Renamer.name)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _of_struct(kind)
    return _same


def _same(renamer: Renamer, value: Any) -> Any:
    return value


def _text(rename: Rename) -> Change:
    return lambda renamer, value: rename(renamer, value) if isinstance(value, str) else value


def _each(change: Change) -> Change:
    def each(renamer: Renamer, value: Any) -> Any:
        return [change(renamer, item) for item in value] if isinstance(value, list) else value

    return each


def _map(keys: Rename, change: Change) -> Change:
    def each(renamer: Renamer, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {keys(renamer, key): change(renamer, item) for key, item in value.items()}

    return each


def _labels(renamer: Renamer, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        renamer.key(key): renamer.value(key, item) if isinstance(item, str) else item
        for key, item in value.items()
    }


def _keyed(renamer: Renamer, value: Mapping[str, Any], field: str) -> Plain:
    """A requirement, taint or toleration: what is compared depends on its key and operator."""
    key = value.get("key") or ""
    if value.get("operator") in NUMERIC_OPERATORS:
        renamer.learn_numeric_key(key)
    changed = dict(value)
    if key:
        changed["key"] = renamer.key(key)
    item = value.get(field)
    if isinstance(item, str):
        changed[field] = renamer.value(key, item)
    elif isinstance(item, list):
        changed[field] = [renamer.value(key, text) for text in item]
    return changed


def _attributes(renamer: Renamer, value: Any) -> Any:
    """Redact a device's attributes: the strings that nobody selects by are renamed."""
    if not isinstance(value, dict):
        return value
    return {key: _attribute(renamer, key, item) for key, item in value.items()}


def _attribute(renamer: Renamer, key: str, value: Any) -> Any:
    text = value.get("string") if isinstance(value, dict) else None
    if not isinstance(text, str):
        return value
    return {**value, "string": renamer.device_attribute(key, text)}
