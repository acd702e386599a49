"""Answers of `drain`: yes or no, what blocks it and what lifts that, who moves and who waits."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from ksched_cli import program_name
from ksched_cli.analysis.drain import DrainBlocker, DrainResult
from ksched_cli.analysis.drain_each import DomainDrain, DrainResults
from ksched_cli.report.pending import alike, group_name, nodes_of, pending_groups, shared_owner
from ksched_cli.report.recreation import evictions_table, waiting_lines
from ksched_cli.report.view import (
    Column,
    Command,
    Commands,
    Kind,
    Line,
    Medium,
    Table,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, enumerated, grouped, listed, verb, with_counts

SHOWN_NAMES, SHOWN_NODES = 3, 6
SHOWN_DOMAINS, SHOWN_BLOCKERS = 4, 15
MAX_POD_ROWS = 12  # have a row each
GROUPED = Medium.BRIEF | Medium.WHOLE


def view(answer: DrainResult) -> View:
    """Return the verdict, what to know of it, the blockers, the moves, the budgets, and kubectl's
    command."""
    several = len(answer.nodes) > 1
    # The title is the answer, which a person reads first.
    if not answer.possible:
        first, *others = _obstacles(answer)
        rest = f"; and {counted(len(others), 'other blocker')}" if others else ""
        title = f"no: {first}{rest}"
    else:
        find = f"all {answer.leaving:,} pods find a node"
        who = find if answer.leaving != 1 else "its pod finds a node"
        title = f"yes, {who}" if answer.leaving else "yes, no pod has to move"
        if answer.failed:
            lost = verb(len(answer.nodes), "is", "are")
            title += f" when {listed(answer.nodes, SHOWN_NAMES)} {lost} lost"
        elif several:
            title += f", of {counted(len(answer.nodes), 'node')} together"
        zones = answer.leaves_zones
        if zones:
            count = sum(zones.values())
            out = f"{count:,} {verb(count, 'moves', 'move')} out of zone"
            title += f"; {out}{'s' * (len(zones) > 1)} {enumerated([*zones])}"
        if answer.evicted:
            evict = verb(len(answer.evicted), "is", "are")
            title += f"; {counted(len(answer.evicted), 'other pod')} {evict} evicted for that"
        if answer.without_controller:
            title += f"; {counted(len(answer.without_controller), 'pod')} without controller "
            title += f"{verb(len(answer.without_controller), 'is', 'are')} gone for good"
    # What keeps pods that find no node is beside them, below.
    nowhere = {group.pods for group in answer.pending}
    node = (Column("Node", Kind.NODE), lambda each: each.nodes)
    blockers = table(
        "What blocks it",
        [each for each in answer.blocked_by if each.pods not in nowhere],
        *([node] if several else ()),
        (Column("Pods"), _pods),
        (Column("Because"), lambda each: each.because),
        (Column("What lifts it"), _lift),
        noun="blockers",
    )
    commands = [
        Command(f"kubectl {change}")
        for blocker in answer.blocked_by
        for change in blocker.lifted_by
        if not change.startswith("--")
    ]
    return View(
        title=title,
        tone=Tone.GOOD if answer.possible else Tone.BAD,
        lines=[*_lines(answer)],
        tiles=[
            Tile(
                "can go" if answer.failed else "can be drained",
                f"{len(answer.order):,} of {len(answer.nodes):,}",
            ),
            Tile("pods move", f"{len(answer.moves_to):,}"),
            Tile("blockers", f"{len(answer.blocked_by):,}", "bad" if answer.blocked_by else ""),
        ],
        sections=[
            blockers,
            Commands(heading="What lifts it, each tried in a run", commands=commands),
            pending_groups("Who finds no node", answer.pending, with_reasons=True),
            evictions_table("Who is evicted for them", answer.evicted, answer.recreated),
            *_moves(answer),
            table(
                "Budgets of these pods",
                answer.budgets,
                (Column("Budget"), lambda each: each.budget),
                (Column("Pods here", Kind.NUMBER), lambda each: each.pods),
                (Column("At a time", Kind.NUMBER), lambda each: each.allowed),
                (Column("Healthy", Kind.NUMBER), lambda each: each.healthy),
                (Column("Needed", Kind.NUMBER), lambda each: each.needed),
                brief=8,
                noun="budgets",
            ),
            Commands(
                heading="The command",
                commands=[Command(answer.command)] if answer.possible and answer.command else [],
            ),
        ],
        names=lambda: answer.order,
        nodes=[
            *answer.nodes,
            *answer.moves_to.values(),
            *nodes_of((*answer.pending, *answer.already_pending)),
        ],
    )


def _moves(answer: DrainResult) -> Iterator[Table]:
    """Yield where each pod goes; of many pods, where lists are cut, where those of an owner go."""
    rows = []
    for pod, node in answer.moves_to.items():
        source = answer.moved_from[pod]
        first, then = answer.zones[source], answer.zones[node]
        zone = then if first == then else f"{first or 'none'} → {then or 'none'}"
        rows.append((pod, source, node, zone))
    source_column = (Column("From", Kind.NODE), lambda row: row[1])
    zone_column = (Column("Zone", drop=1), lambda row: row[3])
    is_short = len(rows) <= MAX_POD_ROWS
    yield table(
        "Who moves",
        rows,
        (Column("Pod", Kind.POD), lambda row: row[0]),
        *([source_column] if len(answer.nodes) > 1 else ()),
        (Column("To", Kind.NODE), lambda row: row[2]),
        *([zone_column] if any(answer.zones.values()) else ()),
        on=Medium.ALL if is_short else Medium.WIDE | Medium.PAGE,
        grid="pods",
        brief=None,
    )
    if not is_short:
        by_owner = grouped(
            (shared_owner(answer.owners.get(pod, f"{pod.partition('/')[0]}/Pod/")), node)
            for pod, node in answer.moves_to.items()
        )
        yield table(
            "Who moves",
            sorted(by_owner.items(), key=lambda item: -len(item[1])),
            (Column("Owner", Kind.OWNER), lambda each: each[0]),
            (Column("Pods", Kind.NUMBER), lambda each: len(each[1])),
            (
                Column("To", Kind.NODE),
                lambda each: with_counts(dict(Counter(each[1]).most_common())),
            ),
            brief=12,
            noun="owners",
            note="-o wide shows where every pod goes",
            on=GROUPED,
        )


def _obstacles(answer: DrainResult) -> Iterator[str]:
    """Yield what blocks the drain, what is hardest to lift first; pods that find no node are one
    obstacle."""
    nowhere = {group.pods for group in answer.pending}
    yield from (each.because for each in answer.blocked_by if each.budgets)
    waiting = [pod for group in answer.pending for pod in group.pods]
    if waiting:
        leaving = sum(pod in answer.owners for pod in waiting)
        who = [f"{leaving:,} of {counted(answer.leaving, 'pod')}"] if leaving else []
        if leaving < len(waiting):
            who.append(f"{counted(len(waiting) - leaving, 'pod')} evicted for the others")
        plural = leaving or len(waiting)
        find = verb(plural if len(who) == 1 else 2, "finds", "find")
        causes = [each.because for each in answer.blocked_by if each.pods in nowhere]
        why = f": {waiting[0]}: {causes[0]}" if len(causes) == 1 else ""
        yield f"{enumerated(who)} {find} no {'other ' if leaving else ''}node{why}"
    for blocker in answer.blocked_by:
        if not blocker.budgets and blocker.pods not in nowhere:
            yield f"{_pods(blocker)}: {blocker.because}"


def _lines(answer: DrainResult) -> Iterator[Line]:
    if len(answer.nodes) > 1 and answer.order and not answer.failed:
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
    yield from waiting_lines(answer.recreated)
    if answer.waits:
        times = counted(answer.waits, "time")
        yield Line(f"budgets let the drain wait {times}, until evicted pods are ready elsewhere")
    blocked = {pod for blocker in answer.blocked_by for pod in blocker.pods}
    rest = answer.leaving - len(answer.moves_to) - len(blocked & answer.owners.keys())
    if rest > 0:
        stay, them = verb(rest, "stays", "stay"), verb(rest, "it", "them")
        yield Line(f"{counted(rest, 'other pod')} {stay}, as the drain stops before {them}")
    if answer.staying:
        pods = f"{counted(answer.staying, 'pod')} of DaemonSets or static"
        stay = verb(answer.staying, "stays", "stay")
        gone = f"{verb(answer.staying, 'goes', 'go')} with the nodes"
        yield Line(f"{pods} {gone if answer.failed else stay}", Tone.SOFT)
    yield from _pending_before(answer)


def _pending_before(answer: DrainResult | DrainResults) -> Iterator[Line]:
    count = sum(len(group.pods) for group in answer.already_pending)
    if count:
        pods = f"{counted(count, 'pod')} {verb(count, 'is', 'are')} pending before the drain"
        yield Line(f"{pods}; no node is kept for {verb(count, 'it', 'them')}", Tone.SOFT)


def _pods(blocker: DrainBlocker) -> str:
    """Return the owner and how many, or the pod's name."""
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


# -- each domain for itself ------------------------------------------------------------------------


def each_view(answer: DrainResults) -> View:
    """Return the domains that can go, what keeps the others, and with what these could go, too."""
    domains, noun, total = answer.domains, _noun(answer.label), len(answer.domains)
    stuck = [each for each in domains if not each.possible]
    # The title says which domains can go: any, none, all but some, or some only.
    if len(stuck) == total:
        nodes = f"none of its {total:,} {noun}s" if total > 1 else f"not its only {noun}"
    elif 2 * len(stuck) > total:
        others = [each.value for each in domains if each.possible]
        nodes = f"only {listed(others, SHOWN_DOMAINS)}, of {total:,} {noun}s"
    elif stuck:
        nodes = f"any {noun} but {listed([each.value for each in stuck], SHOWN_DOMAINS)}"
    else:
        nodes = f"any of its {total:,} {noun}s" if total > 1 else f"its only {noun}"
    # By cause, a zone has a few rows, however many workloads it keeps; with --all, workloads have
    # rows of their own.
    values = [domain.value for domain in stuck]
    blockers = [(domain.value, each) for domain in stuck for each in domain.blocked_by]
    causes = grouped(((value, each.refusals or each.because), each) for value, each in blockers)
    workloads = grouped(
        ((value, *map(alike, each.owners), each.because), each) for value, each in blockers
    )
    changes = dict.fromkeys(
        change
        for each in stuck
        for blocker in each.blocked_by
        for change in blocker.lifted_by
        if not change.startswith("--")
    )
    # The last command adds the nodes with which all could go.
    more = [each.possible_with for each in stuck if each.possible_with is not None]
    next_commands = []
    if more:
        like = max(more, key=lambda each: each.count)
        change = f"--change 'add-nodes more --like {like.like} --count {like.count}'"
        options = shlex.join(["--each", answer.label, *answer.options])
        next_commands = [Command(f"{program_name()} drain {options} {change}")]
    kind = Kind.NODE if noun == "node" else Kind.TEXT
    node_count = (Column("Nodes", Kind.NUMBER), lambda each: len(each.nodes))
    return View(
        title=f"survives the loss of {nodes}" if answer.failed else f"can drain {nodes}",
        tone=Tone.GOOD if answer.possible else Tone.BAD,
        lines=[*_each_lines(answer, stuck)],
        tiles=[
            Tile(f"{noun}s", f"{len(domains):,}"),
            Tile("can go", f"{len(domains) - len(stuck):,}", "bad" if stuck else "good"),
            Tile("pods without a node", f"{sum(len(each.waiting) for each in stuck):,}"),
        ],
        sections=[
            *(
                table(
                    "What keeps them",
                    sorted(
                        rows.items(), key=lambda row: (values.index(row[0][0]), -_pod_count(row[1]))
                    ),
                    (Column(noun.capitalize(), kind), lambda row: row[0][0]),
                    (Column("Pods", Kind.NUMBER), lambda row: _pod_count(row[1])),
                    (Column("Of", Kind.OWNER), lambda row: _owners(row[1])),
                    (Column("Because"), lambda row: _because(row[1])),
                    (Column("What lifts it"), lambda row: _lift(row[1][0])),
                    brief=SHOWN_BLOCKERS,
                    noun="causes",
                    on=medium,
                )
                for rows, medium in ((causes, Medium.BRIEF), (workloads, ~Medium.BRIEF))
            ),
            Commands(
                heading="What lifts it, each tried in a run",
                commands=[Command(f"kubectl {change}") for change in changes],
            ),
            table(
                f"Each {noun}",
                domains,
                (Column(noun.capitalize(), kind), lambda each: each.value),
                (Column("Can go"), lambda each: "yes" if each.possible else "no"),
                *([node_count] if noun != "node" else ()),
                (Column("Pods leave", Kind.NUMBER), lambda each: each.leaving),
                (Column("Find no node", Kind.NUMBER), lambda each: len(each.waiting)),
                (Column("Evicted for them", Kind.NUMBER), lambda each: len(each.evicted)),
                brief=None if len(domains) <= MAX_POD_ROWS else SHOWN_DOMAINS,
                noun=f"{noun}s",
            ),
            Commands(heading="What to try next", commands=next_commands),
        ],
        names=lambda: [each.value for each in domains if each.possible],
        nodes=[
            *(node for each in domains for node in each.nodes),
            *nodes_of([group for each in domains for group in each.pending]),
        ],
    )


def _pod_count(blockers: Sequence[DrainBlocker]) -> int:
    return sum(len(blocker.pods) for blocker in blockers)


def _owners(blockers: Sequence[DrainBlocker]) -> str:
    """Return the owners of the pods, those with the most pods first."""
    counts = Counter[str]()
    for blocker in blockers:
        for owner in map(shared_owner, blocker.owners):
            counts[owner] += len(blocker.pods)
    return listed([owner for owner, _ in counts.most_common()], SHOWN_NAMES)


def _because(blockers: Sequence[DrainBlocker]) -> str:
    """Return the cause of the most pods, and for how many another object stands in its place."""
    counts = Counter[str]()
    for blocker in blockers:
        counts[blocker.because] += len(blocker.pods)
    (cause, _), *others = counts.most_common()
    alike_pods = sum(count for _, count in others)
    return f"{cause}; {counted(alike_pods, 'pod')} alike" if alike_pods else cause


def _noun(label: str) -> str:
    """Return what the values of the label are, as "zone"."""
    return label.rpartition("/")[2].replace("-", " ")


def _each_lines(answer: DrainResults, stuck: Sequence[DomainDrain]) -> Iterator[Line]:
    noun = _noun(answer.label)
    for each in stuck[:SHOWN_DOMAINS]:
        waiting = len(each.waiting)
        if waiting:
            share = (
                f"{waiting:,} of {counted(each.leaving, 'pod')} {verb(waiting, 'finds', 'find')}"
            )
            yield Line(f"without {each.value}, {share} no other node", Tone.WARN)
    for each in stuck:
        if each.possible_with is not None:
            enough = each.possible_with
            nodes = f"{counted(enough.count, 'more node')} like {enough.like}"
            less = f", {enough.count - 1:,} {verb(enough.count - 1, 'is', 'are')} not"
            are = verb(enough.count, "is", "are")
            yield Line(f"{nodes} {are} enough for {each.value}{less * (enough.count > 1)}")
    lost = {pod for each in answer.domains for pod in each.without_controller}
    if lost and answer.failed:
        is_lost = verb(len(lost), "is", "are")
        yield Line(f"{counted(len(lost), 'pod')} without controller {is_lost} lost with the node")
    if answer.without_label:
        nodes = f"{counted(len(answer.without_label), 'node')} "
        have = f"{verb(len(answer.without_label), 'has', 'have')} no {answer.label}"
        yield Line(f"{nodes}{have}: {listed(answer.without_label, SHOWN_NAMES)}", Tone.SOFT)
    yield from _pending_before(answer)
    if answer.possible and len(answer.domains) > 1:
        yield Line(f"each {noun} for itself, while all others are there", Tone.SOFT)
