"""An answer of `drain`: yes or no, what blocks it and what lifts that, who moves and who waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ksched_cli.analysis.drain import DrainBlocker, DrainResult
from ksched_cli.report.pending import group_name, nodes_of, pending_groups, shared_owner
from ksched_cli.report.view import (
    Column,
    Command,
    Commands,
    Kind,
    Line,
    Medium,
    Section,
    Table,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, enumerated, grouped, listed, verb

SHOWN_NAMES, SHOWN_NODES = 3, 6
MAX_POD_ROWS = 12  # have a row each
GROUPED = Medium.BRIEF | Medium.WHOLE


def view(answer: DrainResult) -> View:
    """The verdict, what to know of it, the blockers, the moves, the budgets, and kubectl's
    command."""
    pods = len(answer.moves_to)
    return View(
        title=_title(answer),
        tone=Tone.GOOD if answer.possible else Tone.BAD,
        lines=[*_lines(answer)],
        tiles=[
            Tile("can be drained", f"{len(answer.order):,} of {len(answer.nodes):,}"),
            Tile("pods move", f"{pods:,}"),
            Tile("blockers", f"{len(answer.blocked_by):,}", "bad" if answer.blocked_by else ""),
        ],
        sections=[*_sections(answer)],
        names=lambda: answer.order,
        nodes=[
            *answer.nodes,
            *answer.moves_to.values(),
            *nodes_of((*answer.pending, *answer.already_pending)),
        ],
    )


def _title(answer: DrainResult) -> str:
    """The answer in a sentence, which a person reads first."""
    if not answer.possible:
        first, *others = _obstacles(answer)
        rest = f"; and {counted(len(others), 'other blocker')}" if others else ""
        return f"no: {first}{rest}"
    title = f"yes, {_all(answer.leaving)}" if answer.leaving else "yes, no pod has to move"
    if len(answer.nodes) > 1:
        title += f", of {counted(len(answer.nodes), 'node')} together"
    zones = answer.leaves_zones
    if zones:
        out = f"{sum(zones.values()):,} {verb(sum(zones.values()), 'moves', 'move')} out of zone"
        title += f"; {out}{'s' * (len(zones) > 1)} {enumerated([*zones])}"
    if answer.without_controller:
        title += f"; {counted(len(answer.without_controller), 'pod')} without controller "
        title += f"{verb(len(answer.without_controller), 'is', 'are')} gone for good"
    return title


def _all(count: int) -> str:
    return "its pod finds a node" if count == 1 else f"all {count:,} pods find a node"


def _obstacles(answer: DrainResult) -> Iterator[str]:
    """Yield what blocks the drain, what is hardest to lift first; pods that find no node are one
    obstacle."""
    nowhere = {group.pods for group in answer.pending}
    yield from (each.because for each in answer.blocked_by if each.budgets)
    waiting = [pod for group in answer.pending for pod in group.pods]
    if waiting:
        find = verb(len(waiting), "finds", "find")
        of = f"{len(waiting):,} of {counted(answer.leaving, 'pod')}"
        causes = [each.because for each in answer.blocked_by if each.pods in nowhere]
        why = f": {waiting[0]}: {causes[0]}" if len(causes) == 1 else ""
        yield f"{of} {find} no other node{why}"
    for blocker in answer.blocked_by:
        if not blocker.budgets and blocker.pods not in nowhere:
            yield f"{_pods(blocker)}: {blocker.because}"


def _lines(answer: DrainResult) -> Iterator[Line]:
    if len(answer.nodes) > 1 and answer.order:
        share = f"{len(answer.order):,} of {counted(len(answer.nodes), 'node')} can be drained, "
        begin = "" if answer.possible else share
        yield Line(f"{begin}in this order: {listed(answer.order, SHOWN_NODES)}")
    if answer.alone:
        yield Line(
            f"without the others, each of these can be drained: {listed(answer.alone, SHOWN_NODES)}"
        )
    if answer.local_storage:
        losers = counted(len(answer.local_storage), "pod")
        lose = verb(len(answer.local_storage), "loses", "lose")
        pods = listed(answer.local_storage, SHOWN_NAMES)
        yield Line(f"{losers} {lose} what is in emptyDir volumes: {pods}", Tone.WARN)
    if answer.without_controller:
        pods = listed(answer.without_controller, SHOWN_NAMES)
        yield Line(f"no controller creates these pods again: {pods}", Tone.WARN)
    if answer.waits:
        times = counted(answer.waits, "time")
        yield Line(f"budgets let the drain wait {times}, until evicted pods are ready elsewhere")
    blocked = {pod for blocker in answer.blocked_by for pod in blocker.pods}
    rest = answer.leaving - len(answer.moves_to) - len(blocked & answer.owners.keys())
    if rest > 0:
        stay, them = verb(rest, "stays", "stay"), verb(rest, "it", "them")
        yield Line(f"{counted(rest, 'other pod')} {stay}, as the drain stops before {them}")
    if answer.staying:
        pods = counted(answer.staying, "pod")
        stay = verb(answer.staying, "stays", "stay")
        yield Line(f"{pods} of DaemonSets or static {stay}", Tone.SOFT)
    if answer.already_pending:
        count = sum(len(group.pods) for group in answer.already_pending)
        pods = f"{counted(count, 'pod')} {verb(count, 'is', 'are')} pending before the drain"
        yield Line(f"{pods}; no node is kept for {verb(count, 'it', 'them')}", Tone.SOFT)


def _sections(answer: DrainResult) -> Iterator[Section]:
    has_several = len(answer.nodes) > 1
    # What keeps pods that find no node is beside them, below.
    nowhere = {group.pods for group in answer.pending}
    node = [(Column("Node", Kind.NODE), lambda each: each.nodes)]
    yield table(
        "What blocks it",
        [each for each in answer.blocked_by if each.pods not in nowhere],
        *(node if has_several else ()),
        (Column("Pods"), _pods),
        (Column("Because"), lambda each: each.because),
        (Column("What lifts it"), _lift),
        noun="blockers",
    )
    yield Commands(
        heading="What lifts it, each tried in a run",
        commands=[
            Command(f"kubectl {change}")
            for blocker in answer.blocked_by
            for change in blocker.lifted_by
            if not change.startswith("--")
        ],
    )
    yield pending_groups("Who finds no node", answer.pending, with_reasons=True)
    yield from _moves(answer)
    yield table(
        "Budgets of these pods",
        answer.budgets,
        (Column("Budget"), lambda each: each.budget),
        (Column("Pods here", Kind.NUMBER), lambda each: each.pods),
        (Column("At a time", Kind.NUMBER), lambda each: each.allowed),
        (Column("Healthy", Kind.NUMBER), lambda each: each.healthy),
        (Column("Needed", Kind.NUMBER), lambda each: each.needed),
        brief=8,
        noun="budgets",
    )
    if answer.possible:
        yield Commands(heading="The command", commands=[Command(answer.command)])


def _pods(blocker: DrainBlocker) -> str:
    """The owner and how many, or the pod's name."""
    names = {shared_owner(owner) for owner in blocker.owners}
    if len(names) > 1 or not names:
        return counted(len(blocker.pods), "pod")
    count = f" ({len(blocker.pods):,})" if len(blocker.pods) > 1 else ""
    return f"{group_name(next(iter(names)), blocker.pods)}{count}"


def _lift(blocker: DrainBlocker) -> str:
    flags = [each for each in blocker.lifted_by if each.startswith("--")]
    if flags:
        return (
            f"{enumerated(flags)}, which deletes {verb(len(blocker.pods), 'it', 'them')} for good"
        )
    changes = f"{counted(len(blocker.lifted_by), 'change')} below" if blocker.lifted_by else ""
    return " or ".join(filter(None, (changes, blocker.waits_for)))


def _moves(answer: DrainResult) -> Iterator[Table]:
    moves = [*answer.moves_to.items()]
    has_zones = any(answer.zones.values())
    source = (Column("From", Kind.NODE), lambda each: answer.moved_from[each[0]])
    zone = (Column("Zone", drop=1), lambda each: _zones(answer, *each))
    is_short = len(moves) <= MAX_POD_ROWS
    yield table(
        "Who moves",
        moves,
        (Column("Pod", Kind.POD), lambda each: each[0]),
        *([source] if len(answer.nodes) > 1 else ()),
        (Column("To", Kind.NODE), lambda each: each[1]),
        *([zone] if has_zones else ()),
        on=Medium.ALL if is_short else Medium.WIDE | Medium.PAGE,
        grid="pods",
        brief=None,
    )
    if not is_short:
        by_owner = grouped((_owner(answer, pod), node) for pod, node in moves)
        yield table(
            "Who moves",
            sorted(by_owner.items(), key=lambda item: -len(item[1])),
            (Column("Owner", Kind.OWNER), lambda each: each[0]),
            (Column("Pods", Kind.NUMBER), lambda each: len(each[1])),
            (Column("To", Kind.NODE), lambda each: _counts(each[1])),
            brief=12,
            noun="owners",
            note="-o wide shows where every pod goes",
            on=GROUPED,
        )


def _owner(answer: DrainResult, pod: str) -> str:
    return shared_owner(answer.owners.get(pod, f"{pod.partition('/')[0]}/Pod/"))


def _counts(nodes: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        name if count == 1 else f"{name} ({count:,})"
        for name, count in Counter(nodes).most_common()
    )


def _zones(answer: DrainResult, pod: str, node: str) -> str:
    first, then = answer.zones[answer.moved_from[pod]], answer.zones[node]
    return then if first == then else f"{first or 'none'} → {then or 'none'}"
