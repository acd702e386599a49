"""How many nodes a replay had over time, and what its autoscaler did."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ksched_cli.engine.replay.autoscaler.autoscaler import Autoscaler
from ksched_cli.engine.replay.autoscaler.state import ScaleAction, ScaleEvent
from ksched_cli.engine.replay.node_counts import NodeCounts
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND
from ksched_cli.report.table import Limit, cut_columns

_HOUR = 3_600_000_000


def seconds(time: int) -> int | float:
    """Of microseconds; a whole number where it is one."""
    whole, rest = divmod(time, SECOND)
    return time / SECOND if rest else whole


def nodes_of(replay: Replay) -> dict[str, Any]:
    """Of the whole cluster."""
    return _counts(replay.nodes, replay.clock.now)


def _counts(counts: NodeCounts, now: int) -> dict[str, Any]:
    return {
        "start": counts.first,
        "max": counts.most,
        "end": counts.last,
        "hours": round(counts.node_time_until(now) / _HOUR, 6),
    }


def autoscaler_of(replay: Replay) -> dict[str, Any] | None:
    """The groups' sizes over time, and every decision; None where there was no autoscaler."""
    autoscaler = replay.autoscaler
    if autoscaler is None:
        return None
    return {
        "groups": [
            _group(autoscaler, group.name, replay.clock.now) for group in autoscaler.settings.groups
        ],
        "events": [_event(event) for event in autoscaler.state.events],
    }


def _group(autoscaler: Autoscaler, name: str, now: int) -> dict[str, Any]:
    counts = autoscaler.state.counts[name]
    changes = _changes(autoscaler, name)
    return {
        "name": name,
        **_counts(counts, now),
        "added": changes[ScaleAction.SCALE_UP],
        "removed": changes[ScaleAction.SCALE_DOWN],
        "sizes": [{"at": seconds(at), "nodes": count} for at, count in counts.steps],
    }


def _changes(autoscaler: Autoscaler, name: str) -> Counter[ScaleAction]:
    """How many nodes were asked for and removed."""
    changes: Counter[ScaleAction] = Counter()
    for event in autoscaler.state.events:
        if event.group == name:
            changes[event.action] += len(event.nodes)
    return changes


def _event(event: ScaleEvent) -> dict[str, Any]:
    return {
        "at": seconds(event.at),
        "type": event.action.value,
        "group": event.group,
        "reason": event.reason.value,
        "nodes": list(event.nodes),
        "pods": list(event.pods),
    }


def nodes_line(replay: Replay) -> str:
    """As "nodes 5 → 23 → 8, 120.5 node-hours"."""
    counts = replay.nodes
    return f"nodes {range_text(counts)}, {node_hours_text(counts, replay.clock.now)} node-hours"


def range_text(counts: NodeCounts) -> str:
    """At first, at most and at last; a number that does not change once."""
    numbers = (counts.first, counts.most, counts.last)
    return " → ".join(f"{number:,}" for number in numbers[: 1 if len(set(numbers)) == 1 else 3])


def node_hours_text(counts: NodeCounts, now: int) -> str:
    return hours_text(counts.node_time_until(now))


def hours_text(time: int) -> str:
    """Of microseconds: 1,234.5, 57 or 0.042."""
    hours = time / _HOUR
    return f"{hours:.2g}" if 0 < hours < 1 else f"{hours:,.1f}".removesuffix(".0")


def groups_table(replay: Replay, limit: Limit) -> str:
    """A row per node group."""
    autoscaler = replay.autoscaler
    if autoscaler is None:
        return ""
    rows = []
    for name, counts in autoscaler.state.counts.items():
        changes = _changes(autoscaler, name)
        rows.append(
            (
                name,
                range_text(counts),
                node_hours_text(counts, replay.clock.now),
                f"{changes[ScaleAction.SCALE_UP]:,}",
                f"{changes[ScaleAction.SCALE_DOWN]:,}",
            )
        )
    headers = ("NODE GROUP", "NODES", "NODE-HOURS", "ADDED", "REMOVED")
    return cut_columns(headers, rows, limit.first(20))


def sizes_at(counts: NodeCounts, times: Sequence[int]) -> list[int]:
    """How many nodes there were at these times; 0 before the first step."""
    starts = [at for at, _ in counts.steps]
    indexes = (bisect_right(starts, time) - 1 for time in times)
    return [counts.steps[index][1] if index >= 0 else 0 for index in indexes]
