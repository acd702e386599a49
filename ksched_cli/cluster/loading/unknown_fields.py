"""Warns of fields that no Kubernetes minor knows, and of keys that are written twice.

kubectl's strict validation finds the same; the API server drops such fields, and so does ksched.
"""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from ksched_cli.cluster.loading.kinds import ObjectKind
from ksched_cli.cluster.loading.object_errors import (
    ObjectLocation,
    describe,
    object_position,
    path_text,
)
from ksched_cli.cluster.loading.sources import Document, looks_like_json
from ksched_cli.cluster.objects import Pod, PodSpec
from ksched_cli.kube import json_tree
from ksched_cli.kube.documents import LineIndex, Path
from ksched_cli.kube.near_names import nearest
from ksched_cli.kube.plain_json import plain_json

FILE = pathlib.Path(__file__).with_name("object_fields.json")


class FieldTables(msgspec.Struct, frozen=True):
    """The fields that Kubernetes's API knows, per type of object, in any minor that ksched knows.

    Made from upstream's api/openapi-spec/swagger.json by
    ksched_cli/schemas/generate_object_fields.py.

    kinds: "apiVersion/kind" → type.
    types: type → field → type of its value: "" for any, [] before that of a list's items, {}
    before that of a map's values.
    """

    kinds: dict[str, str]
    types: dict[str, dict[str, str]]


@cache
def field_tables() -> FieldTables:
    return msgspec.json.decode(FILE.read_bytes(), type=FieldTables)


def unknown_fields(value: Any, type_name: str, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the paths of the unknown fields in a value of a type, each with the known one most like
    it, "" if none is. What is of another type than expected has none. path: of the value"""
    if type_name.startswith("[]"):
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from unknown_fields(item, type_name[2:], (*path, index))
    elif type_name.startswith("{}"):
        for key, item in (value if isinstance(value, dict) else {}).items():
            yield from unknown_fields(item, type_name[2:], (*path, key))
    elif isinstance(value, dict):
        fields = field_tables().types[type_name]
        for key, item in value.items():
            field_type = fields.get(key)
            if field_type:
                yield from unknown_fields(item, field_type, (*path, key))
            elif field_type is None:
                yield (*path, key), nearest(key, fields, cutoff=0.6)


FieldPlace: TypeAlias = tuple[str, Path]
"""A kind, and the pattern of a path in its objects."""


def pattern_of(path: Path) -> Path:
    """Return the path with * for the places in lists."""
    return tuple("*" if isinstance(step, int) else step for step in path)


def unknown_in_pod(pod: Pod) -> Iterator[FieldPlace]:
    """Yield the unknown fields of a pod."""
    type_name = field_tables().kinds["v1/Pod"]
    for path, _ in unknown_fields(plain_json(pod.raw) if bytes(pod.raw) else {}, type_name):
        yield "Pod", pattern_of(path)


# So many objects of each kind are checked, and beyond them every pod template: larger states come
# from an API server, which drops unknown fields, and checking takes longer than decoding.
_MAX_CHECKED = 250
_MAX_WARNINGS = 20
# Looking for a position in YAML that was not read piece by piece composes the whole text again.
_MAX_LOCATED_YAML = 4_000_000
# Larger texts of JSON come from a program, which writes no key twice.
_MAX_DUPLICATES_JSON = 250_000


class _UnknownField(Struct):
    """An unknown field. path: in the first object that has it; similar: a field of that place."""

    kind: str
    path: Path
    similar: str
    data: msgspec.Raw
    location: ObjectLocation
    count: int = 0


class FieldChecker:
    """Collects unknown fields and repeated keys of the objects of a state."""

    def __init__(self) -> None:
        self._checked: Counter[str] = Counter()
        self._pods = 0
        self._by_place: dict[FieldPlace, _UnknownField] = {}
        self._lines: dict[str, FieldPlace] = {}
        # By the identity of the specs, which pods of one template share.
        self._by_spec: dict[int, list[_UnknownField]] = {}
        # The first of the repeated keys, in words, and how many there are.
        self._repeated: list[str] = []
        self._repeated_count = 0

    def check(
        self, kind: ObjectKind, version: str, data: msgspec.Raw, location: ObjectLocation
    ) -> None:
        """Check an object, unless enough of its kind are. version: "" for any."""
        self._checked[kind.name] += 1
        if self._checked[kind.name] <= _MAX_CHECKED:
            for unknown in self._unknown_fields(kind, version, data, location):
                unknown.count += 1

    def check_pod(
        self, kind: ObjectKind, spec: PodSpec, data: msgspec.Raw, location: ObjectLocation
    ) -> None:
        """Check a pod, unless enough of them and one of its template are."""
        if self.counts(spec):
            return
        self._pods += 1
        unknown = self._unknown_fields(kind, "v1", data, location)
        self._by_spec[id(spec)] = [each for each in unknown if each.path[0] == "spec"]
        for each in unknown:
            each.count += 1

    def counts(self, spec: PodSpec) -> bool:
        """Count a pod as one of its template, which was checked; False if it is to be checked."""
        fields = self._by_spec.get(id(spec))
        if fields is None or self._pods < _MAX_CHECKED:
            return False
        for unknown in fields:
            unknown.count += 1
        return True

    def check_keys(self, document: Document) -> None:
        """Note keys that are written twice in a document."""
        name, duplicates = document.source.name, document.duplicates
        free = max(_MAX_WARNINGS - len(self._repeated), 0)
        self._repeated_count += len(duplicates)
        self._repeated += [
            _repeated(name, each.line, each.column, each.key) for each in duplicates[:free]
        ]
        if looks_like_json(document.source) and not duplicates:
            paths = _json_duplicates(document)
            self._repeated_count += len(paths)
            shown = paths[:free]
            if shown:
                text = bytes(document.data).decode()
                before = document.source.data[: document.start].decode("utf-8-sig")
                offsets, lines = json_tree.Offsets(text), LineIndex(before + text)
                for path in shown:
                    at = lines.position(len(before) + (offsets.of(path) or 0))
                    self._repeated.append(_repeated(name, at.line, at.column, path[-1]))

    def places(self) -> dict[str, FieldPlace]:
        """Return the unknown fields, by the line about each; after all objects were checked."""
        if len(self._lines) < min(len(self._by_place), _MAX_WARNINGS):
            shown = list(self._by_place.items())[:_MAX_WARNINGS]
            self._lines = {}
            for place, unknown in shown:
                document = unknown.location.document
                source = document.source
                location = source.name
                is_quick = looks_like_json(source) or document.pieces is not None
                if is_quick or len(source.data) <= _MAX_LOCATED_YAML:
                    position = object_position(unknown.location, unknown.data, unknown.path)
                    location += f":{position.line}:{position.column}" if position else ""
                line = (
                    f"{location}: {describe(unknown.kind, msgspec.json.decode(unknown.data))}: "
                    f"ignored the unknown field {path_text(unknown.path)}"
                )
                if unknown.similar:
                    line += f"; did you mean {unknown.similar}?"
                if unknown.count != 1:
                    line += f" ({unknown.count} objects have it)"
                self._lines[line] = place
        return self._lines

    def warnings(self) -> Iterator[str]:
        """Yield a line for every unknown field, however many objects have it, and for every
        repeated key."""
        yield from [*self.places(), *self._repeated][:_MAX_WARNINGS]
        total = len(self._by_place) + self._repeated_count
        if total > _MAX_WARNINGS:
            yield f"{total - _MAX_WARNINGS} more unknown fields and repeated keys"

    def _unknown_fields(
        self, kind: ObjectKind, version: str, data: msgspec.Raw, location: ObjectLocation
    ) -> list[_UnknownField]:
        group_version = version or "/".join(part for part in (kind.group, "v1") if part)
        type_name = field_tables().kinds.get(f"{group_version}/{kind.name}")
        if type_name is None:
            return []
        try:
            plain = msgspec.json.decode(data)
        except msgspec.DecodeError:
            return []  # a number that nothing can hold
        unknown = []
        for path, similar in unknown_fields(plain, type_name):
            field = _UnknownField(kind.name, path, similar, data, location)
            unknown.append(self._by_place.setdefault((kind.name, pattern_of(path)), field))
        return unknown


def _repeated(name: str, line: int, column: int, key: Any) -> str:
    return f"{name}:{line}:{column}: the key {json.dumps(key)} appears twice; the last one counts"


def _json_duplicates(document: Document) -> list[Path]:
    """Return the paths of the keys that a document of JSON has twice."""
    data = bytes(memoryview(document.data)[: _MAX_DUPLICATES_JSON + 1])
    if len(data) > _MAX_DUPLICATES_JSON:
        return []
    try:
        encoded = msgspec.json.encode(msgspec.json.decode(data))
    except (msgspec.DecodeError, RecursionError):
        return []  # which decoding the object reports
    # A dropped key has dropped its colon; what escapes hide, the slower reading shows.
    if data.count(b":") == encoded.count(b":"):
        return []
    try:
        return list(json_tree.repeated_keys(json_tree.parse(data.decode())))
    except (json_tree.JsonError, RecursionError):
        return []
