"""Which page shows which answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ksched_cli.analysis.audit import AuditResult
from ksched_cli.analysis.capacity import CapacityResult, NodesNeeded
from ksched_cli.analysis.compare import Comparison
from ksched_cli.analysis.drift import DriftResult
from ksched_cli.analysis.explain import Explanation
from ksched_cli.analysis.pending import PendingReport
from ksched_cli.analysis.preempt import PreemptionResult
from ksched_cli.analysis.replay_result import ReplayResult
from ksched_cli.analysis.schedule import ScheduleResult
from ksched_cli.answers import Answer, StateAnswer
from ksched_cli.config.answers import (
    EffectiveConfiguration,
    ValidationResult,
    ValidationResults,
)
from ksched_cli.report.html import (
    any_kind,
    audit,
    capacity,
    compare,
    configuration,
    drift,
    explanation,
    pending,
    preemption,
    replay,
    schedule,
    sweep,
    validation,
)
from ksched_cli.report.html.sections import Page, Prose, Table
from ksched_cli.sweep.answers import SweepResult

# Which page shows which answer; any other is shown as tables of its fields.
PAGES: Mapping[type[Answer], Callable[[Any], Page]] = {
    AuditResult: audit.page,
    CapacityResult: capacity.page,
    Comparison: compare.page,
    DriftResult: drift.page,
    EffectiveConfiguration: configuration.page,
    Explanation: explanation.page,
    NodesNeeded: capacity.page,
    PendingReport: pending.page,
    PreemptionResult: preemption.page,
    ReplayResult: replay.page,
    ScheduleResult: schedule.page,
    SweepResult: sweep.page,
    ValidationResult: validation.page,
    ValidationResults: validation.page_of_files,
}


def page_of(answer: Answer, headline: str = "") -> Page:
    """The answer's own page, else one of all its fields, which begins with the headline; what
    changes did comes first, warnings last."""
    make = PAGES.get(type(answer))
    page = make(answer) if make else any_kind.page(answer, headline)
    sections = [*page.sections]
    if isinstance(answer, StateAnswer) and answer.changes:
        rows = [(each.text, "; ".join(each.did) or "nothing to do") for each in answer.changes]
        sections.insert(0, Table("Changes to the state", ("Change", "What it did"), rows))
    if answer.warnings:
        sections.append(Prose("Warnings", answer.warnings, "warn"))
    return replace(page, sections=sections)
