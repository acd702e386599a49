"""Which expectations hold: as table text, and JUnit's cases."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.expectations import CaseResult
from ksched_cli.errors import Position
from ksched_cli.report.ci_forms import Case, Suite, annotation
from ksched_cli.report.markdown import code, markdown_table
from ksched_cli.report.table import GREEN, RED, Limit, counted, grouped, printable

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
    return "\n".join([*lines, "", _counts(cases)])


def _case(case: CaseResult, limit: Limit) -> list[str]:
    mark = limit.verdict("ok  ", GREEN) if case.passed else limit.verdict("FAIL", RED)
    lines = [f"  {mark}  {printable(case.name)}"]
    if case.message:
        lines.append(limit.paragraph(_INDENT + case.message, _INDENT))
    if case.command:
        lines.append(_INDENT + printable(case.command))  # not wrapped: to be copied
    return lines


def github_annotations(cases: Sequence[CaseResult]) -> str:
    """For GitHub: an annotation per failed case, at its expectation; empty where all hold."""
    return "\n".join(
        annotation(
            "error",
            case.file,
            Position(case.line, case.column or 1) if case.line else None,
            f"ksched test: {case.name}",
            _failure(case),
        )
        for case in cases
        if not case.passed
    )


def markdown(cases: Sequence[CaseResult]) -> str:
    """A table with a row per case, those that failed first."""
    rows = [
        (
            "passed" if case.passed else "**failed**",
            code(case.file),
            code(case.name),
            code(case.message),
            code(case.command),
        )
        for case in sorted(cases, key=lambda case: case.passed)
    ]
    headers = ("", "file", "case", "what came out", "what explains it")
    return f"**{_counts(cases)}**\n\n{markdown_table(headers, rows)}"


def _counts(cases: Sequence[CaseResult]) -> str:
    passed = sum(case.passed for case in cases)
    return f"{counted(len(cases), 'case')}: {passed} passed, {len(cases) - passed} failed"


def suites(cases: Sequence[CaseResult]) -> list[Suite]:
    """For JUnit: a suite per file."""
    by_file = grouped((case.file, Case(case.name, _failure(case) or None)) for case in cases)
    return [Suite(file, items) for file, items in by_file.items()]


def _failure(case: CaseResult) -> str:
    """What came out, and how to look into it."""
    return "\n".join(filter(None, (case.message, case.command)))
