"""What is wrong with an object, in one message: file, line, object, field, what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ksched_cli.cluster.loading.sources import Document, looks_like_json
from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text, locate

Path = tuple[str | int, ...]

_AT = re.compile(r"^(?P<said>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`")
_QUANTITY = re.compile(r'quantity "(?P<text>.*)": ', re.DOTALL)

_WORDS = {
    "str": "a string",
    "quantity": "a quantity, as 100m or 2Gi",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "nothing (null)",
}
_TYPES: dict[type, str] = {
    str: "str",
    bool: "bool",
    int: "int",
    float: "float",
    dict: "object",
    list: "array",
    type(None): "null",
}

# To find a place in JSON the text is walked in Python; in a larger one nobody looks for the line.
# Nor can the second of several documents in one text be found that way.
_MAX_LOCATED_JSON = 4_000_000
_ANY = "..."


class Place(NamedTuple):
    """An object in a document. path: () for the document itself, else as ("items", 3)."""

    document: Document
    path: Path


def object_fault(
    place: Place, kind: str, data: msgspec.Raw, error: Exception, prefix: str = ""
) -> InputError:
    """What msgspec found wrong in an object of a kind.

    data: the object's JSON; prefix: the part of it that was being decoded, as "metadata.labels"
    """
    match = _AT.match(str(error))
    said, shown = (match["said"], match["path"] or "") if match else (str(error), "")
    steps: Path = (*prefix.split("."),) if prefix else ()
    steps += tuple(
        int(index) if index.isdigit() else name or _ANY for name, index in _STEP.findall(shown)
    )
    path = _resolve(_plain(data), steps, said)
    return fault(place, kind, data, path, _plainly(said), hint=_hint(said))


def fault(
    place: Place, kind: str, data: msgspec.Raw, path: Path, problem: str, *, hint: str = ""
) -> InputError:
    """A problem at a path in an object."""
    subject = ": ".join(part for part in (_describe(kind, _plain(data)), path_text(path)) if part)
    return InputError(
        place.document.source.name,
        problem,
        subject=subject,
        position=_position(place, path),
        hint=hint,
    )


def _describe(kind: str, value: Any) -> str:
    """Kind, namespace and name, as far as they are there."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    names = [name for name in (meta.get("namespace"), meta.get("name")) if isinstance(name, str)]
    if not kind and not names:
        return ""
    return " ".join((kind or "object", *(["/".join(names)] if names else [])))


def path_text(path: Path) -> str:
    """As spec.containers[0].resources.requests[cpu]: keys that are no plain names in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int) or not re.fullmatch(r"\w+", step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _position(place: Place, path: Path) -> Position | None:
    source = place.document.source
    if looks_like_json(source) and (place.document.index or len(source.data) > _MAX_LOCATED_JSON):
        return None
    text = decode_text(source.data, source.name)
    return locate(text, place.document.index, place.path + path)


def _plain(data: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


def _resolve(value: Any, steps: Path, said: str) -> Path:
    """The path with unknown keys filled in: those of the first value that fits the complaint."""
    return next((path for path, leaf in _walk(value, steps) if _is_culprit(leaf, said)), steps)


def _walk(value: Any, steps: Path) -> Iterator[tuple[Path, Any]]:
    if not steps:
        yield (), value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        keys: list[Any] = list(value) if step == _ANY else [step] if step in value else []
    elif isinstance(value, list):
        keys = (
            list(range(len(value))) if step == _ANY else [step] if step in range(len(value)) else []
        )
    else:
        keys = []
    for key in keys:
        for path, leaf in _walk(value[key], rest):
            yield (key, *path), leaf


def _is_culprit(leaf: Any, said: str) -> bool:
    quantity = _QUANTITY.match(said)
    if quantity is not None:
        return str(leaf) == quantity["text"]
    expected = _EXPECTED.search(said)
    return expected is None or _TYPES.get(type(leaf)) == expected["got"]


def _plainly(said: str) -> str:
    expected = _EXPECTED.search(said)
    if expected is None:
        return said[:1].lower() + said[1:]
    wanted = " or ".join(_WORDS.get(word, word) for word in expected["wanted"].split(" | "))
    return f"expected {wanted}, got {_WORDS.get(expected['got'], expected['got'])}"


def _hint(said: str) -> str:
    expected = _EXPECTED.search(said)
    if expected is None or expected["got"] not in ("int", "float", "bool"):
        return ""
    return "Put it in quotes." if expected["wanted"].startswith("str") else ""
