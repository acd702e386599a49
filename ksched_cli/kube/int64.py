"""Go's int64: its bounds, reading a text as one, wrapping on overflow, and division, which rounds
towards zero where Python and NumPy round down."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_INT64 = (1 << 63) - 1
MIN_INT64 = -(1 << 63)
MAX_UINT64 = (1 << 64) - 1

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_MAX_DIGITS = len(str(MAX_INT64))

A = TypeVar("A", int, "NDArray[np.int64]")


def wrap(number: int) -> int:
    """Return the int64 with the number's lowest 64 bits."""
    return (number - MIN_INT64) % (1 << 64) + MIN_INT64


def divide(amount: A, by: A | int) -> A:
    """Divide numbers, or columns element by element, as Go does."""
    quotient, rest = divmod(amount, by)
    result: A = quotient + ((rest != 0) & ((amount < 0) != (by < 0)))
    return result


def parse_int64(text: str | None) -> int | None:
    """As Go's strconv.ParseInt; None if that fails."""
    match = None if text is None else _INTEGER.fullmatch(text)
    if match is None or len(match[2]) > _MAX_DIGITS:
        return None
    number = int(match[1] + match[2])
    return number if MIN_INT64 <= number <= MAX_INT64 else None
