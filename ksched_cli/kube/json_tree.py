"""JSON text to plain data that keeps repeated keys and numbers as written, for Go's messages.

Upstream: encoding/json's scanner (wording of syntax errors) and sigs.k8s.io/json (strictness).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in use, untyped
from typing import Any, TypeAlias

from ksched_cli.kube.int64 import MAX_UINT64, MIN_INT64

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_int=float)
_MAX_DIGITS = 4_000
_MAX_DIGITS_64 = len(str(MIN_INT64))
_CONTEXTS = (
    ("Expecting property name", "looking for beginning of object key string"),
    ("Illegal trailing comma", "looking for beginning of object key string"),
    ("Expecting ':'", "after object key"),
    ("Extra data", "after top-level value"),
    ("Invalid control character", "in string literal"),
    ("Invalid \\escape", "in string escape code"),
    ("Expecting value", "looking for beginning of value"),
)


# In the order they are tried: a whole surrogate pair, half of one, any other escape.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][\da-fA-F]{2})"
    r"|\\."
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


def _integer(literal: str) -> int | JsonFloat:
    """Return an integer; a float where it has more digits than Python reads, which nothing can
    hold."""
    return int(literal) if len(literal) < _MAX_DIGITS else JsonFloat(literal)


def number_as_in_yaml(literal: str) -> int | float | str:
    """What YAML makes of a JSON number's text: a float of an integer beyond 64 bits, and the text
    itself where no float holds it."""
    if len(literal) <= _MAX_DIGITS_64 and literal.lstrip("-").isdigit():
        integer = int(literal)
        if MIN_INT64 <= integer <= MAX_UINT64:
            return integer
    number = float(literal)
    return number if math.isfinite(number) else literal


def _refuse_constant(_name: str) -> Any:
    """NaN and Infinity, which Python's parser takes, are not JSON."""
    raise ValueError


Path: TypeAlias = tuple[str | int, ...]


def walk(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value in plain data, with its path, each before what it holds."""
    yield path, data
    listed = data if isinstance(data, list) else ()
    for step, value in data.items() if isinstance(data, dict) else enumerate(listed):
        yield from walk(value, (*path, step))


def value_at(data: Any, path: Path) -> Any:
    """What is at a path in plain data; None if nothing is."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def repeated_keys(data: Any) -> Iterator[Path]:
    """Yield the paths of the keys that objects have twice. data: as `parse` returns it"""
    for path, value in walk(data):
        if isinstance(value, JsonObject) and len(value) < len(value.pairs):
            counts = Counter(key for key, _ in value.pairs)
            yield from ((*path, key) for key, count in counts.items() if count > 1)


def replace_half_pairs(text: str) -> str:
    """Return the text with each half of a surrogate pair as the replacement character, an escape as
    long as the other, so that offsets stay.

    Upstream: encoding/json's unquote.
    """
    if "\\u" not in text:
        return text
    return _ESCAPE.sub(lambda match: r"\ufffd" if match["half"] else match[0], text)


def parse(text: str) -> Any:
    """Plain data, but with JsonObject for objects and JsonFloat for floats. Raises JsonError."""
    return _parse(text, object_pairs_hook=JsonObject, parse_float=JsonFloat, parse_int=_integer)


def parse_plain(text: str) -> Any:
    """Plain data, as YAML gives it for the same text. Raises JsonError."""
    return _parse(text, parse_float=number_as_in_yaml, parse_int=number_as_in_yaml)


def _parse(text: str, **hooks: Any) -> Any:
    text = replace_half_pairs(text)
    try:
        return json.loads(text, parse_constant=_refuse_constant, **hooks)
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
    """Return whether the innermost bracket that is open at the end of `before` is a brace."""
    depth = 0
    for bracket in reversed(re.sub(r'"(?:[^"\\]|\\.)*"', "", before)):
        if bracket in "]}":
            depth += 1
        elif bracket in "[{":
            if depth == 0:
                return bracket == "{"
            depth -= 1
    return False


class Offsets:
    """Offsets in a text of JSON. Every object and list is scanned once, on the way to what is in
    it; the C decoder skips what it holds."""

    def __init__(self, text: str) -> None:
        self._text = replace_half_pairs(text)
        self._children: dict[int, dict[str | int, tuple[int, int]]] = {}

    def of(self, path: Path) -> int | None:
        """Offset of the key (or list item) at `path`, None if it is absent.

        Raises ValueError or IndexError where the text is not JSON.
        """
        offset = key_offset = _skip(self._text, 0)
        for step in path:
            children = self._children.get(offset)
            if children is None:
                children = self._children[offset] = self._scan(offset)
            if step not in children:
                return None
            key_offset, offset = children[step]
        return key_offset

    def _scan(self, offset: int) -> dict[str | int, tuple[int, int]]:
        """Return the offsets of keys and of their values, of a repeated key the last; of a list's
        items twice; empty for a scalar. offset: of the object or list."""
        text = self._text
        if text[offset] not in "{[":
            return {}
        is_object = text[offset] == "{"
        children: dict[str | int, tuple[int, int]] = {}
        offset = _skip(text, offset + 1)
        while text[offset] not in "}]":
            key_offset = offset
            key: str | int = len(children)
            if is_object:
                key, offset = scanstring(text, offset + 1, False)
                offset = _skip(text, _skip(text, offset) + 1)
            children[key] = key_offset, offset
            _, offset = _DECODER.raw_decode(text, offset)
            offset = _skip(text, offset)
            if text[offset] == ",":
                offset = _skip(text, offset + 1)
        return children


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset
