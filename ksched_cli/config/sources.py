"""The sources of configurations: files, folders, globs, and what FILE#NAME names in a file.

A file is a configuration, or holds some: as a text in another object, such as a ConfigMap, or as a
mapping, in a chart's values or a list of objects. Each has its own text, with its place there.
Every command reads its configurations here: `validate` all that are in its files, the others the
one that a reference names.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess  # nosec B404  # runs git
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ksched_cli.config.checks.findings import Finding
from ksched_cli.config.types import GROUP, KIND
from ksched_cli.errors import InputError, Position
from ksched_cli.kube import json_tree, yaml_tree
from ksched_cli.kube.documents import (
    Path,
    decode_text,
    load_documents,
    path_text,
    read_file,
    yaml_failure,
)
from ksched_cli.kube.file_paths import expand_paths, split_reference
from ksched_cli.kube.near_names import did_you_mean
from ksched_cli.kube.shown_json import shown_json
from ksched_cli.kube.yaml_errors import YamlError

_MENTION = re.compile(rf"""^[ \t{{,-]*["']?kind["']?\s*:\s*["']?{KIND}\b""", re.M)
_STRING = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The place of a text in the file that holds it.

    line, column: of its first character, from 1
    indent:       what each of its lines is indented by
    line_by_line: each line is a line of the file; else all of it is at its beginning
    """

    line: int = 1
    column: int = 1
    indent: int = 0
    line_by_line: bool = True

    def position(self, line: int | None, column: int | None) -> Position:
        """Return the position in the file of a line and a column in the text; without a line, that
        of the text."""
        if line is None or not self.line_by_line:
            return Position(self.line, self.column)
        return Position(self.line + line - 1, (column or 1) + self.indent)

    def of(self, finding: Finding) -> Finding:
        """Return the finding with its position in the file."""
        position = self.position(finding.line, finding.column)
        is_line = finding.source and self.line_by_line
        source = " " * self.indent + finding.source if is_line else ""
        return structs.replace(finding, line=position.line, column=position.column, source=source)


@dataclass(frozen=True, slots=True)
class ConfigurationText:
    """A configuration, as written.

    path:   of the file, as the user gave it, or "standard input"
    object: the object in it that holds the configuration, as "ConfigMap kube-system/scheduler:
            data.config.yaml"; "" where the file is the configuration
    names:  that FILE#NAME may give it, the shortest first; its scheduler's and its number besides
    file:   the whole file, where the object is not ""
    """

    path: str
    raw: bytes
    object: str = ""
    place: TextPlace = TextPlace()
    names: tuple[str, ...] = ()
    file: bytes = b""

    @property
    def name(self) -> str:
        return f"{self.path} ({self.object})" if self.object else self.path

    @property
    def text(self) -> str:
        """Return the text of the file. Raises InputError where it is not UTF-8."""
        return decode_text(self.raw, self.path)

    def data(self) -> Any:
        """Plain data of what kube-scheduler reads, which is the first document. Raises InputError
        with its position in the file."""
        try:
            return next(load_documents(self.text, self.path), None)
        except InputError as error:
            raise self.located(error) from None

    def located(self, error: InputError) -> InputError:
        """Return an error about the text as one about the file, which names the object."""
        if not self.object:
            return error
        inside = error.position
        position = self.place.position(*((inside.line, inside.column) if inside else (None, None)))
        subject = ": ".join(filter(None, (self.object, error.subject)))
        return InputError(
            self.path, error.problem, subject=subject, position=position, hint=error.hint
        )


def configurations_in(raw: bytes, name: str) -> list[ConfigurationText]:
    """Every configuration in a file; one in the first document stands for the whole file. Raises
    InputError, YamlError and RecursionError where it is unreadable."""
    text = decode_text(raw, name)
    lines = text.splitlines(keepends=True)
    texts: list[ConfigurationText] = []
    for index, document in enumerate(yaml_tree.compose(text)):
        if index == 0 and _is_configuration(document):
            texts.append(ConfigurationText(name, raw))
            continue
        for owner, path, node in _inside(document, document, (), set()):
            if isinstance(node, ScalarNode):
                content, place = node.value, _place_of_text(node, lines)
            else:
                content, place = _mapping_text(node, text, lines)
            own = content.encode("utf-8", "surrogatepass")
            holder, names = _described(owner, path, index)
            texts.append(ConfigurationText(name, own, holder, place, names, raw))
    return texts


def _inside(
    node: Node, owner: Node, path: Path, seen: set[int]
) -> Iterator[tuple[Node, Path, Node]]:
    """Yield the nodes at any depth that are a configuration, or the text of one; each with the
    object that holds it and its path there. owner, path: of the node, in the innermost named
    object"""
    if id(node) in seen:
        return
    seen.add(id(node))
    if _is_configuration(node) or _is_text(node):
        yield owner, path, node
        return
    if _value(node, "kind") and _value(node, "metadata", "name"):
        owner, path = node, ()
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _inside(item, owner, (*path, index), seen)
    elif isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                yield from _inside(value, owner, (*path, key.value), seen)


def _is_configuration(node: Node) -> bool:
    version = _value(node, "apiVersion")
    return _value(node, "kind") == KIND and (not version or version.startswith(GROUP + "/"))


def _is_text(node: Node) -> bool:
    if not isinstance(node, ScalarNode) or node.tag != _STRING or KIND not in node.value:
        return False
    text = node.value.strip()
    is_json = text.startswith("{")
    if is_json:
        try:
            # An annotation may have a copy of the whole ConfigMap, whose kind is another.
            return bool(json_tree.parse(text).get("kind") == KIND)
        except json_tree.JsonError:
            pass
    return (
        (is_json or "\n" in text)
        and not node.value.startswith("#!")
        and _MENTION.search(text) is not None
    )


def _value(node: Node | None, *keys: str) -> str:
    """Return the scalar at a path of keys, or ""."""
    for key in keys:
        if not isinstance(node, MappingNode):
            return ""
        node = next((value for item, value in node.value if item.value == key), None)
    return node.value if isinstance(node, ScalarNode) else ""


def _described(owner: Node, path: Path, document: int) -> tuple[str, tuple[str, ...]]:
    """`KIND NAMESPACE/NAME: PATH` of what holds a configuration, and its names: the end of the path
    from any key on, the object's name with and without the namespace, both together.

    document: its index, for one that is a configuration
    """
    name, namespace = _value(owner, "metadata", "name"), _value(owner, "metadata", "namespace")
    objects = [name, f"{namespace}/{name}"] if name and namespace else [name] if name else []
    ends = [path_text(path[start:]) for start in reversed(range(len(path)))]
    pairs = [f"{subject}:{end}" for subject in objects for end in ends]
    if not path:
        return f"document {document + 1}", ()
    subject = " ".join(filter(None, (_value(owner, "kind"), *objects[-1:])))
    return ": ".join(filter(None, (subject, ends[-1]))), (*ends, *objects, *pairs)


def _place_of_text(node: ScalarNode, lines: Sequence[str]) -> TextPlace:
    """Line by line for a block scalar that keeps its line breaks; for others, where the scalar
    begins."""
    mark = node.start_mark
    first = next((line for line in node.value.split("\n") if line.strip()), "")
    blank = node.value[: node.value.find(first)].count("\n")
    row = mark.line + 1 + blank
    if node.style == "|" and row < len(lines):
        indent = lines[row].rstrip("\r\n").find(first.rstrip("\r"))
        return TextPlace(mark.line + 2, indent + 1, max(indent, 0))
    return TextPlace(mark.line + 1, mark.column + 1, 0, line_by_line=False)


def _mapping_text(node: Node, text: str, lines: Sequence[str]) -> tuple[str, TextPlace]:
    """Return a mapping in block style with the comments above it and without its indentation;
    another as it stands. One with aliases of anchors elsewhere is written out, at the mapping's
    beginning."""
    is_flow = getattr(node, "flow_style", False)
    # An anchor or a tag may stand before the first key, on a line of its own.
    start = node.start_mark if is_flow else node.value[0][0].start_mark
    end = node.end_mark
    indent = start.column
    place = TextPlace(start.line + 1, indent + 1, indent)
    if is_flow:
        # A text that begins with a brace would be read as JSON.
        content = f"---\n{' ' * indent}{text[start.index : end.index]}"
        place = replace(place, line=start.line, indent=0)
    else:
        # The comments above a mapping come with it.
        first = above = start.line
        is_alone = not lines[first][:indent].strip()
        while is_alone and above and lines[above - 1].strip()[:1] in ("", "#"):
            above -= 1
            if lines[above].strip():
                first = above
        last = end.line + (1 if end.column else 0)
        parts = [
            line.lstrip(" ") if line[:indent].strip() or len(line) <= indent else line[indent:]
            for line in lines[first:last]
        ]
        parts[start.line - first] = lines[start.line][indent:]  # "- " may stand before it
        content = "".join(parts)
        place = replace(place, line=first + 1)
    try:
        composes = "*" not in content or bool(list(yaml_tree.compose(content)))
    except YamlError:
        composes = False
    if not composes:
        content = shown_json(yaml_tree.Builder(aliased=True).build(node))
        place = TextPlace(start.line + 1, indent + 1, 0, line_by_line=False)
    return content, place


def with_text(source: ConfigurationText, text: str, file: bytes) -> bytes | None:
    """Return the bytes of the file with the text in the place of the source's; None if the
    configuration has no lines of its own in the file, as in a quoted string: what is written must
    be what is read again."""
    if not source.object:
        return text.encode()
    place = source.place
    lines = file.decode("utf-8").splitlines(keepends=True)
    begin = place.line - 1
    end = begin + len(source.text.splitlines())
    prefix, indent = lines[begin][: place.indent], " " * place.indent
    new = [f"{indent}{line}" if line.strip() else line for line in text.splitlines(keepends=True)]
    if prefix.strip():  # as "- " of a list
        new[0] = prefix + new[0][place.indent :]
    content = "".join([*lines[:begin], *new, *lines[end:]]).encode()
    try:
        held = configurations_in(content, source.path) if place.line_by_line else []
    except (InputError, YamlError):
        held = []
    own = [item.text.rstrip() for item in held if item.object == source.object]
    return content if own == [text.rstrip()] else None


# -- files ----------------------------------------------------------------------------------------


# Also in JSON, and in JSON within a quoted string.
_ANYWHERE = re.compile(rf"""kind[\\"']*\s*:\s*[\\"']*{KIND}\b""".encode())
# How many configurations an error lists.
_MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class Sources:
    """texts: the configurations; passed_over: files without one; templates: files that mention one
    and are no YAML before a chart is rendered."""

    texts: tuple[ConfigurationText, ...]
    passed_over: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()


def find_configurations(references: Iterable[str], *, skip_others: bool = False) -> Sources:
    """Return the configurations of files, folders and globs, each file once, and those that
    FILE#NAME names.

    skip_others: a file that is named may be without a configuration, as those of a folder are
    Raises InputError for what cannot be read, and for a NAME that is not there.
    """
    texts: list[ConfigurationText] = []
    passed_over: list[str] = []
    templates: list[str] = []
    for path, is_named in expand_paths(references):
        is_reference = split_reference(path)[1] is not None
        if is_reference or (is_named and not skip_others):
            texts += _texts_at(path)
            continue
        raw, name = read_file(path)
        inside = _embedded(raw, name) if _ANYWHERE.search(raw) else []
        texts += inside or []
        if inside is None and b"{{" in raw:
            templates.append(name)
        elif inside is None:
            texts.append(ConfigurationText(name, raw))
        elif not inside:
            passed_over.append(name)
    return Sources(tuple(texts), tuple(passed_over), tuple(templates))


def read_versioned_text(reference: str) -> ConfigurationText:
    """As `read_configuration_text`, also of REV:PATH and REV:PATH#NAME, which git has. Only for
    references of the command line: no file may have git run."""
    if not names_git_object(reference):
        return read_configuration_text(reference)
    path, _, name = reference.partition("#")
    raw = read_git_object(path)
    return _only(reference, _texts_of(raw, path, path, name or None))


def read_configuration_text(reference: str) -> ConfigurationText:
    """Return the configuration at FILE, `-` or FILE#NAME: the only one in the file, else the one
    that goes by the NAME. A file that begins with a configuration gives its first document, as in
    kube-scheduler.

    A file without a configuration is taken as one, for checks say best what it is instead.
    Raises InputError for what cannot be read, and where NAME must choose and does not.
    """
    return _only(reference, _texts_at(reference))


def configuration_text_of(raw: bytes, name: str) -> ConfigurationText:
    """Return the configuration in a text that is in no file. Raises InputError as
    `read_configuration_text`."""
    return _only(name, _texts_of(raw, name, name, None))


def _only(reference: str, texts: Sequence[ConfigurationText]) -> ConfigurationText:
    if len(texts) == 1:
        return texts[0]
    problem = f"this file has {len(texts)} configurations"
    raise _unchosen(reference, texts, _names_of(texts), problem)


def _texts_at(reference: str) -> list[ConfigurationText]:
    """Return the configurations of a file, of which there is one at least, or the one that is
    named."""
    file, name = split_reference(reference)
    raw, source = read_file(file)
    return _texts_of(raw, source, file, name)


def _texts_of(raw: bytes, source: str, file: str, name: str | None) -> list[ConfigurationText]:
    """source: what the file is called in messages; file: as a reference names it"""
    if name is None:
        return _embedded(raw, source) or [ConfigurationText(source, raw)]
    try:
        texts = configurations_in(raw, source)
    except YamlError as error:
        raise yaml_failure(error, source) from None
    names = _names_of(texts)
    chosen = [text for text, own in zip(texts, names, strict=True) if name in own]
    if len(chosen) == 1:
        return chosen
    if not texts:
        raise InputError(source, f'this file has no configuration, so none named "{name}"')
    if chosen:
        raise _unchosen(file, texts, names, f'"{name}" is the name of {len(chosen)} of these')
    hint = did_you_mean(name, (item for own in names for item in own))
    problem = f'this file has no configuration named "{name}"{hint and f"; {hint}"}'
    raise _unchosen(file, texts, names, problem)


def _names_of(texts: Sequence[ConfigurationText]) -> list[tuple[str, ...]]:
    """Return all names of each: its keys and objects, its first profile's schedulerName, its
    number."""
    names = []
    for number, text in enumerate(texts, start=1):
        try:
            scheduler = text.data()["profiles"][0]["schedulerName"]
        except (InputError, LookupError, TypeError):
            scheduler = None
        own = (*text.names, scheduler if isinstance(scheduler, str) else "", str(number))
        names.append(tuple(filter(None, own)))
    return names


def _unchosen(
    file: str,
    texts: Sequence[ConfigurationText],
    names: Sequence[Sequence[str]],
    problem: str,
) -> InputError:
    """Return an error that lists the configurations, each as it can be chosen: by the first of its
    names that no other has."""
    counts = Counter(name for own in names for name in set(own))
    references = []
    for own in names:
        unique = (name for name in own if counts[name] == 1 and name.isprintable())
        reference = f"{file}#{next(unique, own[-1])}"
        # Quoted where a shell would read it otherwise; "#" within a word is nothing special to it.
        plain = reference.replace("#", "")
        references.append(reference if shlex.quote(plain) == plain else shlex.quote(reference))
    width = max(map(len, references))
    lines = [
        f"  {reference:{width}}  {text.object or 'the first document'}"
        for reference, text in zip(references, texts, strict=True)
    ]
    more = [f"  and {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    hint = "\n  ".join(["choose one of these:", *lines[:_MAX_LISTED], *more])
    return InputError(texts[0].path, problem, hint=hint)


def _embedded(raw: bytes, name: str) -> list[ConfigurationText] | None:
    """Return the configurations that are read of a file without being named: of one that begins
    with a configuration no other, as kube-scheduler reads the first document only. None if the
    file is unreadable."""
    try:
        texts = configurations_in(raw, name)
    except (InputError, YamlError, RecursionError):
        return None
    return [text for text in texts if not text.object] or texts


# No option, no path from the root, and no drive.
_REFERENCE = re.compile(r"[\w@^~{}./+-]+:[^\0\n]+")


def names_git_object(reference: str) -> bool:
    """Return whether it is REV:PATH, and neither a file nor a name in one."""
    return (
        not os.path.exists(split_reference(reference)[0])
        and not reference.startswith("-")
        and _REFERENCE.fullmatch(reference) is not None
    )


def read_git_object(reference: str) -> bytes:
    """Return the content of REV:PATH in the repository of the current folder. Raises InputError."""
    git = shutil.which("git")
    if git is None:
        raise InputError(reference, "there is no such file, and git is not installed")
    # Plumbing: no pager, hook, filter or alias is run, and nothing is fetched.
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    answer = subprocess.run(  # nosec B603  # without a shell, and never an option
        [git, "cat-file", "blob", reference], env=environment, capture_output=True, check=False
    )
    if answer.returncode:
        reason = answer.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        hint = "REV:PATH has the path from the repository's root, or ./PATH from here."
        raise InputError(reference, f"there is no such file, and git says: {reason}", hint=hint)
    return answer.stdout
