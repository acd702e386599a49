"""A run of `schedule`: placements, pending pods with their messages, evictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.engine.records import Attempt, ExtenderBinding, RunRecord
from ksched_cli.report.attempts import attempt
from ksched_cli.report.table import Limit, cut_columns


def document(run: RunRecord, *, trace: bool) -> dict[str, Any]:
    """kind ScheduleResult."""
    result: dict[str, Any] = {
        "apiVersion": "ksched/v1",
        "kind": "ScheduleResult",
        "placements": dict(sorted(run.placements.items())),
        "pending": sorted(run.pending),
        "gated": sorted(run.gated),
        "evicted": [eviction.pod for eviction in run.evicted],
        "evictions": [
            {"pod": eviction.pod, "node": eviction.node, "preemptor": eviction.preemptor}
            for eviction in run.evicted
        ],
        "messages": {
            **{pod: why_not(run.last[pod]) for pod in sorted(run.pending)},
            **{pod: run.gated[pod].message for pod in sorted(run.gated)},
        },
        "summary": summary(run),
    }
    if run.extender_bindings:
        result["extenderBindings"] = [_binding(call) for call in run.extender_bindings]
    if trace:
        result["attempts"] = [attempt(record) for record in run.attempts]
    return result


def _binding(call: ExtenderBinding) -> dict[str, Any]:
    """The request as it goes over the wire; error is left out where there was none."""
    fields = {
        "extender": call.extender,
        "url": call.url,
        "sent": call.sent,
        "request": dict(call.request),
    }
    return fields | ({"error": call.error} if call.error else {})


def summary(run: RunRecord) -> dict[str, int]:
    return {
        "placed": len(run.placements),
        "pending": len(run.pending),
        "gated": len(run.gated),
        "evicted": len(run.evicted),
        "attempts": len(run.attempts),
    }


def why_not(last: Attempt) -> str:
    """kube-scheduler's message, the error that ended the cycle, or the status of Reserve, Permit or
    Bind."""
    refusal = last.reserve or last.permit or last.bind
    return last.message or last.error or (f"{refusal.plugin}: {refusal.message}" if refusal else "")


def table(run: RunRecord, limit: Limit) -> str:
    """Placements with scores, devices per claim, pods that stay pending and why, evictions, calls
    that bind, a line of counts."""
    placed = [(pod, node, _score(run.last[pod])) for pod, node in sorted(run.placements.items())]
    parts = []
    if placed:
        parts.append(cut_columns(("POD", "NODE", "SCORE"), placed, limit))
    devices_held = [
        (pod, claim, ", ".join(devices))
        for pod in sorted(run.placements)
        for claim, devices in run.last[pod].claims.items()
    ]
    if devices_held:
        parts.append(cut_columns(("POD", "CLAIM", "DEVICES"), devices_held, limit))
    unplaced = [("pending", pod, why_not(run.last[pod])) for pod in sorted(run.pending)]
    unplaced += [("gated", pod, run.gated[pod].message) for pod in sorted(run.gated)]
    if unplaced:
        parts.append(cut_columns(("STATE", "POD", "WHY"), unplaced, limit))
    if run.evicted:
        rows = [(eviction.pod, eviction.node, eviction.preemptor) for eviction in run.evicted]
        parts.append(cut_columns(("EVICTED", "NODE", "FOR"), rows, limit))
    if run.extender_bindings:
        parts.append(_bindings(run.extender_bindings, limit))
    counts = summary(run)
    parts.append(", ".join(f"{counts[key]} {key}" for key in ("placed", "pending", "gated")))
    if counts["evicted"]:
        parts[-1] += f", {counts['evicted']} evicted"
    return "\n\n".join(parts)


def _bindings(calls: Sequence[ExtenderBinding], limit: Limit) -> str:
    rows = [
        (
            f"{call.request['PodNamespace']}/{call.request['PodName']}",
            call.request["Node"],
            call.url,
            call.error or ("sent" if call.sent else "not sent"),
        )
        for call in calls
    ]
    text = cut_columns(("BOUND BY EXTENDER", "NODE", "POST", ""), rows, limit)
    if any(call.sent for call in calls):
        return text
    return f"{text}\n(--extender-bind sends them)"


def _score(last: Attempt) -> str:
    return "only one fits" if last.score is None else str(last.score)
