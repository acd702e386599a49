"""Durations and moments of simulated time as texts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from ksched_cli.kube.time import SECOND

_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60


def duration(time: int) -> str:
    """Return microseconds as text in the two largest units: 2d 3h, 4m 5s, 1.5s."""
    whole = time // SECOND
    for size, unit, smaller, part in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "m"),
        (_MINUTE, "m", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size}{unit} {rest}{part}" if rest else f"{whole // size}{unit}"
    return f"{round(time / SECOND, 3):g}s"


def time_text(time: float) -> str:
    """Return seconds as text in the two largest units."""
    return duration(round(time * SECOND))


@dataclass(frozen=True, slots=True)
class MomentTexts:
    """Writes moments of a replay: with weekday and clock, UTC, where its timeline has a start, else
    as time since the start.

    start: seconds since 1970, or None; end: of the replay, microseconds after the start
    """

    start: int | None
    end: int

    @property
    def header(self) -> str:
        return "At" if self.start is None else "At (UTC)"

    def text(self, at: int) -> str:
        """Return a moment as text. at: microseconds after the start"""
        if self.start is None:
            return duration(at)
        day = "%a %Y-%m-%d" if self.end >= 7 * _DAY * SECOND else "%a"
        clock = "%H:%M" if self.end >= 6 * _HOUR * SECOND else "%H:%M:%S"
        return datetime.fromtimestamp(self.start + at // SECOND, UTC).strftime(f"{day} {clock}")
