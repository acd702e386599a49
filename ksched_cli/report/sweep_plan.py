"""What a sweep would run, and how long that would take."""

from __future__ import annotations

from ksched_cli.report.table import Limit, counted
from ksched_cli.sweep.answers import SweepPlan
from ksched_cli.sweep.plan import VERSIONS

_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


def table(answer: SweepPlan, limit: Limit) -> str:
    rows = [(name, f"{len(labels):,}", limit.listed(labels)) for name, labels in axis_texts(answer)]
    return f"{headline(answer, limit)}\n\n{limit.columns(('AXIS', '#', 'VALUES'), rows)}"


def axis_texts(answer: SweepPlan) -> list[tuple[str, list[str]]]:
    """Each axis with its values."""
    return [
        (name, [_without(name) if label is None else str(label) for label in labels])
        for name, labels in answer.axes.items()
    ]


def _without(axis: str) -> str:
    return "the state's" if axis == VERSIONS else "none"


def headline(answer: SweepPlan, limit: Limit) -> str:
    text = counted(answer.runs, "run")
    if answer.resumed:
        text += f", of which {answer.resumed:,} have rows"
    if answer.estimated_seconds is None:
        text += "; their duration is unknown: --dry-run imports only plugins that --plugin names"
    if answer.sample_error is not None:
        text += f"; the first one ends in {answer.sample_status}: {answer.sample_error}"
    elif answer.sample_seconds is not None:
        took = duration(answer.estimated_seconds or 0)
        text += f"; a run takes {answer.sample_seconds:.3g} s: {took}"
        text += f" on {counted(answer.workers, 'worker')}" if answer.workers > 1 else ""
    return limit.paragraph(text)


def duration(seconds: float) -> str:
    """`2.5 hours`."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
