"""Go's division of integers, which rounds towards zero where Python and NumPy round down."""

from __future__ import annotations

from typing import TypeVar

from ksched_cli.framework.verdicts import Scores

A = TypeVar("A", int, Scores)


def divide(amount: A, by: A | int) -> A:
    """Of numbers, or of columns element by element."""
    quotient, rest = divmod(amount, by)
    result: A = quotient + ((rest != 0) & ((amount < 0) != (by < 0)))
    return result
