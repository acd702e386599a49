"""Charts as numbers that a template draws: bars of parts, and histograms of shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from typing import Any, NamedTuple

BAR_WIDTH = 1000  # of the longest bar, in units of the drawing
BINS = 10
# What the chart of a histogram is drawn in.
WIDTH, HEIGHT = 320, 120
GAP = 4
TICKS = 5


class Tick(NamedTuple):
    at: float
    text: str


def steps(values: Sequence[float], smallest: float = 0.0) -> list[float]:
    """Round numbers from below the lowest to above the highest, equally far apart, at least
    `smallest`."""
    least, most = min(values), max(values)
    if least == most:
        return [least]
    rough = max((most - least) / TICKS, smallest)
    power = 10.0 ** floor(log10(rough))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough * 0.999)
    first, last = floor(least / step), ceil(most / step)
    return [round(index * step, 9) for index in range(first, last + 1)]


def number(value: float) -> str:
    """With three significant digits, whole from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


class Part(NamedTuple):
    """A part of a bar: where it begins and how long it is, its colour's number, what it says."""

    x: float
    width: float
    colour: int
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    """cells: before the bar, in the order of the headers; label: what the bar says in words."""

    cells: Sequence[Any]
    parts: Sequence[Part]
    label: str


def bar(cells: Sequence[Any], values: Sequence[float], names: Sequence[str], longest: float) -> Bar:
    """A bar of parts, one for each value, as long as they are of the longest bar's sum."""
    scale = BAR_WIDTH / longest if longest > 0 else 0.0
    parts, x = [], 0.0
    for colour, (value, name) in enumerate(zip(values, names, strict=True)):
        width = round(max(value, 0) * scale, 1)
        if width:
            parts.append(Part(round(x, 1), width, colour % 10, f"{name}: {value:,}"))
        x += width
    label = ", ".join(f"{name} {value:,}" for value, name in zip(values, names, strict=True))
    return Bar(cells, parts, label)


class Column(NamedTuple):
    """A column of a histogram's chart."""

    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many nodes are how full of a resource, for each of some series.

    counts:  per series, per bin of ten per cent; the last bin has all that are fuller
    summary: per series, mean, standard deviation and maximum, in words
    bins:    their names
    x_ticks, y_ticks: of the axes, in shares and in nodes
    """

    title: str
    counts: Sequence[Sequence[int]]
    summary: Sequence[str]
    bins: Sequence[str]
    columns: Sequence[Column]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]


def histogram(title: str, series: Sequence[Sequence[float]]) -> Histogram:
    """series: shares of 1, a list each"""
    is_over = any(share > 1 for shares in series for share in shares)
    count = BINS + is_over
    counts = [_counts(shares, count) for shares in series]
    highest = max((most for bins in counts for most in bins), default=0)
    heights = steps((0, max(highest, 1)), 1)
    bins = [f"{index * 10}-{index * 10 + 10}%" for index in range(BINS)]
    return Histogram(
        title,
        counts,
        [_summary(shares) for shares in series],
        [*bins, "over 100%"][:count],
        _columns(counts, heights[-1]),
        [
            Tick(round(WIDTH * share / count, 1), f"{share * 10}%")
            for share in range(0, BINS + 1, 2)
        ],
        [
            Tick(round(HEIGHT - HEIGHT * height / heights[-1], 1), number(height))
            for height in heights
        ],
    )


def _counts(shares: Sequence[float], count: int) -> list[int]:
    """A node that is full belongs to the last bin up to 100%."""
    counts = [0] * count
    for share in shares:
        counts[BINS if share > 1 else min(int(share * BINS), BINS - 1)] += 1
    return counts


def _summary(shares: Sequence[float]) -> str:
    if not shares:
        return "no node has any"
    mean = sum(shares) / len(shares)
    deviation = sqrt(sum((share - mean) ** 2 for share in shares) / len(shares))
    return f"mean {mean:.0%} ± {deviation:.0%}, max {max(shares):.0%}"


def _columns(counts: Sequence[Sequence[int]], top: float) -> list[Column]:
    """The columns of a bin stand beside each other, a series each. top: of the chart"""
    if not counts:
        return []
    step = WIDTH / len(counts[0])
    width = (step - GAP) / len(counts)
    return [
        Column(
            round(index * step + GAP / 2 + series * width, 1),
            round(HEIGHT - HEIGHT * value / top, 1),
            round(width, 1),
            round(HEIGHT * value / top, 1),
            series,
        )
        for series, bins in enumerate(counts)
        for index, value in enumerate(bins)
        if value
    ]
