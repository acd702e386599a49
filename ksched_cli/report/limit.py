"""How much of an answer a text shows: its width, and how long its lists are."""

from __future__ import annotations

from dataclasses import dataclass

MIN_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Limit:
    """What texts for people are written for.

    width: columns, rows: lines of one list; None: no limit
    colour: whether the terminal shows colours
    """

    width: int | None = None
    rows: int | None = None
    colour: bool = False


EVERYTHING = Limit()
TERMINAL = Limit(width=100, rows=40)
PAGE = Limit(rows=40)
