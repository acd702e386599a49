"""An answer of `compare`: the pods that do not end up in the same place, and the sides' totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from ksched_cli.analysis.compare import (
    NOT_LOOKED_FOR,
    Comparison,
    Place,
    PodDifference,
    SideResult,
    Standing,
    differs,
)
from ksched_cli.report.metrics import metric_rows
from ksched_cli.report.regret import regret_rows
from ksched_cli.report.usage import cost_tables, hourly
from ksched_cli.report.view import (
    Column,
    Kind,
    Later,
    Line,
    Medium,
    Rows,
    Section,
    Table,
    Tile,
    Tone,
    View,
    bars,
    table,
)
from ksched_cli.report.words import counted, enumerated, grouped, percent, verb, with_counts

SHOWN_GROUPS = 20
SHOWN_PODS = 3  # of a rule
MAX_CAUSES = 20
OTHER_CAUSES = "other causes; the table of pods has them"
# What becomes of one pod, and of several, from the first side to another.
KINDS = {
    Standing.PLACED: ("gets a node", "get a node"),
    Standing.RUNNING: ("gets a node", "get a node"),
    Standing.PENDING: ("becomes pending", "become pending"),
    Standing.EVICTED: ("is evicted", "are evicted"),
    Standing.GATED: ("becomes gated", "become gated"),
    Standing.ABSENT: ("is not there", "are not there"),
    Standing.IGNORED: ("is left out", "are left out"),
}
MOVES = ("moves", "move")
STAYS = ("is no longer evicted", "are no longer evicted")


def view(answer: Comparison) -> View:
    """Return how many pods differ, the pods by owner, and the totals with a column per side."""
    title, *lines = _verdict(answer)
    pods = answer.pods
    names = [side.name for side in answer.sides]
    # Pods share a row by owner and what becomes of them; rows of the most pods come first.
    by_owner = grouped(
        (
            (_group_name(pod), *("on a node" if at.node else at.standing for at in pod.places)),
            pod,
        )
        for pod in pods
    )
    groups = sorted(by_owner.values(), key=lambda pods: -len(pods))
    rows: list[tuple[Any, ...]] = []
    for group in groups:
        # Each side shows the nodes, those of most of the pods first, or what the pods are instead.
        cells: list[str | tuple[str, ...]] = []
        for side in range(len(names)):
            places = [pod.places[side] for pod in group]
            nodes = Counter(place.node or "" for place in places).most_common()
            standing = places[0].standing.text
            cells.append(with_counts(dict(nodes)) if places[0].node else standing)
        subject = group[0].pod if len(group) == 1 else _group_name(group[0])
        rows.append((subject, len(group), *cells, _causes(group)))
    differences = Table(
        heading="Pods that differ",
        columns=[
            Column("Pod or owner", Kind.OWNER),
            Column("Pods", Kind.NUMBER),
            *(Column(name, named=True) for name in names),
            Column("Because of"),
        ],
        rows=rows,
        marks=[_mark(group[0]) for group in groups],
        brief=SHOWN_GROUPS,
        noun="groups",
        on=Medium.BRIEF,
    )
    # Where nothing is cut, each pod has a row.
    every = table(
        "Pods that differ",
        pods,
        (Column("Pod", Kind.POD), lambda pod: pod.pod),
        *(
            (Column(name, named=True), lambda pod, side=side: pod.place_text(side))
            for side, name in enumerate(names)
        ),
        (Column("Because of"), lambda pod: pod.because),
        marks=[*map(_mark, pods)],
        on=Medium.WHOLE | Medium.WIDE,
    )
    cost_columns = (Column(name, Kind.NUMBER, named=True) for name in names)
    costs = zip(cost_columns, (side.summary.cost for side in answer.sides), strict=True)
    # A page counts pods by the plugin that turned them, or another cause that several have.
    causes = Counter(pod.plugin or pod.because for pod in pods)
    named = {pod.plugin for pod in pods} | {cause for cause in causes if causes[cause] > 1}
    if len(causes) > MAX_CAUSES:
        causes = Counter(
            cause if (cause := pod.plugin or pod.because) in named else OTHER_CAUSES for pod in pods
        )
    cause_rows = causes.most_common(MAX_CAUSES)
    cause_columns = (Column(""), Column("Pods", Kind.NUMBER))
    return View(
        title=title.text,
        tone=title.tone,
        lines=lines,
        tiles=[
            Tile("differ", f"{len(pods):,}", "warn" if pods else "good"),
            Tile("pods", f"{answer.pod_count:,}"),
        ],
        sections=[
            Later(make=lambda: _flows(answer)),
            differences,
            every,
            _totals(answer.sides, Rows.NOT_EQUAL, Medium.BRIEF | Medium.PAGE),
            _totals(answer.sides, Rows.ALL, Medium.WHOLE | Medium.WIDE),
            *cost_tables(*costs, differing=True),
            bars("Because of", cause_columns, cause_rows, ("pods",)),
            Later(make=lambda: _maps(answer)),
        ],
        nodes=[
            *(node for pod in pods for node in pod.nodes if node),
            *(usage.name for side in answer.sides for usage in side.usages),
        ],
    )


# -- the verdict ----------------------------------------------------------------------------------


def _verdict(answer: Comparison) -> Iterator[Line]:
    """Yield how many pods differ and why; of several sides, a line for each."""
    total = counted(answer.pod_count, "pod")
    tone = Tone.BAD if answer.undecided else Tone.WARN
    if not answer.pods:
        yield Line(f"No difference: {total} in the same place on every side", Tone.GOOD)
        return
    count = len(answer.pods)
    if len(answer.sides) == 2:
        yield Line(_of_side(answer, 1), tone)
        yield from _rules(answer, 1)
        return
    yield Line(f"{count:,} of {total} {verb(count, 'differs', 'differ')} between the sides", tone)
    for index, side in enumerate(answer.sides[1:], 1):
        yield Line(f"{side.name}: {_of_side(answer, index)}")
        yield from _rules(answer, index)


def _rules(answer: Comparison, index: int) -> Iterator[Line]:
    """Yield a line for each rule of a newer or older Kubernetes because of which pods differ."""
    side = answer.sides[index]
    if side.rules is None:
        yield Line("Which rules that comes from was not looked for: the runs are too long")
        return
    if side.rules is UNSET:
        return
    pods = {pod.pod: pod for pod in answer.pods}
    for effect in side.rules:
        kinds = grouped(
            (_kind(pods[key].places[0], pods[key].places[index]), key) for key in effect.pods
        )
        texts = [f"{_some(keys)} {verb(len(keys), *kind)}" for kind, keys in kinds.items()]
        text = effect.text[:1].upper() + effect.text[1:]
        yield Line(f"{text}: {enumerated(texts)}")
    explained = {key for effect in side.rules for key in effect.pods}
    left = [pod.pod for pod in answer.pods if pod.pod not in explained]
    left = [key for key in left if differs(pods[key].places[0], pods[key].places[index])]
    if left:
        yield Line(f"Several rules together: {_some(left)} {verb(len(left), 'differs', 'differ')}")


def _some(pods: Sequence[str]) -> str:
    return enumerated(pods) if len(pods) <= SHOWN_PODS else counted(len(pods), "pod")


def _of_side(answer: Comparison, index: int) -> str:
    """Return what the difference between a side and the first one did."""
    kinds = Counter(
        _kind(pod.places[0], pod.places[index])
        for pod in answer.pods
        if differs(pod.places[0], pod.places[index])
    )
    because = because_of(answer.sides[index].differs_in)
    total = counted(answer.pod_count, "pod")
    count = kinds.total()
    if not kinds:
        return f"no difference: {total} in the same place"
    if len(kinds) == 1:
        return f"{count:,} of {total} {verb(count, *next(iter(kinds)))}{because}"
    counts = ", ".join(f"{each:,} {verb(each, *kind)}" for kind, each in kinds.most_common())
    return f"{count:,} of {total} differ{because}: {counts}"


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


def _kind(first: Place, other: Place) -> tuple[str, str]:
    """What becomes of a pod, and of several, from the first side to another."""
    if first.standing is Standing.EVICTED and other.node:
        return STAYS
    return MOVES if first.node and other.node else KINDS[other.standing]


# -- sections -------------------------------------------------------------------------------------


def _totals(sides: Sequence[SideResult], shown: Rows, on: Medium) -> Table:
    """Return a row per figure."""
    summaries = [side.summary for side in sides]
    rows: list[tuple[Any, ...]] = [
        ("pods placed", *(each.placed for each in summaries)),
        ("pods pending", *(each.pending for each in summaries)),
        ("pods gated", *(each.gated for each in summaries)),
        ("pods evicted", *(each.evicted for each in summaries)),
        ("nodes used", *(each.nodes_used for each in summaries)),
    ]
    rows += regret_rows([each.regret for each in summaries])
    rows += metric_rows([each.metrics for each in summaries])
    for resource in dict.fromkeys(key for each in summaries for key in each.utilization):
        shares = [each.utilization.get(resource) for each in summaries]
        rows.append((f"{resource} used", *(percent(s.total) if s else "none" for s in shares)))
        per_node = (
            f"{s.mean:.0%} ± {s.stddev:.0%}, max {s.max:.0%}" if s is not None else "none"
            for s in shares
        )
        rows.append((f"{resource} used per node", *per_node))
    costs = [each.cost for each in summaries]
    if any(costs):
        totals = (hourly(each.per_hour) if each else "none" for each in costs)
        idle = (hourly(each.idle) if each else "none" for each in costs)
        rows += [("cost an hour", *totals), ("idle cost an hour", *idle)]
    columns = [Column(side.name, Kind.NUMBER, named=True) for side in sides]
    return Table(heading="Totals", columns=[Column(""), *columns], rows=rows, shown=shown, on=on)


def _mark(pod: PodDifference) -> str:
    """Return `+` for a pod that is added or gets a node on the first side that differs, `-` for one
    that is not there or loses its node, `~` for all else."""
    first, *others = pod.places
    other = next((each for each in others if differs(first, each)), first)
    if Standing.ABSENT in (first.standing, other.standing):
        return "+" if first.standing is Standing.ABSENT else "-"
    if bool(first.node) == bool(other.node):
        return "~"
    return "+" if other.node else "-"


def _group_name(pod: PodDifference) -> str:
    """Return the owner; pods of a namespace that have none are one group."""
    namespace, _, name = pod.pod.partition("/")
    return f"{namespace}, no controller" if pod.owner == f"{namespace}/Pod/{name}" else pod.owner


def _causes(pods: Sequence[PodDifference]) -> str:
    """Return the most common known cause of the pods."""
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


# -- sections of the page -------------------------------------------------------------------------


def _flows(answer: Comparison) -> Iterator[Section]:
    from ksched_cli.report.html.clusters import flows

    if answer.pods:
        for index in range(1, len(answer.sides)):
            yield flows(answer, index)


def _maps(answer: Comparison) -> Iterator[Section]:
    """Yield the map of the nodes, how full they are, and every pod: the map counts the columns of
    that table."""
    from ksched_cli.report.html.cluster_map import utilisation
    from ksched_cli.report.html.clusters import node_map

    if answer.sides[0].usages:
        yield node_map(answer)
        yield utilisation([(side.name, side.usages) for side in answer.sides])
    yield table(
        "Table of pods",
        answer.pods,
        (Column("Pod", Kind.POD), lambda pod: pod.pod),
        (Column("Owner", Kind.OWNER), lambda pod: pod.owner),
        *(
            (Column(side.name), lambda pod, at=at: pod.place_text(at))
            for at, side in enumerate(answer.sides)
        ),
        (Column("Because of"), lambda pod: pod.because),
        grid="pods",
    )
