"""InputErrors about objects of a state: with file, line, object, field and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import msgspec

from ksched_cli.cluster.loading.sources import Document, looks_like_json
from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import Path, decode_text, locate
from ksched_cli.kube.stored_bytes import StoredJson

_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<got>[^`]*)`")
_LIMIT = re.compile(r"Expected `int` ([<>])= (-?\d+)")
_EMPTY_TIME = "Expected `str` of length >= 1"  # a Time, the one text with a least length
_QUANTITY = re.compile(r'quantity "(?P<text>.*)": ', re.DOTALL)

_TYPE_TEXTS = {
    "str": "a string",
    "quantity": "a quantity such as 100m or 2Gi",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "nothing (null)",
}
_TYPE_NAMES: dict[type, str] = {
    str: "str",
    bool: "bool",
    int: "int",
    float: "float",
    dict: "object",
    list: "array",
    type(None): "null",
}

_ANY_KEY = "..."  # how msgspec writes a key of a map in a path


class ObjectLocation(NamedTuple):
    """The place of an object.

    path:   in the document, () for the document itself, else ("items", 3)
    stored: where it is in a file that is read piece by piece
    """

    document: Document
    path: Path
    stored: StoredJson | None = None


def decode_error(
    location: ObjectLocation, kind: str, data: msgspec.Raw, error: Exception, prefix: str = ""
) -> InputError:
    """Return the InputError for msgspec's error in an object of a kind.

    data:   the object's JSON
    prefix: the path of the part that was being decoded, as "metadata.labels"
    """
    # As "Expected `int`, got `str` - at `$.spec.priority`"; what is expected may hold anything.
    message, at, path_suffix = str(error).removesuffix("`").rpartition(" - at `")
    if not (at and path_suffix.removeprefix("key in ").startswith("$")):
        message, path_suffix = str(error), ""
    steps: Path = (*prefix.split("."),) if prefix else ()
    steps += tuple(
        int(index) if index.isdigit() else name or _ANY_KEY
        for name, index in _STEP.findall(path_suffix)
    )
    fits = _fits(message)
    # Unknown keys are those that lead to the first value that fits the message.
    path = next((path for path, leaf in _walk(_plain(data), steps) if fits(leaf)), steps)
    return object_error(location, kind, data, path, _readable(message), hint=_hint(message, path))


def object_error(
    location: ObjectLocation,
    kind: str,
    data: msgspec.Raw,
    path: Path,
    problem: str,
    *,
    hint: str = "",
) -> InputError:
    """Return the InputError for a problem at a path in an object. data: the object's JSON."""
    subject = ": ".join(part for part in (describe(kind, _plain(data)), path_text(path)) if part)
    return InputError(
        location.document.source.name,
        problem,
        subject=subject,
        position=object_position(location, data, path),
        hint=hint,
    )


def describe(kind: str, value: Any) -> str:
    """Return the kind, namespace and name, as far as the object has them."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    names = [name for name in (meta.get("namespace"), meta.get("name")) if isinstance(name, str)]
    if not kind and not names:
        return ""
    return " ".join((kind or "object", *(["/".join(names)] if names else [])))


def path_text(path: Path) -> str:
    """Return the path as spec.containers[0].limits[example.com/gpu]: keys that are not words are in
    brackets."""
    text = ""
    for step in path:
        if isinstance(step, int) or not re.fullmatch(r"\w+", step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def object_position(location: ObjectLocation, data: msgspec.Raw, path: Path) -> Position | None:
    """Return the line and column of the field at a path in an object; of its nearest parent if it
    is absent. data: the object's JSON."""
    source, stored = location.document.source, location.stored
    content = bytes(data)
    if stored is not None:
        line, before = stored.place()
    else:
        text = source.data
        offset = text.find(content) if looks_like_json(source) else -1
        if offset < 0:
            document, whole = location.document, decode_text(text, source.name)
            if document.pieces is not None:
                return document.pieces.locate(whole, location.path + path)
            return locate(whole, document.index, location.path + path)
        line, before = text.count(b"\n", 0, offset), text[text.rfind(b"\n", 0, offset) + 1 : offset]
    position = locate(content.decode(), 0, path)
    if position is None:
        return None
    indent = len(before.decode("utf-8-sig")) if position.line == 1 else 0
    return Position(line + position.line, indent + position.column)


def _plain(data: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


def _walk(value: Any, steps: Path) -> Iterator[tuple[Path, Any]]:
    """Yield all paths in a value that match `steps`, and what is there."""
    if not steps:
        yield (), value
        return
    step, rest = steps[0], steps[1:]
    keys: Collection[Any] = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(len(value))
    if step != _ANY_KEY:
        keys = (step,) if step in keys else ()
    for key in keys:
        for path, leaf in _walk(value[key], rest):
            yield (key, *path), leaf


def _fits(message: str) -> Callable[[Any], bool]:
    """Return a test whether a value may be what the message is about."""
    quantity = _QUANTITY.match(message)
    if quantity is not None:
        return lambda leaf: str(leaf) == quantity["text"]
    match = _EXPECTED.search(message)
    return lambda leaf: match is None or _TYPE_NAMES.get(type(leaf)) == match["got"]


def _readable(message: str) -> str:
    limit = _LIMIT.fullmatch(message)
    if limit is not None:
        return f"expected a whole number, at {'most' if limit[1] == '<' else 'least'} {limit[2]}"
    if message == _EMPTY_TIME:
        return '"" is not a time such as 2026-01-31T12:00:00Z'
    match = _EXPECTED.search(message)
    if match is None:
        return message[:1].lower() + message[1:]
    expected = " or ".join(_TYPE_TEXTS.get(name, name) for name in match["expected"].split(" | "))
    return f"expected {expected}, got {_TYPE_TEXTS.get(match['got'], match['got'])}"


def _hint(message: str, path: Path) -> str:
    match = _EXPECTED.search(message)
    if match is not None and match["got"] == "str" and match["expected"] == "object" and not path:
        return "kubectl prints objects with -o json or -o yaml."
    if match is None or match["got"] not in ("int", "float", "bool"):
        return ""
    if path and str(path[-1]).endswith(("Time", "Timestamp")):
        return "Write a time such as 2026-01-31T12:00:00Z."
    return "Put the value in quotes." if match["expected"].startswith("str") else ""
