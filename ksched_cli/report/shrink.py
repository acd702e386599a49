"""An answer of `shrink`: the nodes that could go, in order, and what holds the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import UNSET

from ksched_cli.analysis.shrink import NodeToDrain, ShrinkResult, UpgradePlan
from ksched_cli.kube.quantity import amount_text
from ksched_cli.report.pending import group_name, merged, shared_owner
from ksched_cli.report.table import GREEN, TERMINAL, YELLOW, Limit, apart, counted, grouped

FIRST = ("cpu", "memory")
PENDING = 4  # causes of pods that stay pending


def names(answer: ShrinkResult | UpgradePlan) -> list[str]:
    """The nodes to drain, in order."""
    if isinstance(answer, UpgradePlan):
        return [node.node for wave in answer.waves for node in wave.drained]
    return [node.node for node in answer.nodes[: answer.removable]]


def table(answer: ShrinkResult | UpgradePlan, limit: Limit) -> str:
    """How many could go and what that frees; those nodes in order; what holds the others. Where
    the limit is wide, a row for every pod that moves, and for every pod that holds a node."""
    colour = GREEN if answer.succeeds else YELLOW
    parts = [
        limit.verdict(headline(answer), colour),
        limit.paragraph("\n".join(notes(answer))),
    ]
    if isinstance(answer, UpgradePlan):
        drained = [node for wave in answer.waves for node in wave.drained]
        parts.append(_moves(drained, limit) if limit.wide else _waves(answer, limit))
        staying = answer.blocked
    else:
        going = answer.nodes[: answer.removable]
        parts.append(_moves(going, limit) if limit.wide else _going(going, limit))
        staying = answer.nodes[answer.removable :]
    parts.append(_every_hold(staying, limit) if limit.wide else _staying(staying, limit))
    parts.append(_pending(answer, limit))
    return apart(*parts)


def headline(answer: ShrinkResult | UpgradePlan) -> str:
    """Which of the nodes could go, or how many can be replaced."""
    if isinstance(answer, UpgradePlan):
        moved = sum(len(node.moves_to) for wave in answer.waves for node in wave.drained)
        waves = f"{counted(len(answer.waves), 'wave')} of up to {answer.surge:,}"
        return (
            f"{answer.replaced:,} of {counted(answer.nodes, 'node')} can be drained and replaced,"
            f" in {waves}; {_moving(moved)}"
        )
    nodes = counted(len(answer.nodes), "node")
    if not answer.removable:
        return f"none of {nodes} could go"
    moved = sum(len(node.moves_to) for node in answer.nodes)
    order = ", in this order" if answer.removable > 1 else ""
    going = f"{TERMINAL.listed(names(answer))} could go{order}"
    return f"{going} ({answer.removable:,} of {nodes}); {_moving(moved)}"


def _moving(count: int) -> str:
    if not count:
        return "no pod moves"
    return f"{counted(count, 'pod')} {'moves' if count == 1 else 'move'}"


def notes(answer: ShrinkResult | UpgradePlan) -> list[str]:
    """What is freed, and what the reader has to know of the run."""
    lines = [] if isinstance(answer, UpgradePlan) else _freed(answer)
    if answer.uncontrolled:
        pods = TERMINAL.listed(answer.uncontrolled)
        lines.append(f"no controller creates these pods again, somebody has to: {pods}")
    if answer.pending:
        count = sum(len(group.pods) for group in answer.pending)
        verb = "is" if count == 1 else "are"
        lines.append(
            f"{counted(count, 'pod')} {verb} pending before any node goes; no node is kept for them"
        )
    return lines


def _freed(answer: ShrinkResult) -> list[str]:
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
    if answer.per_hour is not UNSET and answer.total_per_hour is not UNSET:
        lines.append(f"saves {answer.per_hour:g} of {answer.total_per_hour:g} an hour")
    if answer.repack is not UNSET:
        repack, nodes = answer.repack, counted(answer.repack.nodes, "node")
        misfits = f" but {counted(repack.unplaced, 'pod')}" if repack.unplaced else " pods"
        bound = f"no placement needs fewer than {repack.at_least:,}"
        lines.append(f"placed afresh, all{misfits} fit on {nodes} of the cluster; {bound}")
    if answer.stopped_at:
        lines.append(f"the search stopped at --max {answer.stopped_at:,}")
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


def _going(nodes: Sequence[NodeToDrain], limit: Limit) -> str:
    rows = [(f"{node.order}", *_drain(node, limit)) for node in nodes]
    headers = ("ORDER", "COULD GO", "PODS", "MOVE TO")
    return limit.cut_columns(headers, rows, "nodes that could go") if rows else ""


def _drain(node: NodeToDrain, limit: Limit) -> tuple[str, str, str]:
    """The node, how many pods move, and where to."""
    targets = Counter(node.moves_to.values())
    to = [f"{name} ({count})" if count > 1 else name for name, count in targets.items()]
    moves = limit.listed(to) or "-"
    if node.waits:
        moves += f"; its drain waits {counted(node.waits, 'time')} for budgets"
    return node.node, f"{len(node.moves_to):,}", moves


def _waves(answer: UpgradePlan, limit: Limit) -> str:
    rows = []
    for number, wave in enumerate(answer.waves, 1):
        delays = {delay.node: delay.held_by for delay in wave.delayed}
        for place, node in enumerate(wave.drained):
            new = wave.added[place] if place < len(wave.added) else "-"
            name, pods, moves = _drain(node, limit)
            if name in delays:
                first = delays[name][0]
                moves += f"; not in an earlier wave, because of {first.pod}: {first.because}"
            rows.append((f"{number}", new, name, pods, moves))
    headers = ("WAVE", "ADD", "DRAIN", "PODS", "MOVE TO")
    return limit.cut_columns(headers, rows, "nodes to drain") if rows else ""


def _moves(nodes: Sequence[NodeToDrain], limit: Limit) -> str:
    rows = [
        (f"{node.order}", node.node, pod, target)
        for node in nodes
        for pod, target in (node.moves_to or {"-": "-"}).items()
    ]
    return limit.whole.columns(("ORDER", "DRAIN", "POD", "MOVES TO"), rows) if rows else ""


def _every_hold(nodes: Sequence[NodeToDrain], limit: Limit) -> str:
    rows = [(node.node, hold.pod or "-", hold.because) for node in nodes for hold in node.held_by]
    return limit.whole.columns(("STAYS", "HELD BY", "BECAUSE"), rows) if rows else ""


def _staying(staying: Sequence[NodeToDrain], limit: Limit) -> str:
    """By what holds nodes, that of the most nodes first; a node is in the row of each of these."""
    groups = grouped((hold.cause, (node.node, hold)) for node in staying for hold in node.held_by)
    rows = []
    for group in sorted(groups.values(), key=lambda group: -len({node for node, _ in group})):
        nodes = tuple(dict.fromkeys(node for node, _ in group))
        pods = [hold.pod for _, hold in group if hold.pod]
        first = group[0][1]
        holder = group_name(shared_owner(first.owner), pods) if pods else "-"
        count = f" ({len(pods):,} pods)" if len(pods) > 1 else ""
        because = first.because
        if len(group) > 1 and first.message:  # one of several pods, as an example
            because = f"{(first.pod or '').partition('/')[2]}: {because}"
        rows.append((limit.listed(nodes), f"{holder}{count}", because))
    return limit.cut_columns(("STAYS", "HELD BY", "BECAUSE"), rows, "causes") if rows else ""


def _pending(answer: ShrinkResult | UpgradePlan, limit: Limit) -> str:
    """The pods that no drain leaves pending, as they were before."""
    rows = []
    for group in merged(answer.pending):
        name = group_name(shared_owner(f"{group.namespace}/{group.owner}"), group.pods)
        because = group.diagnosis.cause if group.diagnosis else group.message
        rows.append((name, f"{len(group.pods):,}", because))
    headers = ("PENDING BEFORE", "PODS", "BECAUSE")
    return limit.first(PENDING).cut_columns(headers, rows, "causes") if rows else ""
