"""JSON text to plain data that keeps repeated keys and numbers as written, for Go's messages.

Upstream: encoding/json's scanner (wording of syntax errors) and sigs.k8s.io/json (strictness).
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in use, untyped
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_CONTEXTS = (
    ("Expecting property name", "looking for beginning of object key string"),
    ("Illegal trailing comma", "looking for beginning of object key string"),
    ("Expecting ':'", "after object key"),
    ("Extra data", "after top-level value"),
    ("Invalid control character", "in string literal"),
    ("Invalid \\escape", "in string escape code"),
    ("Expecting value", "looking for beginning of value"),
)


class JsonError(Exception):
    """The text is not JSON. message: Go's; offset: in characters."""

    def __init__(self, message: str, offset: int) -> None:
        self.message, self.offset = message, offset
        super().__init__(message)


class JsonObject(dict[str, Any]):
    """A JSON object. pairs: all keys and values in their order, repeated keys included."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class JsonFloat(float):
    """A number with a point or an exponent. literal: its text."""

    literal: str

    def __new__(cls, literal: str) -> JsonFloat:
        number = super().__new__(cls, literal)
        number.literal = literal
        return number


def _refuse_constant(_name: str) -> Any:
    """NaN and Infinity, which Python's parser takes, are not JSON."""
    raise ValueError


def parse(text: str) -> Any:
    """Plain data with JsonObject for objects. Raises JsonError."""
    try:
        return json.loads(
            text,
            object_pairs_hook=JsonObject,
            parse_float=JsonFloat,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise JsonError(_message(text, error), error.pos) from None
    except RecursionError:
        raise JsonError("exceeded max depth", 0) from None
    except ValueError:
        match = re.search(r"\b(?:NaN|-?Infinity)\b", text)
        offset = match.start() if match else 0
        message = f"invalid character '{text[offset]}' looking for beginning of value"
        raise JsonError(message, offset) from None


def _message(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    contexts = [context for start, context in _CONTEXTS if error.msg.startswith(start)]
    container = "object key:value pair" if _in_object(text[: error.pos]) else "array element"
    context = contexts[0] if contexts else f"after {container}"
    character = text[error.pos]
    quoted = {"'": r"'\''", '"': "'\"'"}.get(character, f"'{character}'")
    return f"invalid character {quoted} {context}"


def _in_object(before: str) -> bool:
    """Whether the innermost bracket that is open at the end of `before` is a brace."""
    depth = 0
    for bracket in reversed(re.sub(r'"(?:[^"\\]|\\.)*"', "", before)):
        if bracket in "]}":
            depth += 1
        elif bracket in "[{":
            if depth == 0:
                return bracket == "{"
            depth -= 1
    return False


def offset_of(text: str, path: tuple[str | int, ...], start: int = 0) -> int | None:
    """Offset of the key (or list item) at `path`, None where it is absent.

    The C decoder skips siblings. Raises ValueError or IndexError where the text is not JSON.
    """
    offset = key_offset = _skip(text, start)
    for step in path:
        offsets = (
            _member(text, offset, step) if isinstance(step, str) else _item(text, offset, step)
        )
        if offsets is None:
            return None
        key_offset, offset = offsets
    return key_offset


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _member(text: str, offset: int, key: str) -> tuple[int, int] | None:
    """Offsets of a key and of its value; of a repeated key, the last."""
    if text[offset] != "{":
        return None
    offsets = None
    offset = _skip(text, offset + 1)
    while text[offset] != "}":
        key_offset = offset
        name, offset = scanstring(text, offset + 1, False)
        offset = _skip(text, _skip(text, offset) + 1)
        if name == key:
            offsets = key_offset, offset
        _, offset = _DECODER.raw_decode(text, offset)
        offset = _skip(text, offset)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return offsets


def _item(text: str, offset: int, index: int) -> tuple[int, int] | None:
    """Offset of a list's item, twice, as for a key and its value."""
    if text[offset] != "[":
        return None
    offset = _skip(text, offset + 1)
    while text[offset] != "]":
        if index == 0:
            return offset, offset
        index -= 1
        _, offset = _DECODER.raw_decode(text, offset)
        offset = _skip(text, offset)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return None
