"""Charts of a sweep as numbers that a template draws: boxes of metrics, and variants as points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ksched_cli.sweep.answers import MetricResult, SpreadResult

BOX_WIDTH = 1000  # from the least to the most value of a metric, in units of the drawing
WIDTH, HEIGHT = 640, 320
MARGIN = 12


@dataclass(frozen=True, slots=True)
class Box:
    """A metric of a variant: from `least` to `most` a line, from `low` to `high` a box, and the
    median in it; all in units of the drawing. low, high: 5 and 95 per cent

    cells: before the box, in the order of the headers; label: what the box says in words
    """

    cells: Sequence[Any]
    least: float
    low: float
    median: float
    high: float
    most: float
    label: str


def boxes(
    spreads: Iterable[tuple[Sequence[Any], SpreadResult | MetricResult]],
) -> list[Box]:
    """A box for each, all on one scale. spreads: cells, and median, p5, p95, min and max"""
    listed = list(spreads)
    least = min(spread.min for _, spread in listed)
    most = max(spread.max for _, spread in listed)
    scale = BOX_WIDTH / (most - least) if most > least else 0.0

    def box(cells: Sequence[Any], spread: SpreadResult | MetricResult) -> Box:
        keys = ("min", "p5", "median", "p95", "max")
        label = ", ".join(f"{key} {getattr(spread, key):,}" for key in keys)
        low_end, low, median, high, top = (
            round((getattr(spread, key) - least) * scale, 1) for key in keys
        )
        return Box(cells, low_end, low, median, high, top, label)

    return [box(cells, spread) for cells, spread in listed]


class Point(NamedTuple):
    """A variant in the plane of two metrics; y counts downwards."""

    x: float
    y: float
    title: str
    on_front: bool


@dataclass(frozen=True, slots=True)
class Plane:
    """names: of the two metrics; x_range, y_range: the least and the most value of each"""

    names: tuple[str, str]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    points: Sequence[Point]


def plane(names: tuple[str, str], values: Sequence[tuple[str, float, float, bool]]) -> Plane:
    """values: of each variant its name, the two metrics, and whether it is on the front"""
    x_range = (min(value[1] for value in values), max(value[1] for value in values))
    y_range = (min(value[2] for value in values), max(value[2] for value in values))
    points = [
        Point(
            round(_share(x, x_range) * WIDTH, 1),
            round((1 - _share(y, y_range)) * HEIGHT, 1),
            f"{name}: {names[0]} {x:,}, {names[1]} {y:,}",
            on_front,
        )
        for name, x, y, on_front in values
    ]
    return Plane(names, x_range, y_range, points)


def _share(value: float, bounds: tuple[float, float]) -> float:
    least, most = bounds
    return (value - least) / (most - least) if most > least else 0.5
