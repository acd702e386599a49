"""Curves over time as numbers that a template draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# What a chart is drawn in.
WIDTH, HEIGHT = 640, 160


@dataclass(frozen=True, slots=True)
class Curves:
    """Several quantities over the same time.

    lines:   per quantity, points as SVG has them; y counts downwards
    summary: per quantity, what is known of it exactly, in words
    top:     the value at the top of the chart, in words; span: the times at its ends
    """

    title: str
    lines: Sequence[str]
    names: Sequence[str]
    summary: Sequence[str]
    top: str
    span: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Series:
    """A quantity: a value for each of the times, and its mean over time and its maximum, which need
    not be among the values; None where nobody knows them."""

    name: str
    values: Sequence[float]
    mean: float | None = None
    most: float | None = None


def curves(
    title: str,
    times: Sequence[float],
    series: Sequence[Series],
    span: tuple[str, str],
    *,
    are_shares: bool,
) -> Curves:
    """times: ascending. are_shares: of 1"""
    most = max((value for each in series for value in each.values), default=0.0)
    top = max(most, 1.0) if are_shares else most or 1.0
    return Curves(
        title,
        [_line(times, each.values, top) for each in series],
        [each.name for each in series],
        [_summary(each, are_shares) for each in series],
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


def _summary(series: Series, are_shares: bool) -> str:
    figures = (("mean", series.mean), ("most", series.most), ("at the end", series.values[-1]))
    texts = ((name, _text(figure, are_shares)) for name, figure in figures if figure is not None)
    return ", ".join(f"{name} {text}" for name, text in texts)


def _text(value: float, is_share: bool) -> str:
    if is_share:
        return f"{value:.0%}"
    return f"{value:,.1f}".removesuffix(".0")
