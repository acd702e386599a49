"""The page of `test`: which expectations hold, and why the others do not."""

from __future__ import annotations

from ksched_cli.analysis.expectations import CaseResult, ExpectationsResult
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import Bars, Grid, Group, Groups, Page, Section, Tile
from ksched_cli.report.table import counted


def page(answer: ExpectationsResult) -> Page:
    summary = answer.summary
    tiles = [
        Tile("passed", f"{summary.passed:,}", "good" if summary.passed else ""),
        Tile("failed", f"{summary.failed:,}", "bad" if summary.failed else ""),
    ]
    failed = [_group(case) for case in answer.cases if not case.passed]
    sections: list[Section] = []
    if failed:
        sections.append(Groups("Expectations that fail", failed, opened=len(failed)))
    if len({case.file for case in answer.cases}) > 1:
        sections.append(_files(answer))
    if answer.cases:
        columns = [
            column("Expectation", [case.name for case in answer.cases]),
            column("Result", ["passed" if case.passed else "failed" for case in answer.cases]),
            column("File", [case.file for case in answer.cases]),
            column("Line", [case.line for case in answer.cases], Kind.NUMBER),
            column("Kubernetes", [case.kubernetes_version for case in answer.cases]),
        ]
        sections.append(Grid("Table of expectations", "cases", columns))
    return Page(_title(answer), (), tiles, sections)


def _title(answer: ExpectationsResult) -> str:
    count, failed = len(answer.cases), answer.summary.failed
    if not count:
        return "No file has an expectation"
    total = counted(count, "expectation")
    if failed:
        return f"{failed:,} of {total} {'fails' if failed == 1 else 'fail'}"
    return f"All of {total} hold" if count > 1 else "The expectation holds"


def _group(case: CaseResult) -> Group:
    place = f"{case.file}:{case.line}" if case.line else case.file
    command = (f"Look into it: {case.command}",) if case.command else ()
    return Group(case.name, case.message, "failed", "bad", names=command, lede=(place,))


def _files(answer: ExpectationsResult) -> Bars:
    counts: dict[str, list[int]] = {}
    for case in answer.cases:
        counts.setdefault(case.file, [0, 0])[not case.passed] += 1
    most = max(map(sum, counts.values()))
    names = ("passed", "failed")
    bars = [bar((file, *own), own, names, most) for file, own in counts.items()]
    return Bars("By file", ("File", "Passed", "Failed", ""), bars, names)
