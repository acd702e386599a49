"""A snapshot as a file: a List as kubectl prints it, an object a line, with what was read of the
cluster in a field of its own.

A file is written aside and then renamed, so the file is either complete or absent.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EACCES
from fcntl import F_GETFL, fcntl
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, cast

import msgspec

from ksched_cli.errors import ReaderGoneError, UsageError
from ksched_cli.live.snapshot import ClusterSnapshot

SUFFIXES = (".json", ".json.gz")
_GZIP_SUFFIX = ".gz"
# A dump of 25,000 objects: a third of the time of gzip's default 9, and 3 % larger.
_GZIP_LEVEL = 6
_PRIVATE = 0o600
_DESCRIPTORS = "/dev/fd"


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
    """A file to write, gzipped by name. When the block ends without an error it replaces the plain
    file that the path leads to, through links, and takes over its mode and, where that is allowed,
    its owner; else it goes away. Devices, pipes and files that this process has open for writing,
    such as /dev/stdout, are written in place.

    private: readable by nobody else. Raises UsageError where it cannot be written, ReaderGoneError
    where the reader closed the pipe.
    """
    before = _status(path)
    in_place = _opened_in_place(path, before)
    descriptor, name = _create_beside(path) if in_place is None else (in_place, "")
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.endswith(_GZIP_SUFFIX):
                with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield file
        if name:
            _take_over(name, before, private)
            os.replace(name, os.path.realpath(path))
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        if name:
            Path(name).unlink(missing_ok=True)


def check_writable(path: str) -> None:
    """Before long work: raises UsageError where `written_aside` could not write the file."""
    before = _status(path)
    if before is not None and not S_ISREG(before.st_mode):
        if not os.access(path, os.W_OK):
            raise UsageError(f"{path} cannot be written: {os.strerror(EACCES)}")
        return
    descriptor, name = _create_beside(path)
    os.close(descriptor)
    Path(name).unlink(missing_ok=True)


def _status(path: str) -> os.stat_result | None:
    """None if there is no such file yet. Raises UsageError for a folder."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unwritable(path, error) from None
    if S_ISDIR(status.st_mode):
        raise UsageError(f"{path} is a folder; a file's name is expected")
    return status


def _opened_in_place(path: str, status: os.stat_result | None) -> int | None:
    """A descriptor of a device or a pipe, or of a plain file that one of this process's descriptors
    writes to already, and keeps writing to. None for other files. Raises UsageError."""
    if status is None:
        return None
    numbers = os.listdir(_DESCRIPTORS) if os.path.isdir(_DESCRIPTORS) else ()
    for number in map(int, numbers):
        with suppress(OSError):  # the descriptor of the listing is closed again
            access = fcntl(number, F_GETFL) & os.O_ACCMODE
            if access != os.O_RDONLY and os.path.samestat(os.fstat(number), status):
                return os.dup(number)
    try:
        return None if S_ISREG(status.st_mode) else os.open(path, os.O_WRONLY)
    except OSError as error:
        raise unwritable(path, error) from None


def _create_beside(path: str) -> tuple[int, str]:
    """An empty file in the folder of the file that the path leads to: its descriptor and name.
    Raises UsageError."""
    target = Path(os.path.realpath(path))
    try:
        return tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise unwritable(path, error) from None


def _take_over(name: str, before: os.stat_result | None, private: bool) -> None:
    """Gives the new file the owner and the mode of the one before."""
    if before is not None:
        with suppress(PermissionError):
            os.chown(name, before.st_uid, before.st_gid)
    mode = 0o666 & ~_umask() if before is None else before.st_mode & 0o777
    os.chmod(name, _PRIVATE if private else mode)


def unwritable(path: str, error: OSError) -> UsageError:
    """What is wrong with a file that cannot be written."""
    return UsageError(f"{path} cannot be written: {error.strerror or error}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
