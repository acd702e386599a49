"""YAML in the block style that Kubernetes's tools write, read line by line. Many times as fast as
libyaml's events: most lines of a cluster's objects occur again and again, and each is parsed once.

What does not look exactly so (flow collections, anchors, tags, scalars of several lines but literal
ones, comments after a value, keys that are written twice) is refused, and left to `yaml_tree`.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import Any, TypeAlias

from ksched_cli.kube.yaml_tree import plain

# Letters and signs beyond ASCII that libyaml lets stand in a scalar.
_BEYOND_ASCII = "\xa1-\u1fff\u3000-\ud7ff"
# Those of managedFields, too: `.`, `f:spec`, `k:{"name":"c"}`.
_KEY = r"[A-Za-z_.][\w./\-]{0,300}(?::[\w./\-\"{}:,]{1,300})?"
_QUOTED_KEY = r"'[ -&(-~]{0,300}'|\"[\w./\-]{0,300}\""
_PLAIN = r"(?:[A-Za-z0-9_/.+~(]|-(?=[!-~]))(?:[!-9;-~]|:(?=[!-~])| +(?=[!\"$-~]))*"
_SINGLE = rf"'(?:[ -&(-~{_BEYOND_ASCII}]|'')*'"
_DOUBLE = rf'"(?:[ !#-\[\]-~{_BEYOND_ASCII}]|\\["\\nt])*"'
_VALUE = rf"{_PLAIN}|{_SINGLE}|{_DOUBLE}|\{{\}}|\[\]"
_LINE = rf"( *)(- )?(?:({_KEY}|{_QUOTED_KEY}):(?: +(?:(\|-?)|({_VALUE})))?|({_VALUE}))"
_WITHOUT_CONTENT = r" *(?:#[ -~]*)?"
_LITERAL_TEXT = rf"[\n\t -~{_BEYOND_ASCII}]*"

_MAX_DEPTH = 100
_MAX_CACHED_LINES = 100_000

# What a line has in place of a value that is used as it is.
_VALUE_ITSELF, _NESTED, _EMPTY_MAPPING, _EMPTY_LIST, _LITERAL = range(5)
_KIND_BY_TEXT = {"{}": _EMPTY_MAPPING, "[]": _EMPTY_LIST}

# Column, whether a list item begins, the key if there is one, the value, and its kind from above.
_Line: TypeAlias = tuple[int, bool, str | None, Any, int]
_parsed_lines: dict[str, _Line | None] = {}


class UnsupportedYamlError(Exception):
    """The text is not in the style that is read here; it may be YAML all the same."""


def parse(text: str) -> Any:
    """Plain data of one document, without a `---`; None if it is empty. Raises
    UnsupportedYamlError."""
    if len(_parsed_lines) > _MAX_CACHED_LINES:
        _parsed_lines.clear()
    return _Assembler().run(text)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled when first needed: a state in JSON needs none."""
    return re.compile(text, re.ASCII)


def _parse_line(line: str) -> _Line | None:
    """None: a line without content. Raises UnsupportedYamlError."""
    match = _pattern(_LINE).fullmatch(line)
    if match is None:
        if _pattern(_WITHOUT_CONTENT).fullmatch(line):
            return None
        raise UnsupportedYamlError
    spaces, dash, key, literal, value, item = match.groups()
    column = len(spaces)
    if key is None:
        if dash is None:
            raise UnsupportedYamlError
        return column, True, None, *_parse_value(item)
    if key[0] in "'\"":
        key = key[1:-1]
    elif not isinstance(plain(key), str):
        raise UnsupportedYamlError
    if literal is not None:
        return column, dash is not None, key, literal, _LITERAL
    if value is None:
        return column, dash is not None, key, None, _NESTED
    return column, dash is not None, key, *_parse_value(value)


def _parse_value(text: str) -> tuple[Any, int]:
    """Return the value and its kind."""
    if text in _KIND_BY_TEXT:
        return None, _KIND_BY_TEXT[text]
    if text[0] == "'":
        return text[1:-1].replace("''", "'"), _VALUE_ITSELF
    if text[0] == '"':
        return json.loads(text), _VALUE_ITSELF
    value = plain(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise UnsupportedYamlError  # an error with a position, for JSON has no infinity
    return value, _VALUE_ITSELF


class _Assembler:
    """Puts lines together.

    collections: the open mappings and lists, outermost first, below a mapping that holds the root
    columns:     of their keys or dashes
    key:         of the innermost mapping, where its value follows in deeper lines
    literal:     the lines so far of a literal scalar for `key`, where one is being read
    """

    def __init__(self) -> None:
        self.collections: list[Any] = [{}]
        self.columns = [-1]
        self.key: str | None = ""
        self.literal: list[str] | None = None
        self.header = ""

    def run(self, text: str) -> Any:
        """Assemble the objects of a text. Raises UnsupportedYamlError."""
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        parsed_lines = _parsed_lines
        for line in lines:
            if self.literal is not None:
                if not line or line.startswith(" " * (self.columns[-1] + 1)):
                    self.literal.append(line)
                    continue
                self._close_literal()
            try:
                parsed = parsed_lines[line]
            except KeyError:
                parsed = parsed_lines[line] = _parse_line(line)
            if parsed is not None:
                self._add(*parsed)
        if self.literal is not None:
            if not text.endswith("\n"):
                raise UnsupportedYamlError
            self._close_literal()
        if self.key is not None:
            self.collections[-1][self.key] = None
        return self.collections[0][""]

    def _add(self, column: int, dash: bool, key: str | None, value: Any, kind: int) -> None:
        """Add a line. Raises UnsupportedYamlError."""
        if self.key is not None:
            self._open_or_null(column, dash)
        columns, collections = self.columns, self.collections
        while columns[-1] > column:
            columns.pop()
            collections.pop()
        collection = collections[-1]
        if not dash and collection.__class__ is list:
            # A list may stand in the column of its key, and ends where the next key begins.
            columns.pop()
            collections.pop()
            collection = collections[-1]
        if columns[-1] != column or dash is not (collection.__class__ is list):
            raise UnsupportedYamlError
        if dash:
            if key is None:
                collection.append(_fresh(value, kind))
                return
            item: dict[str, Any] = {}
            collection.append(item)
            self._push(column + 2, item)
            collection = item
        elif key in collection:
            raise UnsupportedYamlError
        if kind == _VALUE_ITSELF:
            collection[key] = value
        elif kind in (_NESTED, _LITERAL):
            self.key = key
            self.literal, self.header = ([], value) if kind == _LITERAL else (None, "")
        else:
            collection[key] = _fresh(value, kind)

    def _open_or_null(self, column: int, dash: bool) -> None:
        """Decide by the next line what the value of `key` is."""
        parent, parent_column = self.collections[-1], self.columns[-1]
        if column > parent_column or (dash and column == parent_column):
            collection: Any = [] if dash else {}
            parent[self.key] = collection
            self._push(column, collection)
        else:
            parent[self.key] = None
        self.key = None

    def _push(self, column: int, collection: Any) -> None:
        if len(self.columns) > _MAX_DEPTH:
            raise UnsupportedYamlError
        self.columns.append(column)
        self.collections.append(collection)

    def _close_literal(self) -> None:
        """End a literal block, and store its text. Raises UnsupportedYamlError unless all lines but
        empty ones are indented as the first."""
        lines = self.literal or []
        while lines and not lines[-1]:
            lines.pop()
        if not lines or not lines[0].strip(" "):
            raise UnsupportedYamlError
        margin = lines[0][: len(lines[0]) - len(lines[0].lstrip(" "))]
        if lines[0].startswith("\t", len(margin)):
            raise UnsupportedYamlError  # libyaml does not know where the indentation ends
        for line in lines:
            if line and (not line.startswith(margin) or not line.strip(" ")):
                raise UnsupportedYamlError
        content = "\n".join(line[len(margin) :] for line in lines)
        if not _pattern(_LITERAL_TEXT).fullmatch(content):
            raise UnsupportedYamlError
        self.collections[-1][self.key] = content + "\n" if self.header == "|" else content
        self.key = self.literal = None


def _fresh(value: Any, kind: int) -> Any:
    if kind == _EMPTY_MAPPING:
        return {}
    return [] if kind == _EMPTY_LIST else value
