"""What a sweep would run, and how long that would take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ksched_cli.report.table import Limit, columns, counted, listed, paragraph
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.outcome import Failed, Outcome
from ksched_cli.sweep.plan import VERSIONS

_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """sample: the outcome of a run; None where all have rows, or each of the others has plugins
    that are not imported"""

    execution: Execution
    sample: Outcome | None
    workers: int

    @property
    def error(self) -> str | None:
        """What is wrong with the sample."""
        return self.sample.error if isinstance(self.sample, Failed) else None

    @property
    def is_ok(self) -> bool:
        return self.error is None

    @property
    def missing(self) -> int:
        return self.execution.planned - self.execution.resumed

    @property
    def estimate(self) -> float | None:
        """Seconds of all that are missing, where that is known."""
        if self.sample is None:
            return None if self.missing else 0.0
        return round(self.sample.seconds * self.missing / self.workers, 3)


def document(plan: SweepPlan) -> dict[str, Any]:
    """kind SweepPlan."""
    execution = plan.execution
    return {
        "apiVersion": "ksched/v1",
        "kind": "SweepPlan",
        "runs": execution.planned,
        "resumed": execution.resumed,
        "axes": {axis.name: [value.label for value in axis.values] for axis in execution.plan.axes},
        "variants": execution.plan.variants,
        "sampleSeconds": None if plan.sample is None else plan.sample.seconds,
        "sampleError": plan.error,
        "workers": plan.workers,
        "estimatedSeconds": plan.estimate,
    }


def table(plan: SweepPlan, limit: Limit) -> str:
    rows = []
    for axis in plan.execution.plan.axes:
        without = "the state's" if axis.key == VERSIONS else "none"
        labels = [without if value.label is None else str(value.label) for value in axis.values]
        rows.append((axis.name, f"{len(axis):,}", listed(labels, limit)))
    return f"{_headline(plan, limit)}\n\n{columns(('AXIS', '#', 'VALUES'), rows, limit)}"


def _headline(plan: SweepPlan, limit: Limit) -> str:
    execution, sample = plan.execution, plan.sample
    text = counted(execution.planned, "run")
    if execution.resumed:
        text += f", of which {execution.resumed:,} have rows"
    if plan.estimate is None:
        text += (
            "; how long they take is not known: they have plugins that --plugin does not name, and "
            "--dry-run imports no others"
        )
    if isinstance(sample, Failed):
        text += f"; the first one ends in {sample.status}: {sample.error}"
    elif sample is not None:
        text += f"; a run takes {sample.seconds:.3g} s: {duration(plan.estimate or 0)}"
        text += f" on {counted(plan.workers, 'worker')}" if plan.workers > 1 else ""
    return paragraph(text, limit)


def duration(seconds: float) -> str:
    """`2.5 hours`."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
