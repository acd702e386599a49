"""Finds and reads a state's files: plain or gzipped, in folders with their sub-folders, or standard
input."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from ksched_cli.cluster.loading.sources import Source
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.stored_bytes import StoredBytes, read_or_store
from ksched_cli.kube.streams import STDIN_NAME, standard_input

STDIN = "-"
DEFAULT_FILES = tuple(
    f"cluster{suffix}{packed}" for packed in ("", ".gz") for suffix in (".yaml", ".yml", ".json")
)
STATE_VARIABLE = "KSCHED_STATE"

_SUFFIXES = (".yaml", ".yml", ".json")
_GZIP_SUFFIX = ".gz"
# How many names of files a warning lists.
_MAX_LISTED = 3


def default_state_path(environment: Mapping[str, str] = os.environ, folder: Path = Path()) -> str:
    """Return the state to read without --state. Raises UsageError if there is none, or more than
    one candidate in the folder."""
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
    raise UsageError(
        f"no cluster state: --state is not given, ${STATE_VARIABLE} is not set, and none of "
        f"{', '.join(DEFAULT_FILES[: len(_SUFFIXES)])} (or .gz) is in this folder\n"
        "  kubectl get nodes,pods -A -o json > cluster.json   writes one"
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
        """The files' contents in the order of the paths; a folder's in order of name.

        Raises InputError.
        """
        for path in self._paths:
            if path == STDIN:
                if self._is_new(STDIN, STDIN_NAME):
                    yield Source(STDIN_NAME, _read_stdin(self._stdin))
            elif os.path.isdir(path):
                yield from self._folder_sources(path)
            elif self._is_new(_real_path(path), path):
                yield _read(path)

    def warnings(self) -> Iterator[str]:
        """What was read once only, or not at all; complete after the last of the sources."""
        for path in dict.fromkeys(self._repeated):
            yield f"{path} is given more than once; ksched reads it once"
        count = len(self.passed_over)
        if count == 1:
            yield f"skipped a file without Kubernetes objects: {self.passed_over[0]}"
        elif count:
            names = ", ".join(self.passed_over[:_MAX_LISTED])
            more = ", …" if count > _MAX_LISTED else ""
            yield f"skipped {count} files without Kubernetes objects: {names}{more}"

    def _is_new(self, real_path: str, name: str) -> bool:
        if real_path in self._real_paths:
            self._repeated.append(name)
            return False
        self._real_paths.add(real_path)
        return True

    def _folder_sources(self, folder: str) -> Iterator[Source]:
        paths = list(_folder_files(folder))
        candidates = [path for path in paths if _may_hold_objects(path)]
        if not candidates:
            raise InputError(folder, "the folder has no .yaml, .yml or .json file")
        for path in paths:
            if not _may_hold_objects(path):
                self.passed_over.append(path)
            elif self._is_new(os.path.realpath(path), path):
                yield _read(path, in_folder=True)


def _real_path(path: str) -> str:
    """Raises InputError for a path with a null byte, which other files may name."""
    try:
        return os.path.realpath(path)
    except ValueError as error:
        raise InputError(path, f"there is no such file: {error}") from None


def _folder_files(folder: str) -> Iterator[str]:
    """The files of a folder and its sub-folders, hidden ones left out: a folder's own first.

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
    """Whether the file is named as YAML or JSON, gzipped or not."""
    return path.removesuffix(_GZIP_SUFFIX).endswith(_SUFFIXES)


def _may_hold_objects(path: str) -> bool:
    """Whether the file may hold objects, by its name: as YAML, JSON, or without any suffix."""
    return has_state_suffix(path) or "." not in os.path.basename(path.removesuffix(_GZIP_SUFFIX))


def _read(path: str, *, in_folder: bool = False) -> Source:
    try:
        with open(path, "rb") as file:
            return Source(path, read_or_store(file, path), in_folder)
    except FileNotFoundError:
        raise InputError(path, "there is no such file or folder") from None
    except OSError as error:
        raise InputError(path, f"the file cannot be read: {error.strerror}") from None


def _read_stdin(stream: BinaryIO | None) -> bytes | StoredBytes:
    try:
        source = standard_input() if stream is None else stream
        return read_or_store(source, STDIN_NAME)
    except OSError as error:
        raise InputError(STDIN_NAME, f"cannot be read: {error.strerror}") from None
