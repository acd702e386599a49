"""An extender's answer, read as Go reads it: names of fields in any case, unknown ones passed over,
null for nothing, no conversions, and whatever follows the first value ignored.

Upstream: encoding/json's Decoder, as HTTPExtender.send uses it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from ksched_cli.framework.extender import ExtenderError
from ksched_cli.kube.json_tree import JsonError, parse

T = TypeVar("T")

_SPACE = b" \t\r\n"
_NAMES = {
    **dict.fromkeys("-0123456789", "number"),
    "{": "object",
    "[": "array",
    '"': "string",
    "t": "bool",
    "f": "bool",
}
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Value:
    """A part of an answer, not decoded yet. where: as Go's errors name it."""

    raw: msgspec.Raw
    where: str

    @property
    def is_null(self) -> bool:
        return bytes(self.raw) == b"null"

    def fields(self, struct: str, names: tuple[str, ...]) -> Mapping[str, Value]:
        """The fields of a struct that are there and not null, by their names in `names`."""
        found: dict[str, Value] = {}
        if self.is_null:
            return found
        members = self._decode(dict[str, msgspec.Raw], f"v1.{struct}")
        folded = {name.lower(): name for name in names}
        for key, raw in members.items():
            name = folded.get(key.lower())
            if name is not None and bytes(raw) != b"null":
                found[name] = Value(raw, f"Go struct field {struct}.{name}")
        return found

    def items(self, go_type: str) -> list[Value]:
        """null is an empty list."""
        if self.is_null:
            return []
        return [Value(raw, self.where) for raw in self._decode(list[msgspec.Raw], go_type)]

    def members(self, go_type: str) -> dict[str, Value]:
        """null is an empty map."""
        if self.is_null:
            return {}
        found = self._decode(dict[str, msgspec.Raw], go_type)
        return {key: Value(raw, self.where) for key, raw in found.items()}

    def text(self) -> str:
        return "" if self.is_null else self._decode(str, "string")

    def integer(self) -> int:
        if self.is_null:
            return 0
        number = self._decode(int, "int64")
        if not -_INT64 <= number < _INT64:
            raise self._mismatch("int64")
        return number

    def _decode(self, kind: type[T], go_type: str) -> T:
        try:
            return msgspec.json.decode(self.raw, type=kind)
        except (msgspec.DecodeError, RecursionError):
            raise self._mismatch(go_type) from None

    def _mismatch(self, go_type: str) -> ExtenderError:
        text = bytes(self.raw)[:40].decode("utf-8", "replace")
        name = _NAMES.get(text[:1], "value")
        if name == "number" and go_type == "int64":
            name = f"number {text}"
        of_type = f" of type {go_type}" if self.where.startswith("Go struct") else f" {go_type}"
        return ExtenderError(f"json: cannot unmarshal {name} into {self.where}{of_type}")


def read(body: bytes) -> Value:
    """The first value of a text. Raises ExtenderError with Go's words."""
    text = body.strip(_SPACE)
    if not text:
        raise ExtenderError("EOF")
    try:
        text.decode()
        raw = msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = msgspec.Raw(_first_value(text.decode("utf-8", "replace")))
    return Value(raw, "Go value of type")


def _first_value(text: str) -> bytes:
    """Of a text that the strict reader refuses: with other things after the value, or with half a
    surrogate pair, which Go replaces."""
    try:
        found, end = json.JSONDecoder().raw_decode(text)
        parse(text[:end])
    except (ValueError, RecursionError, JsonError):
        raise ExtenderError(_syntax_error(text)) from None
    whole = json.dumps(found, ensure_ascii=False).encode("utf-16", "surrogatepass")
    return whole.decode("utf-16", "replace").encode()


def _syntax_error(text: str) -> str:
    try:
        parse(text)
    except JsonError as error:
        ended = error.message == "unexpected end of JSON input"
        return "unexpected EOF" if ended else error.message
    return "invalid JSON"
