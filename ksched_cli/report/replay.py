"""An answer of `replay`: who waited how long, how full the cluster was, and who waits still."""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ksched_cli.cluster.resources import PODS
from ksched_cli.engine.replay.records import PodOutcome, PodRecord, ReplayAttempt
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.replay.statistics import UsageSample, WaitingGroups, WaitingTimes
from ksched_cli.kube.time import SECOND
from ksched_cli.report.node_groups import (
    autoscaler_of,
    groups_table,
    nodes_line,
    nodes_of,
    seconds,
    sizes_at,
)
from ksched_cli.report.table import Limit, columns, counted, cut_columns, paragraph, printable

_SHARES = (0.5, 0.9, 0.99)
_PERCENTILES = ("p50", "p90", "p99")
# Rows of the table of usage.
_STEPS = 12
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
CSV_COLUMNS = (
    "pod", "namespace", "owner", "priority", "queued", "firstTried", "placed", "node", "waited",
    "evicted", "ended", "attempts", "outcome", "message",
)  # fmt: skip


def document(
    replay: Replay, name: str, records: Iterable[PodRecord] | None, *, traces: bool = False
) -> dict[str, Any]:
    """kind ReplayResult. records: of the pods; None leaves them out"""
    result: dict[str, Any] = {
        "apiVersion": "ksched/v1",
        "kind": "ReplayResult",
        "timeline": name,
        "start": _moment(replay.clock.start),
        "end": seconds(replay.clock.now),
        "summary": summary_of(replay),
        "waiting": {
            "all": waiting_of(replay.log.waiting),
            "priority": _groups(replay.log.by_priority),
            "namespace": _groups(replay.log.by_namespace),
            "owner": _groups(replay.log.by_owner),
        },
        "nodes": nodes_of(replay),
        "usage": [_sample(sample) for sample in replay.usage.samples],
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


def waiting_of(times: WaitingTimes) -> dict[str, Any]:
    """In seconds."""
    return {
        "pods": times.count,
        "mean": round(times.mean / SECOND, 6),
        **dict(zip(_PERCENTILES, map(seconds, times.percentiles(_SHARES)), strict=True)),
        "max": seconds(times.longest),
    }


def _groups(groups: WaitingGroups) -> list[dict[str, Any]]:
    return [{"name": name, **waiting_of(times)} for name, times in groups.groups.items()]


def _sample(sample: UsageSample) -> dict[str, Any]:
    return {
        "at": seconds(sample.at),
        "nodes": sample.nodes,
        "pods": sample.pods,
        "pending": sample.pending,
        "utilization": {name: round(share, 6) for name, share in sample.utilization.items()},
        "fragmentation": {name: round(share, 6) for name, share in sample.fragmentation.items()},
    }


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
    """A line per sample of the cluster over time, below a line of names."""
    samples = replay.usage.samples
    groups = {} if replay.autoscaler is None else replay.autoscaler.state.counts
    times = [sample.at for sample in samples]
    columns = {f"nodes:{name}": sizes_at(counts, times) for name, counts in groups.items()}
    resources = _resources(samples)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        (
            *("at", "nodes", "pods", "pending"),
            *columns,
            *(f"utilization:{name}" for name in resources),
            *(f"fragmentation:{name}" for name in resources if name != PODS),
        )
    )
    for sample, *sizes in zip(samples, *columns.values(), strict=True):
        writer.writerow(
            (
                *(seconds(sample.at), sample.nodes, sample.pods, sample.pending),
                *sizes,
                *(round(sample.utilization.get(name, 0.0), 6) for name in resources),
                *(
                    round(sample.fragmentation.get(name, 0.0), 6)
                    for name in resources
                    if name != PODS
                ),
            )
        )
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
        f"{summary['running']:,} running at the end\n{nodes_line(replay)}"
    )


def table(replay: Replay, limit: Limit) -> str:
    """Waiting times, the cluster over time, and the pods that wait still, by message."""
    parts = [
        paragraph(headline(replay), limit),
        _waiting_table(replay, limit),
        _usage_table(replay.usage.samples, limit),
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
    log = replay.log
    if not log.waiting.count:
        return ""
    rows = [_waiting_row("all pods", log.waiting)]
    groups = (("priority", log.by_priority), ("namespace", log.by_namespace))
    for label, by_name in groups:
        if len(by_name.groups) > 1:
            entries = sorted(by_name.groups.items(), key=lambda item: -item[1].mean)
            rows += [_waiting_row(f"{label} {name}", times) for name, times in entries]
    if log.by_owner.groups:
        owners = sorted(log.by_owner.groups.items(), key=lambda item: -item[1].mean)
        rows += [_waiting_row(name, times) for name, times in owners]
    headers = ("WAITED FOR A NODE", "PODS", "MEAN", "P50", "P90", "P99", "MAX")
    return cut_columns(headers, rows, limit.first(20))


def _waiting_row(name: str, times: WaitingTimes) -> tuple[str, ...]:
    percentiles = map(duration, times.percentiles(_SHARES))
    mean = duration(round(times.mean))
    return (name, f"{times.count:,}", mean, *percentiles, duration(times.longest))


def _usage_table(samples: Sequence[UsageSample], limit: Limit) -> str:
    """Of all the samples about a dozen, at even times: the last before each."""
    if not samples:
        return ""
    times = [sample.at for sample in samples]
    moments = (times[-1] * step // _STEPS for step in range(_STEPS + 1))
    indexes = dict.fromkeys(max(bisect_right(times, moment) - 1, 0) for moment in moments)
    shown = [samples[index] for index in indexes]
    resources = [name for name in _resources(samples) if name != "pods"][:3]
    rows = [
        (
            duration(sample.at),
            f"{sample.nodes:,}",
            f"{sample.pods:,}",
            f"{sample.pending:,}",
            *(_percent(sample.utilization, name) for name in resources),
            _percent(sample.fragmentation, resources[0]) if resources else "",
        )
        for sample in shown
    ]
    used = (name.rpartition("/")[2].upper() for name in resources)
    stranded = f"STRANDED {resources[0].upper()}" if resources else ""
    return columns(("AT", "NODES", "PODS", "PENDING", *used, stranded), rows, Limit(limit.width))


def _resources(samples: Sequence[UsageSample]) -> list[str]:
    """Those that are used at all; cpu and memory first."""
    used = dict.fromkeys(
        name for sample in samples for name, share in sample.utilization.items() if share
    )
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
