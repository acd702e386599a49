"""Curves over time as numbers that a template draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# What a chart is drawn in.
WIDTH, HEIGHT = 640, 160


@dataclass(frozen=True, slots=True)
class Curves:
    """Several quantities over the same time.

    lines:   per quantity, points as SVG has them; y counts downwards
    summary: per quantity, mean, most and last value, in words
    top:     the value at the top of the chart, in words; span: the times at its ends
    """

    title: str
    lines: Sequence[str]
    names: Sequence[str]
    summary: Sequence[str]
    top: str
    span: tuple[str, str]


def curves(
    title: str,
    times: Sequence[float],
    series: Sequence[tuple[str, Sequence[float]]],
    span: tuple[str, str],
    *,
    are_shares: bool,
) -> Curves:
    """series: names, and a value for each of the times, which ascend. are_shares: of 1"""
    most = max((value for _, values in series for value in values), default=0.0)
    top = max(most, 1.0) if are_shares else most or 1.0
    return Curves(
        title,
        [_line(times, values, top) for _, values in series],
        [name for name, _ in series],
        [_summary(times, values, are_shares) for _, values in series],
        _text(top, are_shares),
        span,
    )


def _line(times: Sequence[float], values: Sequence[float], top: float) -> str:
    """A value holds until the next time."""
    first, last = times[0], times[-1]
    scale = WIDTH / (last - first) if last > first else 0.0
    points: list[str] = []
    previous = values[0]
    for time, value in zip(times, values, strict=True):
        x = round((time - first) * scale, 1)
        levels = dict.fromkeys((previous, value))
        points += [f"{x:g},{round(HEIGHT * (1 - level / top), 1):g}" for level in levels]
        previous = value
    return " ".join(points)


def _summary(times: Sequence[float], values: Sequence[float], are_shares: bool) -> str:
    """The mean is over time."""
    steps = [later - earlier for earlier, later in pairwise(times)]
    total = sum(steps)
    area = sum(step * value for step, value in zip(steps, values, strict=False))
    mean = area / total if total else values[-1]
    figures = (("mean", mean), ("most", max(values)), ("at the end", values[-1]))
    return ", ".join(f"{name} {_text(figure, are_shares)}" for name, figure in figures)


def _text(value: float, is_share: bool) -> str:
    if is_share:
        return f"{value:.0%}"
    return f"{value:,.1f}".removesuffix(".0")
