"""An answer of `compare --seeds`: what the sides come to over several draws, and whether they
differ by more than the noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from ksched_cli.analysis.draws import NOT_COMPARED, DrawnComparison, DrawnSide, Interval
from ksched_cli.report.compare import because_of
from ksched_cli.report.table import GREEN, YELLOW, Limit, columns, paragraph, verdict

DIGITS = 6


def document(answer: DrawnComparison) -> dict[str, Any]:
    """kind Comparison, of several draws per side: every figure is {mean, low, high}."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "Comparison",
        "seeds": list(answer.seeds),
        "sides": [_side(side) for side in answer.sides],
        "pods": [],
    }


def _side(side: DrawnSide) -> dict[str, Any]:
    return {
        "name": side.named.name,
        "run": to_builtins(side.named.run),
        "differsIn": list(side.named.differs_in),
        "summary": _nested({name: _interval(each) for name, each in _shown(side.figures)}),
        "differences": {
            name: {**_interval(each), "withinNoise": each.has_zero}
            for name, each in _shown(side.differences)
        },
    }


def _interval(interval: Interval) -> dict[str, float]:
    return {
        "mean": round(interval.mean, DIGITS),
        "low": round(interval.low, DIGITS),
        "high": round(interval.high, DIGITS),
    }


def _shown(figures: Mapping[str, Interval]) -> list[tuple[str, Interval]]:
    return [(name, each) for name, each in figures.items() if name not in NOT_COMPARED]


def _nested(figures: Mapping[str, Any]) -> dict[str, Any]:
    """`utilization.cpu.mean` as a document has it."""
    nested: dict[str, Any] = {}
    for name, value in figures.items():
        *path, key = name.split(".")
        inner = nested
        for step in path:
            inner = inner.setdefault(step, {})
        inner[key] = value
    return nested


def headline(answer: DrawnComparison, limit: Limit) -> str:
    """Which figures differ by more than the noise."""
    count = len(answer.seeds)
    lines = [_of_side(answer, side, count) for side in answer.sides[1:]]
    colour = YELLOW if answer.differs else GREEN
    return verdict("\n".join(paragraph(line, limit) for line in lines), colour, limit)


def _of_side(answer: DrawnComparison, side: DrawnSide, count: int) -> str:
    prefix = f"{side.named.name}: " if len(answer.sides) > 2 else ""
    differing = [name for name, each in _shown(side.differences) if not each.has_zero]
    if not differing:
        return f"{prefix}within the noise of {count:,} draws: no figure differs"
    of = f"{len(differing)} of {len(_shown(side.differences))} figures differ"
    return (
        f"{prefix}{of} by more than the noise of {count:,} draws{because_of(side.named.differs_in)}"
    )


def table(answer: DrawnComparison, limit: Limit) -> str:
    """The verdict, then a row per figure that is not 0 everywhere: mean and 95 % interval per side,
    and the difference."""
    names = dict.fromkeys(
        name
        for side in answer.sides
        for name, each in _shown(side.figures)
        if each.low or each.high  # 0 in every draw says nothing, unless another side has some
    )
    rows = [
        (
            name.removeprefix("utilization."),
            *(_text(side.figures.get(name)) for side in answer.sides),
            *(_difference(side.differences.get(name)) for side in answer.sides[1:]),
        )
        for name in names
    ]
    headers = [
        f"MEAN OF {len(answer.seeds):,} DRAWS, 95 %",
        *(side.named.name for side in answer.sides),
        *(f"difference of {side.named.name}" for side in answer.sides[1:]),
    ]
    if len(answer.sides) == 2:
        headers[-1] = "difference"
    return f"{headline(answer, limit)}\n\n{columns(headers, rows, limit)}"


def _text(interval: Interval | None) -> str:
    if interval is None:
        return ""
    if interval.low == interval.high:
        return _number(interval.mean)
    return f"{_number(interval.mean)} [{_number(interval.low)}, {_number(interval.high)}]"


def _difference(interval: Interval | None) -> str:
    if interval is None:
        return ""
    if interval.low == interval.high == 0:
        return "none"
    return (
        "within the noise" if interval.has_zero else f"{'+' * (interval.mean > 0)}{_text(interval)}"
    )


def _number(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
