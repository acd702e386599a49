"""An answer of `compare --timeline`: the sides' totals, and the pods that fared differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ksched_cli.analysis.compare import ReplayComparison, ReplaySideResult
from ksched_cli.analysis.replay_result import HOUR, GroupResult, NodeRange
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.kube.time import SECOND
from ksched_cli.report.compare import because_of, judgement
from ksched_cli.report.node_groups import cost_text, hours_text, range_text
from ksched_cli.report.replay import duration
from ksched_cli.report.table import GREEN, YELLOW, Limit, counted

_COUNTS = ("placed", "ended", "evicted", "pending", "gated", "attempts")
_TIMES = (("mean", "mean"), ("half at most", "p50"), ("99 of 100", "p99"), ("longest", "max"))


def headline(answer: ReplayComparison, limit: Limit) -> str:
    """Whether it is better or worse on the other sides, and how many pods fared differently."""
    if not answer.pods:
        text = f"no difference: {counted(answer.pod_count, 'pod')} placed alike on every side"
        return limit.verdict(text, GREEN)
    lines = [_of_side(answer, index) for index in range(1, len(answer.sides))]
    return limit.verdict("\n".join(limit.paragraph(line) for line in lines), YELLOW)


def _of_side(answer: ReplayComparison, index: int) -> str:
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
    yield "mean wait", waited, duration(round(waited * SECOND))
    yield "pending at the end", side.summary.pending, f"{side.summary.pending:,}"
    yield "evictions", side.summary.evicted, f"{side.summary.evicted:,}"
    if side.cost:
        yield "cost", side.cost.total, cost_text(side.cost.total)
    else:
        yield "node-hours", side.nodes.hours, _hours(side.nodes.hours)


def table(answer: ReplayComparison, limit: Limit) -> str:
    """The totals, a column per side, and the pods whose waiting times differ most."""
    headers = ("", *(side.name for side in answer.sides))
    shown = limit.columns(headers, totals(answer.sides))
    parts = [headline(answer, limit), shown, _pods(answer, limit)]
    return "\n\n".join(part for part in parts if part)


def totals(sides: Sequence[ReplaySideResult]) -> list[tuple[str, ...]]:
    """A row per figure, a column per side after the figure's name."""
    rows: list[tuple[str, ...]] = [
        (key, *(f"{getattr(side.summary, key):,}" for side in sides)) for key in _COUNTS
    ]
    rows += [
        (
            f"waited, {name}",
            *(duration(round(getattr(side.waiting, key) * SECOND)) for side in sides),
        )
        for name, key in _TIMES
    ]
    rows.append(("most pending at once", *(f"{side.most_pending:,}" for side in sides)))
    rows.append(("pending-hours", *(_hours(side.pending_hours) for side in sides)))
    rows.append(("it took", *(duration(round(side.end * SECOND)) for side in sides)))
    rows += _node_rows(sides)
    if any(side.cost for side in sides):
        rows.append(("cost", *(cost_text(each.cost.total) if each.cost else "" for each in sides)))
    return rows


def _hours(hours: float) -> str:
    return hours_text(round(hours * HOUR))


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
            (f"node-hours{suffix}", *("" if each is None else _hours(each.hours) for each in own)),
        ]
    return rows


def _pods(answer: ReplayComparison, limit: Limit) -> str:
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
