"""The shape of a configuration checked against its JSON Schema: every unknown key and wrong type.

kube-scheduler's own wording of the same comes from decoder.py; here each problem has its path and
what was likely meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from ksched_cli.config.checks.findings import Findings
from ksched_cli.config.checks.known_names import LEGACY_KEYS, MISPLACED_KEYS, did_you_mean
from ksched_cli.config.decoder import decode_base64
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.schema import configuration_schema
from ksched_cli.kube.documents import Path
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.formatting import DurationError, parse_duration
from ksched_cli.kube.json_tree import JsonFloat, JsonObject

# Values out of range are upstream's to word (validation.py); the schema has them for editors.
_STRUCTURAL = {"type", "additionalProperties", "format"}
_FORMATS = FormatChecker(formats=())
_EXPECTED = {
    "int32": "a whole number that fits 32 bits",
    "int64": "a whole number that fits 64 bits",
    "go-duration": 'a duration such as "10s" or "1m30s"',
    "byte": "base64 text",
}
_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a text",
}


def check_structure(data: Any, registry: KnownPlugins, findings: Findings) -> None:
    """Adds an error for every key that v1 does not have, and every value of the wrong type."""
    validator = Draft202012Validator(configuration_schema(registry), format_checker=_FORMATS)
    for error in validator.iter_errors(data):
        if error.validator in _STRUCTURAL:
            _report(error, findings)
    for path in _doubled(data, ()):
        findings.error("duplicate-key", path, f'the key "{path[-1]}" is written twice')


def _report(error: ValidationError, findings: Findings) -> None:
    path: Path = tuple(error.absolute_path)
    schema: Any = error.schema
    instance: Any = error.instance
    if error.validator == "additionalProperties":
        keys = schema["properties"]
        for key in instance:
            if key not in keys:
                _unknown_key(path, key, list(keys), findings)
    elif error.validator == "format":
        expected = _EXPECTED[schema["format"]]
        findings.error("wrong-type", path, f"{_shown(instance)} is not {expected}")
    else:
        type_names = [name for name in _as_list(schema["type"]) if name != "null"]
        expected = " or ".join(_TYPES[name] for name in type_names)
        hint = _type_hint(type_names, instance)
        message = f"{_shown(instance)} stands where {expected} is expected"
        findings.error("wrong-type", path, message, hint)


def _unknown_key(path: Path, key: str, keys: list[str], findings: Findings) -> None:
    here = (*path, key)
    if path and path[-1] == "plugins":
        points = ", ".join(key for key in (*POINT_KEYS, "multiPoint") if key in keys)
        hint = LEGACY_KEYS.get(key) or did_you_mean(key, keys) or f"the points are {points}"
        findings.error("unknown-point", here, f'"{key}" is no extension point', hint)
        return
    hint = LEGACY_KEYS.get(key) or did_you_mean(key, keys)
    hint = hint or MISPLACED_KEYS.get(key) or f"known here: {', '.join(keys)}"
    findings.error("unknown-key", here, f'unknown key "{key}"', hint)


def _type_hint(type_names: list[str], instance: Any) -> str:
    if "array" in type_names and isinstance(instance, dict):
        return 'begin each item with "- "'
    if "integer" in type_names and isinstance(instance, str) and instance.lstrip("-").isdigit():
        return "remove the quotes"
    if type_names == ["string"] and isinstance(instance, bool | int | float):
        return "put it in quotes"
    return ""


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return value.literal if isinstance(value, JsonFloat) else json.dumps(value, ensure_ascii=False)


def _as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _doubled(data: Any, path: Path) -> Iterator[Path]:
    """Keys that a JSON text has twice."""
    if isinstance(data, JsonObject):
        keys = [key for key, _ in data.pairs]
        yield from ((*path, key) for key in dict.fromkeys(keys) if keys.count(key) > 1)
    items = data.items() if isinstance(data, dict) else enumerate(_as_items(data))
    for step, value in items:
        yield from _doubled(value, (*path, step))


def _as_items(data: Any) -> list[Any]:
    return data if isinstance(data, list) else []


def _fits(value: object, bits: int) -> bool:
    if isinstance(value, JsonFloat):
        return False  # Go takes no 1.0 or 1e3 for an integer
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True  # the schema's type says what is wrong
    return -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


@_FORMATS.checks("int32")
def _int32(value: object) -> bool:
    return _fits(value, 32)


@_FORMATS.checks("int64")
def _int64(value: object) -> bool:
    return _fits(value, 64)


@_FORMATS.checks("go-duration", raises=DurationError)
def _duration(value: object) -> bool:
    if isinstance(value, str):
        parse_duration(value)
    return True


@_FORMATS.checks("byte")
def _base64(value: object) -> bool:
    return not isinstance(value, str) or decode_base64(value) is not None
