"""Reads a file of kind Sweep, and the parts that a file of kind Tune has too."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksched_cli.errors import InputError
from ksched_cli.kube.document_schemas import check_document
from ksched_cli.kube.documents import decode_text, load_documents, locate, read_file
from ksched_cli.scenario.file import read_changes, read_scenario
from ksched_cli.sweep.materials import ChangeSet
from ksched_cli.sweep.patches import PatchError, PatchPath, parse_path

UNCHANGED = ChangeSet("as it is")
DEFAULT_CONFIGURATION = "default configuration"


@dataclass(frozen=True, slots=True)
class NamedPaths:
    """paths: from here; none for the default configuration"""

    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PatchAxis:
    """A path in the configurations, and the values that it takes. name: of the axis in rows"""

    name: str
    path: PatchPath
    values: tuple[Any, ...]

    @property
    def is_named(self) -> bool:
        return self.name != self.path.text


@dataclass(frozen=True, slots=True)
class SweepFile:
    """minors: "" for that of the state; plugin_sets: as --plugin takes them; seeds: None for the
    first by name; metrics: by name, minimize or maximize; none where the file names none; retries:
    whether pods are tried again that failed"""

    path: str
    states: tuple[NamedPaths, ...]
    configurations: tuple[NamedPaths, ...]
    change_sets: tuple[ChangeSet, ...]
    patches: tuple[PatchAxis, ...]
    minors: tuple[str, ...]
    plugin_sets: tuple[tuple[str, ...], ...]
    seeds: tuple[int | None, ...]
    is_zipped: bool
    metrics: Mapping[str, str]
    retries: bool = True


@dataclass(frozen=True, slots=True)
class FileDocument:
    """A file with one document that its schema allows. name: for messages"""

    name: str
    text: str
    folder: Path
    data: Mapping[str, Any]

    def error(self, problem: str, *path: str | int) -> InputError:
        """An error at a path in the document."""
        subject = ".".join(map(str, path))
        return InputError(self.name, problem, subject=subject, position=locate(self.text, 0, path))

    def from_here(self, path: str) -> str:
        """A path that is relative to the file."""
        return os.path.normpath(self.folder / path)


def read_document(path: str, kind: str) -> FileDocument:
    """kind: Sweep or Tune. Raises InputError with line and column."""
    raw, name = read_file(path)
    text = decode_text(raw, name)
    documents = list(load_documents(text, name))
    if len(documents) > 1:
        raise InputError(name, f"expected one document, kind {kind}")
    data = documents[0] if documents else None
    hint = f"Expected apiVersion: ksched/v1, kind: {kind}, and `states`; docs/sweeps.md has more."
    check_document(data, kind.lower(), text, name, hint)
    assert isinstance(data, dict)
    return FileDocument(name, text, Path() if path == "-" else Path(path).parent, data)


def read_sweep(path: str) -> SweepFile:
    """Raises InputError with line and column."""
    document = read_document(path, "Sweep")
    data = document.data
    patches = tuple(
        _patch_axis(document, entry, index) for index, entry in enumerate(data.get("patches", ()))
    )
    _check_unique(document, "patches", [axis.name for axis in patches])
    return SweepFile(
        path,
        states_of(document, data["states"]),
        _configurations(document),
        changes_of(document),
        patches,
        tuple(data.get("kubernetesVersions", ("",))),
        tuple(_plugin_set(document, entry) for entry in data.get("plugins", ([],))),
        seeds_of(data),
        data.get("combine") == "zip",
        data.get("metrics", {}),
        not data.get("noRetries", False),
    )


def states_of(document: FileDocument, entries: str | Sequence[Any]) -> tuple[NamedPaths, ...]:
    """entries: a path, or a list of paths and of {name, files}"""
    states = []
    for entry in [entries] if isinstance(entries, str) else entries:
        if isinstance(entry, str):
            states.append(NamedPaths(entry, (document.from_here(entry),)))
        else:
            files = [entry["files"]] if isinstance(entry["files"], str) else entry["files"]
            states.append(NamedPaths(entry["name"], tuple(map(document.from_here, files))))
    _check_unique(document, "states", [state.name for state in states])
    return tuple(states)


def _configurations(document: FileDocument) -> tuple[NamedPaths, ...]:
    entries = document.data.get("configurations", [{"name": DEFAULT_CONFIGURATION}])
    configurations = []
    for entry in entries:
        if isinstance(entry, str):
            configurations.append(NamedPaths(entry, (document.from_here(entry),)))
        else:
            paths = (document.from_here(entry["file"]),) if "file" in entry else ()
            configurations.append(NamedPaths(entry["name"], paths))
    _check_unique(document, "configurations", [entry.name for entry in configurations])
    return tuple(configurations)


def changes_of(document: FileDocument) -> tuple[ChangeSet, ...]:
    """Raises InputError with line and column."""
    entries = document.data.get("changes")
    if entries is None:
        return (UNCHANGED,)
    change_sets = tuple(_change_set(document, entry, index) for index, entry in enumerate(entries))
    _check_unique(document, "changes", [change_set.name for change_set in change_sets])
    return change_sets


def _change_set(document: FileDocument, entry: Any, index: int) -> ChangeSet:
    source = (document.name, document.text)
    if isinstance(entry, str):
        return ChangeSet(entry, read_changes([entry], ("changes",), source, document.folder))
    if "scenario" in entry:
        if "changes" in entry:
            raise document.error("has changes and a scenario; expected one of them",
                                 "changes", index)  # fmt: skip
        return ChangeSet(entry["name"], read_scenario(document.from_here(entry["scenario"])))
    path = ("changes", index, "changes")
    changes = read_changes(entry.get("changes", ()), path, source, document.folder)
    return ChangeSet(entry["name"], changes)


def _patch_axis(document: FileDocument, entry: Mapping[str, Any], index: int) -> PatchAxis:
    path = path_of(document, entry["path"], "patches", index, "path")
    return PatchAxis(entry.get("name", entry["path"]), path, tuple(entry["values"]))


def path_of(document: FileDocument, text: str, *place: str | int) -> PatchPath:
    """Raises InputError."""
    try:
        return parse_path(text)
    except PatchError as error:
        raise document.error(str(error), *place) from None


def _plugin_set(document: FileDocument, entry: str | Sequence[str]) -> tuple[str, ...]:
    texts = [entry] if isinstance(entry, str) else entry
    return tuple(_plugin_from_here(text, document.from_here) for text in texts)


def _plugin_from_here(text: str, from_here: Callable[[str], str]) -> str:
    """FILE.py and FILE.py:NAME with the path from here; MODULE:NAME as it is."""
    if text.endswith(".py"):
        return from_here(text)
    file, colon, name = text.rpartition(":")
    return f"{from_here(file)}{colon}{name}" if file.endswith(".py") else text


def seeds_of(data: Mapping[str, Any], key: str = "seeds") -> tuple[int | None, ...]:
    """As many seeds from 0 on as a number says, or those of a list."""
    seeds = data.get(key)
    if seeds is None:
        return (None,)
    return tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)


def _check_unique(document: FileDocument, key: str, names: Sequence[str]) -> None:
    """Raises InputError for a name that two entries have."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise document.error(f'"{name}" is there twice; `name` tells them apart', key, index)
