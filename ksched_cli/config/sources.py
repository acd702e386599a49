"""Where configurations are: files, folders, globs, and other Kubernetes objects with one inside.

A ConfigMap, a chart's values or a list of objects may hold a configuration as text or as a mapping;
each is reviewed by itself, with positions in the file that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ksched_cli.config.allowed_plugins import AllowedPlugin
from ksched_cli.config.checks.findings import Finding, path_text
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.later_minors import with_later_refusals
from ksched_cli.config.review import Review, review_bytes
from ksched_cli.config.types import GROUP, KIND
from ksched_cli.errors import InputError
from ksched_cli.kube import yaml_tree
from ksched_cli.kube.documents import Path, decode_text, read_file
from ksched_cli.kube.file_paths import expand_paths
from ksched_cli.kube.yaml_errors import YamlError

_MENTION = re.compile(rf"""^[\s{{,-]*["']?kind["']?\s*:\s*["']?{KIND}\b""", re.M)
_ANYWHERE = re.compile(rf"""["']?kind["']?\s*:\s*["']?{KIND}\b""".encode())
_STRING = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands in the file that holds it.

    line, column: of its first character, from 1
    indent:       what each of its lines is indented by
    line_by_line: each line is a line of the file; else all of it is at its beginning
    """

    line: int = 1
    column: int = 1
    indent: int = 0
    line_by_line: bool = True

    def of(self, finding: Finding) -> Finding:
        """The finding with its position in the file."""
        if finding.line is None or not self.line_by_line:
            return replace(finding, line=self.line, column=self.column)
        line = self.line + finding.line - 1
        return replace(finding, line=line, column=(finding.column or 1) + self.indent)


@dataclass(frozen=True, slots=True)
class ConfigurationText:
    """A configuration, as written.

    path:   of the file, as the user gave it, or "standard input"
    object: the object in it that holds the configuration, as "ConfigMap kube-system/scheduler:
            data.config.yaml"; "" where the file is the configuration
    """

    path: str
    raw: bytes
    object: str = ""
    place: Place = Place()

    @property
    def name(self) -> str:
        return f"{self.path} ({self.object})" if self.object else self.path


@dataclass(frozen=True, slots=True)
class ReviewedText:
    """source: what was reviewed; review: of it, with positions in the file."""

    source: ConfigurationText
    review: Review


@dataclass(frozen=True, slots=True)
class Sources:
    """texts: the configurations; passed_over: files without one; templates: files that mention one
    and are no YAML before a chart is rendered."""

    texts: tuple[ConfigurationText, ...]
    passed_over: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()


def review_text(
    source: ConfigurationText,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] = (),
    later: Sequence[KnownPlugins] = (),
) -> ReviewedText:
    """The review, with positions in the file.

    later: the plugins of the later minors, whose refusals are warned of
    Raises UsageError for a comment that allows no plugin.
    """
    review = review_bytes(source.raw, source.path, registry, allowed)
    review = with_later_refusals(review, source.raw, source.path, later, allowed)
    return ReviewedText(
        source,
        replace(
            review,
            findings=tuple(map(source.place.of, review.findings)),
            ignored=tuple(map(source.place.of, review.ignored)),
        ),
    )


def find_configurations(paths: Iterable[str], *, skip_others: bool = False) -> Sources:
    """Of files, folders and globs, each file once.

    skip_others: a file that is named may be without a configuration, as those of a folder are
    Raises InputError for what cannot be read.
    """
    texts: list[ConfigurationText] = []
    passed_over: list[str] = []
    templates: list[str] = []
    for path, is_named in expand_paths(paths):
        raw, name = read_file(path)
        if is_named and not skip_others:
            texts += _embedded(raw, name) or [ConfigurationText(name, raw)]
            continue
        inside = _embedded(raw, name) if _ANYWHERE.search(raw) else []
        texts += inside or []
        if inside is None and b"{{" in raw:
            templates.append(name)
        elif inside is None:
            texts.append(ConfigurationText(name, raw))
        elif not inside:
            passed_over.append(name)
    return Sources(tuple(texts), tuple(passed_over), tuple(templates))


def _embedded(raw: bytes, name: str) -> list[ConfigurationText] | None:
    """Every configuration in a file, which may be the whole of it; None where it is unreadable."""
    try:
        text = decode_text(raw, name)
        nodes = list(yaml_tree.compose(text))
        if nodes and _is_configuration(nodes[0]):
            return [ConfigurationText(name, raw)]  # kube-scheduler reads the first document only
        lines = text.splitlines(keepends=True)
        return [
            _from_node(node, path, document, text, lines, name)
            for document in nodes
            for path, node in _inside(document, (), set())
        ]
    except (InputError, YamlError, RecursionError):
        return None


def _inside(node: Node, path: Path, seen: set[int]) -> Iterator[tuple[Path, Node]]:
    """The nodes at any depth that are a configuration, or the text of one."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if _is_configuration(node) or _is_text(node):
        yield path, node
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _inside(item, (*path, index), seen)
    elif isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                yield from _inside(value, (*path, key.value), seen)


def _is_configuration(node: Node) -> bool:
    version = _value(node, "apiVersion")
    return _value(node, "kind") == KIND and (not version or version.startswith(GROUP + "/"))


def _is_text(node: Node) -> bool:
    return (
        isinstance(node, ScalarNode)
        and node.tag == _STRING
        and not node.value.startswith("#!")
        and ("\n" in node.value.strip() or node.value.lstrip().startswith("{"))
        and _MENTION.search(node.value) is not None
    )


def _value(node: Node | None, *keys: str) -> str:
    """The scalar at a path of keys, or ""."""
    for key in keys:
        if not isinstance(node, MappingNode):
            return ""
        node = next((value for item, value in node.value if item.value == key), None)
    return node.value if isinstance(node, ScalarNode) else ""


def _from_node(
    node: Node, path: Path, document: Node, text: str, lines: Sequence[str], name: str
) -> ConfigurationText:
    holder = _holder(document, path)
    if isinstance(node, ScalarNode):
        content, place = node.value, _place_of_text(node, lines)
    else:
        content, place = _mapping_text(node, text, lines)
    return ConfigurationText(name, content.encode("utf-8", "surrogatepass"), holder, place)


def _holder(document: Node, path: Path) -> str:
    """`KIND NAMESPACE/NAME: PATH` of the object that holds a configuration."""
    names = (_value(document, "metadata", "namespace"), _value(document, "metadata", "name"))
    subject = " ".join(filter(None, (_value(document, "kind"), "/".join(filter(None, names)))))
    return ": ".join(filter(None, (subject, path_text(path)))) or "a further document"


def _place_of_text(node: ScalarNode, lines: Sequence[str]) -> Place:
    """Of a block scalar with its line breaks as they are, line by line; of others, where the
    scalar begins."""
    mark = node.start_mark
    first = next((line for line in node.value.split("\n") if line.strip()), "")
    blank = node.value[: node.value.find(first)].count("\n")
    row = mark.line + 1 + blank
    if node.style == "|" and row < len(lines):
        indent = lines[row].rstrip("\r\n").find(first.rstrip("\r"))
        return Place(mark.line + 2, indent + 1, max(indent, 0))
    return Place(mark.line + 1, mark.column + 1, 0, line_by_line=False)


def _mapping_text(node: Node, text: str, lines: Sequence[str]) -> tuple[str, Place]:
    """Of a mapping in block style without its indentation, else as it stands."""
    start, end = node.start_mark, node.end_mark
    indent = start.column
    place = Place(start.line + 1, indent + 1, indent)
    if getattr(node, "flow_style", False):
        # A text that begins with a brace would be read as JSON.
        content = f"---\n{' ' * indent}{text[start.index : end.index]}"
        return content, replace(place, line=start.line, indent=0)
    first = lines[start.line][indent:]
    last = end.line + (1 if end.column else 0)
    return first + "".join(_dedented(line, indent) for line in lines[start.line + 1 : last]), place


def _dedented(line: str, indent: int) -> str:
    begin = line[:indent]
    return line[indent:] if not begin.strip() and len(line) > indent else line.lstrip(" ")
