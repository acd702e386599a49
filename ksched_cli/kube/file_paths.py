"""Files, folders and globs of a command line to the files that they name."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator

from ksched_cli.errors import InputError

SUFFIXES = (".yaml", ".yml", ".json")


def expand_paths(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Every file once, and whether it was named (by a glob, too) rather than met in a folder.

    A path that does not exist is yielded as it is. Raises InputError for a glob that matches no
    file.
    """
    seen: set[str] = set()
    for path, is_named in _expanded(paths):
        real_path = path if path == "-" else os.path.realpath(path)
        if real_path not in seen:
            seen.add(real_path)
            yield path, is_named


def _expanded(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Raises InputError for a glob that matches no file."""
    for path in paths:
        if os.path.isdir(path):
            yield from ((file, False) for file in _files_below(path))
        elif path == "-" or os.path.exists(path) or not glob.has_magic(path):
            yield path, True
        else:
            matches = sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))
            if not matches:
                raise InputError(path, "no file matches")
            yield from ((file, True) for file in matches)


def _files_below(folder: str) -> Iterator[str]:
    """YAML and JSON files, by name; folders whose name begins with a dot are left out."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(parent, name) for name in sorted(files) if _is_manifest(name))


def _is_manifest(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)
