"""A run of `schedule`: placements, pending pods and why, evictions, how full the nodes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ksched_cli import program_name
from ksched_cli.analysis.diagnosis import POD, PendingGroup
from ksched_cli.analysis.schedule import summary_of
from ksched_cli.analysis.usage import NodeUsage
from ksched_cli.engine.records import Attempt, ExtenderBinding, RunRecord
from ksched_cli.report import usage
from ksched_cli.report.pending import group_name, shared_owner
from ksched_cli.report.table import GREEN, RED, YELLOW, Limit, apart, counted, grouped

MAX_POD_ROWS = 20  # have a row each
SHOWN_OWNERS = 8
SHOWN_ROWS = 10


class Shown(Struct, frozen=True):
    """What the table shows of a run.

    usages: of the nodes after the run
    pending: the pods that stay pending
    owners: pod key → who manages it
    nodes:  every node's usage, not only the fullest and emptiest
    by:     a label of nodes, for their usage by its values
    """

    usages: Sequence[NodeUsage] = ()
    pending: Sequence[PendingGroup] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    nodes: bool = False
    by: str = ""


NOTHING_MORE = Shown()


def table(run: RunRecord, limit: Limit, shown: Shown = NOTHING_MORE) -> str:
    """Placements, devices per claim, pods that stay pending and why, evictions, calls that bind,
    how full the cluster is, a line of counts."""
    return apart(
        _placed(run, limit, shown),
        _devices(run, limit),
        _unplaced(run, limit, shown),
        _evictions(run, limit),
        _bindings(run.extender_bindings, limit),
        usage.nodes_table(shown.usages, limit) if shown.nodes else "",
        usage.table(shown.usages, limit, shown.by),
        _counts(run, limit),
    )


def _placed(run: RunRecord, limit: Limit, shown: Shown) -> str:
    """A row per pod; of many pods, a row per owner. Where the limit is wide, every pod, with its
    score and how many nodes were looked at."""
    placed = sorted(run.placements.items())
    if not placed:
        return ""
    if limit.wide:
        rows = [
            (pod, node, _score(run.last[pod]), f"{run.last[pod].evaluated:,}")
            for pod, node in placed
        ]
        return limit.whole.columns(("POD", "NODE", "SCORE", "LOOKED AT"), rows)
    if limit.rows is None or len(placed) <= MAX_POD_ROWS:
        scored = [(pod, node, _score(run.last[pod])) for pod, node in placed]
        return limit.columns(("POD", "NODE", "SCORE"), scored)
    by_owner = grouped((_owner(pod, shown), pod) for pod, _ in placed)
    owners = [
        (group_name(owner, pods), f"{len(pods):,}", _nodes_of(run, pods, limit))
        for owner, pods in by_owner.items()
    ]
    text = limit.first(SHOWN_OWNERS).cut_columns(("OWNER", "PLACED", "NODES"), owners, "owners")
    return f"{text}\n(-o wide shows every pod with its node and score)"


def _owner(pod: str, shown: Shown) -> str:
    return shared_owner(shown.owners.get(pod, f"{pod.partition('/')[0]}/{POD}/"))


def _nodes_of(run: RunRecord, pods: Sequence[str], limit: Limit) -> str:
    """The nodes with the most of the pods, and how many there are."""
    counts = Counter(run.placements[pod] for pod in pods).most_common()
    names = [name if count == 1 else f"{name} ({count:,})" for name, count in counts]
    return limit.listed(names)


def _devices(run: RunRecord, limit: Limit) -> str:
    rows = [
        (pod, claim, ", ".join(devices))
        for pod in sorted(run.placements)
        for claim, devices in run.last[pod].claims.items()
    ]
    return limit.first(SHOWN_ROWS).cut_columns(("POD", "CLAIM", "DEVICES"), rows) if rows else ""


def _unplaced(run: RunRecord, limit: Limit, shown: Shown) -> str:
    """The pods that stay pending as `explain --pending` has them, but for their nodes; then those
    that are gated, by what gates them."""
    parts: list[str] = []
    if shown.pending:
        from ksched_cli.report import pending

        parts += pending.blocks(shown.pending, limit, reasons=False)
    gated = run.gated.items()
    gates = grouped(((_owner(pod, shown), status.message), pod) for pod, status in gated)
    for (owner, message), pods in gates.items():
        several = f"{counted(len(pods), 'pod')} of {owner}: {limit.listed(pods)}"
        name = pods[0] if len(pods) == 1 else several
        parts.append(f"{limit.paragraph(f'gated: {name}', '  ')}\n{limit.paragraph(message)}")
    if shown.pending:
        parts.append(f"({program_name()} explain --pending shows the nearest nodes)")
    return "\n\n".join(parts)


def _evictions(run: RunRecord, limit: Limit) -> str:
    rows = [(eviction.pod, eviction.node, eviction.preemptor) for eviction in run.evicted]
    headers = ("EVICTED", "NODE", "FOR")
    return limit.first(SHOWN_ROWS).cut_columns(headers, rows) if rows else ""


def _counts(run: RunRecord, limit: Limit) -> str:
    """A line, and another of the pods left out, where there are any."""
    counts = summary_of(run)
    line = f"{counts.placed:,} placed, {counts.pending:,} pending, {counts.gated:,} gated"
    if counts.evicted:
        line += f", {counts.evicted:,} evicted"
    if counts.undecided:
        line += f"; of the pending {counts.undecided:,} cannot be decided, as a plugin failed"
    colour = RED if run.failed else YELLOW if run.pending else GREEN
    line = limit.verdict(line, colour)
    reasons = Counter(pod.reason for pod in run.ignored)
    if reasons:
        counts_of_reasons = (f"{count:,} {reason}" for reason, count in reasons.most_common())
        line += "\n" + limit.paragraph(f"left out: {', '.join(counts_of_reasons)}")
    return line


def _bindings(calls: Sequence[ExtenderBinding], limit: Limit) -> str:
    if not calls:
        return ""
    rows = [binding_row(call) for call in calls]
    text = limit.first(SHOWN_ROWS).cut_columns(("BOUND BY EXTENDER", "NODE", "POST", ""), rows)
    if any(call.sent for call in calls):
        return text
    return f"{text}\n(--extender-bind sends them)"


def binding_row(call: ExtenderBinding) -> tuple[str, str, str, str]:
    """The pod, its node, where the call went, and what became of it."""
    pod = f"{call.request['PodNamespace']}/{call.request['PodName']}"
    return pod, call.request["Node"], call.url, call.error or ("sent" if call.sent else "not sent")


def _score(last: Attempt) -> str:
    return "only one fits" if last.score is None else str(last.score)
