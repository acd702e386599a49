"""The fields that Kubernetes's API knows, per type of object: those of any minor that ksched knows.

Made from upstream's api/openapi-spec/swagger.json by ksched_cli/schemas/generate_object_fields.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("object_fields.json")


class FieldTables(msgspec.Struct, frozen=True):
    """kinds: "apiVersion/kind" → type.
    types: type → field → type of its value: "" for any, [] before that of a list's items, {}
    before that of a map's values.
    minors: those whose fields are here; added, removed: per minor but the first, "type.field".
    """

    minors: tuple[str, ...]
    added: dict[str, list[str]]
    removed: dict[str, list[str]]
    kinds: dict[str, str]
    types: dict[str, dict[str, str]]


@cache
def field_tables() -> FieldTables:
    return msgspec.json.decode(FILE.read_bytes(), type=FieldTables)


@cache
def nested_fields(type_name: str) -> dict[str, tuple[str, str]]:
    """The fields of a type whose values have fields of their own: field → "", "[]" or "{}" for a
    value, a list or a map of values, and their type."""
    fields = {}
    for field, value_type in field_tables().types[type_name].items():
        item_type = value_type.removeprefix("[]").removeprefix("{}")
        if item_type:
            fields[field] = (value_type[: len(value_type) - len(item_type)], item_type)
    return fields


def has_valid_fields(value: Any, type_name: str) -> bool:
    """Whether a value of a type, and all that it holds, has fields of its type only. What is of
    another type than expected has none."""
    if not isinstance(value, dict):
        return True
    if not value.keys() <= field_tables().types[type_name].keys():
        return False
    nested = nested_fields(type_name)
    for field in value.keys() & nested.keys():
        container, item_type = nested[field]
        item = value[field]
        if not all(has_valid_fields(part, item_type) for part in _items(item, container)):
            return False
    return True


def _items(value: Any, container: str) -> Iterable[Any]:
    if container == "[]":
        return value if isinstance(value, list) else ()
    if container == "{}":
        return value.values() if isinstance(value, dict) else ()
    return (value,)
