"""The JSON Schema of a configuration, with the in-tree plugins' args, which editors read.

Made of the types that decode a configuration.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from ksched_cli.config.effective import KnownPlugins, in_tree_args
from ksched_cli.config.go_types import (
    GoKind,
    GoStruct,
    ListOf,
    Scalar,
    StringMap,
    StructOf,
    Wire,
    go_type,
)
from ksched_cli.config.types import PluginConfig, SchedulerConfiguration
from ksched_cli.kube.document_schemas import DURATION
from ksched_cli.schemas.of_types import DIALECT

_OCTET = {"type": "integer", "minimum": 0, "maximum": 255}


def configuration_schema(registry: KnownPlugins) -> dict[str, Any]:
    """The schema, with the args of the registry's in-tree plugins checked by plugin name."""
    args = dict(sorted(in_tree_args(registry).items()))
    roots: list[type[GoStruct]] = [SchedulerConfiguration, *(item.type for item in args.values())]
    version, absent = registry.release.version, registry.release.rules.absent_fields
    types = {go_type(cls): cls for root in roots for cls in _nested(root)}
    definitions = {_name(cls): _struct(cls, absent) for cls in types.values()}
    for item in args.values():
        meta = definitions[item.kind]["properties"]["kind"]
        meta["enum"] = [item.kind, "", None]
    # A pluginConfig entry that names the plugin has args of its type.
    definitions[_name(PluginConfig)]["allOf"] = [
        {
            "if": {"required": ["name"], "properties": {"name": {"const": plugin}}},
            "then": {"properties": {"args": {"$ref": f"#/$defs/{item.kind}"}}},
        }
        for plugin, item in args.items()
    ]
    document = definitions.pop(_name(SchedulerConfiguration))
    return {
        "$schema": DIALECT,
        "title": _name(SchedulerConfiguration),
        "description": f"kubescheduler.config.k8s.io/v1 as kube-scheduler {version} reads it",
        "type": "object",
        "additionalProperties": False,
        "properties": document["properties"],
        "required": ["apiVersion", "kind"],
        "$defs": dict(sorted(definitions.items())),
    }


def _name(cls: type[GoStruct]) -> str:
    return go_type(cls).rpartition(".")[2]


def _nested(cls: type[GoStruct]) -> Iterator[type[GoStruct]]:
    """A type, and those of its fields at any depth."""
    yield cls
    for item in cls.FIELDS.values():
        wire = item.wire.element if isinstance(item.wire, ListOf) else item.wire
        if isinstance(wire, StructOf):
            yield from _nested(wire.cls)


def _struct(cls: type[GoStruct], absent: Container[str]) -> dict[str, Any]:
    return {
        "title": go_type(cls),
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            key: _value(item.wire, item.pointer) | dict(item.limits)
            for key, item in cls.FIELDS.items()
            if f"{go_type(cls)}.{key}" not in absent
        },
    }


def _value(wire: Wire, pointer: bool = False) -> dict[str, Any]:
    match wire:
        case Scalar():
            return _scalar(wire, pointer)
        case ListOf(element):
            return {"type": ["array", "null"], "items": _value(element)}
        case StringMap():
            values = {"type": ["string", "null"]}
            return {"type": ["object", "null"], "additionalProperties": values}
        case StructOf(cls):
            return {"$ref": f"#/$defs/{_name(cls)}"}


def _scalar(wire: Scalar, pointer: bool) -> dict[str, Any]:
    match wire.kind:
        case GoKind.RAW:
            return {}
        case GoKind.DURATION:  # null is no duration, unless Go has a pointer to one
            kinds = ["string", "null"] if pointer else "string"
            return {"type": kinds, "format": DURATION}
        case GoKind.BYTES:
            kinds = ["string", "array", "null"]
            extra = {"format": "byte", "contentEncoding": "base64", "items": _OCTET}
            return {"type": kinds, **extra}
    schema: dict[str, Any] = {"type": [wire.kind.value, "null"]}
    if wire.kind is GoKind.INTEGER:
        schema["format"] = wire.go
    return schema
