"""An answer of `compare --timeline`: the sides' totals, and the pods that fared differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from ksched_cli.analysis.compare_replays import ReplayComparison, ReplayDifference, ReplaySide
from ksched_cli.analysis.replay_figures import replay_figures, waiting_groups
from ksched_cli.analysis.usage_over_time import UsageOverTime
from ksched_cli.engine.replay.node_counts import NodeCounts
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.kube.time import SECOND
from ksched_cli.report.compare import because_of
from ksched_cli.report.node_groups import (
    autoscaler_of,
    hours_text,
    node_hours_text,
    nodes_of,
    range_text,
    seconds,
)
from ksched_cli.report.replay import duration, summary_of
from ksched_cli.report.table import (
    GREEN,
    YELLOW,
    Limit,
    columns,
    counted,
    cut_columns,
    paragraph,
    verdict,
)

_COUNTS = ("placed", "ended", "evicted", "pending", "gated", "attempts")
_TIMES = (("mean", "mean"), ("half at most", "p50"), ("99 of 100", "p99"), ("longest", "max"))


def document(answer: ReplayComparison) -> dict[str, Any]:
    """kind Comparison, of runs with a timeline."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "Comparison",
        "sides": [_side(answer, index) for index in range(len(answer.sides))],
        "pods": [_pod(difference) for difference in answer.differences],
    }


def _side(answer: ReplayComparison, index: int) -> dict[str, Any]:
    side = answer.sides[index]
    scaling = autoscaler_of(side.replay)
    return {
        "name": side.named.name,
        "run": to_builtins(side.named.run),
        "differsIn": list(side.named.differs_in),
        "differing": answer.differing[index],
        "kubernetesVersion": side.replay.cluster.configuration.release.version,
        "end": seconds(side.replay.clock.now),
        "summary": summary_of(side.replay),
        "waiting": to_builtins(waiting_groups(side.replay).all),
        "pendingHours": replay_figures(side.replay).pending_hours,
        "nodes": nodes_of(side.replay),
        **({} if scaling is None else {"autoscaler": scaling}),
    }


def _pod(difference: ReplayDifference) -> dict[str, Any]:
    records = difference.records
    return {
        "pod": difference.pod,
        "nodes": [record.node or None if record is not None else None for record in records],
        "placed": [_time(record) for record in records],
        "waited": [None if waited is None else seconds(waited) for waited in difference.waited],
        "outcomes": [None if record is None else record.outcome.value for record in records],
    }


def _time(record: PodRecord | None) -> int | float | None:
    return None if record is None or record.placed is None else seconds(record.placed)


def headline(answer: ReplayComparison, limit: Limit) -> str:
    """How many pods fared differently."""
    if not answer.differences:
        text = f"no difference: {counted(answer.pod_count, 'pod')} placed alike on every side"
        return verdict(paragraph(text, limit), GREEN, limit)
    lines = [_of_side(answer, index) for index in range(1, len(answer.sides))]
    return verdict("\n".join(paragraph(line, limit) for line in lines), YELLOW, limit)


def _of_side(answer: ReplayComparison, index: int) -> str:
    """What the difference between a side and the first one did."""
    side = answer.sides[index]
    prefix = f"{side.named.name}: " if len(answer.sides) > 2 else ""
    count = answer.differing[index]
    total = counted(answer.pod_count, "pod")
    if not count:
        return f"{prefix}no difference: {total} placed alike"
    delays = [difference.delay(index) for difference in answer.differences]
    longer, shorter = sum(delay > 0 for delay in delays), sum(delay < 0 for delay in delays)
    verb = "differs" if count == 1 else "differ"
    because = because_of(side.named.differs_in)
    return (
        f"{prefix}{count:,} of {total} {verb}{because}: {longer:,} waited longer than on the first "
        f"side, {shorter:,} less long"
    )


def table(answer: ReplayComparison, limit: Limit) -> str:
    """The totals, a column per side, and the pods whose waiting times differ most."""
    parts = [headline(answer, limit), _totals(answer, limit), _pods(answer, limit)]
    return "\n\n".join(part for part in parts if part)


def _totals(answer: ReplayComparison, limit: Limit) -> str:
    summaries = [summary_of(side.replay) for side in answer.sides]
    waits = [waiting_groups(side.replay).all for side in answer.sides]
    usages = [UsageOverTime(side.replay) for side in answer.sides]
    rows = [(key, *(f"{summary[key]:,}" for summary in summaries)) for key in _COUNTS]
    rows += [
        (f"waited, {name}", *(duration(round(getattr(wait, key) * SECOND)) for wait in waits))
        for name, key in _TIMES
    ]
    rows.append(("most pending at once", *(f"{usage.pending.max():,}" for usage in usages)))
    rows.append(("pending-hours", *(hours_text(usage.pending_time) for usage in usages)))
    rows.append(("it took", *(duration(side.replay.clock.now) for side in answer.sides)))
    rows += _node_rows(answer.sides)
    return columns(("", *(side.named.name for side in answer.sides)), rows, limit)


def _node_rows(sides: Sequence[ReplaySide]) -> list[tuple[str, ...]]:
    """How many nodes there were, and for how long: of all, and of each node group."""
    counts: list[dict[str, NodeCounts]] = []
    for side in sides:
        scaling = side.replay.autoscaler
        groups = {} if scaling is None else scaling.state.counts
        counts.append({"": side.replay.nodes, **groups})
    rows = []
    for name in dict.fromkeys(name for each in counts for name in each):
        suffix = name and f", {name}"
        own = [each.get(name) for each in counts]
        ends = [side.replay.clock.now for side in sides]
        rows += [
            (f"nodes{suffix}", *("" if each is None else range_text(each) for each in own)),
            (
                f"node-hours{suffix}",
                *(
                    "" if each is None else node_hours_text(each, end)
                    for each, end in zip(own, ends, strict=True)
                ),
            ),
        ]
    return rows


def _pods(answer: ReplayComparison, limit: Limit) -> str:
    ordered = sorted(answer.differences, key=lambda each: (-abs(each.delay(-1)), each.pod))
    rows = [(each.pod, *map(_fate, each.records, each.waited)) for each in ordered]
    headers = ("POD", *(side.named.name for side in answer.sides))
    return cut_columns(headers, rows, limit.first(20), "pods") if rows else ""


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
