"""JSON decoded by Go's rules: field names in any case, unknown fields ignored, null for a zero
value, no conversions between types, and whatever follows the first value ignored.

Upstream: encoding/json's Decoder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from ksched_cli.kube.int64 import MAX_INT64, MIN_INT64
from ksched_cli.kube.json_tree import JsonError, parse, replace_half_pairs

T = TypeVar("T")

_SPACE = b" \t\r\n"
# What Go calls a value of the wrong type, by its first character.
_TYPE_NAMES = {
    **dict.fromkeys("-0123456789", "number"),
    "{": "object",
    "[": "array",
    '"': "string",
    "t": "bool",
    "f": "bool",
}


class GoJsonError(ValueError):
    """The text is not JSON, or not of the expected type. The message is Go's."""


class GoValue(Struct, frozen=True):
    """A JSON value that is decoded on demand. All methods raise GoJsonError.

    raw:    its text
    target: what Go's errors say it is decoded into, as "Go struct field Pod.Name"
    """

    raw: msgspec.Raw
    target: str

    @property
    def is_null(self) -> bool:
        return bytes(self.raw) == b"null"

    def fields(self, struct: str, names: tuple[str, ...]) -> Mapping[str, GoValue]:
        """Return the fields of a struct that are present and not null, by their names in `names`.

        struct: with its package, as "v1.Pod"
        """
        fields: dict[str, GoValue] = {}
        if self.is_null:
            return fields
        members = self._decode(dict[str, msgspec.Raw], struct)
        names_by_key = {name.lower(): name for name in names}
        struct_name = struct.rpartition(".")[2]
        for key, raw in members.items():
            name = names_by_key.get(key.lower())
            if name is not None and bytes(raw) != b"null":
                fields[name] = GoValue(raw, f"Go struct field {struct_name}.{name}")
        return fields

    def items(self, go_type: str) -> list[GoValue]:
        """Return a slice's elements; of null, none."""
        if self.is_null:
            return []
        return [GoValue(raw, self.target) for raw in self._decode(list[msgspec.Raw], go_type)]

    def members(self, go_type: str) -> dict[str, GoValue]:
        """Return a map's values by their keys; of null, none."""
        if self.is_null:
            return {}
        members = self._decode(dict[str, msgspec.Raw], go_type)
        return {key: GoValue(raw, self.target) for key, raw in members.items()}

    def text(self) -> str:
        """Return a string; of null, ""."""
        return "" if self.is_null else self._decode(str, "string")

    def integer(self) -> int:
        """Return an int64; of null, 0."""
        if self.is_null:
            return 0
        number = self._decode(int, "int64")
        if not MIN_INT64 <= number <= MAX_INT64:
            raise self._type_error("int64")
        return number

    def _decode(self, python_type: type[T], go_type: str) -> T:
        try:
            return msgspec.json.decode(self.raw, type=python_type)
        except (msgspec.DecodeError, RecursionError):
            raise self._type_error(go_type) from None

    def _type_error(self, go_type: str) -> GoJsonError:
        """Upstream: json.UnmarshalTypeError."""
        text = bytes(self.raw)[:40].decode("utf-8", "replace")
        name = _TYPE_NAMES.get(text[:1], "value")
        if name == "number" and go_type == "int64":
            name = f"number {text}"
        of_type = f" of type {go_type}" if self.target.startswith("Go struct") else f" {go_type}"
        return GoJsonError(f"json: cannot unmarshal {name} into {self.target}{of_type}")


def decode_first(body: bytes) -> GoValue:
    """Return the first value of a text. Raises GoJsonError."""
    text = body.strip(_SPACE)
    if not text:
        raise GoJsonError("EOF")
    try:
        text.decode()
        raw = msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = msgspec.Raw(_first_value(text.decode("utf-8", "replace")))
    return GoValue(raw, "Go value of type")


def _first_value(text: str) -> bytes:
    """Return the JSON of the first value in a text that msgspec refuses: where something follows
    it, or where it has half a surrogate pair, which Go replaces."""
    text = replace_half_pairs(text)
    try:
        _, end = json.JSONDecoder().raw_decode(text)
        parse(text[:end])
    except (ValueError, RecursionError, JsonError):
        raise GoJsonError(_syntax_error(text)) from None
    return text[:end].encode()


def _syntax_error(text: str) -> str:
    try:
        parse(text)
    except JsonError as error:
        ended = error.message == "unexpected end of JSON input"
        return "unexpected EOF" if ended else error.message
    return "invalid JSON"
