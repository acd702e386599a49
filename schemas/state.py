"""The JSON Schema of a cluster state: what ksched reads of it, for editors.

Made of the types that decode a state. Fields that ksched does not read are allowed, as are kinds of
objects, and null wherever the API takes it.
"""

from __future__ import annotations

from typing import Any

from msgspec import inspect

from ksched_cli.cluster.loading.kinds import KINDS, ObjectKind
from ksched_cli.kube.quantity import Quantity

_QUANTITY = {"description": "a quantity, as 500m or 2Gi", "type": ["string", "number", "null"]}
_SCALARS: dict[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.BoolType: "boolean",
    inspect.FloatType: "number",
}


def state_schema() -> dict[str, Any]:
    """An object, a list of objects of any kind, or an array of them."""
    definitions: dict[str, Any] = {}
    for kind in KINDS.values():
        _schema_of(inspect.type_info(kind.type), definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Cluster state",
        "description": "What ksched reads of objects; other fields and kinds may be there.",
        "anyOf": [
            {"$ref": "#/$defs/Object"},
            {"type": "array", "items": {"$ref": "#/$defs/Object"}},
        ],
        "$defs": {"Object": _object(), **dict(sorted(definitions.items()))},
    }


def _schema_of(info: inspect.Type, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type's value, or null. definitions: gets the types with fields"""
    match info:
        case inspect.StructType(cls=cls):
            if cls.__name__ not in definitions:
                definitions[cls.__name__] = {}  # it may hold itself
                definitions[cls.__name__] |= _struct(info, definitions)
            return {"$ref": f"#/$defs/{cls.__name__}"}
        case inspect.DictType(value_type=values):
            members = _schema_of(values, definitions)
            return {"type": ["object", "null"], "additionalProperties": members}
        case inspect.VarTupleType(item_type=items) | inspect.ListType(item_type=items):
            return {"type": ["array", "null"], "items": _schema_of(items, definitions)}
        case inspect.UnionType(types=types):
            shapes = [_schema_of(item, definitions) for item in types]
            shapes = [shape for shape in shapes if shape]
            return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        case inspect.CustomType(cls=cls) if issubclass(cls, Quantity):
            return dict(_QUANTITY)
    name = _SCALARS.get(type(info))
    return {"type": [name, "null"]} if name else {}


def _struct(info: inspect.StructType, definitions: dict[str, Any]) -> dict[str, Any]:
    fields = {
        field.encode_name: _schema_of(field.type, definitions)
        for field in info.fields
        if not isinstance(field.type, inspect.RawType)
    }
    return {"type": ["object", "null"], "properties": fields}


def _object() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}},
        "required": ["kind"],
        "allOf": [
            _when({"pattern": ".List$"}, _items({"type": "object"})),
            _when({"const": "List"}, _items({"$ref": "#/$defs/Object"})),
            *(_when({"const": kind.name}, _shape(kind), _version(kind)) for kind in KINDS.values()),
        ],
    }


def _items(item: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"items": {"type": ["array", "null"], "items": item}}}


def _version(kind: ObjectKind) -> str:
    return f"{kind.group}/v1" if kind.group else "v1"


def _shape(kind: ObjectKind) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{kind.name}", "required": ["metadata"]}


def _when(kind: dict[str, Any], then: dict[str, Any], version: str = "") -> dict[str, Any]:
    condition: dict[str, Any] = {"kind": kind}
    if version:
        condition["apiVersion"] = {"const": version}
    return {"if": {"properties": condition, "required": [*condition]}, "then": then}
