"""An answer of `compare`: the sides' totals, and the pods that do not end up in the same place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ksched_cli.analysis.compare import (
    NOT_LOOKED_FOR,
    Comparison,
    Place,
    PodDifference,
    SideResult,
    Standing,
    differs,
)
from ksched_cli.analysis.usage import Utilization
from ksched_cli.report.table import ALL_HINT, GREEN, YELLOW, Limit, apart, counted, grouped
from ksched_cli.report.usage import percent

SHOWN_GROUPS = 20
SHOWN_BLOCKS = 10
CAUSE_WIDTH = 30
# What becomes of one pod, by what becomes of several.
_SINGULAR = {
    "move": "moves",
    "get a node": "gets a node",
    "become pending": "becomes pending",
    "are evicted": "is evicted",
    "become gated": "becomes gated",
    "are not there": "is not there",
    "are left out": "is left out",
}


def table(answer: Comparison, limit: Limit) -> str:
    """The verdict, the totals with a column per side, and the pods that differ, by owner."""
    headers = ("", *(side.name for side in answer.sides))
    rows = [
        [f"{cell:,}" if isinstance(cell, int) else cell for cell in row]
        for row in totals(answer.sides)
    ]
    return apart(headline(answer, limit), limit.columns(headers, rows), _groups(answer, limit))


def headline(answer: Comparison, limit: Limit) -> str:
    """How many pods differ."""
    if not answer.pods:
        text = f"no difference: {counted(answer.pod_count, 'pod')} in the same place on every side"
        return limit.verdict(text, GREEN)
    lines = [_of_side(answer, index) for index in range(1, len(answer.sides))]
    return limit.verdict("\n".join(lines), YELLOW)


def _of_side(answer: Comparison, index: int) -> str:
    """What the difference between a side and the first one did."""
    side = answer.sides[index]
    prefix = f"{side.name}: " if len(answer.sides) > 2 else ""
    kinds = Counter(
        _kind(pod.places[0], pod.places[index])
        for pod in answer.pods
        if differs(pod.places[0], pod.places[index])
    )
    because = because_of(side.differs_in)
    total = counted(answer.pod_count, "pod")
    if not kinds:
        return f"{prefix}no difference: {total} in the same place"
    count = kinds.total()
    if len(kinds) == 1:
        (kind,) = kinds
        kind = _SINGULAR.get(kind, kind) if count == 1 else kind
        return f"{prefix}{count:,} of {total} {kind}{because}"
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return f"{prefix}{count:,} of {total} differ{because}: {counts}"


def because_of(axes: Sequence[str]) -> str:
    """` because of the configuration and the changes`."""
    if not axes:
        return ""
    *first, last = (f"the {axis}" for axis in axes)
    return f" because of {', '.join(first)} and {last}" if first else f" because of {last}"


def judgement(lower: Sequence[str], higher: Sequence[str], because: str) -> str:
    """Better, worse or a trade-off. lower, higher: figures of which less is better that fell, and
    that rose"""
    if not lower and not higher:
        return f"neither better nor worse{because}"
    word = "a trade-off" if lower and higher else "better" if lower else "worse"
    return f"{word}{because}: {', but '.join(', '.join(each) for each in (lower, higher) if each)}"


def _kind(first: Place, other: Place) -> str:
    """What becomes of a pod from the first side to another."""
    if first.node and other.node:
        return "move"
    if other.node:
        return "get a node"
    endings = {
        Standing.PENDING: "become pending",
        Standing.EVICTED: "are evicted",
        Standing.GATED: "become gated",
        Standing.ABSENT: "are not there",
        Standing.IGNORED: "are left out",
    }
    return endings.get(other.standing, "otherwise")


def totals(sides: Sequence[SideResult]) -> list[tuple[int | str, ...]]:
    """A row per figure."""
    counts = {
        "placed": [side.summary.placed for side in sides],
        "pending": [side.summary.pending for side in sides],
        "gated": [side.summary.gated for side in sides],
        "evicted": [side.summary.evicted for side in sides],
        "nodes used": [side.summary.nodes_used for side in sides],
    }
    rows: list[tuple[int | str, ...]] = [(name, *values) for name, values in counts.items()]
    rows += [
        (f"{resource} used", *(_share(side.summary.utilization.get(resource)) for side in sides))
        for resource in dict.fromkeys(key for side in sides for key in side.summary.utilization)
    ]
    return rows


def _share(share: Utilization | None) -> str:
    if share is None:
        return "none"
    per_node = f"{share.mean:.0%} ± {share.stddev:.0%}, max {share.max:.0%}"
    return f"{percent(share.total)} (per node {per_node})"


def _groups(answer: Comparison, limit: Limit) -> str:
    """The most pods first; without a limit, each pod for itself. A row per group, or a block where
    the names leave the causes no room."""
    groups = grouped((_group_key(pod, limit), pod) for pod in answer.pods)
    if not groups:
        return ""
    names = [side.name for side in answer.sides]
    headers = ("POD OR OWNER", "PODS", *names, "BECAUSE OF")
    rows = [
        _row(pods, len(names), limit)
        for pods in sorted(groups.values(), key=lambda pods: -len(pods))
    ]
    left = Limit(None if limit.width is None else limit.width - CAUSE_WIDTH)
    if left.fits_width(headers[:-1], [row[:-1] for row in rows[: limit.rows]]):
        return limit.first(SHOWN_GROUPS).cut_columns(headers, rows, "groups")
    shown = rows if limit.rows is None else rows[:SHOWN_BLOCKS]
    blocks = [_block(names, row, limit) for row in shown]
    if len(shown) < len(rows):
        blocks.append(f"… and {counted(len(rows) - len(shown), 'more group')} ({ALL_HINT})")
    return "\n".join(blocks)


def _group_key(pod: PodDifference, limit: Limit) -> object:
    kind = tuple("on a node" if place.node else place.standing for place in pod.places)
    return pod.pod if limit.rows is None else (_group_name(pod), kind)


def _row(pods: Sequence[PodDifference], sides: int, limit: Limit) -> tuple[str, ...]:
    """Name, number of pods, where they are on each side, cause."""
    return (
        pods[0].pod if len(pods) == 1 else _group_name(pods[0]),
        f"{len(pods):,}",
        *(_places([pod.places[side] for pod in pods], limit) for side in range(sides)),
        _causes(pods),
    )


def _block(names: Sequence[str], row: Sequence[str], limit: Limit) -> str:
    name, count, *places, cause = row
    heading = name if count == "1" else f"{name}: {count} pods"
    lines = [f"  {side}: {place}" for side, place in zip(names, places, strict=True)]
    lines.append(f"  because: {cause}")
    return "\n".join(limit.paragraph(line, "    ") for line in (heading, *lines))


def _group_name(pod: PodDifference) -> str:
    """The owner; pods of a namespace that have none are one group."""
    namespace, _, name = pod.pod.partition("/")
    return f"{namespace}, no controller" if pod.owner == f"{namespace}/Pod/{name}" else pod.owner


def _places(places: Sequence[Place], limit: Limit) -> str:
    """The nodes, those of most of the pods first, or what the pods are instead."""
    if not places[0].node:
        return standing_text(places[0].standing)
    nodes = Counter(place.node or "" for place in places).most_common()
    return limit.listed([node if count == 1 else f"{node} ({count:,})" for node, count in nodes], 2)


def standing_text(standing: Standing) -> str:
    return "not there" if standing is Standing.ABSENT else standing.value


def _causes(pods: Sequence[PodDifference]) -> str:
    """The most common known cause of the pods."""
    causes = [pod.cause for pod in pods if pod.cause is not NOT_LOOKED_FOR]
    if not causes:
        return NOT_LOOKED_FOR.text
    if len(pods) == 1:
        return causes[0].text
    kinds = Counter(
        (cause.plugin, "" if cause.points is not None else cause.reason) for cause in causes
    ).most_common()
    (plugin, reason), count = kinds[0]
    if not reason:
        points = max(
            cause.points for cause in causes if cause.plugin == plugin and cause.points is not None
        )
        reason = f"up to {counted(points, 'point')}"
    text = f"{plugin}: {reason}" if plugin else reason
    return text if len(kinds) == 1 else f"{text}; {len(causes) - count:,} for other reasons"
