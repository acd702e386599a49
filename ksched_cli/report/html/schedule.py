"""The page of a run: what became of the pods, the nodes as a map, how full they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksched_cli.analysis.schedule import RunSummary, ScheduleResult
from ksched_cli.analysis.usage import UtilizationByLabel
from ksched_cli.engine.records import Eviction, ExtenderBinding
from ksched_cli.report.html.cluster_map import cluster_figures, utilisation
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.pending import pending_blocks
from ksched_cli.report.html.sections import (
    Grid,
    Group,
    Groups,
    NodeMap,
    Page,
    Section,
    Table,
    Tile,
)
from ksched_cli.report.table import counted
from ksched_cli.report.usage import pool_rows

NAMED_PODS = 20
TILES = (
    ("placed", "good"),
    ("pending", "bad"),
    ("gated", "warn"),
    ("evicted", "warn"),
    ("undecided", "bad"),
    ("ignored", ""),
)
ALWAYS = ("placed", "pending")


def page(answer: ScheduleResult) -> Page:
    summary, nodes = answer.summary, answer.nodes
    used = sum(node.pods > 0 for node in nodes)
    counts = ((name, getattr(summary, name), tone) for name, tone in TILES)
    tiles = [
        Tile("left out" if name == "ignored" else name, f"{count:,}", tone * bool(count))
        for name, count, tone in counts
        if count or name in ALWAYS
    ]
    tiles.append(Tile("nodes used", f"{used:,} of {len(nodes):,}"))
    return Page(_title(summary), (), tiles, _sections(answer))


def _title(summary: RunSummary) -> str:
    total = summary.placed + summary.pending
    if not total:
        return "No pod waits for a node"
    if not summary.pending:
        return f"All of {counted(total, 'pod')} got a node" if total > 1 else "The pod got a node"
    verb = "stays" if summary.pending == 1 else "stay"
    return f"{summary.pending:,} of {counted(total, 'pod')} {verb} pending"


def _sections(answer: ScheduleResult) -> list[Section]:
    sections: list[Section] = []
    assert answer.cluster_map is not None
    figures = cluster_figures(answer.cluster_map)
    groups = [*pending_blocks(answer.pending_groups), *_gated(answer, figures.owners)]
    if groups:
        sections.append(Groups("Pods without a node", groups))
    if answer.nodes:
        views = (("before", answer.cluster_map.before), ("after", answer.cluster_map.after))
        sections += [NodeMap("Nodes", figures.map), utilisation(views)]
    if answer.utilization:
        sections.append(_by_label(answer.utilization))
    if answer.evictions:
        sections.append(_evictions(answer.evictions))
    if answer.nodes:
        sections.append(Grid("Table of nodes", "nodes", figures.nodes))
    sections.append(Grid("Table of pods", "pods", figures.pods))
    if answer.extender_bindings:
        sections.append(_bindings(answer.extender_bindings))
    return sections


def _gated(answer: ScheduleResult, owners: Mapping[str, str]) -> list[Group]:
    """By owner and gate, those of the most pods first."""
    members: dict[tuple[str, str], list[str]] = {}
    for pod in answer.gated:
        members.setdefault((owners[pod], answer.messages[pod]), []).append(pod)
    ordered = sorted(members.items(), key=lambda item: -len(item[1]))
    return [
        Group(
            pods[0] if len(pods) == 1 else f"{counted(len(pods), 'pod')} of {owner}",
            message,
            "gated",
            "warn",
            names=pods[:NAMED_PODS],
            count=len(pods),
        )
        for (owner, message), pods in ordered
    ]


def _by_label(utilization: UtilizationByLabel) -> Table:
    resources = list(dict.fromkeys(key for pool in utilization.pools for key in pool.used))
    return Table(f"Utilisation by {utilization.label}", *pool_rows(utilization, resources))


def _evictions(evictions: Sequence[Eviction]) -> Grid:
    columns = [
        column("Evicted", [eviction.pod for eviction in evictions]),
        column("From", [eviction.node for eviction in evictions]),
        column("For", [eviction.preemptor for eviction in evictions]),
    ]
    return Grid("Evictions", "evictions", columns)


def _bindings(calls: Sequence[ExtenderBinding]) -> Table:
    rows = [
        (
            f"{call.request['PodNamespace']}/{call.request['PodName']}",
            call.request["Node"],
            call.url,
            call.error or ("sent" if call.sent else "not sent"),
        )
        for call in calls
    ]
    return Table("Bound by extenders", ("Pod", "Node", "POST", ""), rows)
