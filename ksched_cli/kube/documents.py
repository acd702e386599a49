"""Text of a file to plain data, and from a path in the data to its line and column in the text.

JSON never goes through the YAML parser, which is not even imported for it. Positions are not
recorded while reading: `locate` composes the text again when there is an error to report.
"""

from __future__ import annotations

import codecs
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import filterfalse, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from ksched_cli.errors import InputError, Position
from ksched_cli.kube import json_tree
from ksched_cli.kube.near_names import near_hint
from ksched_cli.kube.streams import LIMIT, STDIN_NAME, read_standard_input
from ksched_cli.kube.yaml_errors import Duplicate, YamlError

if TYPE_CHECKING:
    from yaml.nodes import Node


Path: TypeAlias = json_tree.Path

_MAX_DIGITS = 9
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class PlainDocument(Struct, frozen=True):
    """One document: its plain data, and the keys that are written twice in it (YAML only)."""

    data: Any
    duplicates: tuple[Duplicate, ...]


def read_file(path: str) -> tuple[bytes, str]:
    """A file's bytes and the name to use for it in messages; "-" is standard input.

    Raises InputError where it is too large or cannot be read.
    """
    if path == "-":
        return read_standard_input(), STDIN_NAME
    try:
        with open(path, "rb") as file:
            return LIMIT.read(file, path), path
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise InputError(path, "this is a folder; a file is expected") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(path, f"cannot be read: {reason.lower()}") from None


def missing_file(path: str, expected: str = "file") -> InputError:
    """Return the error about a path at which there is nothing, with its neighbours whose names are
    nearly that one."""
    folder, name = os.path.split(path)
    try:
        names = [each for each in os.listdir(folder or ".") if not each.startswith(".")]
    except (OSError, ValueError):
        names = []
    paths = {each: os.path.join(folder, each) for each in names}
    hint = near_hint(name, names, most=2, cutoff=0.8, meant=paths)
    return InputError(path, f"there is no such {expected}{hint}")


def decode_text(raw: bytes, source_name: str) -> str:
    """Return the text of a file. Raises InputError where it is not UTF-8."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(source_name, "the text is UTF-16; UTF-8 is expected")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        byte = raw[error.start]
        raise InputError(
            source_name,
            f"byte 0x{byte:02x} is not UTF-8; is this a text file?",
            position=Position(line, column),
        ) from None


def is_json(text: str) -> bool:
    """Return whether the text is read as JSON: it begins with a brace, as in upstream's
    IsJSONBuffer.

    A bracket counts too: kubectl prints no bare list, but people write them.
    """
    return text.lstrip()[:1] in ("{", "[")


def load_documents(text: str, source_name: str) -> Iterator[Any]:
    """Plain data of every document that is not empty.

    Text that begins with a brace or bracket is parsed as JSON, then as YAML's flow style. Raises
    InputError with line and column where the text is neither, is empty, nests too deeply or uses
    aliases excessively.
    """
    if not text.strip():
        raise InputError(source_name, "the file is empty", hint="Expected YAML or JSON objects.")
    if is_json(text):
        try:
            yield json_tree.parse_plain(text)
            return
        except json_tree.JsonError as error:
            if not _reads_as_yaml(text):
                raise json_failure(text, error, source_name) from None
    try:
        for document in read_documents(text):
            if document.data is not None:
                yield document.data
    except YamlError as error:
        raise yaml_failure(error, source_name) from None


def _reads_as_yaml(text: str) -> bool:
    from ksched_cli.kube import yaml_tree

    try:
        return sum(1 for _ in yaml_tree.compose(text)) > 0
    except YamlError:
        return False


def read_documents(text: str) -> Iterator[PlainDocument]:
    """Yield every YAML document with its duplicates. Raises YamlError."""
    from ksched_cli.kube import yaml_tree

    aliased = "*" in text and "&" in text
    for node in yaml_tree.compose(text):
        builder = yaml_tree.Builder(aliased=aliased)
        try:
            data = builder.build(node)
        except RecursionError:
            raise YamlError("yaml: exceeded max depth") from None
        yield PlainDocument(data, tuple(builder.duplicates))


def yaml_failure(error: YamlError, source_name: str) -> InputError:
    """Return the InputError for a YamlError: the problem without Go's prefixes, with its
    position."""
    position = Position(error.line, error.column or 1) if error.line else None
    problem = error.message.removeprefix("yaml: ")
    if error.line:
        for line in (error.line, error.line - 1):
            problem = problem.removeprefix(f"line {line}: ")
    return InputError(source_name, f"not YAML: {problem}", position=position)


def json_failure(text: str, error: json_tree.JsonError, source_name: str) -> InputError:
    """Return the InputError for a JsonError, with its position."""
    return InputError(
        source_name, f"not JSON: {error.message}", position=position_at(text, error.offset)
    )


def path_text(path: Path) -> str:
    """profiles[0].plugins.score"""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def parse_path(text: str) -> Path:
    """Return the reverse of path_text, also for the paths of upstream's errors."""
    # A key may look like an index that nothing has.
    return tuple(name or int(index[:_MAX_DIGITS]) for name, index in _STEP.findall(text))


def position_at(text: str, offset: int) -> Position:
    """Line and column of an offset in characters. For several offsets, Lines is faster."""
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


class LineIndex:
    """Where the lines of a text begin, which is looked up once for all positions."""

    def __init__(self, text: str) -> None:
        self._text = text

    def position(self, offset: int) -> Position:
        """Line and column of an offset in characters."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    @cached_property
    def _starts(self) -> array[int]:
        starts = array("q", [0])
        starts.extend(match.end() for match in re.finditer("\n", self._text))
        return starts


def locate(text: str, document_index: int, path: Path) -> Position | None:
    """Position of the key (or list item) at `path`; of its nearest parent where it is absent.

    document_index counts the documents as load_documents yields them, from 0.
    """
    return Locator(text, document_index).locate(path)


class Locator:
    """Positions in one document, which is composed on first use and kept."""

    def __init__(self, text: str, document_index: int = 0) -> None:
        self._text = text
        self._index = document_index
        self._offsets = json_tree.Offsets(text)
        self._lines = LineIndex(text)
        self._node: Node | None = None
        self._composed = False
        # By the identity of a mapping's node, its keys' marks and the nodes under them.
        self._members: dict[int, dict[str, tuple[Any, Node]]] = {}

    def locate(self, path: Path) -> Position | None:
        """Position of the key or item at `path`, or of its nearest parent; None: no document."""
        if is_json(self._text):
            try:
                # The longest part of the path that the text has.
                for length in range(len(path), -1, -1):
                    offset = self._offsets.of(path[:length])
                    if offset is not None:
                        return self._lines.position(offset)
                return None
            except (ValueError, IndexError, RecursionError):
                pass  # flow-style YAML, which the composer reads
        if not self._composed:
            from ksched_cli.kube import yaml_tree

            self._composed = True
            # Documents without content are not counted.
            counted = filterfalse(yaml_tree.is_null, yaml_tree.compose(self._text))
            with suppress(YamlError):
                self._node = next(islice(counted, self._index, None), None)
        if self._node is None:
            return None
        node, mark = self._node, self._node.start_mark
        for step in path:
            child = self._child(node, step)
            if child is None:
                break
            mark, node = child
        return Position(mark.line + 1, mark.column + 1)

    def _child(self, node: Node, step: str | int) -> tuple[Any, Node] | None:
        """Return the mark of a key or item and the node under it."""
        from yaml.nodes import MappingNode, ScalarNode, SequenceNode

        if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
            item = node.value[step]
            return item.start_mark, item
        if not isinstance(node, MappingNode):
            return None
        if id(node) not in self._members:
            self._members[id(node)] = {
                key.value: (key.start_mark, value)
                for key, value in node.value
                if isinstance(key, ScalarNode)
            }
        return self._members[id(node)].get(str(step))
