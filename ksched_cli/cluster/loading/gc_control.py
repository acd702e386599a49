"""Pauses cyclic garbage collection while loading, and makes it rare during a run.

States and records are many objects that stay alive, and the collector would traverse all of them
again and again as more are made.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic

from msgspec import Struct, field

# New objects between two collections of the youngest generation; Python's default is 700.
_RARE_THRESHOLD = 100_000
# So many more blocks of memory than twice those at first have the collector look at all objects.
_MORE_BLOCKS = 1_000_000
# The blocks are counted after this many times as long as counting them took, at the earliest.
_COUNT_PAUSE = 50
# Python 3.12 starts with some objects frozen.
_FROZEN_AT_START = gc.get_freeze_count()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Stop collections: for a short time in which no cyclic garbage arises."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Otherwise the next collection would traverse all that was made meanwhile.
            if not RARE.are_frozen():
                gc.freeze()
                gc.unfreeze()  # to the oldest generation
            gc.enable()


class _RareCollections(Struct):
    """The collector's settings while any thread wants it to be rare.

    before:   the thresholds to restore
    thaws:    whether objects are frozen here
    others:   whether somebody else has frozen objects
    blocks:   of memory that were in use at first, then after the last whole collection
    count_at: when blocks may be counted again, by the monotonic clock
    """

    lock: Lock = field(default_factory=Lock)
    users: int = 0
    before: tuple[int, int, int] = (0, 0, 0)
    thaws: bool = False
    others: bool = False
    blocks: int = 0
    count_at: float = 0.0

    def are_frozen(self) -> bool:
        """Return whether objects are frozen, perhaps by somebody who wants them to stay so: nothing
        thaws some only. Counting visits all of them, and is not done again once there were some."""
        if not self.thaws and not self.others:
            self.others = gc.get_freeze_count() > _FROZEN_AT_START
        return self.thaws or self.others

    def begin(self) -> None:
        with self.lock:
            self.users += 1
            if self.users > 1:
                return
            self.blocks = self.blocks or sys.getallocatedblocks()
            self.before = youngest, *older = gc.get_threshold()
            gc.set_threshold(max(youngest, _RARE_THRESHOLD) if youngest else 0, *older)
            self.thaws = not self.are_frozen()
            if self.thaws:
                gc.freeze()

    def end(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users:
                return
            if self.thaws:
                gc.unfreeze()
                self.thaws = False
            gc.set_threshold(*self.before)
            # What was frozen counts as old then, garbage too: many runs would fill the memory.
            if gc.isenabled() and self._memory_grew():
                gc.collect()
                self.blocks = sys.getallocatedblocks()

    def _memory_grew(self) -> bool:
        """Return whether Python holds many more blocks of memory than before. Counting them visits
        every page of its memory, which takes longer than a small run: after such a run it is left
        out."""
        began = monotonic()
        if began < self.count_at:
            return False
        blocks = sys.getallocatedblocks()
        ended = monotonic()
        self.count_at = ended + _COUNT_PAUSE * (ended - began)
        return blocks > 2 * self.blocks + _MORE_BLOCKS


RARE = _RareCollections()


@contextmanager
def gc_rare() -> Iterator[None]:
    """Collect less often meanwhile, and leave out all that is there now: for a longer time in which
    plugins may leave cyclic garbage. Threads that want so at once share it; the last one ends
    it."""
    RARE.begin()
    try:
        yield
    finally:
        RARE.end()
