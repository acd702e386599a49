"""Rejected nodes, grouped by reason; nodes nearest to fitting first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksched_cli.framework.status import Rejection
from ksched_cli.report.table import ALL_HINT, Limit, columns, counted, listed

SHOWN_GROUPS = 8
# So many nodes have a row each.
MAX_NODE_ROWS = 10


@dataclass(frozen=True, slots=True)
class RejectedNode:
    """A node and every plugin's rejection of it. shortfall: the missing share of the resource that
    lacks most."""

    name: str
    rejections: tuple[Rejection, ...]
    shortfall: float = 0.0

    @property
    def distance(self) -> tuple[int, float]:
        """The less, the nearer to fitting: plugins that reject it, then what is missing."""
        return len(self.rejections), self.shortfall


@dataclass(slots=True)
class ReasonGroup:
    """The nodes that a plugin rejects for one of its reasons.

    names, details: per node, nearest first; alone: how many are rejected for nothing else
    """

    plugin: str
    reason: str
    names: list[str]
    details: list[tuple[str, ...]]
    alone: int = 0


def by_reason(nodes: Sequence[RejectedNode]) -> list[ReasonGroup]:
    """The group with the node that is nearest to fitting first. A node of several reasons is in
    several groups."""
    groups: dict[tuple[str, str], ReasonGroup] = {}
    for node in sorted(nodes, key=lambda node: (node.distance, node.name)):
        alone = len(node.rejections) == 1 and len(node.rejections[0].status.reasons) == 1
        for rejection in node.rejections:
            plugin, reasons = rejection.status.plugin, rejection.status.reasons
            for i, reason in enumerate(reasons or ("",)):
                group = groups.get((plugin, reason))
                if group is None:
                    group = groups[plugin, reason] = ReasonGroup(plugin, reason, [], [])
                group.names.append(node.name)
                group.details.append(_details_of(rejection, i))
                group.alone += alone
    return list(groups.values())


def _details_of(rejection: Rejection, i: int) -> tuple[str, ...]:
    """Those of a reason, where there is one for each; else all."""
    if len(rejection.details) == len(rejection.status.reasons):
        return rejection.details[i : i + 1]
    return rejection.details


def rejected_table(nodes: Sequence[RejectedNode], limit: Limit) -> str:
    """A row per reason; of few nodes, and without a limit of rows, a row per node and plugin. ""
    for no node."""
    if not nodes:
        return ""
    if limit.rows is None or len(nodes) <= MAX_NODE_ROWS:
        return _apart(nodes, limit)
    groups = by_reason(nodes)
    shown = groups[:SHOWN_GROUPS]
    rows = [(counted(len(group.names), "node"), _why(group, limit)) for group in shown]
    text = columns(("NOT ON", "WHY"), rows, Limit(limit.width))
    rest = len(groups) - len(shown)
    return f"{text}\n… and {counted(rest, 'more reason')} ({ALL_HINT})" if rest else text


def _why(group: ReasonGroup, limit: Limit) -> str:
    alone = "" if group.alone == len(group.names) else f" ({group.alone:,} for this alone)"
    plugin = f"{group.plugin}: " if group.plugin else ""
    return f"{plugin}{group.reason}{alone}\n{nearest(group.names, group.details, limit)}"


def nearest(names: Sequence[str], details: Sequence[Sequence[str]], limit: Limit) -> str:
    """The details of the nearest nodes, and which these are; of all where they differ nowhere.

    names, details: per node, nearest first
    """
    text = "; ".join(details[0])
    same = [name for name, lines in zip(names, details, strict=True) if lines == details[0]]
    if len(same) < len(names):
        return f"nearest {listed(same, limit)}: {text}"
    return f"{listed(names, limit)}: {text}" if text else listed(names, limit)


def _apart(nodes: Sequence[RejectedNode], limit: Limit) -> str:
    """Nodes nearest to fitting first. Where rows are limited, those rejected for the same reasons
    with the same details share one."""
    groups: dict[object, list[RejectedNode]] = {}
    for node in sorted(nodes, key=lambda node: (node.distance, node.name)):
        key = node.name if limit.rows is None else node.rejections
        groups.setdefault(key, []).append(node)
    rows = []
    for group in groups.values():
        where = ", ".join(node.name for node in group)
        for rejection in group[0].rejections:
            why = "; ".join((*rejection.status.reasons, *rejection.details))
            rows.append((where, rejection.status.plugin, why))
            where = ""
    return columns(("NOT ON", "BECAUSE OF", "WHY"), rows, Limit(limit.width))
