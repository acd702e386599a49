"""Why nodes are rejected: a row per reason, or per node; those nearest to fitting first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ksched_cli import program_name
from ksched_cli.analysis.diagnosis import Diagnosis
from ksched_cli.analysis.explain import NodeExplanation
from ksched_cli.analysis.reasons import Reason
from ksched_cli.report.table import ALL_HINT, Limit, counted, grouped

SHOWN_REASONS = 8
# Up to so many nodes have a row each.
APART_MAX = 10


def rejected_table(
    nodes: Sequence[NodeExplanation], reasons: Sequence[Reason], limit: Limit
) -> str:
    """A row per reason; without reasons, of few nodes, and without a limit of rows, a row per node
    and plugin. "" for no node."""
    if not nodes:
        return ""
    if not reasons or limit.rows is None or len(nodes) <= APART_MAX:
        return _apart(nodes, limit)
    return reasons_table(reasons, limit)


def reasons_table(reasons: Sequence[Reason], limit: Limit) -> str:
    """A row per reason: how many nodes have it, how many for it alone, and the nearest of them."""
    return _cut([_row(reason, limit) for reason in reasons], SHOWN_REASONS, limit)


def brief_reasons_table(reasons: Sequence[Reason], most: int, limit: Limit) -> str:
    """As `reasons_table`, of each reason only the nearest node; where rows are limited the first
    `most`."""
    rows = []
    for reason in reasons:
        why, nearest = why_not(reason.plugin, (reason.reason,)), reason.nearest
        if nearest is not None:
            why += f"\n{nearest_text((nearest.node,), nearest.detail, limit)}"
        rows.append((counted(reason.nodes, "node"), why))
    return _cut(rows, most, limit)


def remedy_line(diagnosis: Diagnosis, pod: str, limit: Limit) -> str:
    """What to do about the cause, or what finds that out. pod: as `fix` takes it"""
    search = f"{program_name()} fix {pod} finds what would help, each change verified by a run"
    return limit.paragraph(f"what helps: {diagnosis.remedy}" if diagnosis.remedy else search)


def message_line(message: str, limit: Limit) -> str:
    """kube-scheduler's own words, which are in the pod's events."""
    return limit.paragraph(f"kube-scheduler says: {message}")


def _cut(rows: Sequence[tuple[str, str]], most: int, limit: Limit) -> str:
    shown = rows if limit.rows is None else rows[:most]
    text = limit.whole.columns(("NOT ON", "WHY"), shown)
    rest = len(rows) - len(shown)
    return f"{text}\n… and {counted(rest, 'more reason')} ({ALL_HINT})" if rest else text


def _row(reason: Reason, limit: Limit) -> tuple[str, str]:
    alone = "" if reason.alone == reason.nodes else f" ({reason.alone:,} for no other reason)"
    why, nearest = f"{why_not(reason.plugin, (reason.reason,))}{alone}", reason.nearest
    if nearest is not None:
        why += f"\n{nearest_text((nearest.node, *nearest.tied_nodes), nearest.detail, limit)}"
    return counted(reason.nodes, "node"), why


def why_not(plugin: str, reasons: Iterable[str]) -> str:
    """The reasons, after the plugin, if there is one."""
    text = "; ".join(reasons)
    return f"{plugin}: {text}" if plugin else text


def nearest_text(names: Sequence[str], detail: str, limit: Limit) -> str:
    """names: the nearest node, then those that are as near; detail: of the first"""
    if not detail:
        return f"nearest {limit.listed(names)}"
    ties = f" (as near: {limit.listed(names[1:])})" if len(names) > 1 else ""
    return f"nearest {names[0]}: {detail}{ties}"


def _apart(nodes: Sequence[NodeExplanation], limit: Limit) -> str:
    """Where rows are limited, nodes rejected for the same reasons with the same details share
    one."""
    groups = grouped(
        (node.node if limit.rows is None else node.rejections, node)
        for node in sorted(nodes, key=lambda node: (node.distance, node.node))
    )
    rows = []
    for group in groups.values():
        where = ", ".join(node.node for node in group)
        for rejection in group[0].rejections:
            why = why_not(rejection.plugin, (*rejection.reasons, *rejection.details))
            rows.append((where, why))
            where = ""
    return limit.cut_columns(("NOT ON", "WHY"), rows)
