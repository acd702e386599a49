"""Standard streams that may be closed, full or without a reader."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, BinaryIO, TextIO

from ksched_cli.errors import InputError
from ksched_cli.kube.quantity import BINARY_SI, Quantity

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDIN_NAME = "standard input"
MAX_SIZE = 1 << 34
_BLOCK = 1 << 18

_STREAMS = (0, 1, 2)


@dataclass(slots=True)
class ReadingLimit:
    """How large a file may be that this process reads: neither a small file that unpacks to a large
    one nor an endless stream fills memory or disk. size: bytes, unpacked"""

    size: int = MAX_SIZE

    def exceeded(self, name: str) -> InputError:
        """Return the InputError for a larger file."""
        hint = "Raise --max-state-size, or remove from the file what does not matter."
        return InputError(name, f"larger than {Quantity(self.size, form=BINARY_SI)}", hint=hint)

    def pieces(self, file: IO[bytes], name: str, head: bytes = b"") -> Iterator[bytes]:
        """What is left of a file. head: what was read of it already. Raises InputError if it is
        larger; OSError."""
        size, piece = 0, head or file.read(_BLOCK)
        while piece:
            size += len(piece)
            if size > self.size:
                raise self.exceeded(name)
            yield piece
            piece = file.read(_BLOCK)

    def read(self, file: IO[bytes], name: str) -> bytes:
        """Return all that is left of a file. Raises InputError if it is larger; OSError."""
        return b"".join(self.pieces(file, name))


LIMIT = ReadingLimit()


def standard_input() -> BinaryIO:
    """Return the bytes of standard input as a stream. Raises InputError where it is closed."""
    if sys.stdin is None:
        raise InputError(STDIN_NAME, "it is closed")
    return sys.stdin.buffer


def read_standard_input() -> bytes:
    """Read standard input to its end. Raises InputError where it is closed, too large or cannot be
    read."""
    try:
        return LIMIT.read(standard_input(), STDIN_NAME)
    except OSError as error:
        raise InputError(STDIN_NAME, f"cannot be read: {error.strerror}") from None


def occupy_closed_streams() -> None:
    """Open nothing where a standard stream is closed: the next file that is opened would have its
    number, and whatever writes to standard error would write to that file."""
    for number in _STREAMS:
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


class _Unfailing(io.FileIO):
    """What cannot be written is lost."""

    def write(self, data: ReadableBuffer) -> int:
        try:
            written: int | None = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written


def unfailing(stream: TextIO | None) -> TextIO:
    """Return the stream, to which writing raises nothing: a result does not depend on what is told
    beside it. Streams of others, as of a notebook, are returned as they are."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if type(stream) is not io.TextIOWrapper:
        return stream
    try:
        raw = _Unfailing(stream.fileno(), "w", closefd=False)
    except io.UnsupportedOperation:
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True
    )
