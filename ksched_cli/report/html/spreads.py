"""Ranges and points as numbers that a template draws: intervals, spreads of metrics, variants in
the plane of two metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ksched_cli.report.html.charts import Tick, number, steps

RANGE_WIDTH = 1000  # from the lowest to the highest value of a scale, in units of the drawing
WIDTH, HEIGHT = 1000, 320
LINE, LETTER = 17, 6.6  # of a label, in units of the drawing


class Range(NamedTuple):
    """A line from least to most, a box from low to high, and a mark in it."""

    least: float
    low: float
    middle: float
    high: float
    most: float


@dataclass(frozen=True, slots=True)
class RangeRow:
    """cells: before the drawing, in the order of the headers; marks: in units of the drawing, one
    per series, None where it has none; label: what the drawing says in words"""

    cells: Sequence[Any]
    marks: Sequence[Range | None]
    label: str


def ranges(rows: Sequence[tuple[Sequence[Any], Sequence[Range | None]]]) -> list[RangeRow]:
    """A row for each, all on one scale."""
    ends = [
        end
        for _, row in rows
        for each in row
        if each is not None
        for end in (each.least, each.most)
    ]
    least, most = (min(ends), max(ends)) if ends else (0.0, 0.0)
    scale = RANGE_WIDTH / (most - least) if most > least else 0.0

    def scaled(each: Range | None) -> Range | None:
        return each and Range(*(round((value - least) * scale, 1) for value in each))

    return [
        RangeRow(cells, [scaled(each) for each in row], "; ".join(map(_label, filter(None, row))))
        for cells, row in rows
    ]


def _label(each: Range) -> str:
    return f"{number(each.middle)}, from {number(each.least)} to {number(each.most)}"


class Point(NamedTuple):
    """A variant in the plane of two metrics; y counts downwards. text, anchor, text_y: of its
    label, "" where it has none"""

    x: float
    y: float
    title: str
    on_front: bool
    text: str = ""
    anchor: str = "start"
    text_y: float = 0.0


@dataclass(frozen=True, slots=True)
class Plane:
    """names: of the two metrics; x_ticks, y_ticks: of the axes; front: the points of the line
    through the front, in SVG's syntax"""

    names: tuple[str, str]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    points: Sequence[Point]
    front: str


def plane(
    names: tuple[str, str], values: Sequence[tuple[str, float, float, bool]], labelled: str = ""
) -> Plane:
    """values: of each variant its name, the two metrics, and whether it is on the front. labelled:
    the variant that has a label although it is not"""
    x_steps = steps([value[1] for value in values])
    y_steps = steps([value[2] for value in values])

    def x_of(value: float) -> float:
        return round(_share(value, x_steps) * WIDTH, 1)

    def y_of(value: float) -> float:
        return round((1 - _share(value, y_steps)) * HEIGHT, 1)

    points = [
        Point(
            x_of(x),
            y_of(y),
            f"{name}: {names[0]} {number(x)}, {names[1]} {number(y)}",
            on_front,
            name if on_front or name == labelled else "",
        )
        for name, x, y, on_front in values
    ]
    front = sorted({(point.x, point.y) for point in points if point.on_front})
    return Plane(
        names,
        [Tick(x_of(step), number(step)) for step in x_steps],
        [Tick(y_of(step), number(step)) for step in y_steps],
        _labelled(points),
        " ".join(f"{x:g},{y:g}" for x, y in front),
    )


def _labelled(points: Sequence[Point]) -> list[Point]:
    """Labels beside their points, below each other where they would overlap. Variants of one point
    share a label."""
    named: dict[tuple[float, float], list[str]] = {}
    for point in points:
        if point.text:
            named.setdefault((point.x, point.y), []).append(point.text)
    taken: list[tuple[float, float, float]] = []  # left, right and height of a label
    labelled = []
    for point in sorted(points, key=lambda point: (point.y, point.x)):
        names = named.pop((point.x, point.y), [])
        if not point.text or not names:
            labelled.append(point._replace(text=""))
            continue
        text = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
        length = len(text) * LETTER
        is_left = point.x + 10 + length > WIDTH
        left = point.x - 10 - length if is_left else point.x + 10
        height = point.y + 4
        while any(
            left < right and begin < left + length and abs(height - other) < LINE
            for begin, right, other in taken
        ):
            height += LINE
        taken.append((left, left + length, height))
        anchor = "end" if is_left else "start"
        labelled.append(point._replace(text=text, anchor=anchor, text_y=round(height, 1)))
    return labelled


def _share(value: float, ticks: Sequence[float]) -> float:
    least, most = ticks[0], ticks[-1]
    return (value - least) / (most - least) if most > least else 0.5
