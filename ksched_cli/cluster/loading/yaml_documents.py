"""Splits YAML into documents of JSON, a document at a time, and a list's items one at a time.

Text in the block style that Kubernetes's tools write is read line by line, any other by libyaml. A
piece that cannot be read by itself has the whole text read by libyaml, which knows what is wrong.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.loading.yaml_pieces import YamlPieces
from ksched_cli.kube import yaml_blocks
from ksched_cli.kube.documents import LineIndex, read_documents
from ksched_cli.kube.yaml_blocks import UnsupportedYamlError
from ksched_cli.kube.yaml_errors import Duplicate, YamlError

# Lines that libyaml may take for the end of a document, or for a directive.
_BOUNDARY = re.compile(r"^(?:---|\.\.\.|%).*$", re.MULTILINE)
_SEPARATOR = "---"
_ITEMS = re.compile(r"^items:\n( *)- ", re.MULTILINE)


class JsonDocument(Struct, frozen=True):
    """A document that is not empty, as JSON, and the keys that are written twice in it.

    pieces: None where the text was not read piece by piece
    """

    data: msgspec.Raw
    duplicates: tuple[Duplicate, ...] = ()
    pieces: YamlPieces | None = None


class _NotByItselfError(Exception):
    """A piece of the text that must be read together with its surroundings."""


def json_documents(text: str) -> Iterator[JsonDocument]:
    """Yield the documents of a text as JSON. Raises YamlError, RecursionError and ValueError."""
    count, lines = 0, LineIndex(text)
    try:
        for start, end in _document_spans(text):
            document = _read_document(text, lines, start, end)
            if document is not None:
                count += 1
                yield document
        return
    except _NotByItselfError:
        pass
    for index, whole in enumerate(_read_all(text)):
        if index >= count:
            yield whole


def _read_all(text: str) -> Iterator[JsonDocument]:
    for document in read_documents(text):
        if document.data is not None:
            yield JsonDocument(_encode(document.data), document.duplicates)


def _document_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each document begins and ends, without the separators. Raises
    _NotByItselfError."""
    start = 0
    for match in _BOUNDARY.finditer(text):
        if match[0] != _SEPARATOR:
            raise _NotByItselfError
        yield start, match.start()
        start = min(match.end() + 1, len(text))
    yield start, len(text)


def _read_document(text: str, lines: LineIndex, start: int, end: int) -> JsonDocument | None:
    """Read a document; None if it is empty. lines: of the text. Raises _NotByItselfError."""
    items = _ITEMS.search(text, start, end)
    if items is None:
        data, repeated = _read_piece(text, lines, start, end)
        if data is None:
            return None
        pieces = YamlPieces(start, end, array("q"))
        return JsonDocument(_encode(data), tuple(repeated), pieces)
    first = items.end() - len(items[1]) - len("- ")
    # The list's last item ends before a line that is not deeper than its dashes.
    column = len(items[1])
    less = rf" {{0,{column - 1}}}[^ \n#]|" if column else ""
    below = re.compile(rf"^(?:{less} {{{column}}}[^ \n#-])", re.MULTILINE).search(text, first, end)
    last = below.start() if below else end
    if last < end and text[last] == " ":
        raise _NotByItselfError
    try:
        data = yaml_blocks.parse(text[start:first])
        rest = yaml_blocks.parse(text[last:end]) or {}
    except UnsupportedYamlError:
        raise _NotByItselfError from None
    if not isinstance(data, dict) or not isinstance(rest, dict) or data.keys() & rest.keys():
        raise _NotByItselfError
    duplicates: list[Duplicate] = []
    dashes = re.compile(rf"^{items[1]}- ", re.MULTILINE).finditer(text, first, last)
    bounds = array("q", [*(match.start() for match in dashes), last])
    # Each item becomes JSON, so that no more than one is there as plain data.
    data["items"] = []
    for item_start, item_end in pairwise(bounds):
        item, item_duplicates = _read_piece(text, lines, item_start, item_end)
        if not isinstance(item, list) or len(item) != 1:
            raise _NotByItselfError
        duplicates += item_duplicates
        data["items"].append(_encode(item[0]))
    pieces = YamlPieces(start, end, bounds)
    return JsonDocument(_encode(data | rest), tuple(duplicates), pieces)


def _read_piece(text: str, lines: LineIndex, start: int, end: int) -> tuple[Any, list[Duplicate]]:
    """Return plain data of a piece of the text, and its duplicates. Raises _NotByItselfError."""
    piece = text[start:end]
    try:
        return yaml_blocks.parse(piece), []
    except UnsupportedYamlError:
        if "*" in piece and "&" in piece:
            raise _NotByItselfError from None  # an anchor counts in the whole document
    try:
        documents = list(read_documents(piece))
    except (YamlError, RecursionError, ValueError):
        raise _NotByItselfError from None
    if len(documents) > 1:
        raise _NotByItselfError
    if not documents:
        return None, []
    (document,) = documents
    if not document.duplicates:
        return document.data, []
    offset = lines.position(start).line - 1
    return document.data, [replace(each, line=each.line + offset) for each in document.duplicates]


def _encode(data: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(data))
