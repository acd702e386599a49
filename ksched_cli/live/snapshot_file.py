"""A snapshot as a file: a List as kubectl prints it, an object a line, with what was read of the
cluster in a field of its own.

A file is written aside and then renamed, so that there is a whole one or none.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import msgspec

from ksched_cli.errors import UsageError
from ksched_cli.live.snapshot import ClusterSnapshot

SUFFIXES = (".json", ".json.gz")
_GZIP_SUFFIX = ".gz"
# A dump of 25,000 objects: a third of the time of gzip's default 9, and 3 % larger.
_GZIP_LEVEL = 6
_PRIVATE = 0o600


def check_suffix(path: str) -> None:
    """Raises UsageError for a file that would be taken for something else than JSON."""
    if path.endswith((".yaml", ".yml", ".yaml.gz", ".yml.gz")):
        raise UsageError(f"{path}: a snapshot is JSON; name it *.json or *.json.gz")


def snapshot_text(
    objects: Iterable[bytes], snapshot: Callable[[], ClusterSnapshot | None]
) -> Iterator[bytes]:
    """The parts of the file. objects: JSON. snapshot: called when all have been written."""
    yield b'{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[\n'
    separator = b""
    for obj in objects:
        yield separator
        yield obj
        separator = b",\n"
    yield b"\n]"
    about = snapshot()
    if about is not None:
        yield b',"snapshot":' + msgspec.json.encode(about)
    yield b"}\n"


@contextmanager
def written_aside(path: str, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write that gets its name when the block ends without an error, and else goes away;
    gzipped by name. private: readable by nobody else. Raises UsageError where it cannot be
    written."""
    target = Path(path)
    descriptor, name = _create_beside(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.endswith(_GZIP_SUFFIX):
                with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield file
        os.chmod(name, _PRIVATE if private else 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        Path(name).unlink(missing_ok=True)


def check_writable(path: str) -> None:
    """Before long work: raises UsageError where `written_aside` could not write the file."""
    descriptor, name = _create_beside(Path(path))
    os.close(descriptor)
    Path(name).unlink(missing_ok=True)


def _create_beside(target: Path) -> tuple[int, str]:
    """An empty file in the same folder: its descriptor and name. Raises UsageError."""
    if os.path.isdir(target):
        raise UsageError(f"{target} is a folder; a file's name is expected")
    try:
        return tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
