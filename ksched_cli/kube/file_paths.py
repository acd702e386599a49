"""Files, folders and globs of a command line to the files that they name, and `FILE#NAME`, which
names one of several things in a file."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping

from ksched_cli.errors import InputError, UsageError

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"


def split_reference(reference: str) -> tuple[str, str | None]:
    """Return the file of `FILE` or `FILE#NAME`, and the NAME, None if there is none.

    The file is the longest part before a "#" that exists, or "-"; all of the reference where it
    exists, and where no part does.
    """
    parts = reference.split("#")
    for count in range(len(parts), 0, -1):
        file = "#".join(parts[:count])
        if file == STDIN or os.path.exists(file):
            return file, "#".join(parts[count:]) if count < len(parts) else None
    return reference, None


def check_standard_input(options: Mapping[str, Iterable[str | None] | None]) -> None:
    """Check that standard input is read once. Raises UsageError where several of these options
    and arguments have a value `-`, or `-#NAME`. options: the values, by what the user calls the
    option"""
    names = [
        name
        for name, values in options.items()
        if any(split_reference(value)[0] == STDIN for value in values or () if value)
    ]
    if len(names) > 1:
        raise UsageError(f"only one of {' and '.join(names)} can be standard input")


def expand_paths(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield every file once, and whether it was named (by a glob, too) rather than met in a folder.

    A path that does not exist is yielded as it is, and so is `FILE#NAME`. Raises InputError for a
    glob that matches no file.
    """
    seen: set[str] = set()
    for path, is_named in _expanded(paths):
        real_path = path if path == STDIN else os.path.realpath(path)
        if real_path not in seen:
            seen.add(real_path)
            yield path, is_named


def _expanded(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the files that paths, folders and globs name, each with whether it was named itself.
    Raises InputError for a glob that matches no file."""
    for path in paths:
        # What follows FILE# is never a glob.
        file, name = split_reference(path)
        if os.path.isdir(path):
            yield from ((below, False) for below in _files_below(path))
        elif file == STDIN or name is not None or os.path.exists(file) or not glob.has_magic(file):
            yield path, True
        else:
            matches = sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))
            if not matches:
                raise InputError(path, "no file matches")
            yield from ((match, True) for match in matches)


def _files_below(folder: str) -> Iterator[str]:
    """YAML and JSON files, by name. Left out are files and folders whose name begins with a dot,
    and pipes and devices, which may never end."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(parent, name)
            is_hidden = name.startswith(".")
            # A link that leads nowhere is named in the error of whoever opens it.
            is_special = os.path.exists(path) and not os.path.isfile(path)
            if name.lower().endswith(SUFFIXES) and not (is_hidden or is_special):
                yield path
