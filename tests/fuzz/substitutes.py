"""Every place of a file with something else in it, one at a time: what random changes seldom do."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mutations import Path, at, paths

_HOLE = "\ue000"
DEPTH = 250

# JSON, which may be what no value of Python is.
VALUES = (
    "null", "{}", "[]", '""', "0", "-1", "1e400", "-1e400", "true", '"x"', "2.0", "1e15", "9" * 30,
    "9223372036854775807", "-9223372036854775808", "-1099511627776",
    "9" * 400, '"\\ud800"', '"\\u0000"', "[null]", '[""]', "[[]]", "[0]", '{"":null}', '{"x":{}}',
    '"0001-01-01T00:00:00+23:59"', '"' + "9" * 5000 + '"', "[" * DEPTH + "]" * DEPTH,
)  # fmt: skip
TOKENS = (
    "", "-", "--", "=", "/", ",", ":", "x", "x=", "=x", "a/b/c", "-1", "9" * 30, "9" * 5000,
    "\x00", "*",
    "'", '"', "\\", "é", "-n", "--all", "[", "(", "{",
)  # fmt: skip
CELLS = (
    "", " ", "x", "-1", "0", "1e400", "nan", "inf", "1e19", "1e12", "9" * 400,
    '"', "1,2", "\x00", "|", "a|b",
    "0001-01-01T00:00:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1_0", "٣",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variant:
    """label: which place has what; make: the text of the file, which takes longer than to pass it
    over."""

    label: str
    make: Callable[[], str]


def json_variants(documents: Sequence[Any], seen: set[Any]) -> Iterator[Variant]:
    """JSON documents, one per line, with every value of VALUES in every place, and with every
    key and item left out, doubled, renamed, and the value a list of itself.

    seen: places of which there have been variants: kinds of documents with their paths, any item
    of a list being as good as another
    """
    for index, document in enumerate(documents):
        kind = document.get("kind") if isinstance(document, dict) else None
        for path in ((), *sorted(paths(document), key=str)):
            place = (kind, *("*" if isinstance(step, int) else step for step in path))
            if place not in seen:
                seen.add(place)
                yield from _variants_at(list(documents), (index, *path))


def _variants_at(documents: list[Any], path: Path) -> Iterator[Variant]:
    label = ".".join(map(str, path))
    text = json.dumps(at(documents, path))

    def replaced(what: str, value: str) -> Variant:
        return Variant(f"{label} {what}", lambda: _with(documents, path, value))

    for value in VALUES:
        yield replaced(f"= {value[:30]}", value)
    yield replaced("= [itself]", f"[{text}]")
    if isinstance(path[-1], str):
        key = json.dumps(path[-1])
        yield replaced("twice", f"{text}, {key}: {text}")
        yield replaced("and null", f"{text}, {key}: null")
        yield Variant(f"{label}x", lambda: _renamed(documents, path))
    else:
        separator = "\n" if len(path) == 1 else ", "
        yield replaced("twice", f"{text}{separator}{text}")
    yield Variant(f"{label} left out", lambda: _without(documents, path))


def _renamed(documents: list[Any], path: Path) -> str:
    renamed = copy.deepcopy(documents)
    parent = at(renamed, path[:-1])
    parent[f"{path[-1]}x"] = parent.pop(path[-1])
    return _lines(renamed)


def _without(documents: list[Any], path: Path) -> str:
    without = copy.deepcopy(documents)
    del at(without, path[:-1])[path[-1]]
    return _lines(without)


def _with(documents: list[Any], path: Path, text: str) -> str:
    """The documents with a text of JSON at a path."""
    changed = copy.copy(documents)
    own: Any = path[0]
    changed[own] = copy.deepcopy(documents[own])
    at(changed, path[:-1])[path[-1]] = _HOLE
    return _lines(changed).replace(json.dumps(_HOLE), text)


def _lines(documents: Sequence[Any]) -> str:
    return "".join(f"{_compact(document)}\n" for document in documents)


def _compact(value: Any) -> str:
    """As requests are recorded, which are found by their bytes."""
    return json.dumps(value, separators=(",", ":"))


def token_variants(lines: Sequence[str], substitutes: Sequence[str] = TOKENS) -> Iterator[Variant]:
    """Lines, each with every substitute in the place of each of its own, and with each left
    out or doubled."""
    for line in lines:
        tokens = line.split(" ")
        for index, token in enumerate(tokens):
            before, after = tokens[:index], tokens[index + 1 :]
            for other in (*substitutes, f"{token} {token}"):
                text = " ".join((*before, other, *after))
                yield Variant(f"{line}: {token} = {other[:30]}", partial(str, text))
            text = " ".join((*before, *after))
            yield Variant(f"{line} without {token}", partial(str, text))


def cell_variants(rows: Sequence[Sequence[str]]) -> Iterator[Variant]:
    """Substitutes for CSV."""
    for row, cells in enumerate(rows):
        for column, _ in enumerate(cells):
            for cell in CELLS:
                changed = [list(other) for other in rows]
                changed[row][column] = cell
                text = "".join(",".join(other) + "\n" for other in changed)
                yield Variant(f"row {row}, column {column} = {cell[:30]!r}", partial(str, text))


def byte_variants(data: bytes, places: int) -> Iterator[tuple[str, bytes]]:
    """With a byte changed, or the end cut off, at so many places."""
    for place in sorted({len(data) * index // places for index in range(places)}):
        yield f"ends at byte {place}", data[:place]
        yield (
            f"byte {place} is another",
            data[:place] + bytes([data[place] ^ 0x15]) + data[place + 1 :],
        )
        yield f"byte {place} is 0xff", data[:place] + b"\xff" + data[place + 1 :]
