"""An answer of `capacity`: how many copies fit, on which nodes, and what stops the next one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from ksched_cli import program_name
from ksched_cli.analysis.capacity import CapacityResult, NodesNeeded, Trial
from ksched_cli.report.pending import blocks
from ksched_cli.report.table import Limit, apart, counted, grouped

SHOWN_RUNS = 12


def names(answer: CapacityResult | NodesNeeded) -> Sequence[str]:
    """The nodes that take a copy."""
    return () if isinstance(answer, NodesNeeded) else tuple(answer.nodes)


def table(answer: CapacityResult | NodesNeeded, limit: Limit) -> str:
    """The verdict, the nodes by how many they take, and why the next copy does not fit; or the runs
    with more nodes."""
    if isinstance(answer, NodesNeeded):
        return _nodes_needed_table(answer, limit)
    nodes = _nodes_apart(answer, limit) if limit.wide else _nodes(answer, limit)
    parts = [limit.paragraph(headline(answer)), nodes]
    if answer.stopped_at is not None:
        parts.append(f"The search stopped at {answer.stopped_at:,}; --max N goes on to N.")
    elif answer.count:
        parts.append(limit.paragraph(f"The next one does not fit:\n{answer.limited_by}"))
    return apart(*parts)


def headline(answer: CapacityResult | NodesNeeded) -> str:
    """The verdict, and why where it is no."""
    return _needed(answer) if isinstance(answer, NodesNeeded) else _fitting(answer)


def _fitting(answer: CapacityResult) -> str:
    lines = []
    if answer.gated:
        lines.append(
            f"{answer.pod} is not in the queue yet: {answer.gated.plugin}: {answer.gated.message}"
        )
    subject = answer.workload or answer.pod
    if answer.count:
        copies = ("more replica", "more replicas") if answer.workload else ("copy", "copies")
        fit = f"{copies[0]} fits" if answer.count == 1 else f"{copies[1]} fit"
        at_least = "at least " if answer.stopped_at is not None else ""
        where = counted(len(answer.nodes), "node")
        lines.append(f"{at_least}{answer.count:,} {fit} of {subject}, on {where}")
    else:
        copy = "replica" if answer.workload else "copy"
        if answer.by_preemption:
            lines += [
                f"no {copy} of {subject} fits without evictions; with preemption one does",
                f"{program_name()} preempt {answer.pod} shows who would be evicted.",
            ]
        else:
            lines.append(f"no {copy} of {subject} fits")
        lines.append(answer.limited_by)
    return "\n".join(lines)


def _nodes_apart(answer: CapacityResult, limit: Limit) -> str:
    """Those that take the most first."""
    rows = sorted(answer.nodes.items(), key=lambda item: (-item[1], item[0]))
    counts = [(node, f"{copies:,}") for node, copies in rows]
    return limit.whole.columns(("NODE", "COPIES"), counts) if rows else ""


def _nodes(answer: CapacityResult, limit: Limit) -> str:
    """Nodes that take as many share a row."""
    if not answer.nodes:
        return ""
    by_copies = grouped((copies, node) for node, copies in answer.nodes.items())
    rows = [
        (f"{copies:,}", f"{len(names):,}", limit.listed(names))
        for copies, names in sorted(by_copies.items(), reverse=True)
    ]
    return limit.cut_columns(("COPIES EACH", "NODES", "NAMES"), rows)


def _nodes_needed_table(answer: NodesNeeded, limit: Limit) -> str:
    """The verdict, and the runs it rests on."""
    helped = [
        (f"{group.namespace}/{group.owner}", f"{len(group.pods):,}", f"{group.nodes:,}")
        for group in answer.helped
    ]
    parts = [limit.paragraph(headline(answer))]
    if answer.not_helped and helped:
        parts.append(limit.cut_columns(("HELPED", "PODS", "MORE NODES"), helped))
    parts += blocks(answer.not_helped, limit)
    return "\n\n".join((*parts, _runs(answer, limit.first(SHOWN_RUNS))))


def _runs(answer: NodesNeeded, limit: Limit) -> str:
    """A row per run, by number of nodes; where rows are limited those nearest to the answer."""
    needed = sum(answer.mix.values())
    nearest = sorted(answer.runs, key=lambda trial: abs(trial.nodes - needed))[: limit.rows]
    rows = [
        tuple(f"{n:,}" for n in (*trial_nodes(trial), trial.pending, trial.evicted))
        for trial in sorted(nearest, key=lambda trial: trial.nodes)
    ]
    kinds = (f"LIKE {like}" for like in answer.like) if len(answer.like) > 1 else ()
    headers = ("MORE NODES", *kinds, "PENDING", "EVICTED")
    return limit.cut_columns(headers, rows, "runs", len(answer.runs))


def trial_nodes(trial: Trial) -> tuple[int, ...]:
    """The number of nodes more; of several kinds, of each of them too."""
    return (trial.nodes, *(trial.mix.values() if len(trial.mix) > 1 else ()))


def _needed(answer: NodesNeeded) -> str:
    if answer.nodes_needed is None:
        stay = counted(sum(len(group.pods) for group in answer.not_helped), "pod")
        if answer.helped:
            pods = counted(sum(len(group.pods) for group in answer.helped), "pod")
            return f"{_mix(answer)} help {pods}; no number helps {stay}"
        why = "" if answer.not_helped else f":\n{answer.limited_by}"
        return f"no number of nodes like {' or '.join(answer.like)} helps{why}"
    if not answer.nodes_needed:
        return "no more nodes are needed: every pod gets a node, and no pod is evicted"
    verb = "is" if answer.nodes_needed == 1 else "are"
    price = "" if answer.per_hour is UNSET else f", at {answer.per_hour:g} an hour"
    return f"{_mix(answer)} {verb} needed{price}"


def _mix(answer: NodesNeeded) -> str:
    """`3 more nodes like a`, `3 more nodes, 2 like a and 1 like b,`."""
    kinds = {like: count for like, count in answer.mix.items() if count}
    nodes = counted(sum(kinds.values()), "more node")
    if len(kinds) == 1:
        return f"{nodes} like {next(iter(kinds))}"
    return f"{nodes}, {' and '.join(f'{count:,} like {like}' for like, count in kinds.items())},"
