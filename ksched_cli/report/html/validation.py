"""The page of a validation: the findings, and what kube-scheduler itself would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ksched_cli.config.answers import (
    ReviewedFile,
    ValidationResult,
    ValidationResults,
)
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import Grid, Group, Groups, Page, Prose, Section, Tile
from ksched_cli.report.table import counted

TONES = {"error": "bad", "warning": "warn", "info": ""}
_OPENED = 5  # of the findings of several files


def page(answer: ValidationResult) -> Page:
    title, *lede = answer.headline.split("\n")
    counts = Counter(finding.severity for finding in answer.findings)
    tiles = [Tile("valid", "yes" if answer.valid else "no",
                  "good" if answer.valid else "bad")]  # fmt: skip
    tiles += [
        Tile(f"{severity}s" if severity != "info" else severity, f"{counts[Severity(severity)]:,}",
             tone if counts[Severity(severity)] else "")
        for severity, tone in TONES.items()
    ]  # fmt: skip
    return Page(title, lede, tiles, _sections(answer))


def page_of_files(answer: ValidationResults) -> Page:
    """A page about several files: a row for each, then the findings of all."""
    files = answer.files
    valid = sum(file.valid for file in files)
    counts = Counter(finding.severity for file in files for finding in file.findings)
    tiles = [
        Tile("valid", f"{valid:,}", "good" if valid else ""),
        Tile("not valid", f"{len(files) - valid:,}", "bad" if valid < len(files) else ""),
    ]
    tiles += [
        Tile(f"{severity}s", f"{counts[severity]:,}", TONES[severity] * bool(counts[severity]))
        for severity in (Severity.ERROR, Severity.WARNING)
    ]
    groups = [
        group
        for file in sorted(files, key=lambda file: file.valid)
        for group in (*_refusal(file, f"{file.path}: "), *_findings(file, f"{file.path}: "))
    ]
    sections: list[Section] = [_files(files)]
    if groups:
        sections.append(Groups("Findings", groups, opened=_OPENED))
    if answer.passed_over:
        sections.append(Prose("Files without a configuration", answer.passed_over))
    title = (
        f"All of {counted(valid, 'configuration')} are valid"
        if valid == len(files)
        else f"{len(files) - valid:,} of {counted(len(files), 'configuration')} "
        f"{'is' if len(files) - valid == 1 else 'are'} not valid"
    )
    return Page(title, (), tiles, sections)


def _files(files: Sequence[ReviewedFile]) -> Grid:
    """Those that are not valid first."""
    ordered = sorted(files, key=lambda file: file.valid)
    verdicts = ["accepts" if file.kube_scheduler.accepts else "refuses" for file in ordered]

    def count(severity: Severity) -> list[int]:
        return [sum(each.severity == severity for each in file.findings) for file in ordered]

    columns = [
        column("File", [file.path for file in ordered]),
        column("Verdict", ["valid" if file.valid else "not valid" for file in ordered]),
        column("kube-scheduler", verdicts),
        column("Errors", count(Severity.ERROR), Kind.NUMBER),
        column("Warnings", count(Severity.WARNING), Kind.NUMBER),
        column("Remarks", count(Severity.INFO), Kind.NUMBER),
    ]
    return Grid("Files", "files", columns)


def _sections(answer: ValidationResult) -> list[Section]:
    groups = [*_refusal(answer, ""), *_findings(answer, "")]
    if not groups:
        return [Prose("Findings", ("No findings.",))]
    return [Groups("Findings", groups, opened=len(groups))]


def _refusal(answer: ValidationResult | ReviewedFile, begin: str) -> list[Group]:
    """What kube-scheduler itself says, where it refuses the file."""
    verdict = answer.kube_scheduler
    if verdict.accepts:
        return []
    outcome = "crashes" if verdict.stage == "panic" else f"refuses it at {verdict.stage}"
    heading = f"{begin}kube-scheduler {verdict.version} {outcome}"
    return [Group(heading, verdict.error or "", "refused", "bad")]


def _findings(answer: ValidationResult | ReviewedFile, begin: str) -> list[Group]:
    return [_group(finding, begin) for finding in answer.findings]


def _group(finding: Finding, begin: str) -> Group:
    where = f"line {finding.line}, column {finding.column}: " if finding.line else ""
    hint = f"\n{finding.hint}" if finding.hint else ""
    return Group(
        f"{begin}{where}{finding.path or 'the file'}",
        f"{finding.message}{hint}",
        finding.severity,
        TONES[finding.severity],
        names=(finding.rule,),
    )
