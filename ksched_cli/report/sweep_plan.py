"""What a sweep would run, and how long that would take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ksched_cli.report.table import Limit, columns, counted, listed, paragraph
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.outcome import OK, Outcome

_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """sample: the seconds of a run, and its outcome; None where all have rows"""

    execution: Execution
    sample: tuple[float, Outcome] | None
    workers: int

    @property
    def is_ok(self) -> bool:
        return self.sample is None or self.sample[1]["status"] == OK

    @property
    def missing(self) -> int:
        return len(self.execution.ids) - self.execution.resumed

    @property
    def estimate(self) -> float:
        """Seconds of all that are missing."""
        return 0.0 if self.sample is None else self.sample[0] * self.missing / self.workers


def document(plan: SweepPlan) -> dict[str, Any]:
    """kind SweepPlan."""
    execution = plan.execution
    axes: dict[str, Any] = {axis.name: list(axis.labels) for axis in execution.plan.axes}
    axes["kubernetesVersions"] = [minor or None for minor in execution.plan.minors]
    seconds, outcome = plan.sample or (None, {})
    return {
        "apiVersion": "ksched/v1",
        "kind": "SweepPlan",
        "runs": len(execution.ids),
        "resumed": execution.resumed,
        "axes": {**axes, "seeds": list(execution.plan.seeds)},
        "variants": list(execution.variants),
        "sampleSeconds": seconds,
        "sampleError": outcome.get("error"),
        "workers": plan.workers,
        "estimatedSeconds": round(plan.estimate, 3),
    }


def table(plan: SweepPlan, limit: Limit) -> str:
    execution = plan.execution
    rows = [
        (axis.name, f"{len(axis):,}", listed([label or "the state's" for label in axis.labels],
                                             limit))
        for axis in execution.plan.axes
    ]  # fmt: skip
    seeds = ["none" if seed is None else str(seed) for seed in execution.plan.seeds]
    rows.append(("seeds", f"{len(seeds):,}", listed(seeds, limit)))
    return f"{_headline(plan, limit)}\n\n{columns(('AXIS', '#', 'VALUES'), rows, limit)}"


def _headline(plan: SweepPlan, limit: Limit) -> str:
    execution = plan.execution
    text = counted(len(execution.ids), "run")
    if execution.resumed:
        text += f", of which {execution.resumed:,} have rows"
    if plan.sample is None:
        return paragraph(text, limit)
    seconds, outcome = plan.sample
    if outcome["status"] != OK:
        return paragraph(f"{text}; the first one ends in {outcome['status']}: "
                         f"{outcome['error']}", limit)  # fmt: skip
    text += f"; a run takes {seconds:.3g} s: {duration(plan.estimate)}"
    text += f" on {counted(plan.workers, 'worker')}" if plan.workers > 1 else ""
    return paragraph(text, limit)


def duration(seconds: float) -> str:
    """`2.5 hours`."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
