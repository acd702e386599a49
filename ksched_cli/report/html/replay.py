"""The page of a replay: curves of the cluster over time, and who waited how long."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ksched_cli.analysis.replay_cost import ReplayCost
from ksched_cli.analysis.replay_result import (
    HOUR,
    GroupResult,
    GroupWaits,
    ReplayResult,
    ScalingDecision,
)
from ksched_cli.analysis.usage_over_time import Extent
from ksched_cli.kube.time import SECOND
from ksched_cli.report.html.curves import Series, curves
from ksched_cli.report.html.sections import CurveCharts, Page, Section, Table, Tile
from ksched_cli.report.node_groups import cost_text, hours_text
from ksched_cli.report.replay import MomentTexts, duration, headline

_SHOWN_OWNERS = 50
_SHOWN_EVENTS = 200


def page(answer: ReplayResult) -> Page:
    moment = MomentTexts(answer.clock_start, round(answer.end * SECOND))
    title, *lede = headline(answer).split("\n")
    summary, waiting = answer.summary, answer.waiting
    tiles = [
        Tile("placed", f"{summary.placed:,}", "good" if summary.placed else ""),
        Tile("pending", f"{summary.pending:,}", "bad" if summary.pending else ""),
        Tile("evicted", f"{summary.evicted:,}", "warn" if summary.evicted else ""),
        Tile("waited, mean", _time(waiting.all.mean)),
        Tile("waited, 99 of 100 at most", _time(waiting.all.p99)),
        Tile("node-hours", hours_text(round(answer.nodes.hours * HOUR))),
    ]
    if answer.cost:
        tiles.append(Tile("cost", cost_text(answer.cost.total)))
    sections: list[Section] = []
    if answer.usage:
        sections.append(_charts(answer, moment))
    sections += [
        _waiting(f"Waiting times by {name}", groups)
        for name in ("priority", "namespace", "owner")
        if (groups := getattr(waiting, name))
    ]
    if answer.autoscaler and answer.autoscaler.groups:
        scaling = answer.autoscaler
        sections += [_node_groups(scaling.groups), _decisions(scaling.events, moment)]
    if answer.cost:
        sections.append(_costs(answer.cost))
    return Page(title, lede, tiles, sections)


def _time(seconds: float) -> str:
    return duration(round(seconds * SECOND))


def _charts(answer: ReplayResult, moment: MomentTexts) -> CurveCharts:
    usage, over_time = answer.usage, answer.over_time
    times = [sample.at for sample in usage]
    span = (_moment(moment, times[0]), _moment(moment, answer.end))

    def of_counts(*keys: str) -> list[Series]:
        return [
            _series(key, [getattr(each, key) for each in usage], getattr(over_time, key))
            for key in keys
        ]

    def of_shares(key: str) -> list[Series]:
        shares = [getattr(sample, key) for sample in usage]
        extents = over_time.utilization if key == "utilization" else {}
        series = (
            _series(name, [share.get(name, 0.0) for share in shares], extents.get(name))
            for name in dict.fromkeys(name for share in shares for name in share)
        )
        return [each for each in series if any(each.values)]

    groups = [
        Series(group.name, _sizes(group, times), most=group.max)
        for group in (answer.autoscaler.groups if answer.autoscaler else ())
    ]
    charts = [
        curves("Pods", times, of_counts("pods", "pending"), span, are_shares=False),
        curves("Nodes", times, [*of_counts("nodes"), *groups], span, are_shares=False),
    ]
    for name, key in (("Utilisation", "utilization"), ("Stranded", "stranded")):
        series = of_shares(key)
        if series:
            charts.append(curves(name, times, series, span, are_shares=True))
    note = "Stranded: what is free on nodes that cannot take a pod of mean requests."
    return CurveCharts("Over time", charts, note)


def _series(name: str, values: list[float], extent: Extent | None) -> Series:
    if extent is None:
        return Series(name, values)
    return Series(name, values, extent.mean, extent.max)


def _moment(moment: MomentTexts, seconds: float) -> str:
    return moment.text(round(seconds * SECOND))


def _sizes(group: GroupResult, times: Sequence[float]) -> list[float]:
    """The node group's sizes at these times; 0 before its first size."""
    starts = [step.at for step in group.sizes]
    indexes = (bisect_right(starts, time) - 1 for time in times)
    return [group.sizes[index].nodes if index >= 0 else 0 for index in indexes]


def _node_groups(groups: Sequence[GroupResult]) -> Table:
    keys = ("name", "start", "max", "end", "hours", "added", "removed")
    rows = [tuple(getattr(group, key) for key in keys) for group in groups]
    headers = ("Name", "Nodes at first", "At most", "At last", "Node-hours", "Added", "Removed")
    return Table("Node groups", headers, rows)


def _costs(cost: ReplayCost) -> Table:
    keys = ("name", "per_hour", "nodes", "hours", "cost")
    rows = [tuple(getattr(each, key) for key in keys) for each in cost.prices]
    note = f"Without {cost.unpriced:,} nodes that have no price." if cost.unpriced else ""
    return Table("Cost", ("Price of", "An hour", "Nodes", "Billed hours", "Cost"), rows, note)


def _decisions(events: Sequence[ScalingDecision], moment: MomentTexts) -> Table:
    """The first of them."""
    rows = [
        (
            *(_moment(moment, event.at), event.type, event.group),
            *(len(event.nodes), event.reason),
        )
        for event in events[:_SHOWN_EVENTS]
    ]
    rest = len(events) - len(rows)
    note = f"{rest:,} more" if rest else ""
    return Table("Scaling", ("At", "Event", "Node group", "Nodes", "Because"), rows, note)


def _waiting(heading: str, groups: Sequence[GroupWaits]) -> Table:
    """The longest mean first."""
    ordered = sorted(groups, key=lambda group: -group.mean)
    keys = ("mean", "p50", "p90", "p99", "max")
    rows = [
        (group.name, group.pods, group.still_waiting, *(_time(getattr(group, key)) for key in keys))
        for group in ordered[:_SHOWN_OWNERS]
    ]
    rest = len(ordered) - len(rows)
    note = f"{rest:,} more with shorter means" if rest else ""
    times = ("Mean", "Half at most", "9 of 10", "99 of 100", "Longest")
    headers = ("Name", "Pods", "Still wait", *times)
    return Table(heading, headers, rows, note)
