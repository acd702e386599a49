"""The page of a validation: the findings, and what kube-scheduler itself would say."""

from __future__ import annotations

from collections import Counter

from ksched_cli.config.answers import (
    ReviewedFile,
    ReviewFinding,
    ValidationResult,
    ValidationResults,
)
from ksched_cli.config.checks.findings import Severity
from ksched_cli.report.html.sections import Group, Groups, Page, Prose, Section, Tile
from ksched_cli.report.table import counted

TONES = {"error": "bad", "warning": "warn", "info": ""}


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
    return Page(title, lede, tiles, _sections(answer, ""))


def page_of_files(answer: ValidationResults) -> Page:
    """A page about several files; the sections of each are headed by its path."""
    files = answer.files
    valid = sum(file.valid for file in files)
    sections: list[Section] = []
    for file in files:
        text = "valid" if file.valid else "not valid"
        sections.append(Prose(file.path, [text], "" if file.valid else "bad"))
        sections += _sections(file, f"{file.path}: ")
    title = f"{valid:,} of {counted(len(files), 'file')} valid"
    return Page(title, answer.headlines, (), sections)


def _sections(answer: ValidationResult | ReviewedFile, begin: str) -> list[Section]:
    sections: list[Section] = []
    verdict = answer.kube_scheduler
    if not verdict.accepts:
        outcome = "crashes" if verdict.stage == "panic" else f"refuses it at {verdict.stage}"
        text = [verdict.error or ""]
        sections.append(Prose(f"{begin}kube-scheduler {verdict.version} {outcome}", text, "bad"))
    if answer.findings:
        groups = [_group(finding) for finding in answer.findings]
        sections.append(Groups(f"{begin}Findings", groups, opened=len(groups)))
    return sections


def _group(finding: ReviewFinding) -> Group:
    where = f"line {finding.line}, column {finding.column}: " if finding.line else ""
    hint = f"\n{finding.hint}" if finding.hint else ""
    return Group(
        f"{where}{finding.path or 'the file'}",
        f"{finding.message}{hint}",
        finding.severity,
        TONES[finding.severity],
        names=(finding.rule,),
    )
