"""The figures of variants that are compared, as texts of cells."""

from __future__ import annotations

from ksched_cli.report.view import Column, Kind
from ksched_cli.sweep.answers import MetricResult, SpreadResult

# What a variant's metric differs in from the baseline's.
COMPARED = (
    Column("Median difference", Kind.NUMBER),
    Column("5-95%", Kind.NUMBER, drop=3),
    Column("Better", Kind.NUMBER),
    Column("Worse", Kind.NUMBER, drop=1),
)


def compared_cells(metric: MetricResult) -> list[str]:
    """Return the cells of COMPARED; empty ones for the baseline."""
    if metric.difference is None:
        return ["", "", "", ""]
    shares = [
        "" if count is None else f"{count / metric.pairs:.0%}"
        for count in (metric.wins, metric.losses)
    ]
    return [signed(metric.difference.median), span(metric.difference), *shares]


def number(value: float) -> str:
    """Return a figure with as many digits as tell values apart."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)


def span(spread: SpreadResult | MetricResult) -> str:
    """Return the 5th and the 95th percentile."""
    return f"{number(spread.p5)} … {number(spread.p95)}"


def interval(metric: MetricResult) -> str:
    """Return the 95 % interval of the mean."""
    return f"{number(metric.low)} … {number(metric.high)}"
