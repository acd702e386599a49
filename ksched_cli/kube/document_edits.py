"""Edits of a document's text that leave every other line of it as it is, comments included.

Libraries that write YAML back with its comments write all of it anew: they change the style of
lines that nobody asked about, and lose comments beside what is deleted. Here the text of one node
is replaced at its position. Inside a flow collection the whole collection is written anew; JSON,
and YAML with anchors, are written anew as a whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from ksched_cli.kube.documents import Path, is_json, read_documents
from ksched_cli.kube.json_tree import value_at
from ksched_cli.kube.shown_json import shown_json
from ksched_cli.kube.shown_yaml import block_yaml, flow_yaml
from ksched_cli.kube.yaml_tree import compose


class EditableDocument:
    """The first document of a text. Paths are as in documents.locate.

    data: its plain data; changed_style: whether comments and style are lost, for it has anchors
    Raises YamlError, or ValueError for JSON, where the text cannot be read.
    """

    def __init__(self, text: str) -> None:
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self._text = text.replace("\r\n", "\n")
        self._is_json = is_json(text)
        if self._is_json:
            try:
                self.data: Any = json.loads(
                    text, parse_constant=_refuse_constant, parse_float=_number
                )
            except RecursionError:
                raise ValueError("nested too deeply") from None
        else:
            document = next(read_documents(self._text), None)
            self.data = None if document is None else document.data
        self.changed_style = not self._is_json and _has_anchors(self._text)

    @property
    def text(self) -> str:
        """With a line end."""
        if self._is_json:
            text = shown_json(self.data) + "\n"
        elif self.changed_style:
            text = block_yaml(self.data)
        else:
            text = self._text
        return text.replace("\n", self._line_end)

    def get(self, path: Path) -> Any:
        """Return the plain data at a path, None if there is nothing."""
        return value_at(self.data, path)

    def put(self, path: Path, value: Any) -> None:
        """Set what is at a path, and make what is missing on the way; the index after the last one
        appends to a list."""
        present = self._present(path)
        rest = path[len(present) :]
        fits = bool(rest) and isinstance(
            self.get(present), list if isinstance(rest[0], int) else Mapping
        )
        for step in reversed(rest[1:] if fits else rest):
            value = [value] if isinstance(step, int) else {step: value}
        target = path[: len(present) + 1] if fits else present
        if not self._is_plain:
            self._text = self._with(target, value)
        if not target:
            self.data = value
            return
        container = self.get(target[:-1])
        if isinstance(container, list) and target[-1] == len(container):
            container.append(value)
        else:
            container[target[-1]] = value

    def delete(self, path: Path) -> None:
        """Delete what is at a path, and what is empty without it."""
        while len(path) > 1 and len(self.get(path[:-1])) == 1:
            path = path[:-1]
        if not self._is_plain:
            self._text = self._without(path)
        container = self.get(path[:-1])
        del container[path[-1]]

    def rename(self, path: Path, name: str) -> None:
        """Give the key at a path another name."""
        container, key = self.get(path[:-1]), path[-1]
        if not self._is_plain:
            for own, begin, _ in _members(_nodes(self._text, path[:-1])[-1]):
                if own == key:
                    start, end = begin.start_mark.index, begin.end_mark.index
                    self._text = f"{self._text[:start]}{flow_yaml(name)}{self._text[end:]}"
                    break
        items = [(name if own == key else own, value) for own, value in container.items()]
        container.clear()
        container.update(items)

    @property
    def _is_plain(self) -> bool:
        """Return whether the text is made of the data, not edited."""
        return self._is_json or self.changed_style

    def _present(self, path: Path) -> Path:
        """Return the part of a path that is there."""
        for length in range(len(path), 0, -1):
            container = self.get(path[: length - 1])
            step = path[length - 1]
            if isinstance(container, Mapping) and step in container:
                return path[:length]
            if isinstance(container, list) and isinstance(step, int) and step < len(container):
                return path[:length]
        return ()

    # -- the text ----------------------------------------------------------------------------------

    def _with(self, path: Path, value: Any) -> str:
        nodes = _nodes(self._text, path)
        flow = _outermost_flow(nodes)
        if flow is not None:
            return self._flow_rewritten(path[:flow], nodes[flow], path[flow:], value)
        if len(nodes) > len(path):
            return _replaced(self._text, nodes, value)
        container = nodes[-1]
        item = [value] if isinstance(container, SequenceNode) else {path[-1]: value}
        # The new member comes after the last one of a block collection.
        lines = self._text.splitlines(keepends=True)
        last = _last_line(container)
        if not lines[last].endswith("\n"):
            lines[last] += "\n"
        lines.insert(last + 1, _indented(block_yaml(item), container.start_mark.column))
        return "".join(lines)

    def _flow_rewritten(self, path: Path, node: Node, rest: Path, value: Any) -> str:
        """Return a flow collection's text with a value put in it, or (_DELETED) taken out of it."""
        inner = EditableDocument(json.dumps(self.get(path)))
        if value is _DELETED:
            inner.delete(rest)
        else:
            inner.put(rest, value)
        start, end = node.start_mark.index, node.end_mark.index
        return self._text[:start] + flow_yaml(inner.data) + self._text[end:]

    def _without(self, path: Path) -> str:
        nodes = _nodes(self._text, path)
        flow = _outermost_flow(nodes[:-1])
        if flow is not None:
            return self._flow_rewritten(path[:flow], nodes[flow], path[flow:], _DELETED)
        container = nodes[-2]
        members = _members(container)
        index = [step for step, _, _ in members].index(path[-1])
        begin = members[index][1]
        after = members[index + 1][1] if index + 1 < len(members) else None
        lines = self._text.splitlines(keepends=True)
        before = lines[begin.start_mark.line][: begin.start_mark.column]
        if before.strip(" ") not in ("", "-") or (
            isinstance(container, MappingNode) and before.strip(" ") and after is not None
        ):
            # The first key or item after a dash: the next one takes its place.
            end = after.start_mark.index if after is not None else nodes[-1].end_mark.index
            return self._text[: begin.start_mark.index] + self._text[end:]
        last = max(_last_line(nodes[-1]), begin.start_mark.line)
        return "".join(lines[: begin.start_mark.line] + lines[last + 1 :])


_DELETED = object()


def _has_anchors(text: str) -> bool:
    """Return whether the first document has aliases; those after it may be no YAML."""
    if "*" not in text and "<<" not in text:
        return False
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent | yaml.DocumentEndEvent):
            return isinstance(event, yaml.AliasEvent)
    return False


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is out of range")
    return number


def _refuse_constant(name: str) -> Any:
    """NaN and Infinity, which Python's parser takes, are not JSON."""
    raise ValueError(f"{name} is not JSON")


def _nodes(text: str, path: Path) -> list[Node]:
    """Return the nodes on a path from the root on, as far as they are there."""
    nodes = [next(compose(text))]
    for step in path:
        children = (value for own, _, value in _members(nodes[-1]) if own == step)
        child = next(children, None)
        if child is None:
            break
        nodes.append(child)
    return nodes


def _members(node: Node) -> list[tuple[str | int, Node, Node]]:
    """Return the key or index of each member of a collection, what it begins with (the node of its
    key, or the item itself), and its value."""
    if isinstance(node, MappingNode):
        return [(key.value, key, value) for key, value in node.value]
    items = node.value if isinstance(node, SequenceNode) else ()
    return [(index, item, item) for index, item in enumerate(items)]


def _outermost_flow(nodes: list[Node]) -> int | None:
    """Return the index of the first flow collection."""
    for index, node in enumerate(nodes):
        if isinstance(node, CollectionNode) and node.flow_style:
            return index
    return None


def _is_block(node: Node) -> bool:
    return isinstance(node, CollectionNode) and not node.flow_style


def _last_line(node: Node) -> int:
    """Return the last line that has something of a node."""
    if not _is_block(node):
        end = node.end_mark
        empty = isinstance(node, ScalarNode) and node.start_mark.index == end.index
        return int(end.line if end.column or empty else end.line - 1)
    members = _members(node)
    return max(max(begin.start_mark.line, _value_line(value)) for _, begin, value in members)


def _value_line(node: Node) -> int:
    """As _last_line; 0 of a value that is not written."""
    if isinstance(node, ScalarNode) and node.start_mark.index == node.end_mark.index:
        return 0
    return _last_line(node)


def _indented(text: str, column: int) -> str:
    return "".join(f"{' ' * column}{line}\n" for line in text.splitlines())


def _replaced(text: str, nodes: list[Node], value: Any) -> str:
    """Return the text with another value in a node's place. nodes: on the way to it"""
    container, node = nodes[-2:]
    # The text of a node ends before what follows it, such as comments below a block.
    start, end = node.start_mark, int(node.end_mark.index)
    if _is_block(node):
        lines = text.splitlines(keepends=True)
        last = _last_line(node)
        end = sum(map(len, lines[: last + 1])) - (1 if lines[last].endswith("\n") else 0)
    as_block = isinstance(value, Mapping | list) and bool(value)
    if isinstance(container, SequenceNode):
        column = container.start_mark.column + 2
        body = _indented(block_yaml(value), column).strip() if as_block else flow_yaml(value)
        head = text[: start.index].rstrip(" ")
        return f"{head} {body}{text[end:]}"
    column = container.start_mark.column + (2 if isinstance(value, Mapping) else 0)
    body = _indented(block_yaml(value), column).rstrip("\n")
    if as_block and _is_block(node):
        return "".join([*lines[: start.line], body + "\n", *lines[last + 1 :]])
    key = next(key for key, item in container.value if item is node)
    head = text[: text.index(":", key.end_mark.index) + 1]
    return f"{head}\n{body}{text[end:]}" if as_block else f"{head} {flow_yaml(value)}{text[end:]}"
