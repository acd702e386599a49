"""The files of snapshots and recordings.

A snapshot is a List as kubectl prints it, an object a line, with what was read of the cluster in a
field of its own. A file is written aside and then renamed, so the file is either complete or
absent.

A recording is a state to begin with and a timeline, both for each of its parts. The first part is
day.jsonl.gz with day.state.json.gz, the next day.1.jsonl.gz with day.1.state.json.gz. Each can be
replayed by itself.
"""

from __future__ import annotations

import glob
import gzip
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from errno import EACCES
from fcntl import F_GETFL, LOCK_EX, LOCK_NB, fcntl, flock
from itertools import count
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, Any, cast

import msgspec

from ksched_cli.errors import ReaderGoneError, UsageError
from ksched_cli.live.snapshot import ClusterSnapshot

SUFFIXES = (".json", ".json.gz")
_GZIP_SUFFIX = ".gz"
# A dump of 25,000 objects: a third of the time of gzip's default 9, and 3 % larger.
_GZIP_LEVEL = 6
_ASIDE = ".ksched"
_PRIVATE = 0o600
_DESCRIPTORS = "/dev/fd"


def check_suffix(path: str) -> None:
    """Check the name of a snapshot. Raises UsageError for a file that would be taken for something
    else than JSON."""
    if path.endswith((".yaml", ".yml", ".yaml.gz", ".yml.gz")):
        raise UsageError(f"{path}: a snapshot is JSON; name it *.json or *.json.gz")


def snapshot_text(
    objects: Iterable[bytes], snapshot: Callable[[], ClusterSnapshot | None]
) -> Iterator[bytes]:
    """Yield the parts of the file. objects: JSON. snapshot: called when all have been written."""
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
    held = os.dup(descriptor)  # keeps the lock until the file has its name
    with writes(path):
        try:
            with os.fdopen(descriptor, "wb") as file:
                if path.endswith(_GZIP_SUFFIX):
                    with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                        yield cast(IO[bytes], packed)
                else:
                    yield file
            if name:
                # The new file gets the owner and the mode of the one before.
                if before is not None:
                    with suppress(PermissionError):
                        os.chown(name, before.st_uid, before.st_gid)
                if before is None:
                    # The mask cannot be read without setting it.
                    mask = os.umask(0)
                    os.umask(mask)
                mode = 0o666 & ~mask if before is None else before.st_mode & 0o777
                os.chmod(name, _PRIVATE if private else mode)
                os.replace(name, os.path.realpath(path))
        except BrokenPipeError:
            raise ReaderGoneError from None
        finally:
            if name:
                Path(name).unlink(missing_ok=True)
            os.close(held)


@contextmanager
def writes(path: str) -> Iterator[None]:
    """Turn failures to write into an error that names the file. Raises UsageError where the file
    cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


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
    with writes(path):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
    if S_ISDIR(status.st_mode):
        raise UsageError(f"{path} is a folder; a file's name is expected")
    return status


def _opened_in_place(path: str, status: os.stat_result | None) -> int | None:
    """Return a descriptor of a device or a pipe, or of a plain file that one of this process's
    descriptors writes to already, and keeps writing to. None for other files. Raises UsageError."""
    if status is None:
        return None
    numbers = os.listdir(_DESCRIPTORS) if os.path.isdir(_DESCRIPTORS) else ()
    for number in map(int, numbers):
        with suppress(OSError):  # the descriptor of the listing is closed again
            access = fcntl(number, F_GETFL) & os.O_ACCMODE
            if access != os.O_RDONLY and os.path.samestat(os.fstat(number), status):
                return os.dup(number)
    with writes(path):
        return None if S_ISREG(status.st_mode) else os.open(path, os.O_WRONLY)


def _create_beside(path: str) -> tuple[int, str]:
    """Return an empty file in the folder of the file that the path leads to, locked: its descriptor
    and name. Those that a killed ksched left there, which nobody locks, are removed. Raises
    UsageError."""
    target = Path(os.path.realpath(path))
    prefix = f".{target.name}."
    with writes(path):
        for left in target.parent.glob(f"{glob.escape(prefix)}????????{_ASIDE}"):
            with suppress(OSError), left.open("rb") as file:
                flock(file, LOCK_EX | LOCK_NB)
                left.unlink()
        while True:
            descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=_ASIDE, dir=target.parent)
            with suppress(OSError):  # a file system without locks
                flock(descriptor, LOCK_EX)
            if os.path.exists(name):  # else another ksched took it for one that was left
                return descriptor, name
            os.close(descriptor)


# -- recordings -----------------------------------------------------------------------------------

_GZIP = ".gz"
_LINES = (".jsonl", ".ndjson")


def state_path(path: str) -> str:
    """Return the path of the state that a part begins with. Raises UsageError for a wrong name."""
    stem, _, packed = _split(path)
    return f"{stem}.state.json{packed}"


def parts(path: str) -> Iterator[RecordingFile]:
    """Yield those that are not there yet."""
    stem, suffix, packed = _split(path)
    for number in count():
        name = f"{stem}.{number}{suffix}{packed}" if number else path
        if not os.path.exists(name):
            yield RecordingFile(name)


def _split(path: str) -> tuple[str, str, str]:
    packed = _GZIP if path.endswith(_GZIP) else ""
    stem, suffix = os.path.splitext(path.removesuffix(packed))
    if suffix not in _LINES:
        raise UsageError(f"{path}: a recording is JSON lines; name it *.jsonl or *.jsonl.gz")
    return stem, suffix, packed


class RecordingFile:
    """One part. events: how many it has; gaps: how often the recorder was without a connection"""

    def __init__(self, path: str) -> None:
        self.path, self.state_path = path, state_path(path)
        self.events = self.gaps = self.size = 0
        self.last = 0.0
        self._start = 0
        self._raw: IO[bytes] | None = None
        self._file: IO[bytes] | gzip.GzipFile | None = None

    def begin(
        self, objects: Iterable[bytes], about: Callable[[], ClusterSnapshot], at: float
    ) -> None:
        """Write the state, and the timeline's first line. at: seconds since 1970. Raises
        UsageError."""
        # The name is this recorder's from here on, and that of the state with it.
        with writes(self.path):
            self._raw = open(self.path, "xb")  # noqa: SIM115  # closed in `close`
        try:
            with written_aside(self.state_path) as file:
                file.writelines(snapshot_text(objects, about))
        except BaseException:
            self._raw.close()
            os.unlink(self.path)
            raise
        self._start = int(at)
        start = datetime.fromtimestamp(self._start, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        is_packed = self.path.endswith(_GZIP)
        self._file = gzip.GzipFile("", "wb", 6, self._raw, mtime=0) if is_packed else self._raw
        self._write({"apiVersion": "ksched/v1", "kind": "Timeline", "start": start})
        self.flush()

    def time_after(self, at: float) -> float:
        """Return the time of the next event: times never fall. Both in seconds since 1970."""
        return max(at, self._start + self.last)

    def add(self, event: dict[str, Any], at: float) -> None:
        """at: seconds since 1970. Raises UsageError."""
        self.last = self.time_after(at) - self._start
        self.events += 1
        self.gaps += "gap" in event
        self._write({"at": round(self.last, 6), **event})

    def _write(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        with writes(self.path):
            self._file.write(msgspec.json.encode(line) + b"\n")

    def flush(self) -> None:
        """What has been written can be read from then on, whatever becomes of the recorder."""
        if self._file is None or self._raw is None:
            return
        with writes(self.path):
            self._file.flush()
            self._raw.flush()
            self.size = self._raw.tell()

    def close(self) -> None:
        file, raw, self._file = self._file, self._raw, None
        if file is None or raw is None:
            return
        with writes(self.path):
            try:
                file.close()
                self.size = raw.tell() if not raw.closed else os.path.getsize(self.path)
            finally:
                raw.close()
