"""Gzipped files, read as what is in them."""

from __future__ import annotations

import gzip
import zlib
from io import BytesIO
from typing import IO, cast

from ksched_cli.errors import InputError
from ksched_cli.kube.streams import LIMIT

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
    """The InputError for one of UNPACKING_ERRORS."""
    problem = str(error)[:1].lower() + str(error)[1:]
    return InputError(name, f"not gzip: {problem}; is the file complete?")
