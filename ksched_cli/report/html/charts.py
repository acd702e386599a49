"""Charts as numbers that a template draws: bars of parts, histograms of shares, intervals, points
in the plane of two metrics, and flows of pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, floor, log10, sqrt
from typing import Any, NamedTuple

from ksched_cli.report.view import Shown
from ksched_cli.report.words import counted, grouped

# -- bars, and histograms of shares ----------------------------------------------------------------


BAR_WIDTH = 1000  # of the longest bar, in units of the drawing
BINS = 10
# What the chart of a histogram is drawn in.
BINS_WIDTH, BINS_HEIGHT = 320, 120
BINS_GAP = 4
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
    """Return a number with three significant digits; from a thousand on it is whole."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


class BarPart(NamedTuple):
    """A part of a bar: where it begins and how long it is, its colour's number, what it says."""

    x: float
    width: float
    colour: int
    title: str


class Bar(Shown, frozen=True):
    """cells: before the bar, in the order of the headers; label: what the bar says in words."""

    cells: Sequence[Any]
    parts: Sequence[BarPart]
    label: str


def bar(cells: Sequence[Any], values: Sequence[float], names: Sequence[str], longest: float) -> Bar:
    """Return a bar of parts, one for each value, as long as they are of the longest bar's sum."""
    scale = BAR_WIDTH / longest if longest > 0 else 0.0
    parts, x = [], 0.0
    for colour, (value, name) in enumerate(zip(values, names, strict=True)):
        width = round(max(value, 0) * scale, 1)
        if width:
            parts.append(BarPart(round(x, 1), width, colour % 10, f"{name}: {value:,}"))
        x += width
    label = ", ".join(f"{name} {value:,}" for value, name in zip(values, names, strict=True))
    return Bar(cells, parts, label)


class ChartColumn(NamedTuple):
    """A column of a histogram's chart."""

    x: float
    y: float
    width: float
    height: float
    series: int


class Histogram(Shown, frozen=True):
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
    columns: Sequence[ChartColumn]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]


def histogram(title: str, series: Sequence[Sequence[float]]) -> Histogram:
    """Return how many nodes are how full. series: shares of 1, a list each"""
    is_over = any(share > 1 for shares in series for share in shares)
    count = BINS + is_over
    # A node that is full belongs to the last bin up to 100%.
    counts = [[0] * count for _ in series]
    summary = []
    for bins, shares in zip(counts, series, strict=True):
        for share in shares:
            bins[BINS if share > 1 else min(int(share * BINS), BINS - 1)] += 1
        if shares:
            mean = sum(shares) / len(shares)
            deviation = sqrt(sum((share - mean) ** 2 for share in shares) / len(shares))
            summary.append(f"mean {mean:.0%} ± {deviation:.0%}, max {max(shares):.0%}")
        else:
            summary.append("no node has any")
    highest = max((most for bins in counts for most in bins), default=0)
    heights = steps((0, max(highest, 1)), 1)
    # Each bin has a column of each series, beside each other.
    step = BINS_WIDTH / count
    width = (step - BINS_GAP) / max(len(counts), 1)
    columns = [
        ChartColumn(
            round(index * step + BINS_GAP / 2 + side * width, 1),
            round(BINS_HEIGHT - BINS_HEIGHT * value / heights[-1], 1),
            round(width, 1),
            round(BINS_HEIGHT * value / heights[-1], 1),
            side,
        )
        for side, bins in enumerate(counts)
        for index, value in enumerate(bins)
        if value
    ]
    names = [f"{index * 10}-{index * 10 + 10}%" for index in range(BINS)]
    return Histogram(
        title,
        counts,
        summary,
        [*names, "over 100%"][:count],
        columns,
        [
            Tick(round(BINS_WIDTH * share / count, 1), f"{share * 10}%")
            for share in range(0, BINS + 1, 2)
        ],
        [
            Tick(round(BINS_HEIGHT - BINS_HEIGHT * height / heights[-1], 1), number(height))
            for height in heights
        ],
    )


# -- intervals, spreads of metrics, variants in the plane of two metrics ---------------------------


RANGE_WIDTH = 1000  # from the lowest to the highest value of a scale, in units of the drawing
PLANE_WIDTH, PLANE_HEIGHT = 1000, 320
LINE, LETTER = 17, 6.6  # of a label, in units of the drawing


class Range(NamedTuple):
    """A line from least to most, a box from low to high, and a mark in it."""

    least: float
    low: float
    middle: float
    high: float
    most: float


class RangeRow(Shown, frozen=True):
    """cells: before the drawing, in the order of the headers; marks: in units of the drawing, one
    per series, None where it has none; label: what the drawing says in words"""

    cells: Sequence[Any]
    marks: Sequence[Range | None]
    label: str


def ranges(rows: Sequence[tuple[Sequence[Any], Sequence[Range | None]]]) -> list[RangeRow]:
    """Return a row for each, all on one scale."""
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

    drawn = []
    for cells, row in rows:
        labels = (
            f"{number(each.middle)}, from {number(each.least)} to {number(each.most)}"
            for each in row
            if each is not None
        )
        drawn.append(RangeRow(cells, [scaled(each) for each in row], "; ".join(labels)))
    return drawn


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


class Plane(Shown, frozen=True):
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
    """Draw variants in the plane of two metrics. values: of each variant its name, the two metrics,
    and whether it is on the front. labelled: the variant that has a label although it is not"""
    x_steps = steps([value[1] for value in values])
    y_steps = steps([value[2] for value in values])

    def x_of(value: float) -> float:
        return round(_share(value, x_steps) * PLANE_WIDTH, 1)

    def y_of(value: float) -> float:
        return round((1 - _share(value, y_steps)) * PLANE_HEIGHT, 1)

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
    # Labels are beside their points, below each other where they would overlap. Variants of one
    # point share a label.
    named = grouped(((point.x, point.y), point.text) for point in points if point.text)
    taken: list[tuple[float, float, float]] = []  # left, right and height of a label
    labelled_points = []
    for point in sorted(points, key=lambda point: (point.y, point.x)):
        sharing = named.pop((point.x, point.y), []) if point.text else []
        if not sharing:
            labelled_points.append(point._replace(text=""))
            continue
        text = sharing[0] if len(sharing) == 1 else f"{sharing[0]} and {len(sharing) - 1:,} more"
        length = len(text) * LETTER
        is_left = point.x + 10 + length > PLANE_WIDTH
        left = point.x - 10 - length if is_left else point.x + 10
        height = point.y + 4
        while any(
            left < right and begin < left + length and abs(height - other) < LINE
            for begin, right, other in taken
        ):
            height += LINE
        taken.append((left, left + length, height))
        anchor = "end" if is_left else "start"
        own = point._replace(text=text, anchor=anchor, text_y=round(height, 1))
        labelled_points.append(own)
    return Plane(
        names,
        [Tick(x_of(step), number(step)) for step in x_steps],
        [Tick(y_of(step), number(step)) for step in y_steps],
        labelled_points,
        " ".join(f"{x:g},{y:g}" for x, y in front),
    )


def _share(value: float, ticks: Sequence[float]) -> float:
    least, most = ticks[0], ticks[-1]
    return (value - least) / (most - least) if most > least else 0.5


# -- flows of pods from places on one side to places on another ------------------------------------


LEFT, RIGHT, BLOCK = 290.0, 710.0, 12.0  # bands run from LEFT to RIGHT, of a drawing of 1000
FLOW_HEIGHT, FLOW_GAP, LEAST = 260.0, 20.0, 1.5  # of all blocks, between two, of a band
MAX_PLACES = 14
OTHERS = "other places"


class ChartBox(NamedTuple):
    """A place: where it begins, how high it is, what it says."""

    y: float
    height: float
    text: str


class Band(NamedTuple):
    """Pods of one pair of places. path: in SVG's syntax; colour: of the place that they leave"""

    path: str
    colour: int
    title: str


class Flow(Shown, frozen=True):
    """names: of the two sides; height: of the drawing; legend: the places that the bands leave, in
    the order of their colours"""

    names: tuple[str, str]
    left: list[ChartBox]
    right: list[ChartBox]
    bands: list[Band]
    height: float
    legend: list[str]


def flow(names: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> Flow:
    """Draw how many pods go from place to place. pairs: the places of each pod. The places of the
    fewest pods are put together."""
    counts = Counter(pairs)
    counts = _merged(counts, 0)
    counts = _merged(counts, 1)
    scale = FLOW_HEIGHT / counts.total() if counts else 0.0
    # Places have a block each, in the order of their names.
    sides: list[dict[str, ChartBox]] = []
    for side in (0, 1):
        totals: Counter[str] = Counter()
        for pair, count in counts.items():
            totals[pair[side]] += count
        own, y = {}, 0.0
        for place in sorted(totals):
            size = totals[place] * scale
            text = f"{place}  {totals[place]:,}"
            own[place] = ChartBox(round(y, 1), round(max(size, LEAST), 1), text)
            y += size + FLOW_GAP
        sides.append(own)
    offsets = [{place: block.y for place, block in blocks.items()} for blocks in sides]
    colours = {place: index % 10 for index, place in enumerate(sides[0])}
    order = [{place: index for index, place in enumerate(blocks)} for blocks in sides]
    first, middle, last = LEFT + BLOCK, (LEFT + RIGHT) / 2, RIGHT - BLOCK
    bands = []
    for (source, target), count in sorted(
        counts.items(), key=lambda item: (order[0][item[0][0]], order[1][item[0][1]])
    ):
        height = count * scale
        start, end = offsets[0][source], offsets[1][target]
        offsets[0][source] += height
        offsets[1][target] += height
        # The band runs from the left at one height to the right at another.
        shown = max(height, LEAST)
        path = (
            f"M{first:g} {start:.1f}C{middle:g} {start:.1f} {middle:g} {end:.1f} {last:g} {end:.1f}"
            f"v{shown:.1f}C{middle:g} {end + shown:.1f} {middle:g} {start + shown:.1f} "
            f"{first:g} {start + shown:.1f}Z"
        )
        title = f"{source} to {target}: {counted(count, 'pod')}"
        bands.append(Band(path, colours[source], title))
    height = max((block.y + block.height for own in sides for block in own.values()), default=0)
    left, right = (list(blocks.values()) for blocks in sides)
    return Flow(names, left, right, bands, round(height, 1), [*sides[0]])


def _merged(counts: Counter[tuple[str, str]], side: int) -> Counter[tuple[str, str]]:
    """Merge the places of the fewest pods, so that a side has at most MAX_PLACES."""
    totals: Counter[str] = Counter()
    for pair, count in counts.items():
        totals[pair[side]] += count
    if len(totals) <= MAX_PLACES:
        return counts
    largest = {place for place, _ in totals.most_common(MAX_PLACES - 1)}
    merged: Counter[tuple[str, str]] = Counter()
    for pair, count in counts.items():
        places = [*pair]
        if pair[side] not in largest:
            places[side] = OTHERS
        merged[places[0], places[1]] += count
    return merged
