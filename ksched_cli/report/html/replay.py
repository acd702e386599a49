"""The page of a replay: curves of the cluster over time, and who waited how long."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.replay_figures import ReplayCost
from ksched_cli.analysis.replay_result import (
    HOUR,
    ForwardLook,
    GroupResult,
    GroupWaits,
    ReplayResult,
    ScalingDecision,
)
from ksched_cli.kube.time import SECOND
from ksched_cli.report.forward_look import assumption_lines, start_text, time_text
from ksched_cli.report.forward_look import headline as forward_look_headline
from ksched_cli.report.html.curves import curves_of_run
from ksched_cli.report.html.sections import Page, Prose, Section, Table, Tile, TimeCharts
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
    if answer.curves is not None:
        sections.append(TimeCharts("Over time", "replay", curves_of_run(answer.curves)))
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
            *(moment.text(round(event.at * SECOND)), event.type, event.group),
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


def forward_look_page(answer: ForwardLook) -> Page:
    sure = sum(pod.p90 is not None for pod in answer.pods)
    never = sum(not pod.started and not pod.gated for pod in answer.pods)
    tiles = [
        Tile("start in nine of ten draws", f"{sure:,}", "good" if sure else ""),
        Tile("never start", f"{never:,}", "bad" if never else ""),
        Tile("draws", f"{answer.draws:,}"),
    ]
    rows = [
        (
            pod.pod,
            pod.owner,
            pod.priority,
            time_text(pod.p50),
            time_text(pod.p90),
            start_text(pod),
            pod.message,
        )
        for pod in answer.pods
    ]
    headers = ("Pod", "Owner", "Priority", "Starts in, p50", "p90", "In draws", "Message")
    sections: list[Section] = [Table("Pending pods", headers, rows)] if rows else []
    if lines := assumption_lines(answer.assumptions):
        sections.append(Prose("Assumed", lines))
    return Page(forward_look_headline(answer), (), tiles, sections)
