"""Checked CEL expressions as trees, read from the library's serialised form.

Upstream: cel-spec/proto/cel/expr (syntax.proto, checked.proto). Only what expressions over devices
can hold is read. Macros such as `exists` and `map` are already expanded into comprehensions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from ksched_cli.cel.values import Uint

_PRIMITIVES = ("", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN_TYPES = ("", "any", "timestamp", "duration")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Constant(Struct, frozen=True):
    value: object


class Identifier(Struct, frozen=True):
    """name: qualified, as in `device.driver`. is_type: it denotes a type, such as `int`."""

    name: str
    is_type: bool


class Select(Struct, frozen=True):
    """test_only: `has(operand.field)`."""

    operand: Expr
    field: str
    test_only: bool


class Call(Struct, frozen=True):
    """arguments: the target of a member call first. overloads: the ids that the types allow.
    types: of each argument."""

    function: str
    arguments: tuple[Expr, ...]
    is_member: bool
    overloads: tuple[str, ...]
    types: tuple[str, ...]


class ListLiteral(Struct, frozen=True):
    """optional: the indices of `?element`. types: of each element."""

    elements: tuple[Expr, ...]
    optional: frozenset[int]
    types: tuple[str, ...]


class Entry(Struct, frozen=True):
    key: Expr
    value: Expr
    optional: bool
    types: tuple[str, str]


class MapLiteral(Struct, frozen=True):
    entries: tuple[Entry, ...]


class MessageLiteral(Struct, frozen=True):
    name: str


class Comprehension(Struct, frozen=True):
    """second_variable: "" if there is only one. The accumulator starts as `start`."""

    variable: str
    second_variable: str
    over: Expr
    accumulator: str
    start: Expr
    condition: Expr
    step: Expr
    result: Expr


Expr: TypeAlias = (
    Constant
    | Identifier
    | Select
    | Call
    | ListLiteral
    | MapLiteral
    | MessageLiteral
    | Comprehension
)


class CheckedExpression(Struct, frozen=True):
    """result_type: as cel-go writes it."""

    root: Expr
    result_type: str


def read(serialized: bytes) -> CheckedExpression:
    """serialized: a google.protobuf.Any with a CheckedExpr in it."""
    checked = _Message(serialized).message(2)
    references = dict(_entries(checked, 2))
    types = dict(_entries(checked, 3))
    reader = _Reader(references, types)
    root = checked.bytes(4)
    result_type = types.get(_Message(root).integer(2), b"")
    return CheckedExpression(reader.node(root), _type_text(_Message(result_type)))


def children(node: Expr) -> tuple[Expr, ...]:
    """A node's direct children."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.arguments
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
        case _:
            return ()


class _Reader:
    """Reads nodes. references, types: by the id of an expression, still encoded."""

    def __init__(self, references: dict[int, bytes], types: dict[int, bytes]) -> None:
        self._references = references
        self._types = types

    def node(self, data: bytes) -> Expr:
        message = _Message(data)
        number = message.integer(2)
        kind = next((field for field in message.fields if field in range(3, 10)), 0)
        body = message.message(kind)
        match kind:
            case 3:
                return Constant(_constant(body))
            case 4:
                return self._identifier(number, body.text(1))
            case 5:
                return Select(self.node(body.bytes(1)), body.text(2), bool(body.integer(3)))
            case 6:
                return self._call(number, body)
            case 7:
                return self._list(body)
            case 8:
                return self._struct(body)
            case 9:
                return self._comprehension(body)
        raise ValueError("an expression of an unknown kind")

    def _identifier(self, number: int, name: str) -> Expr:
        reference = _Message(self._references.get(number, b""))
        if 4 in reference.fields:
            return Constant(_constant(reference.message(4)))
        of_type = 11 in _Message(self._types.get(number, b"")).fields
        return Identifier(reference.text(1) or name, of_type)

    def _call(self, number: int, call: _Message) -> Expr:
        reference = _Message(self._references.get(number, b""))
        overloads = tuple(overload.decode() for overload in reference.all_bytes(3))
        target = call.all_bytes(1)
        arguments = (*target, *call.all_bytes(3))
        nodes, types = map(self.node, arguments), map(self._type, arguments)
        return Call(call.text(2), tuple(nodes), bool(target), overloads, tuple(types))

    def _list(self, literal: _Message) -> Expr:
        elements = literal.all_bytes(1)
        optional = frozenset(literal.integers(2))
        types = tuple(self._type(e, i in optional) for i, e in enumerate(elements))
        return ListLiteral(tuple(self.node(e) for e in elements), optional, types)

    def _struct(self, literal: _Message) -> Expr:
        if literal.text(1):
            return MessageLiteral(literal.text(1))
        entries = []
        for data in literal.all_bytes(2):
            entry = _Message(data)
            key, value, optional = entry.bytes(3), entry.bytes(4), bool(entry.integer(5))
            types = (self._type(key), self._type(value, optional))
            entries.append(Entry(self.node(key), self.node(value), optional, types))
        return MapLiteral(tuple(entries))

    def _comprehension(self, fold: _Message) -> Expr:
        return Comprehension(
            variable=fold.text(1),
            second_variable=fold.text(8),
            over=self.node(fold.bytes(2)),
            accumulator=fold.text(3),
            start=self.node(fold.bytes(4)),
            condition=self.node(fold.bytes(5)),
            step=self.node(fold.bytes(6)),
            result=self.node(fold.bytes(7)),
        )

    def _type(self, expression: bytes, optional: bool = False) -> str:
        """An expression's type; of an optional one, that of its value."""
        encoded_type = _Message(self._types.get(_Message(expression).integer(2), b""))
        return _type_text(encoded_type.message(14).message(2) if optional else encoded_type)


def _type_text(message: _Message) -> str:
    """Upstream: cel-go/common/types/types.go (Type.String)."""
    for field in message.fields:
        inner = message.message(field) if field in (6, 7, 14) else message
        match field:
            case 2:
                return "null_type"
            case 3:
                return _PRIMITIVES[message.integer(3)]
            case 5:
                return _WELL_KNOWN_TYPES[message.integer(5)]
            case 6:
                return f"list({_type_text(inner.message(1))})"
            case 7:
                return f"map({_type_text(inner.message(1))}, {_type_text(inner.message(2))})"
            case 9 | 10:
                return message.text(field)
            case 11:
                return "type"
            case 14:
                parameters = ", ".join(_type_text(_Message(p)) for p in inner.all_bytes(2))
                return f"{inner.text(1)}({parameters})" if parameters else inner.text(1)
    return "dyn"


def _constant(message: _Message) -> object:
    for field in message.fields:
        match field:
            case 1:
                return None
            case 2:
                return bool(message.integer(2))
            case 3:
                return message.signed(3)
            case 4:
                return Uint(message.integer(4))
            case 5:
                return struct.unpack("<d", message.bytes(5))[0]
            case 6:
                return message.text(6)
            case 7:
                return message.bytes(7)
    raise ValueError("a constant of an unknown kind")


def _entries(message: _Message, field: int) -> Iterator[tuple[int, bytes]]:
    """A map field's keys and values."""
    for data in message.all_bytes(field):
        entry = _Message(data)
        yield entry.integer(1), entry.bytes(2)


class _Message:
    """A protobuf message, decoded one level deep. fields: by number, the raw values in order."""

    __slots__ = ("fields",)

    def __init__(self, data: bytes) -> None:
        self.fields: dict[int, list[int | bytes]] = {}
        offset = 0
        while offset < len(data):
            tag, offset = _varint(data, offset)
            kind = tag & 7
            value: int | bytes
            if kind == _VARINT:
                value, offset = _varint(data, offset)
            else:
                size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
                if size is None:
                    size, offset = _varint(data, offset)
                value, offset = data[offset : offset + size], offset + size
            self.fields.setdefault(tag >> 3, []).append(value)

    def integer(self, field: int) -> int:
        value = self.fields.get(field, [0])[-1]
        return value if isinstance(value, int) else 0

    def signed(self, field: int) -> int:
        value = self.integer(field)
        return value - (1 << 64) if value >= 1 << 63 else value

    def integers(self, field: int) -> list[int]:
        """A repeated field of numbers, packed or not."""
        values: list[int] = []
        for value in self.fields.get(field, ()):
            if isinstance(value, int):
                values.append(value)
                continue
            offset = 0
            while offset < len(value):
                element, offset = _varint(value, offset)
                values.append(element)
        return values

    def all_bytes(self, field: int) -> list[bytes]:
        return [value for value in self.fields.get(field, ()) if isinstance(value, bytes)]

    def bytes(self, field: int) -> bytes:
        values = self.all_bytes(field)
        return values[-1] if values else b""

    def message(self, field: int) -> _Message:
        return _Message(self.bytes(field))

    def text(self, field: int) -> str:
        return self.bytes(field).decode()


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
