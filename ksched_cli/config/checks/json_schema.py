"""The shape of a configuration checked against its JSON Schema: every unknown key and wrong type.

kube-scheduler's own wording of the same comes from decoder.py; here each problem has its path and
what was likely meant. The schema is made of the types that decode a configuration;
schemas/configuration.json is it with the in-tree plugins' args, which editors read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import partial
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from ksched_cli.config.checks.findings import Findings
from ksched_cli.config.checks.known_names import name_tables
from ksched_cli.config.effective import KnownPlugins, in_tree_args
from ksched_cli.config.go_types import (
    Kind,
    ListOf,
    Scalar,
    StringMap,
    StructOf,
    Wire,
    Wired,
    fields_of,
)
from ksched_cli.config.parsing import decode_base64
from ksched_cli.config.types import PluginConfig, SchedulerConfiguration
from ksched_cli.kube.document_schemas import DURATION, duration_hint, schema_problems, shown
from ksched_cli.kube.documents import Path
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.formatting import DurationError, parse_duration
from ksched_cli.kube.json_tree import JsonFloat, JsonObject
from ksched_cli.kube.near_names import did_you_mean

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
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": _name(SchedulerConfiguration),
        "description": f"kubescheduler.config.k8s.io/v1 as kube-scheduler {version} reads it",
        "type": "object",
        "additionalProperties": False,
        "properties": document["properties"],
        "required": ["apiVersion", "kind"],
        "$defs": dict(sorted(definitions.items())),
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
            key: _value(item.wire, item.pointer) | dict(item.limits)
            for key, item in fields_of(cls).items()
            if f"{cls.GO}.{key}" not in absent
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


# Values out of range are upstream's to word (validation.py); the schema has them for editors.
_STRUCTURAL = {"type", "additionalProperties", "format"}
_FORMATS = FormatChecker(formats=())
_EXPECTED = {
    "int32": "a whole number that fits 32 bits",
    "int64": "a whole number that fits 64 bits",
    DURATION: 'a duration such as "10s" or "1m30s"',
    "byte": "base64 text",
}


def check_structure(data: Any, registry: KnownPlugins, findings: Findings) -> None:
    """Adds an error for every key that v1 does not have, and every value of the wrong type."""
    validator = Draft202012Validator(configuration_schema(registry), format_checker=_FORMATS)
    errors = [error for error in validator.iter_errors(data) if error.validator in _STRUCTURAL]
    for error in errors:
        if error.validator == "format":
            schema: Any = error.schema
            message = f"{shown(error.instance)} is not {_EXPECTED[schema['format']]}"
            hint = duration_hint(error.instance) if schema["format"] == DURATION else ""
            findings.error("wrong-type", tuple(error.absolute_path), message, hint)
    for problem in schema_problems(error for error in errors if error.validator != "format"):
        if problem.keyword == "additionalProperties":
            _unknown_key(problem.path[:-1], str(problem.path[-1]), list(problem.allowed), findings)
        else:
            findings.error("wrong-type", problem.path, problem.message, problem.hint)
    for path in _doubled(data, ()):
        findings.error(
            "duplicate-key", path, f'the key "{path[-1]}" appears twice', "keep one of them"
        )


def _unknown_key(path: Path, key: str, keys: list[str], findings: Findings) -> None:
    tables = name_tables()
    hint = tables.legacy_keys.get(key) or tables.misplaced_keys.get(key) or did_you_mean(key, keys)
    if path and path[-1] == "plugins":
        points = ", ".join(key for key in (*POINT_KEYS, "multiPoint") if key in keys)
        rule, message = "unknown-point", f'"{key}" is not an extension point'
        hint = hint or f"the points are {points}"
    else:
        rule, message = "unknown-key", f'unknown key "{key}"'
        hint = hint or f"expected one of {', '.join(keys)}"
    findings.error(rule, (*path, key), message, hint)


def _doubled(data: Any, path: Path) -> Iterator[Path]:
    """Keys that a JSON text has twice."""
    if isinstance(data, JsonObject):
        counts = Counter(key for key, _ in data.pairs)
        yield from ((*path, key) for key, count in counts.items() if count > 1)
    listed = data if isinstance(data, list) else ()
    for step, value in data.items() if isinstance(data, dict) else enumerate(listed):
        yield from _doubled(value, (*path, step))


def _fits(bits: int, value: object) -> bool:
    if isinstance(value, JsonFloat):
        return False  # Go takes no 1.0 or 1e3 for an integer
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True  # the schema's type says what is wrong
    return -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


for _bits in (32, 64):
    _FORMATS.checks(f"int{_bits}")(partial(_fits, _bits))


@_FORMATS.checks(DURATION, raises=DurationError)
def _duration(value: object) -> bool:
    if isinstance(value, str):
        parse_duration(value)
    return True


@_FORMATS.checks("byte")
def _base64(value: object) -> bool:
    return not isinstance(value, str) or decode_base64(value) is not None
