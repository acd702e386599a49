"""JSON lines that another process may still write, or could not write to their end."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from typing import IO, cast

import msgspec

from ksched_cli.kube.stored_bytes import UNPACKING_ERRORS, not_gzip
from ksched_cli.kube.streams import LIMIT

_GZIP = ".gz"
_TRUNCATED = "Input data was truncated"
# With the beginning of a number at its end, a line is not truncated but malformed.
_OF_NUMBERS = b"0123456789+-.eE"


def unpacked_by_name(file: IO[bytes], path: str) -> IO[bytes]:
    """A file, gzipped where its name says so."""
    return cast(IO[bytes], gzip.GzipFile(fileobj=file)) if path.endswith(_GZIP) else file


def whole_lines(file: IO[bytes], name: str, warn: Callable[[str], None]) -> Iterator[bytes]:
    """The lines of a file. Warns where it is cut off in a line or in gzip, because its writer was
    killed or is still writing. Raises InputError where it is too large, or not gzip."""
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
    """Whether it is the beginning of an object."""
    if line.endswith(b"\n") or not line.startswith(b"{"):
        return False
    try:
        msgspec.json.decode(line.rstrip(_OF_NUMBERS))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return str(error) == _TRUNCATED
    return False
