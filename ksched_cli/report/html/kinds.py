"""Which page shows which kind of document."""

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
from ksched_cli.answers import Answer, document_of
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
from ksched_cli.report.html.sections import Page, Prose, Section, Table
from ksched_cli.sweep.answers import SweepResult

MakePage = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Page]

KINDS: Mapping[str, MakePage] = {}
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
# By kind of document, the command that prints it.
COMMANDS = {
    "AuditResult": "audit",
    "Comparison": "compare",
    "ConfigurationDiff": "config diff",
    "ConfigurationMigration": "config migrate",
    "DriftResult": "drift",
    "EffectiveConfiguration": "config show",
    "PluginList": "plugins",
    "ReplayResult": "replay",
    "SnapshotResult": "snapshot",
    "SweepPlan": "sweep --dry-run",
    "SweepResult": "sweep",
    "TestResult": "test",
    "TuneResult": "tune",
    "ValidationResult": "validate",
    "ValidationResults": "validate",
}


def page_of(answer: Answer | Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """The kind's own page, else one of all that the document has; what changes did comes first,
    warnings last."""
    if isinstance(answer, Answer):
        page, document = _page(answer, headline), document_of(answer)
    else:
        document = dict(answer)
        make = KINDS.get(document["kind"], any_kind.page)
        if document.get("sides") and document["sides"][0].keys() & {"waiting", "differences"}:
            # A comparison over time, or of several draws.
            make = any_kind.page
        page = make(document, headline, figures)
    return replace(page, sections=(*_changes(document), *page.sections, *_warnings(document)))


def _page(answer: Answer, headline: str) -> Page:
    make = PAGES.get(type(answer))
    return make(answer) if make else any_kind.page(document_of(answer), headline, {})


def command_of(answer: Answer | Mapping[str, Any]) -> str:
    """The command that prints it."""
    if isinstance(answer, Answer):
        return answer.COMMAND
    return COMMANDS.get(answer["kind"], "")


def _changes(document: Mapping[str, Any]) -> list[Section]:
    changes = document.get("changes")
    if not changes or document["kind"] == "ConfigurationDiff":
        return []
    rows = [(change["text"], "; ".join(change["did"]) or "nothing to do") for change in changes]
    return [Table("Changes to the state", ("Change", "What it did"), rows)]


def _warnings(document: Mapping[str, Any]) -> list[Section]:
    warnings = document.get("warnings")
    return [Prose("Warnings", warnings, "warn")] if warnings else []
