"""Answers about several replays: sides compared over time, and draws of one replay or of sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ksched_cli.analysis.compare import (
    DifferenceInterval,
    DrawnComparison,
    Interval,
    ReplayComparison,
    ReplayDifference,
    ReplayDraws,
    ReplaySideResult,
)
from ksched_cli.analysis.replay_figures import Durations, JobFigures
from ksched_cli.analysis.replay_result import GroupResult, NodeRange, ReplayCurves
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.kube.time import SECOND
from ksched_cli.report.compare import because_of, judgement
from ksched_cli.report.metrics import metric_rows
from ksched_cli.report.regret import regret_rows
from ksched_cli.report.replay import cost_text, hours_text, range_text, ratio_text
from ksched_cli.report.times import duration, time_text
from ksched_cli.report.view import (
    Column,
    Kind,
    Later,
    Medium,
    Rows,
    Section,
    Table,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, verb

if TYPE_CHECKING:
    from ksched_cli.report.html.sections import Ranges

# -- compare --timeline ----------------------------------------------------------------------------

_COUNTS = ("placed", "ended", "evicted", "pending", "gated", "attempts")
_JOB_TIMES: tuple[tuple[str, Callable[[JobFigures], Durations]], ...] = (
    ("job completion time", lambda jobs: jobs.completion_time),
    ("jobs waited", lambda jobs: jobs.waiting),
)
_TIME_FIGURES = (
    "wait.", "jobCompletionTime.", "jobs.completionTime.", "jobs.waiting.", "jobs.makespan",
)  # fmt: skip
_TIMES = (("mean", "mean"), ("half at most", "p50"), ("99 of 100", "p99"), ("longest", "max"))
_SHOWN_PODS = 20


def view(answer: ReplayComparison) -> View:
    """Return whether it is better or worse on the other sides, the totals with a column per side,
    and the pods that fared differently."""
    sides, count = answer.sides, len(answer.pods)
    total = counted(answer.pod_count, "pod")
    # Each side is better than the first one, worse or a trade-off, in these figures.
    lines = []
    for index, side in enumerate(sides[1:] if count else (), 1):
        prefix = f"{side.name}: " if len(sides) > 2 else ""
        if not side.differing:
            lines.append(f"{prefix}no difference: {total} placed alike")
            continue
        lower, higher = list[str](), list[str]()
        for (name, before, text_before), (_, now, text) in zip(
            _judged(sides[0]), _judged(side), strict=True
        ):
            if text != text_before:
                figure = f"{name} {text} instead of {text_before}"
                (lower if now < before else higher).append(figure)
        lines.append(f"{prefix}{judgement(lower, higher, because_of(side.differs_in))}")
        delays = [difference.delay(index) for difference in answer.pods]
        longer, shorter = sum(delay > 0 for delay in delays), sum(delay < 0 for delay in delays)
        lines.append(
            f"{prefix}{side.differing:,} of {total} {verb(side.differing, 'differs', 'differ')}: "
            f"{shorter:,} waited less long, {longer:,} longer"
        )
    if not count:
        lines = [f"no difference: {total} placed alike on every side"]
    # Figures that are equal on all sides are only counted, unless all are.
    rows = [*_total_rows(sides)]
    differ = any(len(set(row[1:])) > 1 for row in rows)
    names = [side.name for side in sides]
    totals = Table(
        heading="Totals",
        columns=[Column(""), *(Column(name, Kind.NUMBER, named=True) for name in names)],
        rows=rows,
        shown=Rows.NOT_EQUAL if differ else Rows.ALL,
    )
    # The pods whose waits differ most come first.
    pods = sorted(answer.pods, key=lambda pod: (-abs(pod.delay(-1)), pod.pod))
    fates = Table(
        heading="Pods that differ",
        columns=[Column("Pod", Kind.POD), *(Column(name, named=True) for name in names)],
        rows=[(pod.pod, *(_fate(pod, at) for at in range(len(names)))) for pod in pods],
        brief=_SHOWN_PODS,
        noun="pods",
        on=Medium.TEXT,
    )
    return View(
        title=lines[0],
        tone=Tone.WARN if count else Tone.GOOD,
        lines=lines[1:],
        tiles=[Tile("pods that differ", f"{count:,}", "warn" if count else "good")],
        sections=[
            Later(make=lambda: _charts(names, answer.curves)),
            totals,
            fates,
            Later(make=lambda: [_waits(names, pods)]),
        ],
        nodes=[node for pod in pods for node in pod.nodes if node],
    )


def _judged(side: ReplaySideResult) -> Iterator[tuple[str, float, str]]:
    """Yield the figures of which less is better: name, amount and text."""
    waited = side.waiting.mean
    yield "mean wait", waited, time_text(waited)
    yield "pending at the end", side.summary.pending, f"{side.summary.pending:,}"
    yield "evictions", side.summary.evicted, f"{side.summary.evicted:,}"
    if side.cost:
        yield "cost", side.cost.total, cost_text(side.cost.total)
    else:
        yield "node-hours", side.nodes.hours, hours_text(side.nodes.hours)


def _charts(sides: Sequence[str], curves: Sequence[ReplayCurves]) -> Iterator[Section]:
    from ksched_cli.report.html.curves import curves_of_sides
    from ksched_cli.report.html.sections import TimeCharts

    if curves:
        own = list(zip(sides, curves, strict=True))
        yield TimeCharts("Over time", "sides", curves_of_sides(own))


def _total_rows(sides: Sequence[ReplaySideResult]) -> Iterator[tuple[Any, ...]]:
    for key in _COUNTS:
        yield key, *(getattr(side.summary, key) for side in sides)
    for name, key in _TIMES:
        yield f"waited, {name}", *(time_text(getattr(side.waiting, key)) for side in sides)
    # Else the figures of jobs are those of pods.
    if any(
        side.run.user_label or (side.jobs and side.summary.ended > side.jobs.completed)
        for side in sides
    ):
        for name, figures in _JOB_TIMES:
            own = (time_text(figures(side.jobs).mean) if side.jobs else "" for side in sides)
            yield f"{name}, mean", *own
        all_jobs = [side.jobs for side in sides]
        yield "GPU-hours", *(hours_text(jobs.gpu_hours) if jobs else "" for jobs in all_jobs)
        yield "restarts", *(jobs.restarts if jobs else "" for jobs in all_jobs)
        yield "lost pod-hours", *(hours_text(jobs.lost_hours) if jobs else "" for jobs in all_jobs)
        if any(len(side.users) > 1 for side in sides):
            yield "Jain's index", *(f"{jobs.fairness:.2f}" if jobs else "" for jobs in all_jobs)
            means = [{user.name: user.bounded_slowdown for user in side.users} for side in sides]
            for user in dict.fromkeys(user for each in means for user in each):
                of_user = (ratio_text(each.get(user)) for each in means)
                yield f"bounded slowdown, {user or '(none)'}", *of_user
    yield "most pending at once", *(side.most_pending for side in sides)
    yield "pending-hours", *(hours_text(side.pending_hours) for side in sides)
    over_time = [side.regret_over_time for side in sides]
    yield from regret_rows([side.regret for side in sides], over_time)
    yield from metric_rows([side.metrics for side in sides])
    yield "it took", *(time_text(side.end) for side in sides)
    # All nodes and each node group have their number, and for how long.
    ranges: list[dict[str, NodeRange | GroupResult]] = []
    for side in sides:
        groups = side.autoscaler.groups if side.autoscaler else ()
        ranges.append({"": side.nodes, **{group.name: group for group in groups}})
    for name in dict.fromkeys(name for each in ranges for name in each):
        suffix = name and f", {name}"
        counts = [each.get(name) for each in ranges]
        yield f"nodes{suffix}", *("" if each is None else range_text(each) for each in counts)
        hours = ("" if each is None else hours_text(each.hours) for each in counts)
        yield f"node-hours{suffix}", *hours
    if any(side.cost for side in sides):
        yield "cost", *(cost_text(side.cost.total) if side.cost else "" for side in sides)


def _fate(pod: ReplayDifference, side: int) -> str:
    """Return where it went and after how long, or what became of it."""
    outcome, waited = pod.outcomes[side], pod.waits[side]
    if outcome is None:
        return "not there"
    if waited is None:
        return outcome.value
    if pod.placed[side] is None:
        return f"still waits after {duration(waited)}"
    suffix = ", evicted" if pod.evicted[side] else ""
    return f"{pod.nodes[side]} after {duration(waited)}{suffix}"


def _waits(names: Sequence[str], pods: Sequence[ReplayDifference]) -> Table:
    """Return a pod's node and wait on each side, to sort and filter."""
    columns = [Column("Pod", Kind.POD)]
    for name in names:
        columns += [Column(f"Node, {name}"), Column("waited", Kind.DURATION)]
    for name in names[1:]:
        title = f"Waits longer, {name}" if len(names) > 2 else "Waits longer"
        columns.append(Column(title, Kind.DURATION))
    rows = []
    for pod in pods:
        cells: list[Any] = [pod.pod]
        for side in range(len(names)):
            cells += [_place(pod, side), pod.waited[side]]
        cells += [pod.delay(side) / SECOND for side in range(1, len(names))]
        rows.append(cells)
    return Table(heading="Pods that differ", columns=columns, rows=rows, grid="pods")


def _place(pod: ReplayDifference, side: int) -> str:
    """Return the node, or what became of it without one."""
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

# Figures of which less is better.
_JUDGED = ("wait.mean", "pending", "evicted", "cost", "nodeHours")


def draws(answer: ReplayDraws) -> View:
    """Return what the seeds agree about, and a row per figure that is not 0 in every draw."""
    wait, pending = answer.figures.get("wait.mean"), answer.figures["pending"]
    tiles = [Tile("seeds", f"{len(answer.seeds):,}")]
    if wait is not None:
        tiles.append(Tile("waited, mean", time_text(wait.mean)))
    tiles.append(Tile("pending at the end", interval_text(pending), "bad" * bool(pending.mean)))
    # The title says what the seeds agree about, or what they do not.
    seeds = counted(len(answer.seeds), "seed")
    varying = [name for name, each in answer.figures.items() if each.low != each.high]
    if not varying:
        title = f"The figures are the same with all of {seeds}"
    elif wait is None or wait.low == wait.high:
        varies = verb(len(varying), "varies", "vary")
        title = f"{len(varying):,} of {len(answer.figures):,} figures {varies} over {seeds}"
    else:
        title = (
            f"Pods wait {time_text(wait.mean)} on average over {seeds}, "
            f"between {time_text(max(wait.low, 0))} and {time_text(wait.high)} with 95 % confidence"
        )
    figures = [(name, each) for name, each in answer.figures.items() if each.low or each.high]
    return View(
        title=title,
        tone=Tone.WARN if pending.mean else Tone.NONE,
        tiles=tiles,
        sections=[
            Later(make=lambda: _charts_of_draws(answer)),
            table(
                "Figures",
                figures,
                (Column("Figure"), lambda each: label(each[0])),
                (Column("Mean", Kind.NUMBER), lambda each: _number(each[1].mean)),
                (Column("95 % from", Kind.NUMBER), lambda each: _number(each[1].low)),
                (Column("to", Kind.NUMBER), lambda each: _number(each[1].high)),
                brief=len(figures),
                note=f"Intervals are Student's t. {SEEDS}",
            ),
        ],
    )


def _charts_of_draws(answer: ReplayDraws) -> Iterator[Section]:
    from ksched_cli.report.html.curves import curves_of_run
    from ksched_cli.report.html.sections import TimeCharts

    if answer.curves is not None:
        yield TimeCharts("Over time", "replay", curves_of_run(answer.curves))


def drawn(answer: DrawnComparison) -> View:
    """Return which figures differ by more than the noise; a row per figure that is not 0
    everywhere."""
    sides = answer.sides
    names = [side.name for side in sides]
    seeds = counted(len(answer.seeds), "seed")
    # The lines say in which figures each side is better or worse than the first one, then how many
    # differ.
    lines = []
    for side in sides[1:]:
        prefix = f"{side.name}: " if len(sides) > 2 else ""
        differing = sum(not each.within_noise for each in side.differences.values())
        if not differing:
            lines.append(f"{prefix}within the noise of {seeds}: no figure differs")
            continue
        lower, higher = list[str](), list[str]()
        for name in _JUDGED:
            each = side.differences.get(name)
            if each is not None and not each.within_noise:
                figure = f"{label(name)} {'+' * (each.mean > 0)}{_number(each.mean)}"
                (lower if each.mean < 0 else higher).append(figure)
        because = because_of(side.differs_in)
        differ = verb(differing, "differs", "differ")
        noise = (
            f"{prefix}{differing} of {len(side.differences)} figures {differ} "
            f"by more than the noise of {seeds}"
        )
        if lower or higher:
            lines += [f"{prefix}{judgement(lower, higher, because)}", noise]
        else:
            lines.append(f"{noise}{because}")
    # What is 0 in every draw says nothing, unless another side has some.
    figures = dict.fromkeys(
        name for side in sides for name, each in side.figures.items() if each.low or each.high
    )
    others = [f"difference of {side.name}" for side in sides[1:]]
    titles = names + (["difference"] if len(sides) == 2 else others)
    rows = [
        (
            label(name),
            *(interval_text(side.figures.get(name)) for side in sides),
            *(_difference_text(side.differences.get(name)) for side in sides[1:]),
        )
        for name in figures
    ]
    means = Table(
        heading=f"Means of {seeds}, with 95 % intervals",
        columns=[Column("Figure"), *map(Column, titles)],
        rows=rows,
        brief=len(rows),
    )
    return View(
        title=lines[0],
        tone=Tone.WARN if answer.differs else Tone.GOOD,
        lines=lines[1:],
        tiles=[Tile("seeds", f"{len(answer.seeds):,}")],
        sections=[
            Later(make=lambda: _charts(names, answer.curves)),
            Later(make=lambda: _intervals(names, [side.figures for side in sides])),
            means,
        ],
    )


def _intervals(sides: Sequence[str], figures: Sequence[Mapping[str, Interval]]) -> Iterator[Ranges]:
    """Yield a row per figure that differs, with the interval of each side on one scale."""
    from ksched_cli.report.html.charts import Range, ranges
    from ksched_cli.report.html.sections import Ranges

    rows = []
    for name in dict.fromkeys(name for own in figures for name in own):
        own = [side.get(name) for side in figures]
        if len({None if each is None else (each.low, each.high) for each in own}) < 2:
            continue
        marks = [
            None if each is None else Range(each.low, each.low, each.mean, each.high, each.high)
            for each in own
        ]
        scale = [end for each in own if each is not None for end in (each.low, each.high)]
        ends = f"{_number(min(scale))} to {_number(max(scale))}"
        cells = (label(name), *map(interval_text, own), ends)
        rows.append(ranges([(cells, marks)])[0])
    if rows:
        headers = ("Figure", *sides, "Scale of this row", "")
        yield Ranges("Figures that differ", headers, rows, sides, _NOTE)


def label(name: str) -> str:
    """Return the name of a figure, with the unit of times."""
    is_time = name.startswith(_TIME_FIGURES)
    return name.removeprefix("utilization.") + " (s)" * is_time


def interval_text(interval: Interval | None) -> str:
    """Return the mean, and the interval where it is one."""
    if interval is None:
        return ""
    if interval.low == interval.high:
        return _number(interval.mean)
    return f"{_number(interval.mean)} [{_number(interval.low)}, {_number(interval.high)}]"


def _difference_text(interval: DifferenceInterval | None) -> str:
    if interval is None:
        return ""
    if interval.low == interval.high == 0:
        return "none"
    sign = "+" * (interval.mean > 0)
    return "within the noise" if interval.within_noise else f"{sign}{interval_text(interval)}"


def _number(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
