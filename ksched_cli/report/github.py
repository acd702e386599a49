"""Findings as annotations of GitHub: a workflow command per finding, shown beside its line.

The commands and their escapes are those of GitHub's toolkit (command.ts).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.sources import ReviewedText
from ksched_cli.report.table import printable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_annotations(texts: Sequence[ReviewedText]) -> str:
    """A line per finding; empty where there is none."""
    return "\n".join(
        _annotation(text.source.path, finding) for text in texts for finding in text.review.findings
    )


def _annotation(path: str, finding: Finding) -> str:
    properties = {"file": path}
    if finding.line:
        properties |= {"line": str(finding.line), "col": str(finding.column or 1)}
    properties["title"] = f"ksched: {finding.rule}"
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    message = f"{finding.path}: {finding.message}" if finding.path else finding.message
    if finding.hint:
        message += f"\n{finding.hint}"
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    escaped = printable(text).replace("%", "%25").replace("\r", "%0D")
    return escaped.replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
