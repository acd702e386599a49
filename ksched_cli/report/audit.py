"""An answer of `audit`: how many real decisions are ksched's, which are not, and why."""

from __future__ import annotations

from ksched_cli.analysis.audit.audit import AuditResult
from ksched_cli.analysis.audit.decisions import Grade, OrderSource
from ksched_cli.analysis.audit.replayed_cluster import Refinement
from ksched_cli.report.table import GREEN, RED, YELLOW, Limit, apart, counted, grouped

# The first ones count most: later ones may follow from them.
SHOWN_DIFFERENCES = 5

_GRADES = {
    Grade.BEST.value: "on the one best node",
    Grade.TIED.value: "on one of several equally good nodes",
    Grade.SAMPLED.value: "on the best of the nodes that kube-scheduler may have evaluated",
    Grade.BATCHED.value: "on the next node in the ranking of an identical pod before it",
    Grade.REORDERED.value: "with nearby decisions in another order",
    Grade.NOMINATED.value: "on the nominated node",
    Grade.PREEMPTS.value: "evict the same pods",
    Grade.REFUSED.value: "fit on no node, and got none",
}
_ORDERS = {
    OrderSource.LOG: "in the order of the scheduler's log",
    OrderSource.RECORDING: "in the order of the recording",
    OrderSource.EVENTS: "in the order of the scheduler's events",
    OrderSource.RESOURCE_VERSIONS: "in the order of the bindings' resource versions",
    OrderSource.QUEUE: "second by second, and within a second in the order of the scheduling queue",
}


_REFINEMENTS = {
    Refinement.NONE: "",
    Refinement.PRIORITY: ", and of those near each other by priority",
    Refinement.CREATION: ", and of those near each other by priority and creation",
    Refinement.NAME: ", and of those near each other by priority and name",
}


def names(answer: AuditResult) -> list[str]:
    """The pods that ksched would have decided otherwise about."""
    return list(dict.fromkeys(difference.pod for difference in answer.differ))


def table(answer: AuditResult, limit: Limit) -> str:
    """The verdict and what it counts; the differences; what cannot be judged, by reason."""
    return apart(
        headline(answer, limit),
        _counts(answer, limit),
        _groups(answer, limit),
        _differences(answer, limit),
        _unexplained(answer, limit),
    )


def headline(answer: AuditResult, limit: Limit) -> str:
    """The number of decisions that differ."""
    if not answer.decisions:
        text, colour = "no decisions in between", YELLOW
    elif answer.differ:
        count = len(answer.differ)
        text = f"{count:,} of {counted(answer.decisions, 'decision')} differ{'s' * (count == 1)}"
        colour = RED
    else:
        text, colour = f"{counted(answer.decisions, 'decision')}, no difference", GREEN
    if answer.unexplained:
        text += f"; {counted(len(answer.unexplained), 'pod')} cannot be judged"
    return limit.verdict(text, colour)


def _counts(answer: AuditResult, limit: Limit) -> str:
    if not answer.decisions:
        return ""
    rows = [
        (f"{count:,}", text)
        for grade, text in _GRADES.items()
        if (count := getattr(answer.summary, grade))
    ]
    order = f"followed {_ORDERS[answer.order]}{_REFINEMENTS[answer.refinement]}"
    if answer.shifted:
        order += f"; {answer.shifted:,} come a little before or after their place in it"
    agree = limit.columns(("AGREE", ""), rows) if rows else ""
    return apart(agree, limit.paragraph(order))


def _groups(answer: AuditResult, limit: Limit) -> str:
    rows = [
        (limit.listed(group.pods), f"{len(group.pods):,}", group.node, group.because)
        for group in answer.groups
    ]
    headers = ("DIFFER ALIKE", "PODS", "EXPECTED", "LIKELY BECAUSE")
    return limit.cut_columns(headers, rows) if rows else ""


def _differences(answer: AuditResult, limit: Limit) -> str:
    """Those in groups show with all alone."""
    grouped = {group.node for group in answer.groups if limit.rows is not None}
    rows = [
        (item.pod, item.node or "none", limit.listed(item.expected) or "none", item.because)
        for item in answer.differ
        if not (len(item.expected) == 1 and item.expected[0] in grouped)
    ]
    headers = ("DIFFERS", "ON", "EXPECTED", "BECAUSE")
    return limit.first(SHOWN_DIFFERENCES).cut_columns(headers, rows) if rows else ""


def _unexplained(answer: AuditResult, limit: Limit) -> str:
    pods = grouped((item.reason, item.pod) for item in answer.unexplained)
    rows = [(limit.listed(group), f"{len(group):,}", reason) for reason, group in pods.items()]
    return limit.cut_columns(("NOT JUDGED", "PODS", "BECAUSE"), rows) if rows else ""
