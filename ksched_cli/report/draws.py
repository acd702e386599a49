"""Answers of `compare --seeds` and `replay --seeds`: figures of the sides over several draws, and
whether they differ by more than the noise."""

from __future__ import annotations

from ksched_cli.analysis.compare import (
    DifferenceInterval,
    DrawnComparison,
    DrawnSide,
    Interval,
    ReplayDraws,
)
from ksched_cli.report.compare import because_of, judgement
from ksched_cli.report.table import GREEN, YELLOW, Limit

# Figures of which less is better.
JUDGED = ("wait.mean", "pending", "evicted", "cost", "nodeHours")


def headline(answer: DrawnComparison, limit: Limit) -> str:
    """Which figures differ by more than the noise."""
    count = len(answer.seeds)
    lines = [_of_side(answer, side, count) for side in answer.sides[1:]]
    colour = YELLOW if answer.differs else GREEN
    return limit.verdict("\n".join(limit.paragraph(line) for line in lines), colour)


def _of_side(answer: DrawnComparison, side: DrawnSide, count: int) -> str:
    prefix = f"{side.name}: " if len(answer.sides) > 2 else ""
    differing = [each for each in side.differences.values() if not each.within_noise]
    if not differing:
        return f"{prefix}within the noise of {count:,} seeds: no figure differs"
    of = f"{len(differing)} of {len(side.differences)} figures differ"
    lower, higher = list[str](), list[str]()
    for name in JUDGED:
        each = side.differences.get(name)
        if each is not None and not each.within_noise:
            (lower if each.mean < 0 else higher).append(
                f"{label(name)} {'+' * (each.mean > 0)}{_number(each.mean)}"
            )
    because = because_of(side.differs_in)
    noise = f"{prefix}{of} by more than the noise of {count:,} seeds"
    if not lower and not higher:
        return f"{noise}{because}"
    return f"{prefix}{judgement(lower, higher, because)}\n{noise}"


def table(answer: DrawnComparison, limit: Limit) -> str:
    """The verdict, then a row per figure that is not 0 everywhere: mean and 95 % interval per side,
    and the difference."""
    names = dict.fromkeys(
        name
        for side in answer.sides
        for name, each in side.figures.items()
        if each.low or each.high  # 0 in every draw says nothing, unless another side has some
    )
    rows = [
        (
            label(name),
            *(interval_text(side.figures.get(name)) for side in answer.sides),
            *(difference_text(side.differences.get(name)) for side in answer.sides[1:]),
        )
        for name in names
    ]
    headers = [
        f"MEAN OF {len(answer.seeds):,} SEEDS, 95 %",
        *(side.name for side in answer.sides),
        *(f"difference of {side.name}" for side in answer.sides[1:]),
    ]
    if len(answer.sides) == 2:
        headers[-1] = "difference"
    return f"{headline(answer, limit)}\n\n{limit.columns(headers, rows)}"


def replay_table(answer: ReplayDraws, limit: Limit) -> str:
    """A row per figure that is not 0 in every draw: mean and 95 % interval."""
    rows = [
        (label(name), _number(each.mean), _range(each))
        for name, each in answer.figures.items()
        if each.low or each.high
    ]
    headers = (f"OF {len(answer.seeds):,} SEEDS", "MEAN", "95 % INTERVAL")
    return limit.columns(headers, rows)


def label(name: str) -> str:
    """With the unit of times."""
    is_time = name.startswith(("wait.", "jobCompletionTime."))
    return name.removeprefix("utilization.") + " (s)" * is_time


def _range(interval: Interval) -> str:
    return f"[{_number(interval.low)}, {_number(interval.high)}]"


def interval_text(interval: Interval | None) -> str:
    if interval is None:
        return ""
    if interval.low == interval.high:
        return _number(interval.mean)
    return f"{_number(interval.mean)} {_range(interval)}"


def difference_text(interval: DifferenceInterval | None) -> str:
    if interval is None:
        return ""
    if interval.low == interval.high == 0:
        return "none"
    sign = "+" * (interval.mean > 0)
    return "within the noise" if interval.within_noise else f"{sign}{interval_text(interval)}"


def _number(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
