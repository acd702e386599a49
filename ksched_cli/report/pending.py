"""The pods that stay pending: a block for each group of them, with its reasons."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.pending import PendingGroup, PendingReport
from ksched_cli.analysis.reasons import Reason
from ksched_cli.report.table import Limit, columns, listed, paragraph


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
    counts = f"{report.pending} pending, {report.gated} gated, {report.ignored} left out"
    return "\n\n".join((*(_block(group, limit) for group in report.groups), counts))


def _block(group: PendingGroup, limit: Limit) -> str:
    """The owner and its pods, kube-scheduler's message, the reasons."""
    pods = "a pod" if len(group.pods) == 1 else f"{len(group.pods)} pods"
    verdict = "cannot be decided" if group.undecided else "pending"
    lines = [
        paragraph(
            f"{group.owner} in {group.namespace}: {pods} {verdict}: {listed(group.pods, limit)}",
            limit,
        ),
        paragraph(group.message, limit),
    ]
    if group.reasons:
        rows = [
            (
                reason.nodes,
                reason.plugin,
                reason.reason,
                reason.nearest.node if reason.nearest else "",
                reason.nearest.detail if reason.nearest else "",
            )
            for reason in group.reasons
        ]
        headers = ("NODES", "BECAUSE OF", "REASON", "NEAREST", "THERE")
        lines.append(columns(headers, rows, limit))
    return "\n".join(line for line in lines if line)
