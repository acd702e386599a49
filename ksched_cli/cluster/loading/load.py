"""Loads a cluster state from files, plain or gzipped, from folders with their sub-folders, or from
standard input."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ksched_cli.cluster.loading.collector import Collector
from ksched_cli.cluster.loading.gc_control import gc_paused
from ksched_cli.cluster.loading.json_pieces import UnusualFormError, pieces_of
from ksched_cli.cluster.loading.kinds import DUMP_COMMAND
from ksched_cli.cluster.loading.sources import Document, NoObjectError, Source, documents
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, NoStateError, UsageError, first_names
from ksched_cli.kube.documents import missing_file
from ksched_cli.kube.file_paths import STDIN, SUFFIXES
from ksched_cli.kube.json_tree import value_at
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.stored_bytes import StoredBytes, read_or_store
from ksched_cli.kube.streams import STDIN_NAME, standard_input

DEFAULT_FILES = tuple(f"cluster{suffix}{packed}" for packed in ("", ".gz") for suffix in SUFFIXES)
STATE_VARIABLE = "KSCHED_STATE"

_GZIP_SUFFIX = ".gz"


def default_state_path(environment: Mapping[str, str] = os.environ, folder: Path = Path()) -> str:
    """Return the state to read without --state. Raises NoStateError if there is none, UsageError
    for more than one candidate in the folder."""
    path = environment.get(STATE_VARIABLE)
    if path:
        return path
    candidates = [name for name in DEFAULT_FILES if (folder / name).is_file()]
    if len(candidates) > 1:
        raise UsageError(
            f"several cluster states are in this folder: {', '.join(candidates)}\n"
            f"  --state says which to read, as --state {candidates[0]}"
        )
    if candidates:
        return str(folder / candidates[0])
    raise NoStateError(
        f"no cluster state: --state is not given, ${STATE_VARIABLE} is not set, and none of "
        f"{', '.join(DEFAULT_FILES[: len(SUFFIXES)])} (or .gz) is in this folder\n"
        f"  {DUMP_COMMAND}\n  writes one, with all kinds that plugins read"
    )


class StateFiles:
    """The files at some paths.

    stdin: sys.stdin's bytes unless given
    passed_over: files of folders that hold no Kubernetes object, for the warning; the caller adds
    those that it finds when it reads them
    """

    def __init__(self, paths: Sequence[str], stdin: BinaryIO | None = None) -> None:
        self._paths, self._stdin = paths, stdin
        self._real_paths: set[str] = set()
        self._repeated: list[str] = []
        self.passed_over: list[str] = []

    def sources(self) -> Iterator[Source]:
        """Yield the files' contents in the order of the paths; a folder's in order of name.

        Raises InputError.
        """
        for path in self._paths:
            if path == STDIN:
                if self._is_new(STDIN, STDIN_NAME):
                    yield Source(STDIN_NAME, _read_stdin(self._stdin))
            elif os.path.isdir(path):
                paths = list(_folder_files(path))
                candidates = [file for file in paths if _may_hold_objects(file)]
                if not candidates:
                    raise InputError(path, "the folder has no .yaml, .yml or .json file")
                for file in paths:
                    if not _may_hold_objects(file):
                        self.passed_over.append(file)
                    elif self._is_new(os.path.realpath(file), file):
                        yield _read(file, in_folder=True)
            elif self._is_new(_real_path(path), path):
                yield _read(path)

    def warnings(self) -> Iterator[str]:
        """Yield what was read once only, or not at all; this is complete after the last of the
        sources."""
        for path in dict.fromkeys(self._repeated):
            yield f"{path} is given more than once; ksched reads it once"
        count, names = len(self.passed_over), first_names(self.passed_over)
        if count:
            files = "a file" if count == 1 else f"{count} files"
            yield f"skipped {files} without Kubernetes objects: {names}"

    def _is_new(self, real_path: str, name: str) -> bool:
        if real_path in self._real_paths:
            self._repeated.append(name)
            return False
        self._real_paths.add(real_path)
        return True


def _real_path(path: str) -> str:
    """Return the path without links. Raises InputError for a path with a null byte, which other
    files may name."""
    try:
        return os.path.realpath(path)
    except ValueError as error:
        raise InputError(path, f"there is no such file: {error}") from None


def _folder_files(folder: str) -> Iterator[str]:
    """Yield the files of a folder and its sub-folders, hidden ones left out: a folder's own first.

    Links to folders are followed, each folder once. Raises InputError.
    """

    def fail(error: OSError) -> None:
        name = os.fspath(error.filename or folder)
        raise InputError(name, f"the folder cannot be read: {error.strerror}") from None

    visited = {os.path.realpath(folder)}
    for parent, folders, names in os.walk(folder, followlinks=True, onerror=fail):
        real_paths = {
            name: os.path.realpath(os.path.join(parent, name))
            for name in sorted(folders)
            if not name.startswith(".")
        }
        folders[:] = [name for name, path in real_paths.items() if path not in visited]
        visited.update(real_paths.values())
        for name in sorted(names):
            path = os.path.join(parent, name)
            if not name.startswith(".") and os.path.isfile(path):
                yield path


def has_state_suffix(path: str) -> bool:
    """Return whether the file is named as YAML or JSON, gzipped or not."""
    return path.removesuffix(_GZIP_SUFFIX).endswith(SUFFIXES)


def _may_hold_objects(path: str) -> bool:
    """Return whether the file may hold objects, by its name: as YAML, JSON, or without any
    suffix."""
    return has_state_suffix(path) or "." not in os.path.basename(path.removesuffix(_GZIP_SUFFIX))


def _read(path: str, *, in_folder: bool = False) -> Source:
    try:
        with open(path, "rb") as file:
            return Source(path, read_or_store(file, path), in_folder)
    except FileNotFoundError:
        raise missing_file(path, "file or folder") from None
    except OSError as error:
        raise InputError(path, f"the file cannot be read: {error.strerror}") from None


def _read_stdin(stream: BinaryIO | None) -> bytes | StoredBytes:
    try:
        source = standard_input() if stream is None else stream
        return read_or_store(source, STDIN_NAME)
    except OSError as error:
        raise InputError(STDIN_NAME, f"cannot be read: {error.strerror}") from None


def load_state(
    paths: Sequence[str] = (), stdin: BinaryIO | None = None, reads: Container[str] = ()
) -> ClusterState:
    """Load the state of all objects in all the paths.

    paths: files, folders, or "-" for stdin; none at all for the default one
    stdin: sys.stdin's bytes unless given
    reads: kinds to keep for plugins, besides those that ksched knows

    Raises InputError for what cannot be read or is no state, UsageError if there is no default.
    """
    files = StateFiles(paths or [default_state_path()], stdin)
    return load_sources(files.sources(), reads, files.warnings, files.passed_over.append)


def load_sources(
    sources: Iterable[Source],
    reads: Container[str],
    warnings: Callable[[], Iterable[str]],
    on_passed_over: Callable[[str], None] = lambda name: None,
) -> ClusterState:
    """Yield the state of all objects in all the sources.

    warnings: about the sources, once all have been read
    on_passed_over: called with the name of a folder's file that holds no object

    Raises InputError.
    """
    rest, taken = iter(sources), list[Source]()

    def noted() -> Iterator[Source]:
        for source in rest:
            taken.append(source)
            yield source

    with gc_paused():
        try:
            collector = _collected(noted(), reads, on_passed_over, in_pieces=True)
        except UnusualFormError:
            collector = _collected(chain(taken, rest), reads, on_passed_over, in_pieces=False)
        return collector.finish(tuple(warnings()))


def _collected(
    sources: Iterable[Source],
    reads: Container[str],
    on_passed_over: Callable[[str], None],
    *,
    in_pieces: bool,
) -> Collector:
    """Read all sources. Raises InputError, UnusualFormError."""
    collector = Collector(reads)
    for source in sources:
        if in_pieces and (pieces := pieces_of(source)) is not None:
            collector.add_pieces(pieces)
        elif not _add(collector, source):
            on_passed_over(source.name)
    return collector


def _add(collector: Collector, source: Source) -> bool:
    """Add a file as a whole. Returns whether it holds an object. Raises InputError."""
    if source.in_folder:
        # A folder may have files of others: those without any object with a kind are left out.
        foreign: list[Document] = []
        has_objects = False
        try:
            for document in documents(source):
                has_objects = has_objects or _has_kind(document.data)
                foreign.append(document)
                if has_objects:
                    for each in foreign:
                        collector.add(each)
                    foreign.clear()
        except NoObjectError:
            return False
        except InputError:
            # What is not named as YAML or JSON is read only in case it is one of them.
            if has_objects or has_state_suffix(source.name):
                raise
        return has_objects
    for document in documents(source):
        collector.add(document)
    return True


class _Typed(msgspec.Struct):
    """Any object; kind: whatever it is."""

    kind: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_typed = msgspec.json.Decoder(_Typed | list[msgspec.Raw])


def _has_kind(data: msgspec.Raw) -> bool:
    """Return whether it is an object with a kind, or a list with such an object."""
    try:
        value = _typed.decode(data)
    except (msgspec.ValidationError, RecursionError):
        return False
    if isinstance(value, list):
        return any(_has_kind(item) for item in value)
    return value.kind is not msgspec.UNSET


Plain = dict[str, Any]

_LIST = "List"


def plain_objects(
    paths: Sequence[str], stdin: BinaryIO | None = None, headers: list[Plain] | None = None
) -> Iterator[Plain]:
    """Yield each with its apiVersion and kind, those of lists too; what is not an object is left
    out, as `load_state` warns of it. Raises InputError.

    headers: gets what the files say of themselves as snapshots
    """
    for source in StateFiles(paths, stdin).sources():
        try:
            for document in documents(source):
                value = plain_json(document.data, source.name)
                header = value_at(value, ("snapshot",))
                if headers is not None and isinstance(header, dict):
                    headers.append(header)
                yield from _objects(value, "", "")
        except InputError:
            if not source.in_folder:
                raise


def _objects(value: Any, version: str, kind: str) -> Iterator[Plain]:
    """Yield the objects of a document. version, kind: of items whose list has them, and that do not
    repeat them"""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, version, kind)
    if not isinstance(value, dict):
        return
    version, kind = value.get("apiVersion") or version, value.get("kind") or kind
    if not isinstance(version, str) or not isinstance(kind, str):
        return
    if "items" in value and kind.endswith(_LIST):
        items = value["items"]
        for item in items if isinstance(items, list) else ():
            yield from _objects(item, version, kind.removesuffix(_LIST))
    elif kind:
        yield {**value, "apiVersion": version, "kind": kind}
