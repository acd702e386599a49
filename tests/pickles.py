"""Pickles that call what they name when they are read, for tests; written opcode by opcode."""

from __future__ import annotations

import pickle
from struct import pack


def text(value: str) -> bytes:
    encoded = value.encode()
    return pickle.BINUNICODE + pack("<I", len(encoded)) + encoded


def names(module: str, name: str) -> bytes:
    """From protocol 4 on a name may have dots."""
    return text(module) + text(name) + pickle.STACK_GLOBAL


def calls(function: bytes, *arguments: bytes) -> bytes:
    return function + pickle.MARK + b"".join(arguments) + pickle.TUPLE + pickle.REDUCE
