"""Large texts that stay on disk, and what is read of a stream or a file, gzipped or not, as a whole
or line by line.

A dump of a gigabyte is read block by block; what is needed later is read again from its file, or
from a temporary file where it was gzipped or came through a pipe.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader, BytesIO, RawIOBase
from stat import S_ISREG
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec import Raw

from ksched_cli.errors import InputError
from ksched_cli.kube.streams import LIMIT

_BLOCK = 1 << 18
LARGE = 1 << 26
"""So many bytes are kept in memory."""


class StoredBytes:
    """The bytes of an open file. A copy by pickle is the bytes themselves."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self.size = file, size

    def __reduce__(self) -> tuple[Any, ...]:
        return bytes, (self.read(0, self.size),)

    def read(self, start: int, length: int) -> bytes:
        """Fewer where the file ends."""
        number, pieces = self._file.fileno(), []
        while length and (piece := os.pread(number, length, start)):
            pieces.append(piece)
            start, length = start + len(piece), length - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def place_of(self, offset: int) -> tuple[int, bytes]:
        """How many lines end before an offset, and what of its own line is before it."""
        lines, begin = 0, b""
        for start in range(0, offset, _BLOCK):
            block = self.read(start, min(_BLOCK, offset - start))
            lines += block.count(b"\n")
            _, newline, after = block.rpartition(b"\n")
            begin = after if newline else begin + after
        return lines, begin


class StoredJson:
    """A value of JSON in StoredBytes. `bytes` reads it."""

    __slots__ = ("_stored", "length", "start")

    def __init__(self, stored: StoredBytes, start: int, length: int) -> None:
        self._stored, self.start, self.length = stored, start, length

    def __reduce__(self) -> tuple[Any, ...]:
        return Raw, (bytes(self),)

    def __bytes__(self) -> bytes:
        return self._stored.read(self.start, self.length)

    def place(self) -> tuple[int, bytes]:
        """See StoredBytes.place_of."""
        return self._stored.place_of(self.start)


if TYPE_CHECKING:
    ObjectJson: TypeAlias = Raw | StoredJson
else:
    ObjectJson = Raw  # as which msgspec knows the fields of objects
"""An object's JSON."""


def read_or_store(file: IO[bytes], name: str) -> bytes | StoredBytes:
    """What is left of a file, without gzip's packing; large JSON as StoredBytes. Raises InputError
    for what is larger than LIMIT, and for what is not gzip; OSError."""
    head = file.read(LARGE)
    if not head.startswith(MAGIC):
        return _store(head, file, name)
    try:
        with gzip.GzipFile(fileobj=_Joined(head, file)) as packed:
            return _store(packed.read(LARGE), cast(IO[bytes], packed), name)
    except UNPACKING_ERRORS as error:
        raise not_gzip(name, error) from None


def _store(head: bytes, rest: IO[bytes], name: str) -> bytes | StoredBytes:
    """head: what was read of the stream already. Raises InputError."""
    if len(head) > LIMIT.size:
        raise LIMIT.exceeded(name)
    if len(head) < LARGE:
        return head
    if head[:1] not in (b"{", b"["):
        return b"".join(LIMIT.pieces(rest, name, head))
    if isinstance(rest, BufferedReader) and S_ISREG(os.fstat(rest.fileno()).st_mode):
        own = os.fdopen(os.dup(rest.fileno()), "rb")
        size = os.fstat(own.fileno()).st_size
        if size > LIMIT.size:
            raise LIMIT.exceeded(name)
        return StoredBytes(own, size)
    # What small files need not wait for.
    from tempfile import TemporaryFile

    try:
        file = TemporaryFile(prefix="ksched-")  # noqa: SIM115  # StoredBytes keeps it open
    except OSError:  # nothing can be written
        return b"".join(LIMIT.pieces(rest, name, head))
    file.writelines(LIMIT.pieces(rest, name, head))
    file.flush()
    return StoredBytes(file, file.tell())


class _Joined(RawIOBase):
    """A stream of which some was read already."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = BytesIO(head), rest

    def read(self, size: int = -1) -> bytes:
        return self._head.read(size) or self._rest.read(size)


MAGIC = b"\x1f\x8b"

UNPACKING_ERRORS = (EOFError, OSError, zlib.error)
"""What Python's gzip raises for a file that is not gzip, or not whole."""


def unpacked(data: bytes, name: str) -> bytes:
    """Data without its packing; what gzip is, its first two bytes tell. Raises InputError, also
    where it is too large."""
    if not data.startswith(MAGIC):
        return data
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) as file:
            return LIMIT.read(cast(IO[bytes], file), name)
    except UNPACKING_ERRORS as error:
        raise not_gzip(name, error) from None


def not_gzip(name: str, error: Exception) -> InputError:
    """Return the InputError for one of UNPACKING_ERRORS."""
    problem = str(error)[:1].lower() + str(error)[1:]
    return InputError(name, f"not gzip: {problem}; is the file complete?")


# -- JSON lines that another process may still write, or could not write to their end -------------

_GZIP = ".gz"
_TRUNCATED = "Input data was truncated"
# With the beginning of a number at its end, a line is not truncated but malformed.
_OF_NUMBERS = b"0123456789+-.eE"


def unpacked_by_name(file: IO[bytes], path: str) -> IO[bytes]:
    """Return a file, gzipped where its name says so."""
    return cast(IO[bytes], gzip.GzipFile(fileobj=file)) if path.endswith(_GZIP) else file


def whole_lines(file: IO[bytes], name: str, warn: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the lines of a file. Warns where it is cut off in a line or in gzip, because its writer
    was killed or is still writing. Raises InputError where it is too large, or not gzip."""
    number, left = 0, LIMIT.size
    try:
        while line := file.readline(left + 1):
            left -= len(line)
            if left < 0:
                raise LIMIT.exceeded(name)
            if _is_torn(line):
                break
            number += 1
            yield line
        else:
            return
    except UNPACKING_ERRORS as error:
        if not (number and isinstance(error, EOFError)):
            raise not_gzip(name, error) from None
    warn(f"{name} is cut off after line {number:,}; ksched reads it up to there")


def _is_torn(line: bytes) -> bool:
    """Return whether it is the beginning of an object."""
    if line.endswith(b"\n") or not line.startswith(b"{"):
        return False
    try:
        msgspec.json.decode(line.rstrip(_OF_NUMBERS))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return str(error) == _TRUNCATED
    return False
