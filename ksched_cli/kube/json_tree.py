"""JSON text to plain data, keeping what Go's decoder reports: doubled keys and numbers as written.

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
    """A text that is no JSON: Go's message and the offset in characters."""

    def __init__(self, message: str, offset: int) -> None:
        self.message, self.offset = message, offset
        super().__init__(message)


class JsonObject(dict[str, Any]):
    """An object that remembers the order and repetition of its keys."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class JsonFloat(float):
    """A number with a point or an exponent, as it was written."""

    literal: str

    def __new__(cls, literal: str) -> JsonFloat:
        number = super().__new__(cls, literal)
        number.literal = literal
        return number


def _constant(_name: str) -> Any:
    raise ValueError


def parse(text: str) -> Any:
    """Plain data with JsonObject for objects. Raises JsonError."""
    try:
        return json.loads(
            text,
            object_pairs_hook=JsonObject,
            parse_float=JsonFloat,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        raise JsonError(_message(text, error), error.pos) from None
    except RecursionError:
        raise JsonError("exceeded max depth", 0) from None
    except ValueError:
        match = re.search(r"\b(?:NaN|-?Infinity)\b", text)
        offset = match.start() if match else 0
        wrong = text[offset]
        message = f"invalid character '{wrong}' looking for beginning of value"
        raise JsonError(message, offset) from None


def _message(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    named = [context for start, context in _CONTEXTS if error.msg.startswith(start)]
    inside = "object key:value pair" if _in_object(text[: error.pos]) else "array element"
    context = named[0] if named else f"after {inside}"
    wrong = text[error.pos]
    shown = {"'": r"'\''", '"': "'\"'"}.get(wrong, f"'{wrong}'")
    return f"invalid character {shown} {context}"


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


def find(text: str, path: tuple[str | int, ...], start: int = 0) -> int | None:
    """Offset of the key (or list item) that `path` names; siblings are skipped by the C decoder."""
    offset = named = _skip(text, start)
    for step in path:
        found = _member(text, offset, step) if isinstance(step, str) else _item(text, offset, step)
        if found is None:
            return None
        named, offset = found
    return named


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _member(text: str, offset: int, key: str) -> tuple[int, int] | None:
    """Offsets of a key and of its value."""
    if text[offset] != "{":
        return None
    found = None
    offset = _skip(text, offset + 1)
    while text[offset] != "}":
        at = offset
        name, offset = scanstring(text, offset + 1, False)
        offset = _skip(text, _skip(text, offset) + 1)
        if name == key:
            found = at, offset
        _, offset = _DECODER.raw_decode(text, offset)
        offset = _skip(text, offset)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return found


def _item(text: str, offset: int, index: int) -> tuple[int, int] | None:
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
