"""Answers of `replay`, of one and of several: who waited how long, how full the cluster was, and
who waits still."""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ksched_cli.analysis.compare import (
    DifferenceInterval,
    DrawnComparison,
    DrawnSide,
    Interval,
    ReplayComparison,
    ReplayDraws,
    ReplaySideResult,
)
from ksched_cli.analysis.replay_figures import (
    GroupWaits,
    ReplayCost,
    UsageOverTime,
    WaitingTimes,
    calendar_steps,
    costs_at,
    extremes,
    replay_waits,
    resources,
    short,
    shown_resources,
)
from ksched_cli.analysis.replay_result import (
    HOUR,
    Assumption,
    ForwardLook,
    GroupResult,
    NodeRange,
    PodForecast,
    PodResult,
    ReplayResult,
    ReplaySummary,
    scaling_of,
    seconds,
)
from ksched_cli.answers import plain
from ksched_cli.cluster.resources import PODS
from ksched_cli.engine.replay.records import NodeCounts, PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND
from ksched_cli.report.compare import because_of, judgement
from ksched_cli.report.table import GREEN, YELLOW, Limit, apart, counted, grouped, printable

# -- numbers of nodes, hours and costs -------------------------------------------------------------


def range_text(counts: NodeRange | GroupResult) -> str:
    """At first, at most and at last; a number that does not change once."""
    numbers = (counts.start, counts.max, counts.end)
    return " → ".join(f"{number:,}" for number in numbers[: 1 if len(set(numbers)) == 1 else 3])


def hours_text(hours: float) -> str:
    """As 1,234.5, 57 or 0.042."""
    return f"{hours:.2g}" if 0 < hours < 1 else f"{hours:,.1f}".removesuffix(".0")


def groups_table(replay: Replay, limit: Limit) -> str:
    """A row per node group."""
    scaling = scaling_of(replay)
    if scaling is None:
        return ""
    rows = [
        (
            group.name,
            range_text(group),
            hours_text(group.hours),
            f"{group.added:,}",
            f"{group.removed:,}",
        )
        for group in scaling.groups
    ]
    headers = ("NODE GROUP", "NODES", "NODE-HOURS", "ADDED", "REMOVED")
    return limit.first(20).cut_columns(headers, rows)


def cost_text(cost: float) -> str:
    """As 1,234.50; more digits of less than a hundredth."""
    return f"{cost:.2g}" if 0 < cost < 0.01 else f"{cost:,.2f}"


def costs_table(cost: ReplayCost | None, limit: Limit) -> str:
    """A row per price."""
    if cost is None:
        return ""
    rows = [
        (
            each.name,
            f"{each.per_hour:g}",
            f"{each.nodes:,}",
            hours_text(each.hours),
            cost_text(each.cost),
        )
        for each in cost.prices
    ]
    headers = ("PRICE OF", "AN HOUR", "NODES", "BILLED HOURS", "COST")
    return limit.first(20).cut_columns(headers, rows) if rows else ""


def sizes_at(counts: NodeCounts, times: Sequence[int]) -> list[int]:
    """The number of nodes at these times; 0 before the first step."""
    starts = [at for at, _ in counts.steps]
    indexes = (bisect_right(starts, time) - 1 for time in times)
    return [counts.steps[index][1] if index >= 0 else 0 for index in indexes]


# -- replay ----------------------------------------------------------------------------------------


# Rows of the table of usage without those of extremes, and points of curves.
_STEPS = 16
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
CSV_COLUMNS = (
    "pod", "namespace", "owner", "priority", "queued", "firstTried", "placed", "node", "waited",
    "evicted", "ended", "attempts", "outcome", "message",
)  # fmt: skip


# -- rows -----------------------------------------------------------------------------------------


def csv_text(records: Iterable[PodRecord]) -> str:
    """A line per pod, below a line of names."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for record in records:
        waited = None if record.placed is None else seconds(record.placed - record.queued)
        row = {**plain(PodResult.of(record)), "namespace": record.namespace, "waited": waited}
        cells = ("" if row[name] is None else row[name] for name in CSV_COLUMNS)
        writer.writerow(printable(cell) if isinstance(cell, str) else cell for cell in cells)
    return file.getvalue().rstrip("\n")


def usage_csv(replay: Replay) -> str:
    """A line per moment at which something happened and one of the end, below a line of names."""
    usage = UsageOverTime(replay)
    samples = usage.samples(range(len(usage)))
    groups = {} if replay.autoscaler is None else replay.autoscaler.state.counts
    times = usage.times.tolist()
    if times[-1] != usage.end:
        times.append(usage.end)
        samples.append(samples[-1])
    biller = replay.biller
    sums = {} if biller is None else {"cost": costs_at(biller.bills, times)}
    sizes = {f"nodes:{name}": sizes_at(counts, times) for name, counts in groups.items()}
    used = resources(usage)
    rows = [
        {
            **{name: getattr(sample, name) for name in ("nodes", "pods", "pending")},
            **{f"utilization:{name}": sample.utilization[name] for name in used},
            **{f"stranded:{name}": sample.stranded[name] for name in sample.stranded},
        }
        for sample in samples
    ]
    own = ("nodes", "pods", "pending", *(f"utilization:{name}" for name in used))
    names = (*own, *(f"stranded:{name}" for name in used if name != PODS))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    own_columns: dict[str, Sequence[float]] = {**sums, **sizes}
    writer.writerow(("at", *names[:3], *own_columns, *names[3:]))
    for at, row, *figures in zip(times, rows, *own_columns.values(), strict=True):
        cells = [row.get(name, 0.0) for name in names]
        writer.writerow((seconds(at), *cells[:3], *figures, *cells[3:]))
    return file.getvalue().rstrip("\n")


# -- table ----------------------------------------------------------------------------------------


def headline(answer: ReplayResult) -> str:
    """What became of the pods, in what time, and with how many nodes."""
    hours = answer.nodes.hours, answer.pending_hours
    return _headline(answer.summary, answer.nodes, answer.end, hours, answer.cost or None)


def _headline(
    summary: ReplaySummary,
    nodes: NodeRange,
    end: float,
    hours: tuple[float, float],
    cost: ReplayCost | None,
) -> str:
    """end: in seconds. hours: of nodes, and of pending pods"""
    parts = [
        f"{getattr(summary, key):,} {key}"
        for key in ("ended", "evicted", "deleted", "pending", "gated")
        if getattr(summary, key) or key in ("ended", "pending")
    ]
    node_hours, pending_hours = hours
    pending = f", {hours_text(pending_hours)} pending-hours" if pending_hours else ""
    price = "" if cost is None else f", cost {cost_text(cost.total)}"
    return (
        f"{counted(summary.placed, 'pod')} placed in {time_text(end)} of simulated time: "
        f"{', '.join(parts)}; {summary.running:,} running at the end\n"
        f"nodes {range_text(nodes)}, {hours_text(node_hours)} node-hours{pending}{price}"
    )


def table(replay: Replay, limit: Limit) -> str:
    """Waiting times, the cluster over time, and the pods that wait still, by message."""
    now, usage = replay.clock.now, UsageOverTime(replay)
    hours = replay.nodes.node_time_until(now) / HOUR, usage.pending_time / HOUR
    summary, nodes = ReplaySummary.of(replay), NodeRange.of(replay.nodes, now)
    cost = ReplayCost.of(replay)
    return apart(
        limit.paragraph(_headline(summary, nodes, seconds(now), hours, cost)),
        _waiting_table(replay, limit),
        _usage_table(replay, usage, limit),
        groups_table(replay, limit),
        costs_table(cost, limit),
        _pending_table(replay, limit),
    )


def duration(time: int) -> str:
    """Microseconds as text in the two largest units: 2d 3h, 4m 5s, 1.5s."""
    whole = time // SECOND
    for size, unit, smaller, part in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "m"),
        (_MINUTE, "m", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size}{unit} {rest}{part}" if rest else f"{whole // size}{unit}"
    return f"{round(time / SECOND, 3):g}s"


def _waiting_table(replay: Replay, limit: Limit) -> str:
    groups = replay_waits(replay)
    waits = groups.all.still_waiting
    if not groups.all.pods:
        return ""
    rows = [_waiting_row("all pods", groups.all, shows_still=bool(waits))]
    for label, own in (("priority ", groups.priority), ("namespace ", groups.namespace),
                       ("", groups.owner)):  # fmt: skip
        if len(own) > 1 or not label:
            rows += [
                _waiting_row(f"{label}{group.name}", group, shows_still=bool(waits))
                for group in sorted(own, key=lambda group: -group.mean)
            ]
    still = ("STILL WAIT",) if waits else ()
    headers = ("WAITED FOR A NODE", "PODS", *still, "MEAN", "P50", "P90", "P99", "MAX")
    table = limit.first(20).cut_columns(headers, rows)
    if not waits:
        return table
    verb = "waits" if waits == 1 else "wait"
    text = f"{counted(waits, 'pod')} still {verb} at the end, and count with the time so far."
    return f"{table}\n{limit.paragraph(text)}"


def _waiting_row(
    name: str, times: WaitingTimes | GroupWaits, *, shows_still: bool
) -> tuple[str, ...]:
    figures = (getattr(times, figure) for figure in ("mean", "p50", "p90", "p99", "max"))
    still = (f"{times.still_waiting:,}",) if shows_still else ()
    return name, f"{times.pods:,}", *still, *map(time_text, figures)


@dataclass(frozen=True, slots=True)
class MomentTexts:
    """Writes moments of a replay: with weekday and clock, UTC, where its timeline has a start, else
    as time since the start.

    start: seconds since 1970, or None; end: of the replay, microseconds after the start
    """

    start: int | None
    end: int

    @classmethod
    def of(cls, replay: Replay) -> MomentTexts:
        return cls(replay.options.start, replay.clock.now)

    @property
    def header(self) -> str:
        return "AT" if self.start is None else "AT (UTC)"

    def text(self, at: int) -> str:
        """at: microseconds after the start"""
        if self.start is None:
            return duration(at)
        day = "%a %Y-%m-%d" if self.end >= 7 * _DAY * SECOND else "%a"
        clock = "%H:%M" if self.end >= 6 * _HOUR * SECOND else "%H:%M:%S"
        return datetime.fromtimestamp(self.start + at // SECOND, UTC).strftime(f"{day} {clock}")


def _usage_table(replay: Replay, usage: UsageOverTime, limit: Limit) -> str:
    """The cluster at its extremes, and at equal steps of the calendar between them."""
    texts = MomentTexts.of(replay)
    times = usage.times.tolist()
    highest = extremes(usage)
    # By time, the moment in which it is.
    rows_at = {times[moment]: moment for moment in highest}
    if len(times) <= _STEPS:
        rows_at |= {time: moment for moment, time in enumerate(times)}
    else:
        steps = calendar_steps(replay.clock.start, usage.end, _STEPS)
        rows_at |= {at: usage.moment_at(at) for at in (0, *steps)}
    rows_at[usage.end] = len(times) - 1
    shown = sorted(rows_at.items())
    samples = usage.samples([moment for _, moment in shown])
    resources = shown_resources(usage)
    rows = [
        (
            texts.text(at),
            *(f"{count:,}" for count in (sample.nodes, sample.pods, sample.pending)),
            *(_percent(sample.utilization, name) for name in resources),
            *(_percent(sample.stranded, name) for name in resources[:1]),
            ", ".join(highest.get(moment, ()) if times[moment] == at else ()),
        )
        for (at, moment), sample in zip(shown, samples, strict=True)
    ]
    used = [short(name).upper() for name in resources]
    stranded = [f"STRANDED {name}" for name in used[:1]]
    headers = (texts.header, "NODES", "PODS", "PENDING", *used, *stranded, "HIGHEST")
    return limit.whole.columns(headers, rows)


def _percent(shares: Mapping[str, float], name: str) -> str:
    return f"{shares[name]:.0%}" if name in shares else ""


def _pending_table(replay: Replay, limit: Limit) -> str:
    groups = grouped(
        (record.message or "not tried yet", record.pod)
        for record in replay.log.live.values()
        if record.outcome is PodOutcome.PENDING
    )
    rows = [
        (f"{len(pods):,}", pods[0] + (", …" if len(pods) > 1 else ""), message)
        for message, pods in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    return limit.first(10).cut_columns(("PENDING", "PODS", "BECAUSE"), rows) if rows else ""


# -- replay --from-now -----------------------------------------------------------------------------


def forecast_headline(answer: ForwardLook) -> str:
    """How many pods start, and over how many draws."""
    draws = counted(answer.draws, "draw")
    since = f" from {answer.now} on" if answer.now else ""
    if not answer.pods:
        return f"no pod is pending{since}"
    sure = sum(pod.p90 is not None for pod in answer.pods)
    pods = counted(len(answer.pods), "pending pod")
    return f"{sure:,} of {pods} start in nine of ten draws ({draws}{since})"


def forecast_table(answer: ForwardLook, limit: Limit) -> str:
    """A row per pending pod, then the assumptions."""
    parts = [limit.paragraph(forecast_headline(answer))]
    if answer.pods:
        rows = [
            (pod.pod, time_text(pod.p50), time_text(pod.p90), start_text(pod))
            for pod in answer.pods
        ]
        headers = ("POD", "STARTS IN (P50)", "P90", "IN DRAWS")
        parts.append(limit.cut_columns(headers, rows, "pending pod"))
    lines = assumption_lines(answer.assumptions)
    if lines:
        parts.append("\n".join(["assumed:", *(f"  {line}" for line in lines)]))
    return "\n\n".join(parts)


def time_text(seconds: float | None) -> str:
    return "never" if seconds is None else duration(round(seconds * SECOND))


def start_text(pod: PodForecast) -> str:
    return "gated" if pod.gated else f"{pod.started:.0%}"


def assumption_lines(assumptions: Iterable[Assumption]) -> list[str]:
    """A line per owner with a history or a deadline, and one for all others together."""
    lines = []
    unknown = {True: 0, False: 0}
    for each in assumptions:
        if each.basis == "none":
            unknown[each.running] += each.pods
            continue
        state = "running" if each.running else "pending"
        subject = counted(each.pods, f"{state} pod") + (f" of {each.owner}" if each.owner else "")
        verb = "ends" if each.pods == 1 else "end"
        finished = counted(each.samples, "finished pod")
        how = f"as its {finished} did" if each.basis == "history" else "at activeDeadlineSeconds"
        lines.append(f"{subject} {verb} {how}")
    for running, count in unknown.items():
        if count:
            verb = "stays" if count == 1 else "stay"
            state = "running" if running else "pending"
            lines.append(
                f"{counted(count, f'{state} pod')} without a known run time {verb}"
                + ("" if running else " once placed")
            )
    return lines


# -- compare --timeline ----------------------------------------------------------------------------


_COUNTS = ("placed", "ended", "evicted", "pending", "gated", "attempts")
_TIMES = (("mean", "mean"), ("half at most", "p50"), ("99 of 100", "p99"), ("longest", "max"))


def comparison_headline(answer: ReplayComparison, limit: Limit) -> str:
    """Whether it is better or worse on the other sides, and how many pods fared differently."""
    if not answer.pods:
        text = f"no difference: {counted(answer.pod_count, 'pod')} placed alike on every side"
        return limit.verdict(text, GREEN)
    lines = [_of_replayed_side(answer, index) for index in range(1, len(answer.sides))]
    return limit.verdict("\n".join(lines), YELLOW)


def _of_replayed_side(answer: ReplayComparison, index: int) -> str:
    """What the difference between a side and the first one did."""
    side = answer.sides[index]
    prefix = f"{side.name}: " if len(answer.sides) > 2 else ""
    count = side.differing
    total = counted(answer.pod_count, "pod")
    if not count:
        return f"{prefix}no difference: {total} placed alike"
    delays = [difference.delay(index) for difference in answer.pods]
    longer, shorter = sum(delay > 0 for delay in delays), sum(delay < 0 for delay in delays)
    verb = "differs" if count == 1 else "differ"
    return (
        f"{prefix}{_judgement(answer.sides[0], side)}\n"
        f"{prefix}{count:,} of {total} {verb}: {shorter:,} waited less long, {longer:,} longer"
    )


def _judgement(first: ReplaySideResult, side: ReplaySideResult) -> str:
    """Better, worse or a trade-off, and in which figures."""
    lower, higher = list[str](), list[str]()
    for (name, before, text_before), (_, now, text) in zip(
        _judged(first), _judged(side), strict=True
    ):
        if text != text_before:
            (lower if now < before else higher).append(f"{name} {text} instead of {text_before}")
    return judgement(lower, higher, because_of(side.differs_in))


def _judged(side: ReplaySideResult) -> Iterator[tuple[str, float, str]]:
    """The figures of which less is better: name, amount and text."""
    waited = side.waiting.mean
    yield "mean wait", waited, time_text(waited)
    yield "pending at the end", side.summary.pending, f"{side.summary.pending:,}"
    yield "evictions", side.summary.evicted, f"{side.summary.evicted:,}"
    if side.cost:
        yield "cost", side.cost.total, cost_text(side.cost.total)
    else:
        yield "node-hours", side.nodes.hours, hours_text(side.nodes.hours)


def comparison_table(answer: ReplayComparison, limit: Limit) -> str:
    """The totals, a column per side, and the pods whose waiting times differ most."""
    headers = ("", *(side.name for side in answer.sides))
    shown = limit.columns(headers, totals(answer.sides))
    return apart(comparison_headline(answer, limit), shown, _differing_pods(answer, limit))


def totals(sides: Sequence[ReplaySideResult]) -> list[tuple[str, ...]]:
    """A row per figure, a column per side after the figure's name."""
    rows: list[tuple[str, ...]] = [
        (key, *(f"{getattr(side.summary, key):,}" for side in sides)) for key in _COUNTS
    ]
    rows += [
        (
            f"waited, {name}",
            *(time_text(getattr(side.waiting, key)) for side in sides),
        )
        for name, key in _TIMES
    ]
    rows.append(("most pending at once", *(f"{side.most_pending:,}" for side in sides)))
    rows.append(("pending-hours", *(hours_text(side.pending_hours) for side in sides)))
    rows.append(("it took", *(time_text(side.end) for side in sides)))
    rows += _node_rows(sides)
    if any(side.cost for side in sides):
        rows.append(("cost", *(cost_text(each.cost.total) if each.cost else "" for each in sides)))
    return rows


def _node_rows(sides: Sequence[ReplaySideResult]) -> list[tuple[str, ...]]:
    """The number of nodes, and for how long: of all, and of each node group."""
    ranges: list[dict[str, NodeRange | GroupResult]] = []
    for side in sides:
        groups = side.autoscaler.groups if side.autoscaler else ()
        ranges.append({"": side.nodes, **{group.name: group for group in groups}})
    rows = []
    for name in dict.fromkeys(name for each in ranges for name in each):
        suffix = name and f", {name}"
        own = [each.get(name) for each in ranges]
        rows += [
            (f"nodes{suffix}", *("" if each is None else range_text(each) for each in own)),
            (
                f"node-hours{suffix}",
                *("" if each is None else hours_text(each.hours) for each in own),
            ),
        ]
    return rows


def _differing_pods(answer: ReplayComparison, limit: Limit) -> str:
    ordered = sorted(answer.pods, key=lambda each: (-abs(each.delay(-1)), each.pod))
    rows = [(each.pod, *map(_fate, each.records, each.waits)) for each in ordered]
    headers = ("POD", *(side.name for side in answer.sides))
    return limit.first(20).cut_columns(headers, rows, "pods") if rows else ""


def _fate(record: PodRecord | None, waited: int | None) -> str:
    """Where it went and after how long, or what became of it."""
    if record is None:
        return "not there"
    if waited is None:
        return record.outcome.value
    if record.placed is None:
        return f"still waits after {duration(waited)}"
    suffix = ", evicted" if record.evicted is not None else ""
    return f"{record.node} after {duration(waited)}{suffix}"


# -- --seeds ---------------------------------------------------------------------------------------


# Figures of which less is better.
JUDGED = ("wait.mean", "pending", "evicted", "cost", "nodeHours")


def drawn_headline(answer: DrawnComparison, limit: Limit) -> str:
    """Which figures differ by more than the noise."""
    count = len(answer.seeds)
    lines = [_of_drawn_side(answer, side, count) for side in answer.sides[1:]]
    colour = YELLOW if answer.differs else GREEN
    return limit.verdict("\n".join(lines), colour)


def _of_drawn_side(answer: DrawnComparison, side: DrawnSide, count: int) -> str:
    prefix = f"{side.name}: " if len(answer.sides) > 2 else ""
    differing = [each for each in side.differences.values() if not each.within_noise]
    if not differing:
        return f"{prefix}within the noise of {count:,} seeds: no figure differs"
    of = f"{len(differing)} of {len(side.differences)} figures differ"
    lower, higher = list[str](), list[str]()
    for name in JUDGED:
        each = side.differences.get(name)
        if each is not None and not each.within_noise:
            (lower if each.mean < 0 else higher).append(
                f"{label(name)} {'+' * (each.mean > 0)}{_number(each.mean)}"
            )
    because = because_of(side.differs_in)
    noise = f"{prefix}{of} by more than the noise of {count:,} seeds"
    if not lower and not higher:
        return f"{noise}{because}"
    return f"{prefix}{judgement(lower, higher, because)}\n{noise}"


def drawn_table(answer: DrawnComparison, limit: Limit) -> str:
    """The verdict, then a row per figure that is not 0 everywhere: mean and 95 % interval per side,
    and the difference."""
    names = dict.fromkeys(
        name
        for side in answer.sides
        for name, each in side.figures.items()
        if each.low or each.high  # 0 in every draw says nothing, unless another side has some
    )
    rows = [
        (
            label(name),
            *(interval_text(side.figures.get(name)) for side in answer.sides),
            *(difference_text(side.differences.get(name)) for side in answer.sides[1:]),
        )
        for name in names
    ]
    headers = [
        f"MEAN OF {len(answer.seeds):,} SEEDS, 95 %",
        *(side.name for side in answer.sides),
        *(f"difference of {side.name}" for side in answer.sides[1:]),
    ]
    if len(answer.sides) == 2:
        headers[-1] = "difference"
    return f"{drawn_headline(answer, limit)}\n\n{limit.columns(headers, rows)}"


def draws_table(answer: ReplayDraws, limit: Limit) -> str:
    """A row per figure that is not 0 in every draw: mean and 95 % interval."""
    rows = [
        (label(name), _number(each.mean), _range(each))
        for name, each in answer.figures.items()
        if each.low or each.high
    ]
    headers = (f"OF {len(answer.seeds):,} SEEDS", "MEAN", "95 % INTERVAL")
    return limit.columns(headers, rows)


def label(name: str) -> str:
    """With the unit of times."""
    is_time = name.startswith(("wait.", "jobCompletionTime."))
    return name.removeprefix("utilization.") + " (s)" * is_time


def _range(interval: Interval) -> str:
    return f"[{_number(interval.low)}, {_number(interval.high)}]"


def interval_text(interval: Interval | None) -> str:
    if interval is None:
        return ""
    if interval.low == interval.high:
        return _number(interval.mean)
    return f"{_number(interval.mean)} {_range(interval)}"


def difference_text(interval: DifferenceInterval | None) -> str:
    if interval is None:
        return ""
    if interval.low == interval.high == 0:
        return "none"
    sign = "+" * (interval.mean > 0)
    return "within the noise" if interval.within_noise else f"{sign}{interval_text(interval)}"


def _number(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
