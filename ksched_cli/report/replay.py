"""An answer of `replay`: who waited how long, how full the cluster was, and who waits still."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import to_builtins

from ksched_cli.analysis.replay_figures import (
    Durations,
    WaitingTimes,
    replay_figures,
    waiting_groups,
)
from ksched_cli.analysis.usage_over_time import UsageOverTime, calendar_steps
from ksched_cli.cluster.resources import PODS
from ksched_cli.engine.replay.records import PodOutcome, PodRecord, ReplayAttempt
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND
from ksched_cli.report.node_groups import (
    autoscaler_of,
    groups_table,
    hours_text,
    nodes_line,
    nodes_of,
    seconds,
    sizes_at,
)
from ksched_cli.report.table import Limit, columns, counted, cut_columns, paragraph, printable

# Rows of the table of usage without those of extremes, and points of curves.
_STEPS = 16
_POINTS = 1_000
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
CSV_COLUMNS = (
    "pod", "namespace", "owner", "priority", "queued", "firstTried", "placed", "node", "waited",
    "evicted", "ended", "attempts", "outcome", "message",
)  # fmt: skip


def document(
    replay: Replay, name: str, records: Iterable[PodRecord] | None, *, traces: bool = False
) -> dict[str, Any]:
    """kind ReplayResult. records: of the pods; None leaves them out"""
    usage = UsageOverTime(replay)
    figures = replay_figures(replay, usage)
    completions = figures.job_completion_time
    result: dict[str, Any] = {
        "apiVersion": "ksched/v1",
        "kind": "ReplayResult",
        "timeline": name,
        "start": _moment(replay.clock.start),
        "end": seconds(replay.clock.now),
        "summary": summary_of(replay),
        "waiting": _waiting(replay),
        "pendingHours": figures.pending_hours,
        "jobCompletionTime": None if completions is None else to_builtins(completions),
        "nodes": nodes_of(replay),
        "usedNodeHours": figures.used_node_hours,
        "overTime": to_builtins(usage.over_time()),
        "usage": to_builtins(usage.samples(_points(replay, usage))),
    }
    scaling = autoscaler_of(replay)
    if scaling is not None:
        result["autoscaler"] = scaling
    if records is not None:
        ordered = sorted(records, key=lambda record: (record.queued, record.pod))
        result["pods"] = [pod_row(record) for record in ordered]
    if traces:
        result["attempts"] = [_attempt(attempt) for attempt in replay.log.attempts]
        result["queues"] = replay.places()
    return result


def _optional(time: int | None) -> int | float | None:
    return None if time is None else seconds(time)


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def summary_of(replay: Replay) -> dict[str, int]:
    """How many of what."""
    counts = replay.log.counts
    outcomes = Counter(record.outcome for record in replay.log.live.values())
    return {
        "events": counts.events,
        "attempts": counts.attempts,
        "placed": counts.placed,
        "running": len(replay.cluster.bound),
        "ended": counts.ended,
        "evicted": counts.evicted,
        "deleted": counts.deleted,
        "pending": outcomes[PodOutcome.PENDING],
        "gated": outcomes[PodOutcome.GATED],
        "ignored": counts.ignored,
    }


def _waiting(replay: Replay) -> dict[str, Any]:
    groups = waiting_groups(replay)
    by_name = {key: getattr(groups, key) for key in ("priority", "namespace", "owner")}
    return {
        "all": to_builtins(groups.all),
        **{
            key: [{"name": name, **to_builtins(times)} for name, times in own.items()]
            for key, own in by_name.items()
        },
    }


def _points(replay: Replay, usage: UsageOverTime) -> list[int]:
    """The moments that curves are drawn of: all of them, or those at steps of the calendar and
    those of extremes."""
    if len(usage) <= _POINTS:
        return [*range(len(usage))]
    steps = calendar_steps(replay.clock.start, usage.end, _POINTS)
    moments = {0, *map(usage.moment_at, steps), len(usage) - 1, *_extremes(usage)}
    return sorted(moments)


def _extremes(usage: UsageOverTime) -> dict[int, list[str]]:
    """By moment, what was at its highest there for the first time."""
    quantities = {
        "nodes": usage.nodes,
        "pods": usage.pods,
        "pending": usage.pending,
        **{_short(name): usage.utilization[name] for name in _shown_resources(usage)},
    }
    extremes: dict[int, list[str]] = {}
    for name, values in quantities.items():
        if values.max() > values.min():
            extremes.setdefault(int(values.argmax()), []).append(name)
    return extremes


def _short(resource: str) -> str:
    return resource.rpartition("/")[2]


def pod_row(record: PodRecord) -> dict[str, Any]:
    """A pod of the document."""
    return {
        "pod": record.pod,
        "owner": record.owner,
        "priority": record.priority,
        "queued": None if record.was_bound else seconds(record.queued),
        "firstTried": _optional(record.first_tried),
        "placed": _optional(record.placed),
        "node": record.node or None,
        "evicted": _optional(record.evicted),
        "ended": _optional(record.ended),
        "attempts": record.attempts,
        "outcome": record.outcome.value,
        "message": record.message,
    }


def _attempt(attempt: ReplayAttempt) -> dict[str, Any]:
    return {
        "at": seconds(attempt.at),
        "pod": attempt.pod,
        "result": attempt.result,
        "node": attempt.node or None,
        "nominatedNode": attempt.nominated_node or None,
        "victims": list(attempt.victims),
        "message": attempt.message,
        "rejectedBy": list(attempt.rejected_by),
    }


# -- rows -----------------------------------------------------------------------------------------


def csv_text(records: Iterable[PodRecord]) -> str:
    """A line per pod, below a line of names."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for record in records:
        row = pod_row(record)
        waited = None if record.placed is None else seconds(record.placed - record.queued)
        row |= {"namespace": record.namespace, "waited": waited}
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
    sizes = {f"nodes:{name}": sizes_at(counts, times) for name, counts in groups.items()}
    resources = _resources(usage)
    rows = [
        {
            **{name: getattr(sample, name) for name in ("nodes", "pods", "pending")},
            **{f"utilization:{name}": sample.utilization[name] for name in resources},
            **{f"stranded:{name}": sample.stranded[name] for name in sample.stranded},
        }
        for sample in samples
    ]
    own = ("nodes", "pods", "pending", *(f"utilization:{name}" for name in resources))
    names = (*own, *(f"stranded:{name}" for name in resources if name != PODS))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("at", *names[:3], *sizes, *names[3:]))
    for at, row, *counts in zip(times, rows, *sizes.values(), strict=True):
        cells = [row.get(name, 0.0) for name in names]
        writer.writerow((seconds(at), *cells[:3], *counts, *cells[3:]))
    return file.getvalue().rstrip("\n")


# -- table ----------------------------------------------------------------------------------------


def headline(replay: Replay) -> str:
    """What became of the pods, in what time, and with how many nodes."""
    summary = summary_of(replay)
    parts = [
        f"{summary[key]:,} {text}"
        for key, text in (
            ("ended", "ended"),
            ("evicted", "evicted"),
            ("deleted", "deleted"),
            ("pending", "pending"),
            ("gated", "gated"),
        )
        if summary[key] or key in ("ended", "pending")
    ]
    placed = counted(summary["placed"], "pod")
    return (
        f"{placed} placed in {duration(replay.clock.now)} of simulated time: {', '.join(parts)}; "
        f"{summary['running']:,} running at the end\n{nodes_line(replay)}{_pending_hours(replay)}"
    )


def _pending_hours(replay: Replay) -> str:
    time = UsageOverTime(replay).pending_time
    return f", {hours_text(time)} pending-hours" if time else ""


def table(replay: Replay, limit: Limit) -> str:
    """Waiting times, the cluster over time, and the pods that wait still, by message."""
    parts = [
        paragraph(headline(replay), limit),
        _waiting_table(replay, limit),
        _usage_table(replay, limit),
        groups_table(replay, limit),
        _pending_table(replay, limit),
    ]
    return "\n\n".join(part for part in parts if part)


def duration(time: int) -> str:
    """Of microseconds, in the two largest units: 2d 3h, 4m 5s, 1.5s."""
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
    table = cut_columns(headers, rows, limit.first(20))
    if not waits:
        return table
    verb = "waits" if waits == 1 else "wait"
    text = f"{counted(waits, 'pod')} still {verb} at the end, and count with the time so far."
    return f"{table}\n{paragraph(text, limit)}"


def _longest_first(
    groups: Mapping[str, WaitingTimes], label: str = ""
) -> list[tuple[str, WaitingTimes]]:
    entries = sorted(groups.items(), key=lambda item: -item[1].mean)
    return [(f"{label}{name}", times) for name, times in entries]


def _waiting_row(name: str, times: WaitingTimes, *, shows_still: bool) -> tuple[str, ...]:
    figures = (getattr(times, figure) for figure in Durations.__struct_fields__)
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
    extremes = _extremes(usage)
    # By time, the moment in which it is.
    rows_at = {times[moment]: moment for moment in extremes}
    if len(times) <= _STEPS:
        rows_at |= {time: moment for moment, time in enumerate(times)}
    else:
        steps = calendar_steps(replay.clock.start, usage.end, _STEPS)
        rows_at |= {at: usage.moment_at(at) for at in (0, *steps)}
    rows_at[usage.end] = len(times) - 1
    shown = sorted(rows_at.items())
    samples = usage.samples([moment for _, moment in shown])
    resources = _shown_resources(usage)
    rows = [
        (
            texts.text(at),
            *(f"{count:,}" for count in (sample.nodes, sample.pods, sample.pending)),
            *(_percent(sample.utilization, name) for name in resources),
            *(_percent(sample.stranded, name) for name in resources[:1]),
            ", ".join(extremes.get(moment, ()) if times[moment] == at else ()),
        )
        for (at, moment), sample in zip(shown, samples, strict=True)
    ]
    used = [_short(name).upper() for name in resources]
    stranded = [f"STRANDED {name}" for name in used[:1]]
    headers = (texts.header, "NODES", "PODS", "PENDING", *used, *stranded, "HIGHEST")
    return columns(headers, rows, Limit(limit.width))


def _shown_resources(usage: UsageOverTime) -> list[str]:
    """Those that the table has room for."""
    return [name for name in _resources(usage) if name != PODS][:3]


def _resources(usage: UsageOverTime) -> list[str]:
    """Those that are used at all; cpu and memory first."""
    used = [name for name, shares in usage.utilization.items() if shares.any()]
    first = [name for name in ("cpu", "memory") if name in used]
    return first + [name for name in used if name not in first]


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
    return cut_columns(("PENDING", "PODS", "BECAUSE"), rows, limit.first(10)) if rows else ""
