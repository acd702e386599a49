"""A result as one HTML file that needs nothing else: no server, nothing loaded from outside.

Names and messages come from others: every text is escaped, and a policy in the page lets run
nothing but the page's own script. The file is plain ASCII, so that no encoding on its way spoils
it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ksched_cli import __version__
from ksched_cli.analysis.audit.audit import AuditResult
from ksched_cli.analysis.capacity import CapacityResult, NodesNeeded
from ksched_cli.analysis.compare import Comparison
from ksched_cli.analysis.compare_replays import ReplayComparison
from ksched_cli.analysis.draws import DrawnComparison, ReplayDraws
from ksched_cli.analysis.drift import DriftResult
from ksched_cli.analysis.expectations import ExpectationsResult
from ksched_cli.analysis.explain import Explanation
from ksched_cli.analysis.explain_group import GroupExplanation
from ksched_cli.analysis.forward_look import ForwardLook
from ksched_cli.analysis.pending import PendingReport
from ksched_cli.analysis.preempt import PreemptionResult
from ksched_cli.analysis.remedies import Remedies
from ksched_cli.analysis.replay_result import ReplayResult
from ksched_cli.analysis.schedule import ScheduleResult
from ksched_cli.analysis.shrink import ShrinkResult
from ksched_cli.analysis.upgrade import UpgradePlan
from ksched_cli.answers import Answer, AppliedChange, StateAnswer
from ksched_cli.config.answers import (
    ConfigurationDiff,
    ConfigurationMigration,
    EffectiveConfiguration,
    ValidationResult,
    ValidationResults,
)
from ksched_cli.framework.plugin_list import PluginList
from ksched_cli.live.recorder import RecordResult
from ksched_cli.live.snapshot import SnapshotResult
from ksched_cli.report.html import (
    audit,
    capacity,
    compare,
    compare_replays,
    configuration,
    configuration_diff,
    draws,
    drift,
    expectations,
    explanation,
    fix,
    forward_look,
    group_explanation,
    pending,
    plugins,
    preemption,
    replay,
    schedule,
    shrink,
    snapshot,
    sweep,
    tune,
    validation,
)
from ksched_cli.report.html.columns import column, embedded
from ksched_cli.report.html.sections import Grid, Page, Prose, Section, Table
from ksched_cli.report.table import printable
from ksched_cli.sweep.answers import SweepPlan, SweepResult, TuneResult


def render_page(answer: Answer) -> str:
    """The page of an answer, as text."""
    page = page_of(answer)
    page_json = embedded(page.data())
    data = Markup(page_json)  # nosec B704  # `<` and `&` are escapes in it
    style, script = _resource("page.css"), _script()
    text = (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            answer=answer,
            data=data,
            style=style,
            script=script,
            policy=_policy(style, script),
            version=__version__,
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii").rstrip("\n")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ksched_cli.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    """Control characters are shown escaped, as in tables."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return printable(value)


def _resource(name: str) -> Markup:
    text = (files("ksched_cli.report.html") / name).read_text(encoding="ascii")
    return Markup(text)  # nosec B704  # a file of ksched's own


def _script() -> Markup:
    """Every part of the script, in one scope of its own."""
    parts = "\n".join(_resource(f"scripts/{name}.js") for name in SCRIPTS)
    return Markup(f'"use strict";\n(() => {{\n{parts}}})();\n')  # nosec B704  # files of ksched's own


def _policy(style: str, script: str) -> str:
    """Content-Security-Policy: one style, one script, no request."""
    return "; ".join((
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ))  # fmt: skip


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_EFFECTS = 8  # of a change, shown first
# Parts of the page's script, in order.
SCRIPTS = ("base", "grid", "map", "pair", "curves", "page")

# Which page shows which answer.
PAGES: Mapping[type[Answer], Callable[[Any], Page]] = {
    AuditResult: audit.page,
    CapacityResult: capacity.page,
    Comparison: compare.page,
    ConfigurationDiff: configuration_diff.page,
    ConfigurationMigration: configuration_diff.migration_page,
    DrawnComparison: draws.compare_page,
    DriftResult: drift.page,
    EffectiveConfiguration: configuration.page,
    ExpectationsResult: expectations.page,
    Explanation: explanation.page,
    ForwardLook: forward_look.page,
    GroupExplanation: group_explanation.page,
    NodesNeeded: capacity.page,
    PendingReport: pending.page,
    PluginList: plugins.page,
    PreemptionResult: preemption.page,
    RecordResult: snapshot.record_page,
    Remedies: fix.page,
    ReplayComparison: compare_replays.page,
    ReplayDraws: draws.replay_page,
    ReplayResult: replay.page,
    ScheduleResult: schedule.page,
    ShrinkResult: shrink.page,
    SnapshotResult: snapshot.page,
    SweepPlan: sweep.plan_page,
    SweepResult: sweep.page,
    TuneResult: tune.page,
    UpgradePlan: shrink.upgrade_page,
    ValidationResult: validation.page,
    ValidationResults: validation.page_of_files,
}


def page_of(answer: Answer) -> Page:
    """The answer's page; what changes did comes first, warnings last."""
    page = PAGES[type(answer)](answer)
    sections = [*page.sections]
    if isinstance(answer, StateAnswer) and answer.changes:
        sections = [_changes(answer.changes), *sections, *_every_effect(answer.changes)]
    if answer.warnings:
        sections.append(Prose("Warnings", answer.warnings, "warn"))
    return replace(page, sections=sections)


def _changes(changes: Sequence[AppliedChange]) -> Table:
    """Each change, and the first things that it did."""
    rows = []
    for change in changes:
        text = "; ".join(change.did[:_EFFECTS]) or "nothing to do"
        rest = len(change.did) - _EFFECTS
        rows.append((change.text, f"{text}; and {rest:,} more" if rest > 0 else text))
    return Table("Changes to the state", ("Change", "What it did"), rows)


def _every_effect(changes: Sequence[AppliedChange]) -> list[Section]:
    if all(len(change.did) <= _EFFECTS for change in changes):
        return []
    rows = [(change.text, line) for change in changes for line in change.did]
    columns = [column("What it did", [line for _, line in rows]),
               column("Change", [text for text, _ in rows])]  # fmt: skip
    return [Grid("Everything that the changes did", "changes", columns)]
