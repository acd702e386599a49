"""The fields that Kubernetes's API knows, per type of object: those of any minor that ksched knows.

Made from upstream's api/openapi-spec/swagger.json by ksched_cli/schemas/generate_object_fields.py.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

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
def strict_decoder(type_name: str) -> msgspec.json.Decoder[object]:
    """Decodes an object of a type, and refuses fields that it or what it holds does not have."""
    return msgspec.json.Decoder(_strict_type(type_name))


def _strict_type(type_name: str) -> object:
    if not type_name:
        return msgspec.Raw
    if type_name.startswith("[]"):
        return list[_strict_type(type_name[2:])] | None  # type: ignore[misc]  # made at run time
    if type_name.startswith("{}"):
        return dict[str, _strict_type(type_name[2:])] | None  # type: ignore[misc]
    return _strict_struct(type_name) | None


@cache
def _strict_struct(type_name: str) -> type[msgspec.Struct]:
    fields = [
        (f"field_{index}", _strict_type(value_type), msgspec.field(name=name, default=None))
        for index, (name, value_type) in enumerate(field_tables().types[type_name].items())
    ]
    return msgspec.defstruct("Strict", fields, forbid_unknown_fields=True, gc=False)
