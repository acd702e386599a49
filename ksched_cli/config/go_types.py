"""The Go type behind each field of a configuration type: how it reads and prints as JSON.

The types of config/types.py and of the plugins' args have it for each field. parsing.py decodes by
it, schemas/configuration.py makes the JSON Schema of it, `to_wire` prints by it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, TypeVar, dataclass_transform

import msgspec
from msgspec import Struct

from ksched_cli.kube.formatting import duration_text


class GoKind(Enum):
    """The kind that encoding/json gives a scalar; those that JSON Schema has by its names."""

    STRING = "string"
    BOOL = "boolean"
    INTEGER = "integer"
    FLOAT = "number"
    DURATION = "duration"
    BYTES = "bytes"
    RAW = "raw"


class Scalar(Struct, frozen=True):
    """go: the type's name in messages; bits: of a number."""

    kind: GoKind
    go: str
    zero: Any
    bits: int = 64


class ListOf(Struct, frozen=True):
    element: Wire


class StringMap(Struct, frozen=True):
    """map[string]string"""


class StructOf(Struct, frozen=True):
    cls: type[GoStruct]


Wire = Scalar | ListOf | StringMap | StructOf

STRING = Scalar(GoKind.STRING, "string", "")
BOOL = Scalar(GoKind.BOOL, "bool", False)
INT32 = Scalar(GoKind.INTEGER, "int32", 0, 32)
INT64 = Scalar(GoKind.INTEGER, "int64", 0, 64)
FLOAT32 = Scalar(GoKind.FLOAT, "float32", 0.0, 32)
DURATION = Scalar(GoKind.DURATION, "v1.Duration", 0)
BYTES = Scalar(GoKind.BYTES, "[]uint8", b"")
RAW = Scalar(GoKind.RAW, "runtime.RawExtension", None)


def named(go: str) -> Scalar:
    """Return a string type of its own name, as v1.ScoringStrategyType."""
    return Scalar(GoKind.STRING, go, "")


def go_type(cls: type) -> str:
    """Return the Go type of a class, as messages name it: that of its name, unless its GO is
    another."""
    go: str = vars(cls).get("GO", f"v1.{cls.__name__}")
    return go


def go_name(wire: Wire) -> str:
    """Return the type as Go's reflect prints it."""
    match wire:
        case Scalar():
            return wire.go
        case ListOf(element):
            return "[]" + go_name(element)
        case StringMap():
            return "map[string]string"
        case StructOf(cls):
            return go_type(cls)


class WireField(Struct, frozen=True):
    """key: in JSON; attribute: in the class; pointer: null and absence are None;
    default: in the place of nil, or of zero without a pointer; limits: what the JSON Schema adds to
    the type, for editors."""

    key: str
    attribute: str
    wire: Wire
    pointer: bool
    omit_empty: bool
    default: Any
    limits: Mapping[str, Any]


def field(
    wire: Wire,
    *,
    key: str = "",
    pointer: bool = False,
    omit: bool = True,
    default: Any = None,
    **limits: Any,
) -> Any:
    """Return a field of a GoStruct, which begins with Go's zero value.

    key: in JSON, where it is not the field's name in camel case
    default: what `with_field_defaults` fills in; limits: keywords of JSON Schema, such as minimum
    or enum
    """
    return WireField(key, "", wire, pointer, omit, default, limits)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class _GoStructMeta(msgspec.StructMeta):
    """Makes a struct of a class, and keeps what `field` says of its fields."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        by_key = {key: spec for base in bases for key, spec in getattr(base, "FIELDS", {}).items()}
        for attribute, spec in list(namespace.items()):
            if isinstance(spec, WireField):
                first, *others = attribute.split("_")
                key = spec.key or first + "".join(map(str.capitalize, others))
                by_key[key] = msgspec.structs.replace(spec, key=key, attribute=attribute)
                wire = None if spec.pointer else spec.wire
                namespace[attribute] = wire.zero if isinstance(wire, Scalar) else None
                if isinstance(wire, StructOf):
                    namespace[attribute] = msgspec.field(default_factory=wire.cls)
        cls: Any = super().__new__(mcls, name, bases, namespace, **options)
        cls.FIELDS = by_key
        return cls


class GoStruct(Struct, metaclass=_GoStructMeta, frozen=True):
    """A type of a configuration, whose fields are made by `field`. FIELDS: by their JSON keys"""

    FIELDS: ClassVar[Mapping[str, WireField]]


T = TypeVar("T", bound=GoStruct)


def with_field_defaults(value: T) -> T:
    """Return a configuration value with the defaults of its fields, and of those of structs in
    it."""
    changes: dict[str, Any] = {}
    for spec in value.FIELDS.values():
        item = getattr(value, spec.attribute)
        if isinstance(spec.wire, StructOf) and not spec.pointer:
            changes[spec.attribute] = with_field_defaults(item)
        elif spec.default is not None and (item is None if spec.pointer else not item):
            changes[spec.attribute] = spec.default
    return msgspec.structs.replace(value, **changes)


def to_wire(value: Any) -> Any:
    """Return a configuration value as plain JSON data, with Go's omitempty."""
    if not isinstance(value, GoStruct):
        return [to_wire(item) for item in value] if isinstance(value, tuple) else value
    out = {}
    for spec in value.FIELDS.values():
        item = getattr(value, spec.attribute)
        # A struct is never empty.
        is_empty = not (spec.pointer or item or isinstance(spec.wire, StructOf))
        if spec.omit_empty and (item is None or is_empty):
            continue
        out[spec.key] = None if item is None else _plain(spec.wire, item)
    return out


def _plain(wire: Wire, value: Any) -> Any:
    if isinstance(wire, Scalar):
        if wire.kind is GoKind.DURATION:
            return duration_text(value)
        if wire.kind is GoKind.BYTES:
            return base64.b64encode(value).decode()
        if wire.kind is GoKind.RAW:
            return to_wire(value)
        return value
    if isinstance(wire, ListOf):
        return [_plain(wire.element, item) for item in value]
    return dict(value) if isinstance(wire, StringMap) else to_wire(value)
