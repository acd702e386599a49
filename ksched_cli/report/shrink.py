"""An answer of `shrink`: the nodes that could go, in order, and what holds the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ksched_cli.analysis.drained_cluster import Hold
from ksched_cli.analysis.shrink import ShrinkResult
from ksched_cli.kube.format_quantity import amount_text
from ksched_cli.report.owners import group_name, shared_owner
from ksched_cli.report.table import (
    GREEN,
    TERMINAL,
    YELLOW,
    Limit,
    columns,
    counted,
    cut_columns,
    listed,
    paragraph,
    verdict,
)

FIRST = ("cpu", "memory")


def table(answer: ShrinkResult, limit: Limit, *, wide: bool = False) -> str:
    """How many could go and what that frees; those nodes in order; what holds the others. wide: a
    row for every pod that moves, and for every pod that holds a node"""
    colour = GREEN if answer.removable else YELLOW
    parts = [
        verdict(paragraph(headline(answer), limit), colour, limit),
        paragraph("\n".join(notes(answer)), limit),
        _moves(answer, limit) if wide else _going(answer, limit),
        _every_hold(answer, limit) if wide else _staying(answer, limit),
    ]
    return "\n\n".join(part for part in parts if part)


def headline(answer: ShrinkResult) -> str:
    """How many of the nodes could go."""
    nodes = counted(len(answer.nodes), "node")
    if not answer.removable:
        return f"none of {nodes} could go"
    moved = sum(len(node.moves_to) for node in answer.nodes)
    pods = (
        f"{counted(moved, 'pod')} {'moves' if moved == 1 else 'move'}" if moved else "no pod moves"
    )
    return f"{answer.removable:,} of {nodes} could go, one after the other; {pods}"


def notes(answer: ShrinkResult) -> list[str]:
    """What is freed, and what the reader has to know of the run."""
    lines = []
    if answer.removable:
        amounts = [
            f"{name} {_amount(name, answer.freed)} of {_amount(name, answer.total)}"
            for name in _in_order(answer.freed)
        ]
        lines.append(f"freed: {', '.join(amounts)}")
    if answer.overhead:
        overhead = amounts_text(answer.overhead)
        lines.append(
            f"of that, pods that go with their nodes (DaemonSets, static) request {overhead}"
        )
    if answer.uncontrolled:
        pods = listed(answer.uncontrolled, TERMINAL)
        lines.append(f"no controller creates these pods again, somebody has to: {pods}")
    if answer.stopped_at:
        lines.append(f"the search stopped at --max {answer.stopped_at:,}")
    if answer.pending:
        verb = "stays" if len(answer.pending) == 1 else "stay"
        lines.append(f"{counted(len(answer.pending), 'pod')} {verb} pending whatever nodes go")
    return lines


def amounts_text(amounts: Mapping[str, str]) -> str:
    """`cpu 4, memory 16Gi`."""
    return ", ".join(f"{name} {_amount(name, amounts)}" for name in _in_order(amounts))


def _in_order(amounts: Mapping[str, str]) -> list[str]:
    """The resources, cpu and memory first, without pods."""
    names = [name for name in FIRST if name in amounts]
    return names + [name for name in amounts if name not in (*names, "pods")]


def _amount(name: str, amounts: Mapping[str, str]) -> str:
    return amounts[name] if name == "cpu" else amount_text(name, int(amounts[name]))


def _going(answer: ShrinkResult, limit: Limit) -> str:
    rows = []
    for node in answer.nodes[: answer.removable]:
        targets = Counter(node.moves_to.values())
        to = [f"{name} ({count})" if count > 1 else name for name, count in targets.items()]
        moves = listed(to, limit) or "-"
        if node.waits:
            moves += f"; its drain waits {counted(node.waits, 'time')} for budgets"
        rows.append((f"{node.order}", node.node, f"{len(node.moves_to):,}", moves))
    if not rows:
        return ""
    headers = ("ORDER", "COULD GO", "PODS", "MOVE TO")
    return cut_columns(headers, rows, limit, "nodes that could go")


def _moves(answer: ShrinkResult, limit: Limit) -> str:
    rows = [
        (f"{node.order}", node.node, pod, target)
        for node in answer.nodes
        if node.removable
        for pod, target in (node.moves_to or {"-": "-"}).items()
    ]
    return columns(("ORDER", "COULD GO", "POD", "MOVES TO"), rows, limit.whole) if rows else ""


def _every_hold(answer: ShrinkResult, limit: Limit) -> str:
    rows = [
        (node.node, hold.pod or "-", hold.because) for node in answer.nodes for hold in node.held_by
    ]
    return columns(("STAYS", "HELD BY", "BECAUSE"), rows, limit.whole) if rows else ""


def _staying(answer: ShrinkResult, limit: Limit) -> str:
    """By what holds nodes, that of the most nodes first; a node is in the row of each of these."""
    groups: dict[object, list[tuple[str, Hold]]] = {}
    for node in answer.nodes:
        for hold in node.held_by:
            groups.setdefault(hold.cause, []).append((node.node, hold))
    rows = []
    for group in sorted(groups.values(), key=lambda group: -len({node for node, _ in group})):
        nodes = tuple(dict.fromkeys(node for node, _ in group))
        pods = [hold.pod for _, hold in group if hold.pod]
        first = group[0][1]
        holder = group_name(shared_owner(first.owner), pods) if pods else "-"
        count = f" ({len(pods):,} pods)" if len(pods) > 1 else ""
        because = first.because if len(group) == 1 or not first.message else _example(first)
        rows.append((listed(nodes, limit), f"{holder}{count}", because))
    return cut_columns(("STAYS", "HELD BY", "BECAUSE"), rows, limit, "causes") if rows else ""


def _example(hold: Hold) -> str:
    """Why one of several pods fits nowhere else."""
    return f"{(hold.pod or '').partition('/')[2]}: {hold.because}"
