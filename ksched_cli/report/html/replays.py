"""The pages of replays: curves of the cluster over time, who waited how long, how runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.analysis.compare import (
    DrawnComparison,
    Interval,
    ReplayComparison,
    ReplayDifference,
    ReplayDraws,
)
from ksched_cli.analysis.replay_figures import GroupWaits, ReplayCost
from ksched_cli.analysis.replay_result import (
    ForwardLook,
    GroupResult,
    ReplayResult,
    ScalingDecision,
)
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.kube.time import SECOND
from ksched_cli.report import replay
from ksched_cli.report.html.charts import Range, number, ranges
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.curves import curves_of_run, curves_of_sides
from ksched_cli.report.html.sections import (
    Grid,
    Page,
    Prose,
    Ranges,
    Section,
    Table,
    Tile,
    TimeCharts,
    present,
)
from ksched_cli.report.replay import (
    MomentTexts,
    assumption_lines,
    cost_text,
    difference_text,
    hours_text,
    interval_text,
    label,
    start_text,
    time_text,
    totals,
)
from ksched_cli.report.table import PAGE, counted

# -- replay ----------------------------------------------------------------------------------------


_SHOWN_OWNERS = 50
_SHOWN_EVENTS = 200


def replay_page(answer: ReplayResult) -> Page:
    """The page of a replay: curves of the cluster over time, and who waited how long."""
    moment = MomentTexts(answer.clock_start, round(answer.end * SECOND))
    title, *lede = replay.headline(answer).split("\n")
    summary, waiting = answer.summary, answer.waiting
    tiles = [
        Tile("placed", f"{summary.placed:,}", "good" if summary.placed else ""),
        Tile("pending", f"{summary.pending:,}", "bad" if summary.pending else ""),
        Tile("evicted", f"{summary.evicted:,}", "warn" if summary.evicted else ""),
        Tile("waited, mean", time_text(waiting.all.mean)),
        Tile("waited, 99 of 100 at most", time_text(waiting.all.p99)),
        Tile("node-hours", hours_text(answer.nodes.hours)),
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
        (
            group.name,
            group.pods,
            group.still_waiting,
            *(time_text(getattr(group, key)) for key in keys),
        )
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
    sections = present(
        Table("Pending pods", headers, rows),
        Prose("Assumed", assumption_lines(answer.assumptions)),
    )
    return Page(replay.forecast_headline(answer), (), tiles, sections)


# -- compare --timeline ----------------------------------------------------------------------------


def comparison_page(answer: ReplayComparison) -> Page:
    """The page of `compare --timeline`: the sides over each other in time, their totals, and the
    pods that fared differently."""
    title, *lede = replay.comparison_headline(answer, PAGE).split("\n")
    count = len(answer.pods)
    names = [side.name for side in answer.sides]
    tiles = [Tile("pods that differ", f"{count:,}", "warn" if count else "good")]
    sections: list[Section] = []
    if answer.curves:
        sides = list(zip(names, answer.curves, strict=True))
        sections.append(TimeCharts("Over time", "sides", curves_of_sides(sides)))
    sections.append(Table("Totals", ("", *names), totals(answer.sides)))
    if answer.pods:
        sections.append(Grid("Pods that differ", "pods", _columns(answer)))
    return Page(title, lede, tiles, sections)


def _columns(answer: ReplayComparison) -> list[dict[str, Any]]:
    """Those whose waits differ most come first."""
    pods = sorted(answer.pods, key=lambda pod: (-abs(pod.delay(-1)), pod.pod))
    columns = [column("Pod", [pod.pod for pod in pods])]
    for index, side in enumerate(answer.sides):
        columns += [
            column(f"Node, {side.name}", [_place(pod, index) for pod in pods]),
            column("waited", [pod.waited[index] for pod in pods], Kind.DURATION),
        ]
    for index, side in enumerate(answer.sides[1:], 1):
        title = f"Waits longer, {side.name}" if len(answer.sides) > 2 else "Waits longer"
        delays = [pod.delay(index) / SECOND for pod in pods]
        columns.append(column(title, delays, Kind.DURATION))
    return columns


def _place(pod: ReplayDifference, side: int) -> str:
    """The node, or what became of it without one."""
    outcome = pod.outcomes[side]
    if outcome is None:
        return "not there"
    node = pod.nodes[side] or ""
    if outcome is PodOutcome.EVICTED:
        return f"{node} (evicted)" if node else "evicted"
    return node or outcome.value


# -- --seeds ---------------------------------------------------------------------------------------


SEEDS = "Each seed breaks ties between equally good nodes in another way."
_NOTE = f"Means over the seeds, with 95 % intervals (Student's t). {SEEDS}"


def draws_page(answer: ReplayDraws) -> Page:
    count = len(answer.seeds)
    wait, pending = answer.figures.get("wait.mean"), answer.figures["pending"]
    tiles = [Tile("seeds", f"{count:,}")]
    if wait is not None:
        tiles.append(Tile("waited, mean", time_text(wait.mean)))
    tiles.append(Tile("pending at the end", interval_text(pending), "bad" * bool(pending.mean)))
    sections: list[Section] = []
    if answer.curves is not None:
        sections.append(TimeCharts("Over time", "replay", curves_of_run(answer.curves)))
    rows = [
        (label(name), number(each.mean), number(each.low), number(each.high))
        for name, each in answer.figures.items()
        if each.low or each.high
    ]
    headers = ("Figure", "Mean", "95 % from", "to")
    sections.append(Table("Figures", headers, rows, f"Intervals are Student's t. {SEEDS}"))
    return Page(_title(answer), (f"timeline {answer.timeline}",), tiles, sections)


def _title(answer: ReplayDraws) -> str:
    """What the seeds agree about, and what they do not."""
    seeds = counted(len(answer.seeds), "seed")
    varying = [name for name, each in answer.figures.items() if each.low != each.high]
    if not varying:
        return f"The figures are the same with all of {seeds}"
    wait = answer.figures.get("wait.mean")
    if wait is None or wait.low == wait.high:
        verb = "varies" if len(varying) == 1 else "vary"
        return f"{len(varying):,} of {len(answer.figures):,} figures {verb} over {seeds}"
    return (
        f"Pods wait {time_text(wait.mean)} on average over {seeds}, "
        f"between {time_text(max(wait.low, 0))} and {time_text(wait.high)} with 95 % confidence"
    )


def drawn_comparison_page(answer: DrawnComparison) -> Page:
    title, *lede = replay.drawn_headline(answer, PAGE).split("\n")
    names = [side.name for side in answer.sides]
    sections: list[Section] = []
    if answer.curves:
        sides = list(zip(names, answer.curves, strict=True))
        sections.append(TimeCharts("Over time", "sides", curves_of_sides(sides)))
    figures = [side.figures for side in answer.sides]
    shown = [
        name
        for name in dict.fromkeys(name for own in figures for name in own)
        if len({(each.low, each.high) if (each := own.get(name)) else None for own in figures}) > 1
    ]
    if shown:
        sections.append(_intervals(shown, names, figures))
    sections += [
        Table(
            f"{side.name}: differences to {names[0]}",
            ("Figure", "Difference"),
            [(label(name), difference_text(each)) for name, each in side.differences.items()
             if not each.within_noise],
            note="All other figures are within the noise.",
        )
        for side in answer.sides[1:]
        if any(not each.within_noise for each in side.differences.values())
    ]  # fmt: skip
    return Page(title, lede, (Tile("seeds", f"{len(answer.seeds):,}"),), sections)


def _intervals(
    names: Sequence[str], sides: Sequence[str], figures: Sequence[Mapping[str, Interval]]
) -> Ranges:
    """A row per figure, with the interval of each side on one scale."""
    rows = []
    for name in names:
        own = [side.get(name) for side in figures]
        marks = [
            None if each is None else Range(each.low, each.low, each.mean, each.high, each.high)
            for each in own
        ]
        scale = [end for each in own if each is not None for end in (each.low, each.high)]
        ends = f"{number(min(scale))} to {number(max(scale))}"
        cells = (label(name), *("" if each is None else interval_text(each) for each in own), ends)
        rows.append(ranges([(cells, marks)])[0])
    headers = ("Figure", *sides, "Scale of this row", "")
    return Ranges("Figures that differ", headers, rows, sides, _NOTE)
