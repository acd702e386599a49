"""Findings as SARIF 2.1.0, which code scanning and editors read.

Format: the OASIS standard; the tests validate what is made here against its JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ksched_cli import __version__
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.checks.rules import Rule, rules
from ksched_cli.config.reviewer import ReviewedText

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(texts: Sequence[ReviewedText]) -> str:
    """One run with all rules and findings; those that comments and project files silence are
    suppressed."""
    results = [
        _result(text, finding, suppression)
        for text in texts
        for suppression, findings in (
            ("", text.review.findings),
            ("inSource", text.review.ignored),
            ("external", text.review.ignored_by_project),
        )
        for finding in findings
    ]
    driver = {
        "name": "ksched",
        "version": __version__,
        "rules": [_rule(rule) for rule in rules().values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2)


def _rule(rule: Rule) -> dict[str, Any]:
    example = f"\n\nAn example:\n\n```yaml\n{rule.example}```\n" if rule.example else ""
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.text},
        "help": {"text": rule.text, "markdown": f"{rule.text}{example}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(text: ReviewedText, finding: Finding, suppression: str) -> dict[str, Any]:
    message = f"{finding.path}: {finding.message}" if finding.path else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": list(rules()).index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{message}\n{finding.hint}" if finding.hint else message},
        "locations": [_location(text, finding)],
    }
    if suppression:
        result["suppressions"] = [{"kind": suppression}]
    return result


def _location(text: ReviewedText, finding: Finding) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(text.source.path)}}
    if finding.line:
        physical["region"] = {"startLine": finding.line, "startColumn": finding.column or 1}
    location: dict[str, Any] = {"physicalLocation": physical}
    name = ": ".join(filter(None, (text.source.object, finding.path)))
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    return location


def _uri(path: str) -> str:
    """A file's URI: relative where the path is."""
    if Path(path).is_absolute():
        return Path(path).as_uri()
    return quote(Path(path).as_posix())
