"""A run of `schedule`: placements, pending pods with their messages, evictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from ksched_cli.engine.records import Attempt, ExtenderBinding, RunRecord
from ksched_cli.report.attempts import attempt
from ksched_cli.report.table import Limit, cut_columns


def document(run: RunRecord, *, trace: bool, traced: Collection[str] = ()) -> dict[str, Any]:
    """kind ScheduleResult. traced: the pods whose attempts are in it; where empty, all are."""
    result: dict[str, Any] = {
        "apiVersion": "ksched/v1",
        "kind": "ScheduleResult",
        "placements": dict(sorted(run.placements.items())),
        "pending": sorted(run.pending),
        "gated": list(run.gated),
        "undecided": list(run.failed),
        "ignored": [{"pod": pod.pod, "reason": pod.reason} for pod in run.ignored],
        "evicted": [eviction.pod for eviction in run.evicted],
        "evictions": [
            {"pod": eviction.pod, "node": eviction.node, "preemptor": eviction.preemptor}
            for eviction in run.evicted
        ],
        "messages": {
            **{pod: run.last[pod].why_not for pod in sorted(run.pending)},
            **{pod: status.message for pod, status in run.gated.items()},
        },
        "summary": summary(run),
    }
    if run.extender_bindings:
        result["extenderBindings"] = [_binding(call) for call in run.extender_bindings]
    if trace:
        result["attempts"] = [
            attempt(record) for record in run.attempts if not traced or record.pod in traced
        ]
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
        "ignored": len(run.ignored),
        "undecided": len(run.failed),
    }


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
    failed = frozenset(run.failed)
    unplaced = [
        ("cannot be decided" if pod in failed else "pending", pod, run.last[pod].why_not)
        for pod in run.pending
    ]
    unplaced += [("gated", pod, status.message) for pod, status in run.gated.items()]
    if unplaced:
        parts.append(cut_columns(("STATE", "POD", "WHY"), unplaced, limit))
    if run.evicted:
        rows = [(eviction.pod, eviction.node, eviction.preemptor) for eviction in run.evicted]
        parts.append(cut_columns(("EVICTED", "NODE", "FOR"), rows, limit))
    if run.extender_bindings:
        parts.append(_bindings(run.extender_bindings, limit))
    parts.append(_counts(run))
    return "\n\n".join(parts)


def _counts(run: RunRecord) -> str:
    """A line, and another of the pods left out, where there are any."""
    counts = summary(run)
    line = ", ".join(f"{counts[key]} {key}" for key in ("placed", "pending", "gated"))
    if counts["evicted"]:
        line += f", {counts['evicted']} evicted"
    if counts["undecided"]:
        line += f"; of the pending {counts['undecided']} cannot be decided, as a plugin failed"
    reasons = Counter(pod.reason for pod in run.ignored)
    if reasons:
        line += "\nleft out: " + ", ".join(
            f"{count} {reason}" for reason, count in reasons.most_common()
        )
    return line


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
