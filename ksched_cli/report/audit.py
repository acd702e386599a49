"""An answer of `audit`: how many real decisions are ksched's, which are not, and why."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.audit import REFUSED, Audit, Difference
from ksched_cli.analysis.decision_order import OrderSource, Refinement
from ksched_cli.analysis.decision_verdict import Grade
from ksched_cli.report.table import (
    GREEN,
    RED,
    YELLOW,
    Limit,
    columns,
    counted,
    cut_columns,
    listed,
    paragraph,
    verdict,
)

# The first ones count most: later ones may follow from them.
SHOWN_DIFFERENCES = 5

_GRADES = {
    Grade.BEST.value: "on the one best node",
    Grade.TIED.value: "on one of several equally good nodes",
    Grade.SAMPLED.value: "on the best of the nodes that may have been looked at",
    Grade.NOMINATED.value: "on the nominated node",
    Grade.PREEMPTS.value: "make room by the same evictions",
    REFUSED: "fit on no node, and have none",
}
_ORDERS = {
    OrderSource.LOG: "in the order of the scheduler's log",
    OrderSource.EVENTS: "in the order of the scheduler's events",
    OrderSource.RESOURCE_VERSIONS: "in the order of the bindings' resource versions",
    OrderSource.QUEUE: "second by second, within each in the order of the queue",
}


_REFINEMENTS = {
    Refinement.NONE: "",
    Refinement.PRIORITY: ", and of those near each other by priority",
    Refinement.CREATION: ", and of those near each other by priority and creation",
    Refinement.NAME: ", and of those near each other by priority and name",
}


def document(answer: Audit) -> dict[str, Any]:
    """kind AuditResult."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "AuditResult",
        "decisions": answer.decisions,
        "agree": answer.agree,
        "summary": {grade: answer.grades.get(grade, 0) for grade in _GRADES},
        "order": answer.order.value,
        "refinement": answer.refinement.value,
        "shifted": answer.shifted,
        "differ": [_difference(difference) for difference in answer.differences],
        "unexplained": [{"pod": item.pod, "reason": item.reason} for item in answer.unexplained],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "pod": difference.pod,
        "node": difference.node or None,
        "expected": list(difference.expected),
        "because": difference.because,
        "scores": {node: dict(scores) for node, scores in difference.scores.items()},
    }


def names(answer: Audit) -> list[str]:
    """The pods that ksched would have decided otherwise about."""
    return list(dict.fromkeys(difference.pod for difference in answer.differences))


def table(answer: Audit, limit: Limit) -> str:
    """The verdict and what it counts; the differences; what cannot be judged, by reason."""
    parts = [
        headline(answer, limit),
        _counts(answer, limit),
        _differences(answer, limit),
        _unexplained(answer, limit),
    ]
    return "\n\n".join(part for part in parts if part)


def headline(answer: Audit, limit: Limit) -> str:
    """How many decisions differ."""
    if not answer.decisions:
        text, colour = "no decisions between the two states", YELLOW
    elif answer.differences:
        count = len(answer.differences)
        text = f"{count:,} of {counted(answer.decisions, 'decision')} differ{'s' * (count == 1)}"
        colour = RED
    else:
        text, colour = f"{counted(answer.decisions, 'decision')}, no difference", GREEN
    if answer.unexplained:
        text += f"; {counted(len(answer.unexplained), 'pod')} cannot be judged"
    return verdict(paragraph(text, limit), colour, limit)


def _counts(answer: Audit, limit: Limit) -> str:
    if not answer.decisions:
        return ""
    rows = [
        (f"{answer.grades[grade]:,}", text)
        for grade, text in _GRADES.items()
        if answer.grades.get(grade)
    ]
    order = f"followed {_ORDERS[answer.order]}{_REFINEMENTS[answer.refinement]}"
    if answer.shifted:
        order += f"; {answer.shifted:,} come a little before or after their place in it"
    agree = columns(("AGREE", ""), rows, limit) if rows else ""
    return "\n\n".join(part for part in (agree, paragraph(order, limit)) if part)


def _differences(answer: Audit, limit: Limit) -> str:
    rows = [
        (item.pod, item.node or "none", listed(item.expected, limit) or "none", item.because)
        for item in answer.differences
    ]
    headers = ("DIFFERS", "ON", "EXPECTED", "BECAUSE")
    return cut_columns(headers, rows, limit.first(SHOWN_DIFFERENCES)) if rows else ""


def _unexplained(answer: Audit, limit: Limit) -> str:
    pods: dict[str, list[str]] = {}
    for item in answer.unexplained:
        pods.setdefault(item.reason, []).append(item.pod)
    rows = [(listed(group, limit), f"{len(group):,}", reason) for reason, group in pods.items()]
    return cut_columns(("NOT JUDGED", "PODS", "BECAUSE"), rows, limit) if rows else ""
