"""Python's collector of cyclic garbage, where it would only be in the way.

States and records are large and none of it is garbage, but the collector walks it all again and
again as more is made.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks; 700 is Python's own.
SELDOM = 100_000


@contextmanager
def never_collected() -> Iterator[None]:
    """For a short while in which nothing is thrown away."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def seldom_collected() -> Iterator[None]:
    """For a long while: a plugin may leave garbage behind."""
    youngest, *older = gc.get_threshold()
    gc.set_threshold(max(youngest, SELDOM) if youngest else 0, *older)
    try:
        yield
    finally:
        gc.set_threshold(youngest, *older)
