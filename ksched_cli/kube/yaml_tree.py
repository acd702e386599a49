"""YAML text to plain data as sigs.k8s.io/yaml reads it, with the positions of duplicate keys.

Upstream: go.yaml.in/yaml/v2 decode.go and resolve.go (which scalars are numbers, booleans and null,
how merge keys and aliases behave, when aliasing counts as excessive), sigs.k8s.io/yaml's
convertToJSONableObject (keys become strings). libyaml parses; nothing of PyYAML's own resolving is
used, because it follows another reading of YAML 1.1.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ksched_cli.kube.formatting import json_text
from ksched_cli.kube.int64 import MAX_INT64, MAX_UINT64, MIN_INT64
from ksched_cli.kube.yaml_errors import Duplicate, YamlError

_TAG = "tag:yaml.org,2002:"
_PLAIN, _STRING = "", _TAG + "str"
_RESOLVABLE = {
    _PLAIN,
    *(_TAG + kind for kind in ("str", "bool", "int", "float", "null", "timestamp")),
}
_KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_NUMERIC_START = frozenset("+-.0123456789")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([0-9]+))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

_MAX_DIGITS = len(str(2**64))

_ANCHOR = re.compile(r"&([\w-]+)")

MAX_DEPTH = 500
_SUSPICIOUS_DEPTH = 5_000  # libyaml's composer overruns the C stack at some 50,000


class _Loader(CParser):
    """libyaml's composer; gives plain scalars an empty tag, for `scalar` resolves them."""

    def descend_resolver(self, parent: object, index: object) -> None:
        """Nothing to resolve by path."""

    def ascend_resolver(self) -> None:
        """Nothing to resolve by path."""

    def resolve(self, kind: type, _value: str, implicit: Any) -> str:
        """Return the tag of a node that has none written."""
        return _PLAIN if kind is not ScalarNode or implicit[0] else _STRING


def compose(text: str) -> Iterator[Node]:
    """Yield the nodes of every document. Raises YamlError."""
    _refuse_deep(text)
    try:
        # An anchor may be defined twice. Text like one in a string counts too: the slower composer
        # then gives the same nodes.
        anchors = _ANCHOR.findall(text)
        if len(anchors) > len(set(anchors)):
            yield from _compose_events(text)
            return
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                yield node
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise YamlError(f"yaml: {getattr(error, 'reason', error)}") from None


def _compose_events(text: str) -> Iterator[Node]:
    """As libyaml's composer, but an anchor may be defined again: aliases mean the latest one."""
    anchors: dict[str, Node] = {}
    open_nodes: list[Node] = []
    children: list[list[Node]] = [[]]
    for event in yaml.parse(text, Loader=yaml.CLoader):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                mark: Any = event.start_mark
                raise yaml.composer.ComposerError(problem="no anchor", problem_mark=mark)
            children[-1].append(anchors[event.anchor])
        elif isinstance(event, yaml.NodeEvent):
            node = _node(event)
            if event.anchor:
                anchors[event.anchor] = node
            children[-1].append(node)
            if not isinstance(event, yaml.ScalarEvent):
                open_nodes.append(node)
                children.append([])
        elif isinstance(event, yaml.CollectionEndEvent):
            node, items = open_nodes.pop(), children.pop()
            pairs = isinstance(node, MappingNode)
            node.value = list(zip(items[::2], items[1::2], strict=True)) if pairs else items
            node.end_mark = event.end_mark
        elif isinstance(event, yaml.DocumentEndEvent):
            yield from children[0]
            anchors, children = {}, [[]]


def _node(event: yaml.NodeEvent) -> Node:
    """Return a node without its children."""
    begin: Any = event.start_mark
    end: Any = event.end_mark
    if isinstance(event, yaml.ScalarEvent):
        written = event.tag if event.tag != "!" else None
        tag = written or (_PLAIN if event.implicit[0] else _STRING)
        return ScalarNode(tag, event.value, begin, end, event.style)
    is_flow = getattr(event, "flow_style", False)
    if isinstance(event, yaml.MappingStartEvent):
        return MappingNode(_PLAIN, [], begin, end, is_flow)
    return SequenceNode(_PLAIN, [], begin, end, is_flow)


def _syntax_error(error: yaml.MarkedYAMLError, text: str) -> YamlError:
    """go-yaml's parser.fail, which counts lines from 0 for errors of its parser."""
    mark = error.problem_mark or error.context_mark
    problem = str(error.problem or error.context or "unknown problem parsing YAML content")
    if isinstance(error, yaml.composer.ComposerError) and mark is not None:
        alias = re.compile(r"\*([\w-]+)").match(text.splitlines()[mark.line], mark.column)
        problem = f"unknown anchor '{alias[1]}' referenced" if alias else problem
        return YamlError(f"yaml: {problem}", *_position(mark))
    line = (mark.line if mark else 0) + isinstance(error, yaml.scanner.ScannerError)
    prefix = f"line {line}: " if mark and mark.line else ""
    return YamlError(f"yaml: {prefix}{problem}", *_position(mark))


def _position(mark: Any) -> tuple[int | None, int | None]:
    return (mark.line + 1, mark.column + 1) if mark else (None, None)


def _refuse_deep(text: str) -> None:
    """Refuse a text that is nested too deeply. Raises YamlError beyond MAX_DEPTH: the composer
    recurses in C and would overrun the stack.

    Brackets and long lines are counted first: exact depths take a pass over all events.
    """
    if len(text) < _SUSPICIOUS_DEPTH:
        return
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest < _SUSPICIOUS_DEPTH and max(map(len, text.splitlines())) < _SUSPICIOUS_DEPTH:
        return
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise YamlError("yaml: exceeded max depth", *_position(event.start_mark))
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # the composer meets the same error, and reports it


class Builder:
    """One document's node tree to plain data. duplicates: the repeated keys met so far."""

    def __init__(self, *, aliased: bool) -> None:
        """aliased: whether the text may use aliases; they are then counted as in go-yaml."""
        self.duplicates: list[Duplicate] = []
        self._aliased = aliased
        self._seen: set[int] = set()
        self._active: set[int] = set()
        self._visits = self._alias_visits = self._alias_depth = 0

    def build(self, node: Node) -> Any:
        """Plain data of a node. Raises YamlError."""
        if not self._aliased:
            return self._value(node)
        alias = not isinstance(node, ScalarNode) and id(node) in self._seen
        self._seen.add(id(node))
        self._count(alias)
        if id(node) in self._active:
            raise YamlError("yaml: anchor value contains itself", *_position(node.start_mark))
        self._active.add(id(node))
        self._alias_depth += alias
        try:
            return self._value(node)
        finally:
            self._alias_depth -= alias
            self._active.discard(id(node))

    def _count(self, alias: bool) -> None:
        """Count a visit of a node. Raises YamlError for excessive aliasing. Upstream: decode.go
        (allowedAliasRatio)."""
        self._visits += 1 + alias
        if self._alias_depth or alias:
            self._alias_visits += 1
        if self._alias_visits > 100 and self._visits > 1000:
            over = min(max(self._visits - 400_000, 0) / 3_600_000, 1.0)
            if self._alias_visits / self._visits > 0.99 - 0.89 * over:
                raise YamlError("yaml: document contains excessive aliasing")

    def _value(self, node: Node) -> Any:
        if isinstance(node, ScalarNode):
            # JSON has no infinity, and upstream turns all YAML into JSON.
            value = scalar(node)
            if isinstance(value, float) and not math.isfinite(value):
                literal = "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
                raise YamlError(f"json: unsupported value: {literal}", *_position(node.start_mark))
            return value
        if isinstance(node, SequenceNode):
            return [self.build(item) for item in node.value]
        out: dict[str, Any] = {}
        self._fill(node, out)
        return out

    def _fill(self, node: Node, out: dict[str, Any]) -> None:
        for key_node, value_node in node.value:
            if (
                isinstance(key_node, ScalarNode)
                and key_node.value == "<<"
                and key_node.tag in (_PLAIN, _TAG + "merge")
            ):
                self._merge(value_node, out)
                continue
            key = _key(key_node)
            value = self.build(value_node)
            if key in out:
                mark = value_node.start_mark
                written = scalar(key_node)
                self.duplicates.append(Duplicate(written, mark.line + 1, mark.column + 1))
            out[key] = value

    def _merge(self, node: Node, out: dict[str, Any]) -> None:
        targets = reversed(node.value) if isinstance(node, SequenceNode) else (node,)
        for target in targets:
            if not isinstance(target, MappingNode):
                message = "yaml: map merge requires map or sequence of maps as the value"
                raise YamlError(message, *_position(target.start_mark))
            if self._aliased:
                self._count(alias=True)
            self._fill(target, out)


def _key(node: Node) -> str:
    """Return a key as a JSON object has it."""
    if not isinstance(node, ScalarNode):
        raise YamlError("yaml: invalid map key: a mapping or a list", *_position(node.start_mark))
    key = scalar(node)
    if isinstance(key, str):
        return key
    if key is None:
        message = "unsupported map key of type: %!s(<nil>), key: <nil>"
        raise YamlError(message, *_position(node.start_mark))
    return json_text(key)


def scalar(node: ScalarNode) -> Any:
    """Return the value of a scalar: str, int, float, bool or None. Raises YamlError."""
    tag, value = node.tag, node.value
    if tag == _PLAIN:
        return plain(value)
    if tag == _TAG + "binary":
        try:
            return base64.b64decode(value, validate=True).decode("utf-8", "replace")
        except ValueError:  # binascii.Error is one; characters beyond ASCII are another
            message = "yaml: !!binary value contains invalid base64 data"
            raise YamlError(message, *_position(node.start_mark)) from None
    if tag == _STRING or tag not in _RESOLVABLE:
        return value
    # An explicit tag must agree with the plain value.
    tag, value = tag.removeprefix(_TAG), plain(value)
    kinds = {bool: "bool", int: "int", float: "float", type(None): "null"}
    kind = kinds.get(type(value), "str")
    if tag == "float" and kind == "int":
        return float(value)
    if kind == tag or tag == "timestamp":
        return node.value if tag == "timestamp" else value
    message = f"yaml: cannot decode !!{kind} `{node.value}` as a !!{tag}"
    raise YamlError(message, *_position(node.start_mark))


def is_null(node: Node) -> bool:
    """Return whether a document is empty, or null. Raises YamlError."""
    return isinstance(node, ScalarNode) and scalar(node) is None


@lru_cache(maxsize=1 << 14)
def plain(text: str) -> Any:
    """Return the value of an unquoted scalar. Timestamps stay strings (go-yaml, resolve.go)."""
    if text in _KEYWORDS:
        return _KEYWORDS[text]
    return _number(text) if text[0] in _NUMERIC_START else text


def _number(text: str) -> str | int | float:
    digits = text.replace("_", "") if text[0] != "." else text
    match = _INTEGER.fullmatch(digits)
    if match is not None:
        number = _integer(match)
        if number is not None:
            return number
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        return value if abs(value) != float("inf") else text
    return text


def _integer(match: re.Match[str]) -> int | None:
    sign, hexadecimal, binary, octal, decimal = match.groups()
    if decimal is not None and len(decimal) > 1 and decimal[0] == "0":
        return None  # 08 is no octal number; go-yaml then reads a float
    if decimal is not None and len(decimal) > _MAX_DIGITS:
        return None
    bases = ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10))
    value = next(int(digits, base) for digits, base in bases if digits is not None)
    value = -value if sign == "-" else value
    highest = MAX_INT64 if sign else MAX_UINT64
    return value if MIN_INT64 <= value <= highest else None
