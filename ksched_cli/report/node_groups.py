"""How many nodes a replay had over time, as text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ksched_cli.analysis.replay_figures import ReplayCost
from ksched_cli.analysis.replay_result import HOUR, GroupResult, NodeRange, scaling_of
from ksched_cli.engine.replay.records import NodeCounts
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.report.table import Limit


def range_text(counts: NodeRange | GroupResult) -> str:
    """At first, at most and at last; a number that does not change once."""
    numbers = (counts.start, counts.max, counts.end)
    return " → ".join(f"{number:,}" for number in numbers[: 1 if len(set(numbers)) == 1 else 3])


def hours_text(time: int) -> str:
    """Microseconds in hours: 1,234.5, 57 or 0.042."""
    hours = time / HOUR
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
            hours_text(round(group.hours * HOUR)),
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
            hours_text(round(each.hours * HOUR)),
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
