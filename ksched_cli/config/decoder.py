"""Decodes one object: plain data to a type with Go fields, with Go's message for what does not fit.

parsing.py reads the text and calls this for the configuration and for each plugin's args.

Upstream: sigs.k8s.io/json (decode.go: UnmarshalTypeError, strict errors, null) over the struct tags
of k8s.io/kube-scheduler/config/v1. Decoding continues after an error, so later checks still see
the rest; what does not fit is left at its zero value.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Container, Iterator, Mapping
from typing import Any, TypeVar

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
    go_name,
)
from ksched_cli.kube.formatting import DurationError, float_text, parse_duration, quote
from ksched_cli.kube.json_tree import JsonFloat, JsonObject

T = TypeVar("T", bound=Wired)
_MISSING = object()
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")

_MAX_DIGITS = len(str(-(2**63)))  # of an integer of 64 bits, with its sign


class Decoder:
    """One object's decoding. `fatal` is the error that ends it, `strict` what strictness adds."""

    def __init__(self, absent_fields: Container[str] = ()) -> None:
        """absent_fields: "GO TYPE.KEY" of fields that the types lack."""
        self._absent_fields = absent_fields
        self.strict: list[str] = []
        self._saved: str | None = None
        self._immediate: str | None = None
        self._struct = ""
        self._keys: list[str] = []

    @property
    def fatal(self) -> str | None:
        """An Unmarshaler's error ends the decoding at once; any other only after the last byte."""
        return self._immediate or self._saved

    def decode(self, data: Any, cls: type[T]) -> T:
        """An object of `cls`. data: plain data of kube.documents or kube.json_tree."""
        value = self._value(StructOf(cls), False, data, "")
        return cls() if value is _MISSING else value

    def _value(self, wire: Wire, pointer: bool, data: Any, path: str) -> Any:
        if data is None:
            return self._null(wire, pointer)
        match wire:
            case Scalar():
                return self._scalar(wire, data)
            case ListOf(element):
                if not isinstance(data, list):
                    return self._mismatch(data, wire)
                return tuple(self._items(element, data, path))
            case StringMap():
                return self._map(wire, data, path)
            case StructOf(cls):
                return self._struct_value(cls, data, path)

    def _null(self, wire: Wire, pointer: bool) -> Any:
        if pointer or isinstance(wire, ListOf | StringMap):
            return None
        if isinstance(wire, Scalar) and wire.kind is Kind.DURATION:
            self._stop('time: invalid duration ""')  # null reaches UnmarshalJSON as an empty text
        return _MISSING

    def _items(self, element: Wire, data: list[Any], path: str) -> Iterator[Any]:
        for index, item in enumerate(data):
            value = self._value(element, False, item, f"{path}[{index}]")
            yield _zero(element) if value is _MISSING else value

    def _map(self, wire: Wire, data: Any, path: str) -> Any:
        if not isinstance(data, dict):
            return self._mismatch(data, wire)
        out = {}
        for key, item in self._pairs(data, path):
            if item is None or isinstance(item, str):
                out[key] = item or ""
            else:
                self._mismatch(item, Scalar(Kind.STRING, "string", ""))
        return out

    def _struct_value(self, cls: type[Wired], data: Any, path: str) -> Any:
        if not isinstance(data, dict):
            return self._mismatch(data, StructOf(cls))
        fields = fields_of(cls)
        values: dict[str, Any] = {}
        for key, item in self._pairs(data, path, fields):
            spec = fields.get(key)
            if spec is None or f"{cls.GO}.{key}" in self._absent_fields:
                self._add_strict("unknown field", _child(path, key))
                continue
            value = self._field(cls, spec, item, _child(path, key))
            if value is not _MISSING:
                values[spec.attribute] = value
        return cls(**values)

    def _field(self, cls: type[Wired], spec: WireField, item: Any, path: str) -> Any:
        outer = self._struct
        self._struct = cls.GO.rpartition(".")[2]
        self._keys.append(spec.key)
        value = self._value(spec.wire, spec.pointer, item, path)
        self._keys.pop()
        self._struct = outer
        return value

    def _pairs(
        self, data: dict[str, Any], path: str, fields: Mapping[str, WireField] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Members in the order Go meets them: JSON's own; sorted where YAML became JSON."""
        if not isinstance(data, JsonObject):
            yield from sorted(data.items(), key=lambda pair: pair[0].encode())
            return
        seen = set()
        for key, item in data.pairs:
            if key in seen and (fields is None or key in fields):
                self._add_strict("duplicate field", _child(path, key))
            seen.add(key)
            yield key, item

    def _add_strict(self, what: str, path: str) -> None:
        text = f"{what} {quote(path)}"
        if text not in self.strict and len(self.strict) < 100:
            self.strict.append(text)

    def _scalar(self, wire: Scalar, data: Any) -> Any:
        match wire.kind:
            case Kind.RAW:
                return data
            case Kind.STRING if isinstance(data, str):
                return data
            case Kind.BOOL if isinstance(data, bool):
                return data
            case Kind.INTEGER if _is_number(data):
                return self._integer(wire, data)
            case Kind.FLOAT if _is_number(data):
                return self._float(wire, data)
            case Kind.DURATION:
                return self._duration(data)
            case Kind.BYTES if isinstance(data, str):
                return self._bytes(data)
            case Kind.BYTES if isinstance(data, list):
                return self._octets(data)
        return self._mismatch(data, wire)

    def _integer(self, wire: Scalar, data: Any) -> Any:
        literal = _literal(data)
        limit = 2 ** (wire.bits - 1)
        is_integer = literal.lstrip("-").isdigit() and len(literal) <= _MAX_DIGITS
        if not is_integer or not -limit <= int(literal) < limit:
            return self._mismatch(data, wire, f"number {literal}")
        return int(literal)

    def _float(self, wire: Scalar, data: Any) -> Any:
        if abs(data) > 3.4028235677973366e38:
            return self._mismatch(data, wire, f"number {_literal(data)}")
        return float(data)

    def _duration(self, data: Any) -> Any:
        if not isinstance(data, str):
            self._stop(self._cannot(_json_kind(data), "string"))
            return _MISSING
        try:
            return parse_duration(data)
        except DurationError as error:
            self._stop(str(error))
            return _MISSING

    def _bytes(self, data: str) -> Any:
        decoded = decode_base64(data)
        if decoded is None:
            wrong = _NOT_BASE64.search(data.rstrip("="))
            at = wrong.start() if wrong else len(data) // 4 * 4
            self._save(f"illegal base64 data at input byte {at}")
            return _MISSING
        return decoded

    def _octets(self, data: list[Any]) -> Any:
        """Go takes a list of numbers for []byte too."""
        for item in data:
            if not isinstance(item, int) or isinstance(item, bool) or not 0 <= item <= 255:
                shown = f"number {_literal(item)}" if _is_number(item) else ""
                return self._mismatch(item, Scalar(Kind.INTEGER, "uint8", 0), shown)
        return bytes(data)

    def _mismatch(self, data: Any, wire: Wire, value: str = "") -> Any:
        self._save(self._cannot(value or _json_kind(data), go_name(wire)))
        return _MISSING

    def _cannot(self, value: str, go_type: str) -> str:
        if not self._keys:
            return f"json: cannot unmarshal {value} into Go value of type {go_type}"
        field = f"{self._struct}.{'.'.join(self._keys)}"
        return f"json: cannot unmarshal {value} into Go struct field {field} of type {go_type}"

    def _save(self, text: str) -> None:
        self._saved = self._saved or text

    def _stop(self, text: str) -> None:
        self._immediate = self._immediate or text


def decode_base64(text: str) -> bytes | None:
    """The bytes of a base64 text, None where it is none. Go skips line ends."""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return None


def _child(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _zero(wire: Wire) -> Any:
    if isinstance(wire, Scalar):
        return wire.zero
    return wire.cls() if isinstance(wire, StructOf) else None


def _is_number(data: Any) -> bool:
    return isinstance(data, int | float) and not isinstance(data, bool)


def _literal(data: int | float) -> str:
    if isinstance(data, JsonFloat):
        return data.literal
    return float_text(data) if isinstance(data, float) else str(data)


def _json_kind(data: Any) -> str:
    """The JSON type, as Go's messages name it."""
    if isinstance(data, bool):
        return "bool"
    kinds = {str: "string", list: "array"}
    if isinstance(data, dict):
        return "object"
    return next((name for kind, name in kinds.items() if isinstance(data, kind)), "number")
