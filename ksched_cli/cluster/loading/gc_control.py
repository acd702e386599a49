"""Pauses cyclic garbage collection while loading, and makes it rare during a run.

States and records are many objects that stay alive, and the collector would traverse all of them
again and again as more are made.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two collections of the youngest generation; Python's default is 700.
_RARE_THRESHOLD = 100_000
# Python 3.12 starts with some objects frozen.
_FROZEN_AT_START = gc.get_freeze_count()


@contextmanager
def gc_paused() -> Iterator[None]:
    """No collections: for a short time in which no cyclic garbage arises."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def gc_rare() -> Iterator[None]:
    """Fewer collections, which leave out all that is there now: for a longer time in which plugins
    may leave cyclic garbage."""
    youngest, *older = gc.get_threshold()
    gc.set_threshold(max(youngest, _RARE_THRESHOLD) if youngest else 0, *older)
    # Who has frozen objects before wants them to stay so, and nothing thaws some of them only.
    freezes = gc.get_freeze_count() <= _FROZEN_AT_START
    if freezes:
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
        gc.set_threshold(youngest, *older)
