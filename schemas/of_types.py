"""JSON Schemas of documents and of files, made of the types that they are.

A field of an answer is required unless it may be left out: where it is UNSET, or is its default in
a type that omits defaults. A key of a file is required where its field has no default. The
description is in the class's docstring, on the line that begins with the field's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import NODEFAULT, Struct, inspect, to_builtins

from ksched_cli.answers import is_hidden
from ksched_cli.kube.file_parts import FilePart

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ENTRY = re.compile(r"(\w+(?:, \w+)*):\s+(.+)")
_SCALARS: Mapping[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.BoolType: "boolean",
    inspect.FloatType: "number",
    inspect.NoneType: "null",
}
# A union's members in the order in which an error names them.
_KINDS = ("boolean", "integer", "number", "string", "object", "array", None, "null")
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
           "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"}  # fmt: skip
_LENGTHS = {"min_length": "minItems", "max_length": "maxItems"}
_SIZES = {"min_length": "minProperties", "max_length": "maxProperties"}


def schema_of(title: str, types: Sequence[type[Struct]]) -> dict[str, Any]:
    """The schema of a document that is of one of the types. What they have in common stands at the
    top too: a reader finds `kind` there whatever the schema."""
    definitions: dict[str, Any] = {}
    shapes = [_struct(_info(cls), definitions) for cls in types]
    root = shapes[0]
    if len(shapes) > 1:
        names = [cls.__name__ for cls in types]
        definitions |= dict(zip(names, shapes, strict=True))
        first, *others = (shape["properties"] for shape in shapes)
        shared = {
            key: value for key, value in first.items() if all(value == o.get(key) for o in others)
        }
        references = [{"$ref": f"#/$defs/{name}"} for name in names]
        root = {"type": "object", "properties": shared, "oneOf": references}
    schema = {"$schema": DIALECT, "title": title, **root}
    if definitions:
        schema["$defs"] = dict(sorted(definitions.items()))
    return schema


def _info(cls: type[Struct]) -> inspect.StructType:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return info


def _struct(info: inspect.StructType, definitions: dict[str, Any]) -> dict[str, Any]:
    if issubclass(info.cls, FilePart):
        return _file_part(info, info.cls, definitions)
    fields = [field for field in info.fields if not is_hidden(field.type)]
    described = descriptions(info.cls)
    properties = {}
    for field in fields:
        schema = _value(field.type, definitions)
        if text := described.get(field.name):
            schema = {"description": text, **schema}
        properties[field.encode_name] = schema
    omits = info.cls.__struct_config__.omit_defaults
    required = [field.encode_name for field in fields if not _may_be_missing(field, omits)]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _may_be_missing(field: inspect.Field, omits_defaults: bool) -> bool:
    has_default = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
    return not field.required and (omits_defaults or not has_default)  # else: it may be UNSET


def _file_part(
    info: inspect.StructType, cls: type[FilePart], definitions: dict[str, Any]
) -> dict[str, Any]:
    described, order = descriptions(cls), _order_of_keys(cls)
    fields = sorted(info.fields, key=lambda field: order.index(field.name))
    properties: dict[str, Any] = {}
    for field in fields:
        text = described.get(field.name)
        # An object with a description is written out: an error about it has that as its hint.
        schema = (_member if text else _value)(field.type, definitions)
        if text:
            schema = {"description": text} | schema | {"description": text}
        if (default := _default(field)) is not NODEFAULT:
            if "const" in schema:  # a `kind` that may be left out does not tell files apart
                schema["enum"] = [schema.pop("const")]
            schema = schema | {"default": default}
        properties[field.encode_name] = schema
    # What is wrong with an object comes before what is wrong within it.
    shape: dict[str, Any] = {"description": cls.EXPECTED} if cls.EXPECTED else {}
    required = [field.encode_name for field in fields if field.required]
    shape |= {"type": "object", "additionalProperties": False, "required": required}
    for rule in cls.RULES:
        keywords = rule.keywords(list(properties))
        for key, more in keywords.pop("properties", {}).items():
            properties[key] |= more
        shape |= keywords
    return shape | {"properties": properties}


def _order_of_keys(cls: type[FilePart]) -> list[str]:
    """The fields of a file's type, in the order in which hints list them: first those that every
    file has, then its own, then those of its bases."""
    names = [name for name in cls.__struct_fields__ if name in ("api_version", "kind")]
    bases = [base for base in cls.__mro__ if issubclass(base, FilePart)]
    for base, *others in (bases[index:] for index in range(len(bases))):
        inherited = {name for other in others for name in other.__struct_fields__}
        names += [name for name in base.__struct_fields__ if name not in inherited]
    return list(dict.fromkeys(names))


def _default(field: inspect.Field) -> Any:
    """The value of a key that is left out, in JSON."""
    if field.default_factory is not NODEFAULT:
        return to_builtins(field.default_factory())
    return NODEFAULT if field.default is NODEFAULT else to_builtins(field.default)


def descriptions(cls: type[Struct]) -> dict[str, str]:
    """Field → what the docstring of its class, or of a base, says about it."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-2]):
        names: list[str] = []
        for line in (base.__doc__ or "").split("\n\n", 1)[-1].splitlines():
            entry = _ENTRY.fullmatch(line.strip())
            if entry and set(entry[1].split(", ")) <= set(cls.__struct_fields__):
                names = entry[1].split(", ")
                found |= dict.fromkeys(names, entry[2])
            elif line.strip():
                found |= {name: f"{found[name]} {line.strip()}" for name in names}
            else:
                names = []
    return found


def _value(info: inspect.Type, definitions: dict[str, Any]) -> dict[str, Any]:
    match info:
        case inspect.Metadata(type=inner):
            return _named(_value(inner, definitions), info.extra_json_schema or {}, definitions)
        case inspect.StructType(cls=cls):
            if cls.__name__ not in definitions:
                definitions[cls.__name__] = {}  # it may hold itself
                definitions[cls.__name__] = _struct(info, definitions)
            return {"$ref": f"#/$defs/{cls.__name__}"}
        case inspect.DictType(value_type=values):
            members = _value(values, definitions)
            shape = {"type": "object"} | ({"additionalProperties": members} if members else {})
            return shape | _bounds(info, _SIZES)
        case inspect.VarTupleType(item_type=items) | inspect.ListType(item_type=items):
            return {"type": "array", "items": _value(items, definitions)} | _bounds(info, _LENGTHS)
        case inspect.TupleType(item_types=items):
            shapes = [_value(item, definitions) for item in items]
            return {"type": "array", "prefixItems": shapes, "items": False}
        case inspect.LiteralType(values=values):
            return {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
        case inspect.EnumType(cls=enum):
            return {"enum": [member.value for member in enum]}
        case inspect.UnionType(types=types):
            return _union([_member(item, definitions) for item in types])
    name = _SCALARS.get(type(info))
    return {"type": name, **_bounds(info, _BOUNDS)} if name else {}


def _named(
    shape: dict[str, Any], extra: Mapping[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    """The shape with what its Meta adds; a definition of its own where that has a title."""
    own = {key: value for key, value in extra.items() if key != "title"}
    schema = own | shape | own
    if "title" not in extra:
        return schema
    definitions[extra["title"]] = schema
    return {"$ref": f"#/$defs/{extra['title']}"}


def _member(info: inspect.Type, definitions: dict[str, Any]) -> dict[str, Any]:
    """A type of a union. An object of a file is written out there, so that an error is about it."""
    if isinstance(info, inspect.StructType) and issubclass(info.cls, FilePart):
        return _struct(info, definitions)
    return _value(info, definitions)


def _bounds(info: inspect.Type, names: Mapping[str, str]) -> dict[str, Any]:
    values = {key: getattr(info, name, None) for name, key in names.items()}
    return {key: value for key, value in values.items() if value is not None}


def _union(members: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A list of types where that says it all. It is sorted, since Python keeps one union of the
    same types, and so the order of the first module that wrote them."""
    if len(members) == 1:
        return members[0]
    shapes = sorted(members, key=lambda each: (_KINDS.index(each.get("type")), json.dumps(each)))
    if any("$ref" in shape or "type" not in shape for shape in shapes):
        return {"anyOf": list(shapes)}
    merged: dict[str, Any] = {}
    for shape in shapes:
        merged |= shape
    types = [shape["type"] for shape in shapes]
    if "number" in types and "integer" in types:
        types.remove("integer")
    return merged | {"type": types if len(types) > 1 else types[0]}
