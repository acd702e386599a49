"""The JSON Schema of a configuration, made of the types that decode it.

schemas/configuration.json is this schema with the in-tree plugins' args; editors read it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from ksched_cli.config.effective import KnownPlugins, in_tree_args
from ksched_cli.config.go_types import (
    Kind,
    ListOf,
    Scalar,
    StringMap,
    StructOf,
    Wire,
    Wired,
    WireField,
    fields_of,
)
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import PluginConfig, SchedulerConfiguration

_OCTET = {"type": "integer", "minimum": 0, "maximum": 255}
_TYPES: Mapping[Kind, str] = {
    Kind.STRING: "string",
    Kind.BOOL: "boolean",
    Kind.INTEGER: "integer",
    Kind.FLOAT: "number",
}


def configuration_schema(registry: KnownPlugins) -> dict[str, Any]:
    """The schema, with the args of the registry's in-tree plugins checked by plugin name."""
    args = dict(sorted(in_tree_args(registry).items()))
    roots: list[type[Wired]] = [SchedulerConfiguration, *(item.type for item in args.values())]
    version, absent = registry.release.version, registry.release.rules.absent_fields
    types = {cls.GO: cls for root in roots for cls in _nested(root)}
    definitions = {_name(cls): _struct(cls, absent) for cls in types.values()}
    for item in args.values():
        meta = definitions[item.kind]["properties"]["kind"]
        meta["enum"] = [item.kind, "", None]
    definitions[_name(PluginConfig)]["allOf"] = [_args_of(*item) for item in args.items()]
    document = definitions.pop(_name(SchedulerConfiguration))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": _name(SchedulerConfiguration),
        "description": f"kubescheduler.config.k8s.io/v1 as kube-scheduler {version} reads it",
        "type": "object",
        "additionalProperties": False,
        "properties": document["properties"],
        "required": ["apiVersion", "kind"],
        "$defs": dict(sorted(definitions.items())),
    }


def _args_of(plugin: str, args: InTreeArgs[Any]) -> dict[str, Any]:
    """A pluginConfig entry that names the plugin has args of its type."""
    return {
        "if": {"required": ["name"], "properties": {"name": {"const": plugin}}},
        "then": {"properties": {"args": {"$ref": f"#/$defs/{args.kind}"}}},
    }


def _name(cls: type[Wired]) -> str:
    return cls.GO.rpartition(".")[2]


def _nested(cls: type[Wired]) -> Iterator[type[Wired]]:
    """A type, and those of its fields at any depth."""
    yield cls
    for item in fields_of(cls).values():
        wire = item.wire.element if isinstance(item.wire, ListOf) else item.wire
        if isinstance(wire, StructOf):
            yield from _nested(wire.cls)


def _struct(cls: type[Wired], absent: Container[str]) -> dict[str, Any]:
    return {
        "title": cls.GO,
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            key: _field(item)
            for key, item in fields_of(cls).items()
            if f"{cls.GO}.{key}" not in absent
        },
    }


def _field(item: WireField) -> dict[str, Any]:
    return _value(item.wire, item.pointer) | dict(item.limits)


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
        case Kind.RAW:
            return {}
        case Kind.DURATION:  # null is no duration, unless Go has a pointer to one
            kinds = ["string", "null"] if pointer else "string"
            return {"type": kinds, "format": "go-duration"}
        case Kind.BYTES:
            kinds = ["string", "array", "null"]
            extra = {"format": "byte", "contentEncoding": "base64", "items": _OCTET}
            return {"type": kinds, **extra}
    schema: dict[str, Any] = {"type": [_TYPES[wire.kind], "null"]}
    if wire.kind is Kind.INTEGER:
        schema["format"] = wire.go
    return schema
