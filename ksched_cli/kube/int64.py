"""Go's int64: its bounds, wrapping on overflow, and division, which rounds towards zero where
Python and NumPy round down."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_INT64 = (1 << 63) - 1
MIN_INT64 = -(1 << 63)
MAX_UINT64 = (1 << 64) - 1

A = TypeVar("A", int, "NDArray[np.int64]")


def wrap(number: int) -> int:
    """The int64 with the number's lowest 64 bits."""
    return (number - MIN_INT64) % (1 << 64) + MIN_INT64


def divide(amount: A, by: A | int) -> A:
    """Divides numbers, or columns element by element, as Go does."""
    quotient, rest = divmod(amount, by)
    result: A = quotient + ((rest != 0) & ((amount < 0) != (by < 0)))
    return result
