"""The page of a run: what became of the pods, the nodes as a map, how full they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ksched_cli.analysis.schedule import RunSummary, ScheduleResult
from ksched_cli.engine.records import Eviction, ExtenderBinding
from ksched_cli.report.html.charts import histogram
from ksched_cli.report.html.cluster_map import cluster_figures
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.sections import (
    Grid,
    Group,
    Groups,
    Histograms,
    NodeMap,
    Page,
    Section,
    Table,
    Tile,
)
from ksched_cli.report.table import counted

# The counts of kube-scheduler's message, which differ from pod to pod as the nodes fill.
COUNT = re.compile(r"(^|[:,.] )\d+(/\d+)?(?= )")
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
    groups = waiting_groups(answer, figures.owners)
    if groups:
        sections.append(Groups("Pods without a node", groups))
    if answer.nodes:
        histograms = [histogram(name, series) for name, series in figures.shares.items()]
        sections += [
            NodeMap("Nodes", figures.map),
            Histograms("Utilisation", histograms, ("before", "after")),
        ]
    if answer.evictions:
        sections.append(_evictions(answer.evictions))
    if answer.nodes:
        sections.append(Grid("Table of nodes", "nodes", figures.nodes))
    sections.append(Grid("Table of pods", "pods", figures.pods))
    if answer.extender_bindings:
        sections.append(_bindings(answer.extender_bindings))
    return sections


def waiting_groups(answer: ScheduleResult, owners: Mapping[str, str]) -> list[Group]:
    """The pods that stay pending, by reason whatever the counts in it, those of the most pods
    first; then the gated ones."""
    undecided = frozenset(answer.undecided)
    members: dict[tuple[str, str], list[str]] = {}
    for state, pods in (("pending", answer.pending), ("gated", answer.gated)):
        for pod in pods:
            label = "cannot be decided" if pod in undecided else state
            reason = COUNT.sub(r"\1", answer.messages.get(pod, ""))
            members.setdefault((label, reason), []).append(pod)
    ordered = sorted(members.items(), key=lambda item: (item[0][0] == "gated", -len(item[1])))
    return [_group(answer, owners, state, pods) for (state, _), pods in ordered]


def _group(
    answer: ScheduleResult, owners: Mapping[str, str], state: str, pods: Sequence[str]
) -> Group:
    counts: dict[str, int] = {}
    for pod in pods:
        owner = owners.get(pod, "")
        counts[owner] = counts.get(owner, 0) + 1
    rows = sorted(counts.items(), key=lambda item: -item[1])
    heading = pods[0]
    if len(pods) > 1:
        heading = f"{counted(len(pods), 'pod')} of {rows[0][0]}"
        if len(rows) > 1:
            heading += f" and {len(rows) - 1:,} more"
    messages = {answer.messages.get(pod, "") for pod in pods}
    message = answer.messages.get(pods[0], "")
    if len(messages) > 1:
        message += f" (the first pod's; the counts of the other {len(pods) - 1:,} differ)"
    return Group(
        heading,
        message,
        state,
        "warn" if state == "gated" else "bad",
        ("Owner", "Pods") if len(rows) > 1 else (),
        rows if len(rows) > 1 else (),
        pods[:NAMED_PODS],
        len(pods),
    )


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
