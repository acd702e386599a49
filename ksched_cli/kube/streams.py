"""Standard streams that may be closed, full or without a reader."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, TextIO

from ksched_cli.errors import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDIN_NAME = "standard input"
MAX_SIZE = 1 << 34
"""So many bytes of a file of a state are read, unless more are asked for."""

_STREAMS = (0, 1, 2)


def standard_input() -> BinaryIO:
    """Raises InputError where it is closed."""
    if sys.stdin is None:
        raise InputError(STDIN_NAME, "it is closed")
    return sys.stdin.buffer


def read_standard_input() -> bytes:
    """Raises InputError where it is closed or cannot be read."""
    try:
        return standard_input().read()
    except OSError as error:
        raise InputError(STDIN_NAME, f"cannot be read: {error.strerror}") from None


def occupy_closed_streams() -> None:
    """Opens nothing where a standard stream is closed: the next file that is opened would have its
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
    """The stream, to which writing raises nothing: a result does not depend on what is told beside
    it. Streams of others, as of a notebook, are returned as they are."""
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
