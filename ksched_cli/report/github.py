"""Findings as annotations of GitHub: a workflow command per finding, shown beside its line.

The commands and their escapes are those of GitHub's toolkit (command.ts).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.reviewer import ReviewedText
from ksched_cli.errors import Position
from ksched_cli.report.table import printable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_annotations(texts: Sequence[ReviewedText]) -> str:
    """A line per finding; empty if there is none."""
    return "\n".join(
        _annotation(text.source.path, finding) for text in texts for finding in text.review.findings
    )


def _annotation(path: str, finding: Finding) -> str:
    position = Position(finding.line, finding.column or 1) if finding.line else None
    message = f"{finding.path}: {finding.message}" if finding.path else finding.message
    if finding.hint:
        message += f"\n{finding.hint}"
    title = f"ksched: {finding.rule}"
    return annotation(_COMMANDS[finding.severity], path, position, title, message)


def annotation(level: str, path: str, position: Position | None, title: str, message: str) -> str:
    """A workflow command. level: error, warning or notice"""
    properties = {"file": path}
    if position:
        properties |= {"line": str(position.line), "col": str(position.column)}
    properties["title"] = title
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    escaped = printable(text).replace("%", "%25").replace("\r", "%0D")
    return escaped.replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
