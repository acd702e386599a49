"""What a sweep would run, and how long that would take."""

from __future__ import annotations

from ksched_cli.report.table import Limit, columns, counted, listed, paragraph
from ksched_cli.sweep.answers import SweepPlan
from ksched_cli.sweep.plan import VERSIONS

_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


def table(answer: SweepPlan, limit: Limit) -> str:
    rows = []
    for name, labels in answer.axes.items():
        without = "the state's" if name == VERSIONS else "none"
        texts = [without if label is None else str(label) for label in labels]
        rows.append((name, f"{len(labels):,}", listed(texts, limit)))
    return f"{_headline(answer, limit)}\n\n{columns(('AXIS', '#', 'VALUES'), rows, limit)}"


def _headline(answer: SweepPlan, limit: Limit) -> str:
    text = counted(answer.runs, "run")
    if answer.resumed:
        text += f", of which {answer.resumed:,} have rows"
    if answer.estimated_seconds is None:
        text += (
            "; how long they take is not known: they have plugins that --plugin does not name, and "
            "--dry-run imports no others"
        )
    if answer.sample_error is not None:
        text += f"; the first one ends in {answer.sample_status}: {answer.sample_error}"
    elif answer.sample_seconds is not None:
        took = duration(answer.estimated_seconds or 0)
        text += f"; a run takes {answer.sample_seconds:.3g} s: {took}"
        text += f" on {counted(answer.workers, 'worker')}" if answer.workers > 1 else ""
    return paragraph(text, limit)


def duration(seconds: float) -> str:
    """`2.5 hours`."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
