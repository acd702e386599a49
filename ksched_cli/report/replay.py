"""An answer of `replay`: who waited how long, how full the cluster was, and who waits still."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ksched_cli.analysis.replay_figures import (
    ReplayCost,
    UsageOverTime,
    WaitingTimes,
    calendar_steps,
    costs_at,
    extremes,
    resources,
    short,
    shown_resources,
    waiting_groups,
)
from ksched_cli.analysis.replay_result import (
    HOUR,
    NodeRange,
    PodResult,
    ReplayResult,
    ReplaySummary,
    seconds,
)
from ksched_cli.answers import plain
from ksched_cli.cluster.resources import PODS
from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND
from ksched_cli.report.node_groups import (
    cost_text,
    costs_table,
    groups_table,
    hours_text,
    range_text,
    sizes_at,
)
from ksched_cli.report.table import Limit, counted, printable

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
    sums = {} if biller is None else {"cost": costs_at(biller.bills.all(), times)}
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
    time, pending = (round(each * HOUR) for each in hours)
    times = (round(answer.end * SECOND), time, pending)
    return _headline(answer.summary, answer.nodes, times, answer.cost or None)


def _headline(
    summary: ReplaySummary, nodes: NodeRange, times: tuple[int, int, int], cost: ReplayCost | None
) -> str:
    """times: of the replay, of its nodes, of pending pods, in microseconds"""
    parts = [
        f"{getattr(summary, key):,} {key}"
        for key in ("ended", "evicted", "deleted", "pending", "gated")
        if getattr(summary, key) or key in ("ended", "pending")
    ]
    now, node_time, pending_time = times
    pending = f", {hours_text(pending_time)} pending-hours" if pending_time else ""
    price = "" if cost is None else f", cost {cost_text(cost.total)}"
    return (
        f"{counted(summary.placed, 'pod')} placed in {duration(now)} of simulated time: "
        f"{', '.join(parts)}; {summary.running:,} running at the end\n"
        f"nodes {range_text(nodes)}, {hours_text(node_time)} node-hours{pending}{price}"
    )


def table(replay: Replay, limit: Limit) -> str:
    """Waiting times, the cluster over time, and the pods that wait still, by message."""
    now = replay.clock.now
    pending = UsageOverTime(replay).pending_time
    times = now, replay.nodes.node_time_until(now), pending
    summary, nodes = ReplaySummary.of(replay), NodeRange.of(replay.nodes, now)
    cost = ReplayCost.of(replay)
    parts = [
        limit.paragraph(_headline(summary, nodes, times, cost)),
        _waiting_table(replay, limit),
        _usage_table(replay, limit),
        groups_table(replay, limit),
        costs_table(cost, limit),
        _pending_table(replay, limit),
    ]
    return "\n\n".join(part for part in parts if part)


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
    groups = waiting_groups(replay)
    if not groups.all.pods:
        return ""
    named = [("all pods", groups.all)]
    for label, by_name in (("priority ", groups.priority), ("namespace ", groups.namespace)):
        if len(by_name) > 1:
            named += _longest_first(by_name, label)
    named += _longest_first(groups.owner)
    waits = groups.all.still_waiting
    rows = [_waiting_row(name, times, shows_still=bool(waits)) for name, times in named]
    still = ("STILL WAIT",) if waits else ()
    headers = ("WAITED FOR A NODE", "PODS", *still, "MEAN", "P50", "P90", "P99", "MAX")
    table = limit.first(20).cut_columns(headers, rows)
    if not waits:
        return table
    verb = "waits" if waits == 1 else "wait"
    text = f"{counted(waits, 'pod')} still {verb} at the end, and count with the time so far."
    return f"{table}\n{limit.paragraph(text)}"


def _longest_first(
    groups: Mapping[str, WaitingTimes], label: str = ""
) -> list[tuple[str, WaitingTimes]]:
    entries = sorted(groups.items(), key=lambda item: -item[1].mean)
    return [(f"{label}{name}", times) for name, times in entries]


def _waiting_row(name: str, times: WaitingTimes, *, shows_still: bool) -> tuple[str, ...]:
    figures = (getattr(times, figure) for figure in ("mean", "p50", "p90", "p99", "max"))
    still = (f"{times.still_waiting:,}",) if shows_still else ()
    return name, f"{times.pods:,}", *still, *(duration(round(time * SECOND)) for time in figures)


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


def _usage_table(replay: Replay, limit: Limit) -> str:
    """The cluster at its extremes, and at equal steps of the calendar between them."""
    usage, texts = UsageOverTime(replay), MomentTexts.of(replay)
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
    groups: dict[str, list[str]] = {}
    for record in replay.log.live.values():
        if record.outcome is PodOutcome.PENDING:
            groups.setdefault(record.message or "not tried yet", []).append(record.pod)
    rows = [
        (f"{len(pods):,}", pods[0] + (", …" if len(pods) > 1 else ""), message)
        for message, pods in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    return limit.first(10).cut_columns(("PENDING", "PODS", "BECAUSE"), rows) if rows else ""
