"""A review of a configuration (config.review): as table text and as plain data."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

from ksched_cli.config.checks.findings import Finding
from ksched_cli.config.review import Review
from ksched_cli.report.table import Limit, printable


def document(review: Review) -> dict[str, Any]:
    """kind ValidationResult."""
    verdict = review.verdict
    return {
        "apiVersion": "ksched/v1",
        "kind": "ValidationResult",
        "valid": review.valid,
        "kubeScheduler": {
            "version": review.version,
            "accepts": verdict.accepts,
            "stage": None if verdict.stage is None else str(verdict.stage),
            "error": verdict.error,
        },
        "findings": [_finding(finding) for finding in review.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "severity": str(finding.severity),
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "hint": finding.hint,
        "rule": finding.rule,
    }


def table(review: Review, source_name: str, limit: Limit) -> str:
    """A block per finding, then kube-scheduler's message where it refuses, then the verdict
    with counts."""
    parts = [_block(finding, source_name, limit) for finding in review.findings]
    verdict = review.verdict
    if not verdict.accepts:
        outcome = "crashes" if verdict.stage == "panic" else f"refuses it at {verdict.stage}"
        message = _wrapped(verdict.error or "", limit, "  ")
        parts.append(f"kube-scheduler {review.version} {outcome}:\n{message}")
    parts.append(headline(review, source_name))
    return printable("\n".join(parts))


def _block(finding: Finding, source_name: str, limit: Limit) -> str:
    position = f"{source_name}:{finding.line}:{finding.column}" if finding.line else source_name
    lines = [f"{position}: {finding.severity}: {finding.path or 'the file'} ({finding.rule})"]
    lines.append(_wrapped(finding.message, limit, "    "))
    if finding.hint:
        lines.append(_wrapped(f"→ {finding.hint}", limit, "    "))
    return "\n".join(lines)


def _wrapped(text: str, limit: Limit, indent: str) -> str:
    width = limit.width or 0
    lines = text.rstrip("\n").split("\n")
    if not width:
        return "\n".join(indent + line for line in lines)
    wrapped = (
        textwrap.fill(
            line,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        for line in lines
    )
    return "\n".join(wrapped)


def headline(review: Review, source_name: str) -> str:
    """The verdict, with counts."""
    return f"{source_name}: {_verdict(review)}"


def _verdict(review: Review) -> str:
    counts = Counter(str(finding.severity) for finding in review.findings)
    parts = [
        f"{counts[name]} {name}{'s' if counts[name] != 1 and name != 'info' else ''}"
        for name in ("error", "warning", "info")
        if counts[name]
    ]
    verdict = "valid" if review.valid else "not valid"
    return f"{verdict}: {', '.join(parts)}" if parts else f"{verdict}, nothing to remark"
