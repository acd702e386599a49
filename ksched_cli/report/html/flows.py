"""Flows of pods from places on one side to places on another, as shapes that a template draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ksched_cli.report.table import counted

WIDTH = 1000  # of the drawing; bands run from LEFT to RIGHT
LEFT, RIGHT, BLOCK = 290.0, 710.0, 12.0
HEIGHT, GAP, LEAST = 260.0, 20.0, 1.5  # of all blocks, between two, of a band
MAX_PLACES = 14
OTHERS = "other places"


class Block(NamedTuple):
    """A place: where it begins, how high it is, what it says."""

    y: float
    height: float
    text: str


class Band(NamedTuple):
    """Pods of one pair of places. path: in SVG's syntax; colour: of the place that they leave"""

    path: str
    colour: int
    title: str


@dataclass(frozen=True, slots=True)
class Flow:
    """names: of the two sides; height: of the drawing"""

    names: tuple[str, str]
    left: list[Block]
    right: list[Block]
    bands: list[Band]
    height: float


def flow(names: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> Flow:
    """pairs: the places of each pod. The places of the fewest pods are put together."""
    counts = Counter(pairs)
    counts = _merged(counts, 0)
    counts = _merged(counts, 1)
    scale = HEIGHT / counts.total() if counts else 0.0
    sides = [_blocks(counts, side, scale) for side in (0, 1)]
    offsets = [{place: block.y for place, block in blocks.items()} for blocks in sides]
    colours = {place: index % 10 for index, place in enumerate(sides[0])}
    order = [{place: index for index, place in enumerate(blocks)} for blocks in sides]
    bands = []
    for (source, target), count in sorted(
        counts.items(), key=lambda item: (order[0][item[0][0]], order[1][item[0][1]])
    ):
        height = count * scale
        start, end = offsets[0][source], offsets[1][target]
        offsets[0][source] += height
        offsets[1][target] += height
        title = f"{source} to {target}: {counted(count, 'pod')}"
        bands.append(Band(_path(start, end, max(height, LEAST)), colours[source], title))
    height = max((block.y + block.height for side in sides for block in side.values()), default=0)
    left, right = (list(blocks.values()) for blocks in sides)
    return Flow(names, left, right, bands, round(height, 1))


def _merged(counts: Counter[tuple[str, str]], side: int) -> Counter[tuple[str, str]]:
    """At most MAX_PLACES on a side."""
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


def _blocks(counts: Counter[tuple[str, str]], side: int, scale: float) -> dict[str, Block]:
    """By place, in the order of the names."""
    totals: Counter[str] = Counter()
    for pair, count in counts.items():
        totals[pair[side]] += count
    blocks: dict[str, Block] = {}
    y = 0.0
    for place in sorted(totals):
        height = totals[place] * scale
        blocks[place] = Block(
            round(y, 1), round(max(height, LEAST), 1), f"{place}  {totals[place]:,}"
        )
        y += height + GAP
    return blocks


def _path(start: float, end: float, height: float) -> str:
    """A band from the left at one height to the right at another."""
    middle = (LEFT + RIGHT) / 2
    first, last = LEFT + BLOCK, RIGHT - BLOCK
    return (
        f"M{first:g} {start:.1f}C{middle:g} {start:.1f} {middle:g} {end:.1f} {last:g} {end:.1f}"
        f"v{height:.1f}C{middle:g} {end + height:.1f} {middle:g} {start + height:.1f} "
        f"{first:g} {start + height:.1f}Z"
    )
