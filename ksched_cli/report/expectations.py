"""Which expectations hold: as table text, and JUnit's cases."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.expectations import CaseResult
from ksched_cli.report.junit import Case, Suite
from ksched_cli.report.table import GREEN, RED, Limit, counted, paragraph, printable, verdict

_INDENT = "        "


def table(cases: Sequence[CaseResult], limit: Limit) -> str:
    """By file, a line per case, and under a failed one what came out and how to look into it."""
    lines: list[str] = []
    file = None
    for case in cases:
        if case.file != file:
            file = case.file
            lines.append(printable(file))
        lines += _case(case, limit)
    passed = sum(case.passed for case in cases)
    counts = f"{counted(len(cases), 'case')}: {passed} passed, {len(cases) - passed} failed"
    return "\n".join([*lines, "", counts])


def _case(case: CaseResult, limit: Limit) -> list[str]:
    mark = verdict("ok  ", GREEN, limit) if case.passed else verdict("FAIL", RED, limit)
    lines = [f"  {mark}  {printable(case.name)}"]
    if case.message:
        lines.append(paragraph(_INDENT + case.message, limit, _INDENT))
    if case.command:
        lines.append(_INDENT + printable(case.command))  # not wrapped: to be copied
    return lines


def suites(cases: Sequence[CaseResult]) -> list[Suite]:
    """For JUnit: a suite per file."""
    by_file: dict[str, list[Case]] = {}
    for case in cases:
        failure = "\n".join(filter(None, (case.message, case.command))) or None
        by_file.setdefault(case.file, []).append(Case(case.name, failure))
    return [Suite(file, items) for file, items in by_file.items()]
