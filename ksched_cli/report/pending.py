"""The pods that stay pending: a block for each group of them, with its reasons."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.pending import PendingGroup, PendingReport
from ksched_cli.analysis.reasons import Reason
from ksched_cli.report.table import (
    ALL_HINT,
    GREEN,
    RED,
    YELLOW,
    Limit,
    columns,
    counted,
    listed,
    paragraph,
    verdict,
)

SHOWN_GROUPS = 8
SHOWN_REASONS = 4


def document(report: PendingReport) -> dict[str, Any]:
    """kind PendingReport."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "PendingReport",
        "groups": [_group(group) for group in report.groups],
        "summary": {
            "pending": report.pending,
            "gated": report.gated,
            "ignored": report.ignored,
            "nodes": report.nodes,
        },
    }


def _group(group: PendingGroup) -> dict[str, Any]:
    return {
        "owner": group.owner,
        "namespace": group.namespace,
        "pods": list(group.pods),
        "message": group.message,
        "undecided": group.undecided,
        "reasons": [reason_fields(reason) for reason in group.reasons],
    }


def reason_fields(reason: Reason) -> dict[str, Any]:
    """A reason in JSON."""
    nearest = reason.nearest
    return {
        "plugin": reason.plugin,
        "reason": reason.reason,
        "nodes": reason.nodes,
        "nearest": nearest and {"node": nearest.node, "detail": nearest.detail},
    }


def table(report: PendingReport, limit: Limit) -> str:
    """A block per group, those of the most pods first, and a line of counts."""
    shown = report.groups if limit.rows is None else report.groups[:SHOWN_GROUPS]
    parts = [_block(group, limit) for group in shown]
    rest = report.groups[len(shown) :]
    if rest:
        pods = counted(sum(len(group.pods) for group in rest), "pod")
        parts.append(f"… and {counted(len(rest), 'more group')} of {pods} ({ALL_HINT})")
    counts = f"{report.pending:,} pending, {report.gated:,} gated, {report.ignored:,} left out"
    parts.append(verdict(counts, YELLOW if report.groups else GREEN, limit))
    return "\n\n".join(parts)


def _block(group: PendingGroup, limit: Limit) -> str:
    """The owner and its pods, then the reasons. kube-scheduler's message, which counts the same
    ones, where there are none or nothing is left out."""
    state = "cannot be decided" if group.undecided else "pending"
    pods = "a pod" if len(group.pods) == 1 else counted(len(group.pods), "pod")
    text = f"{group.owner} in {group.namespace}: {pods} {state}: {listed(group.pods, limit)}"
    heading = paragraph(text, limit, "  ")
    heading = verdict(heading, RED if group.undecided else YELLOW, limit)
    message = paragraph(group.message, limit)
    if not group.reasons:
        return f"{heading}\n{message}"
    if limit.rows is None:
        heading += f"\n{message}"
    shown = group.reasons if limit.rows is None else group.reasons[:SHOWN_REASONS]
    rows = [(f"{reason.nodes:,}", _why(reason)) for reason in shown]
    text = columns(("NODES", "WHY NOT"), rows, Limit(limit.width))
    rest = len(group.reasons) - len(shown)
    more = f"\n… and {counted(rest, 'more reason')} ({ALL_HINT})" if rest else ""
    return f"{heading}\n{text}{more}"


def _why(reason: Reason) -> str:
    """The plugin and its reason; on a line of its own the nearest node."""
    why = f"{reason.plugin}: {reason.reason}" if reason.plugin else reason.reason
    nearest = reason.nearest
    if nearest is None:
        return why
    detail = f": {nearest.detail}" if nearest.detail else ""
    return f"{why}\nnearest {nearest.node}{detail}"
