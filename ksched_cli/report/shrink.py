"""An answer of `shrink`: the nodes that could go, in order, or the waves that replace them, and
what holds the others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from ksched_cli.analysis.repack import NewNodes
from ksched_cli.analysis.shrink import NodeToDrain, ShrinkResult, UpgradePlan
from ksched_cli.answers import plain
from ksched_cli.kube.quantity import Quantity
from ksched_cli.report.cells import amount
from ksched_cli.report.pending import group_name, nodes_of, pending_groups, shared_owner
from ksched_cli.report.usage import (
    COST_AFTER,
    COST_AN_HOUR,
    cost_columns,
    cost_tables,
    pool_name,
)
from ksched_cli.report.view import (
    Bars,
    Column,
    Kind,
    Later,
    Line,
    Medium,
    Section,
    Table,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, grouped, listed, verb, with_counts

FIRST = ("cpu", "memory")
SHOWN_NAMES = 3
SHOWN_ZONES = 6
GROUPED = Medium.BRIEF | Medium.WHOLE
MOVE_COLUMNS = (1, 2)  # of the page's table of moves: the pod's node before and after
MESSAGES = (
    "kube-scheduler's messages count the nodes that would be left: without the node itself and "
    "those that go."
)
LEFT_ASIDE = "No node is kept for these pods."


def view(answer: ShrinkResult) -> View:
    """How many could go and what that frees; those nodes in order; what holds the others. In the
    wide form, a row for every pod that moves, and for every pod that holds a node."""
    going = [node for node in answer.nodes if node.removable]
    staying = [node for node in answer.nodes if not node.removable]
    # The title is the answer in a sentence.
    title = f"None of {counted(len(answer.nodes), 'node')} could go"
    if going:
        order = ", in this order" if len(going) > 1 else ""
        names = listed([node.node for node in going], SHOWN_NAMES)
        count = f"{answer.removable:,} of {counted(len(answer.nodes), 'node')}"
        title = f"{count} could go: {names}{order}; {_pods_move(_moving(going))}"
    # The nodes that go come first.
    waits = (Column("Waits for budgets", Kind.NUMBER, drop=1), lambda node: node.waits or None)
    sections: list[Section] = [
        Later(make=lambda: _map(answer)),
        table(
            "Nodes that could go",
            going,
            (Column("Order", Kind.NUMBER), lambda node: node.order),
            (Column("Node", Kind.NODE), lambda node: node.node),
            (Column("Pods", Kind.NUMBER), lambda node: len(node.moves_to)),
            (Column("Move to"), _targets),
            *([waits] if any(node.waits for node in going) else ()),
            noun="nodes that could go",
            grid="nodes",
            on=GROUPED | Medium.PAGE,
        ),
    ]
    # Each pool has its cost now, and after what could go.
    if answer.pools is not UNSET and answer.pools_after is not UNSET and answer.removable:
        label = answer.pools.label
        before, after = (
            {pool_name(pool, label): pool for pool in each.pools}
            for each in (answer.pools, answer.pools_after)
        )
        costs = (pool.cost for pool in before.values())
        all_costs = (pool.cost for pool in (*before.values(), *after.values()))
        pools = table(
            f"What they cost, by {label}",
            [(name, before.get(name), after.get(name)) for name in before | after],
            (Column("Nodes of"), lambda each: each[0]),
            (Column("Nodes", Kind.NUMBER), lambda each: each[1].nodes if each[1] else 0),
            *(
                (column, lambda each, value=value: each[1] and value(each[1]))
                for column, value in cost_columns(costs)
            ),
            (Column("Nodes after", Kind.NUMBER), lambda each: each[2].nodes if each[2] else 0),
            *(
                (column, lambda each, value=value: value(each[2]) if each[2] else 0)
                for column, value in cost_columns(all_costs, is_after=True)
            ),
            noun="pools",
            on=GROUPED | Medium.PAGE,
        )
        sections.append(pools)
    # Pods request a part of the cost, now and after what could go.
    cost_after = [(COST_AFTER, answer.cost_after)] if answer.removable else []
    sections += cost_tables((COST_AN_HOUR, answer.cost), *cost_after)
    sections += [_moves(going), *_staying(answer, staying)]
    if answer.new_nodes is not UNSET:
        misfits, heading = answer.new_nodes.not_helped, "Pods that no number of new nodes holds"
        sections.append(pending_groups(heading, misfits, with_reasons=False))
    return View(
        title=title,
        tone=Tone.GOOD if answer.succeeds else Tone.WARN,
        lines=[*_freed(answer), *_notes(answer)],
        tiles=[
            Tile("could go", f"{answer.removable:,}", "good" if answer.removable else "warn"),
            Tile("stay", f"{len(staying):,}"),
            Tile("pods move", f"{_moving(going):,}"),
        ],
        sections=sections,
        names=lambda: [node.node for node in going],
        nodes=_names(answer, answer.nodes),
    )


def rows(answer: ShrinkResult) -> tuple[Iterator[Mapping[str, Any]], Sequence[str]]:
    """Return a row per node, and the names of the first columns: where its pods go, and what holds
    it, are JSON."""
    nodes = (plain(node) for node in answer.nodes)
    return (
        {
            name: json.dumps(each) if isinstance(each, dict | list) else each
            for name, each in row.items()
        }
        for row in nodes
    ), ("node", "removable", "order")


def upgrade_view(answer: UpgradePlan) -> View:
    """How many nodes can be replaced; which come and go, wave by wave; what holds the others."""
    drained = [node for wave in answer.waves for node in wave.drained]
    added = {name for wave in answer.waves for name in wave.added}
    moved = _moving(drained)
    waves = f"{counted(len(answer.waves), 'wave')} of up to {answer.surge:,}"
    bars = Bars(
        heading="Waves",
        columns=(
            Column(""),
            Column("New nodes", Kind.NUMBER),
            Column("Nodes drained", Kind.NUMBER),
            Column("Pods move", Kind.NUMBER),
        ),
        rows=[
            (f"wave {number}", len(wave.added), len(wave.drained), _moving(wave.drained))
            for number, wave in enumerate(answer.waves, 1)
        ],
        values=[
            (len(wave.drained) - len(wave.delayed), len(wave.delayed)) for wave in answer.waves
        ],
        legend=("drained", "drained, delayed by an earlier wave"),
    )
    # Nodes come and go in waves; some had to wait for a later one.
    rows = [
        (number, wave.added[place] if place < len(wave.added) else "", node)
        for number, wave in enumerate(answer.waves, 1)
        for place, node in enumerate(wave.drained)
    ]
    waits = (Column("Waits for budgets", Kind.NUMBER, drop=1), lambda each: each[2].waits or None)
    to_drain = table(
        "Nodes to drain",
        rows,
        (Column("Wave", Kind.NUMBER), lambda each: each[0]),
        (Column("Add", drop=2), lambda each: each[1]),
        (Column("Drain", Kind.NODE), lambda each: each[2].node),
        (Column("Pods", Kind.NUMBER), lambda each: len(each[2].moves_to)),
        (Column("Move to"), lambda each: _targets(each[2])),
        *([waits] if any(node.waits for _, _, node in rows) else ()),
        noun="nodes to drain",
        grid="nodes",
        on=GROUPED | Medium.PAGE,
    )
    delayed = table(
        "Not in an earlier wave",
        [
            (number, delay.node, delay.held_by[0])
            for number, wave in enumerate(answer.waves, 1)
            for delay in wave.delayed
        ],
        (Column("Wave", Kind.NUMBER), lambda each: each[0]),
        (Column("Node", Kind.NODE), lambda each: each[1]),
        (Column("Held by", Kind.POD), lambda each: each[2].pod),
        (Column("Because"), lambda each: each[2].because),
        noun="nodes",
    )
    return View(
        title=(
            f"{answer.replaced:,} of {counted(answer.nodes, 'node')} can be drained and replaced,"
            f" in {waves}; {_pods_move(moved)}"
        ),
        tone=Tone.GOOD if answer.succeeds else Tone.WARN,
        lines=[*_notes(answer)],
        tiles=[
            Tile("replaced", f"{answer.replaced:,}", "good" if answer.succeeds else "warn"),
            Tile("held for ever", f"{len(answer.blocked):,}", "bad" if answer.blocked else ""),
            Tile("waves", f"{len(answer.waves):,}"),
            Tile("pods move", f"{moved:,}"),
        ],
        sections=[
            bars,
            to_drain,
            delayed,
            _moves(drained),
            *_staying(answer, answer.blocked),
        ],
        names=lambda: [node.node for node in drained],
        nodes=_names(answer, (*drained, *answer.blocked), added),
    )


def _names(
    answer: ShrinkResult | UpgradePlan, nodes: Iterable[NodeToDrain], added: Collection[str] = ()
) -> list[str]:
    """Return the nodes, and those that pods move to or wait for. added: new nodes, whose names have
    an end of their own"""
    names = [name for node in nodes for name in (node.node, *node.moves_to.values())]
    return [*(name for name in names if name not in added), *nodes_of(answer.pending)]


# -- the verdict ----------------------------------------------------------------------------------


def _moving(nodes: Iterable[NodeToDrain]) -> int:
    return sum(len(node.moves_to) for node in nodes)


def _pods_move(count: int) -> str:
    return f"{counted(count, 'pod')} {verb(count, 'moves', 'move')}" if count else "no pod moves"


def _notes(answer: ShrinkResult | UpgradePlan) -> Iterator[Line]:
    """What the reader has to know of the run."""
    if answer.uncontrolled:
        pods = listed(answer.uncontrolled, SHOWN_NAMES)
        text = f"no controller creates these pods again, somebody has to: {pods}"
        yield Line(text, Tone.WARN)
    if answer.pending:
        count = sum(len(group.pods) for group in answer.pending)
        pods = f"{counted(count, 'pod')} {verb(count, 'is', 'are')} pending"
        yield Line(f"{pods} before any node goes; no node is kept for {verb(count, 'it', 'them')}")


def _freed(answer: ShrinkResult) -> Iterator[Line]:
    if answer.removable:
        amounts = [
            f"{name} {amount(name, _number(name, answer.freed), _number(name, answer.total))}"
            for name in _in_order(answer.freed)
        ]
        yield Line(f"freed: {', '.join(amounts)}")
    if answer.overhead:
        overhead = ", ".join(
            f"{name} {amount(name, _number(name, answer.overhead))}"
            for name in _in_order(answer.overhead)
        )
        yield Line(
            f"of that, pods that go with their nodes (DaemonSets, static) request {overhead}"
        )
    if answer.per_hour is not UNSET and answer.cost is not UNSET:
        saved, new = answer.per_hour, ""
        if answer.added and answer.added_per_hour is not UNSET:
            saved = round(saved - answer.added_per_hour, 6)
            new = f", with {listed(answer.added, SHOWN_NAMES)} added, which cost "
            new += f"{answer.added_per_hour:g}"
        yield Line(f"saves {saved:g} of {answer.cost.per_hour:g} an hour{new}")
    if answer.repack is not UNSET:
        repack, nodes = answer.repack, counted(answer.repack.nodes, "node")
        misfits = f" but {counted(repack.unplaced, 'pod')}" if repack.unplaced else " pods"
        bound = f"no placement needs fewer than {repack.at_least:,}"
        yield Line(f"placed afresh, all{misfits} fit on {nodes} of the cluster; {bound}")
    if answer.new_nodes is not UNSET:
        yield from _new_nodes(answer.new_nodes)
    if answer.stopped_at:
        yield Line(f"the search stopped at --max {answer.stopped_at:,}")
    if answer.stopped:
        yield Line(f"{answer.stopped}: this is the best plan so far", Tone.WARN)


def _new_nodes(new: NewNodes) -> Iterator[Line]:
    """Yield which new nodes could take the place of how many, and why not fewer."""
    count = sum(new.mix.values())
    if not count:
        yield Line(
            new.stopped or "placed afresh, the pods fit on no number of new nodes", Tone.WARN
        )
        return
    kinds = ", ".join(f"{number:,} like {like}" for like, number in new.mix.items() if number)
    misfits = sum(len(group.pods) for group in new.not_helped)
    pods = f"all but {counted(misfits, 'pod')}" if misfits else "all pods"
    if len(new.zones) > 1:
        zones = [f"{number:,} in {zone}" for zone, number in new.zones.items()]
        kinds += f": {listed(zones, SHOWN_ZONES)}"
    text = f"placed afresh, {pods} fit on {counted(count, 'new node')} ({kinds})"
    text += f" in place of {counted(new.replaced, 'node')}"
    if new.per_hour is not UNSET and new.replaced_per_hour is not UNSET:
        text += f", at {new.per_hour:g} an hour instead of {new.replaced_per_hour:g}"
    text += f"; fewer than {new.at_least:,} do not hold them"
    if len(new.zones) > 1:
        text += f" with one in each of {len(new.zones)} zones"
    yield Line(text, Tone.WARN if misfits else Tone.NONE)
    if new.at_least < count and new.why_not_fewer:
        yield Line(new.why_not_fewer)
    if new.stopped:
        yield Line(f"{new.stopped}: this is the best run so far", Tone.WARN)


def _in_order(amounts: Mapping[str, str]) -> list[str]:
    """Return the resources, cpu and memory first, without pods."""
    names = [name for name in FIRST if name in amounts]
    return names + [name for name in amounts if name not in (*names, "pods")]


def _number(name: str, amounts: Mapping[str, str]) -> int:
    """Return the amount in the scheduler's unit of the resource."""
    quantity = Quantity.parse(amounts[name])
    return quantity.milli_value() if name == "cpu" else quantity.value()


# -- the nodes that go, and those that stay -------------------------------------------------------


def _targets(node: NodeToDrain) -> tuple[str, ...]:
    """Return where the node's pods move to, and how many of them where these are several."""
    return with_counts(Counter(node.moves_to.values()))


def _moves(nodes: Sequence[NodeToDrain]) -> Table:
    return table(
        "Moves",
        [(node, *move) for node in nodes for move in (node.moves_to or {"": ""}).items()],
        (Column("Order", Kind.NUMBER, on=Medium.WIDE), lambda each: each[0].order),
        (Column("Drain", Kind.NODE, on=Medium.WIDE), lambda each: each[0].node),
        (Column("Pod", Kind.POD), lambda each: each[1]),
        (Column("From", Kind.NODE, on=Medium.PAGE), lambda each: each[0].node),
        (Column("Moves to"), lambda each: each[2]),
        grid="pods",
        on=Medium.WIDE | Medium.PAGE,
    )


def _map(answer: ShrinkResult) -> list[Section]:
    from ksched_cli.report.html.cluster_map import before_and_after

    if answer.cluster_map is None or not answer.nodes:
        return []
    return [*before_and_after(answer.cluster_map, MOVE_COLUMNS)]


def _staying(answer: ShrinkResult | UpgradePlan, nodes: Sequence[NodeToDrain]) -> Iterator[Section]:
    """What holds nodes, and the pods that no drain leaves pending."""
    holds = [(node.node, hold) for node in nodes for hold in node.held_by]
    # Each cause has a row, that of the most nodes first; a node is in the row of each of its
    # causes.
    groups = grouped((hold.cause, (node, hold)) for node, hold in holds)
    rows = []
    for group in sorted(groups.values(), key=lambda group: -len({node for node, _ in group})):
        # The owner of the pods holds the node, unless the node holds itself.
        pods = [hold.pod for _, hold in group if hold.pod]
        first, holder = group[0][1], ""
        if pods:
            count = f" ({len(pods):,} pods)" if len(pods) > 1 else ""
            holder = f"{group_name(shared_owner(first.owner), pods)}{count}"
        # One of several pods that fit nowhere is the example.
        because = first.because
        if len(group) > 1 and first.message:
            because = f"{(first.pod or '').partition('/')[2]}: {because}"
        rows.append((tuple(dict.fromkeys(node for node, _ in group)), holder, because))
    yield Table(
        heading="What holds the nodes that stay",
        columns=(Column("Nodes", Kind.NODE), Column("Held by"), Column("Because")),
        rows=rows,
        noun="causes",
        on=GROUPED,
    )
    message = Column("kube-scheduler's message", on=Medium.PAGE)
    has_message = any(hold.message for _, hold in holds)
    yield table(
        "What holds the nodes that stay",
        holds,
        (Column("Node", Kind.NODE), lambda each: each[0]),
        (Column("Held by", Kind.POD), lambda each: each[1].pod or ""),
        (Column("Because"), lambda each: each[1].because),
        *([(message, lambda each: each[1].message)] if has_message else ()),
        grid="holds",
        note=MESSAGES if has_message else "",
        on=Medium.PAGE,
    )
    yield table(
        "What holds the nodes that stay",
        holds,
        (Column("Node", Kind.NODE), lambda each: each[0]),
        (Column("Held by", Kind.POD), lambda each: each[1].pod or ""),
        (Column("Because"), lambda each: each[1].because),
        on=Medium.WIDE,
    )
    yield pending_groups(
        "Pending before any node goes", answer.pending, with_reasons=False, note=LEFT_ASIDE
    )
