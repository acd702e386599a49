"""Gzipped files, read as what is in them."""

from __future__ import annotations

import gzip
import zlib

from ksched_cli.errors import InputError

_MAGIC = b"\x1f\x8b"

UNPACKING_ERRORS = (EOFError, OSError, zlib.error)
"""What Python's gzip raises for a file that is not gzip, or not whole."""


def unpacked(data: bytes, name: str) -> bytes:
    """Data without its packing; what gzip is, its first two bytes tell. Raises InputError."""
    if not data.startswith(_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except UNPACKING_ERRORS as error:
        problem = str(error)[:1].lower() + str(error)[1:]
        raise InputError(name, f"not gzip: {problem}; is the file complete?") from None
