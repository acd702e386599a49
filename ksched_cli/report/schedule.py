"""A run of `schedule`: who went where, who did not and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.engine.records import Attempt, ExtenderBinding, RunRecord
from ksched_cli.report.attempts import attempt
from ksched_cli.report.table import Limit, columns, cut


def document(run: RunRecord, *, trace: bool) -> dict[str, Any]:
    """kind ScheduleResult."""
    found: dict[str, Any] = {
        "apiVersion": "ksched/v1",
        "kind": "ScheduleResult",
        "placements": dict(sorted(run.placements.items())),
        "pending": sorted(run.pending),
        "gated": sorted(run.gated),
        "evicted": [eviction.pod for eviction in run.evicted],
        "evictions": [
            {"pod": one.pod, "node": one.node, "preemptor": one.preemptor} for one in run.evicted
        ],
        "messages": {
            **{pod: why_not(run.last[pod]) for pod in sorted(run.pending)},
            **{pod: run.gated[pod].message for pod in sorted(run.gated)},
        },
        "summary": summary(run),
    }
    if run.extender_bindings:
        found["extenderBindings"] = [_binding(one) for one in run.extender_bindings]
    if trace:
        found["attempts"] = [attempt(one) for one in run.attempts]
    return found


def _binding(one: ExtenderBinding) -> dict[str, Any]:
    """The request as it goes over the wire; error is left out where there was none."""
    found = {
        "extender": one.extender,
        "url": one.url,
        "sent": one.sent,
        "request": dict(one.request),
    }
    return found | ({"error": one.error} if one.error else {})


def summary(run: RunRecord) -> dict[str, int]:
    return {
        "placed": len(run.placements),
        "pending": len(run.pending),
        "gated": len(run.gated),
        "evicted": len(run.evicted),
        "attempts": len(run.attempts),
    }


def why_not(last: Attempt) -> str:
    """kube-scheduler's message, what broke the cycle, or who refused the node after the choice."""
    refusal = last.reserve or last.permit or last.bind
    return last.message or last.error or (f"{refusal.plugin}: {refusal.message}" if refusal else "")


def table(run: RunRecord, limit: Limit) -> str:
    """Pod, node, score; the devices handed out; who stays pending and why; evictions, a
    summary."""
    placed = [(pod, node, _score(run.last[pod])) for pod, node in sorted(run.placements.items())]
    parts = []
    if placed:
        parts.append(cut(columns(("POD", "NODE", "SCORE"), placed, limit), len(placed), limit))
    held = [
        (pod, claim, ", ".join(devices))
        for pod in sorted(run.placements)
        for claim, devices in run.last[pod].claims.items()
    ]
    if held:
        parts.append(cut(columns(("POD", "CLAIM", "DEVICES"), held, limit), len(held), limit))
    stuck = [("pending", pod, why_not(run.last[pod])) for pod in sorted(run.pending)]
    stuck += [("gated", pod, run.gated[pod].message) for pod in sorted(run.gated)]
    if stuck:
        parts.append(cut(columns(("STATE", "POD", "WHY"), stuck, limit), len(stuck), limit))
    if run.evicted:
        rows = [(one.pod, one.node, one.preemptor) for one in run.evicted]
        parts.append(cut(columns(("EVICTED", "NODE", "FOR"), rows, limit), len(rows), limit))
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
            f"{one.request['PodNamespace']}/{one.request['PodName']}",
            one.request["Node"],
            one.url,
            one.error or ("sent" if one.sent else "not sent"),
        )
        for one in calls
    ]
    text = cut(columns(("BOUND BY EXTENDER", "NODE", "POST", ""), rows, limit), len(rows), limit)
    if any(one.sent for one in calls):
        return text
    return f"{text}\n(--extender-bind sends them)"


def _score(last: Attempt) -> str:
    return "only one fits" if last.score is None else str(last.score)
