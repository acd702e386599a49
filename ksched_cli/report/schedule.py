"""A run of `schedule`: pending pods and why, placements, evictions, how full the nodes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ksched_cli import program_name
from ksched_cli.analysis.schedule import PlacedPod, ScheduleResult
from ksched_cli.report import usage
from ksched_cli.report.metrics import metrics_table
from ksched_cli.report.pending import group_name, nodes_of, pending_groups, shared_owner
from ksched_cli.report.recreation import evictions_table, waiting_lines
from ksched_cli.report.regret import regret_table
from ksched_cli.report.usage import cost_text
from ksched_cli.report.view import (
    Block,
    Column,
    Command,
    Commands,
    Groups,
    Kind,
    Later,
    Line,
    Medium,
    Section,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, grouped, verb, with_counts
from ksched_cli.scenario.owned_pods import POD

MAX_POD_ROWS = 20  # have a row each
SHOWN_OWNERS = 8
SHOWN_ROWS = 10
TILES = (
    ("placed", "good"),
    ("pending", "bad"),
    ("gated", "warn"),
    ("evicted", "warn"),
    ("undecided", "bad"),
    ("ignored", ""),
)
ALWAYS = ("placed", "pending")
WIDE_HINT = "-o wide shows every pod with its node and score"


def view(answer: ScheduleResult) -> View:
    """Return what became of the pods: those without a node and why, placements, evictions, calls
    that bind, how full the cluster is."""
    counts = answer.summary
    total = counts.placed + counts.pending
    title, tone = "No pod waits for a node", Tone.GOOD
    if counts.pending:
        stays = verb(counts.pending, "stays", "stay")
        title = f"{counts.pending:,} of {counted(total, 'pod')} {stays} pending"
        tone = Tone.BAD if counts.undecided else Tone.WARN
    elif total:
        title = f"All of {total:,} pods got a node" if total > 1 else "The pod got a node"
    # Pods that are left out have a line of their own.
    line = f"{counts.placed:,} placed, {counts.pending:,} pending, {counts.gated:,} gated"
    if counts.evicted:
        line += f", {counts.evicted:,} evicted"
    lines = [Line(line, Tone.SOFT)]
    if answer.cost:
        lines.append(Line(f"the cluster {cost_text(answer.cost)}", Tone.SOFT))
    lines += waiting_lines(answer.recreated or ())
    if counts.undecided:
        pods = counted(counts.undecided, "pending pod")
        lines.append(Line(f"{pods} cannot be decided, as a plugin failed", Tone.BAD))
    reasons = Counter(pod.reason for pod in answer.ignored)
    if reasons:
        texts = (f"{count:,} {reason}" for reason, count in reasons.most_common())
        lines.append(Line(f"left out: {', '.join(texts)}", Tone.SOFT))
    of_pods = ((name, getattr(counts, name), own) for name, own in TILES)
    tiles = [
        Tile("left out" if name == "ignored" else name, f"{count:,}", own * bool(count))
        for name, count, own in of_pods
        if count or name in ALWAYS
    ]
    used = sum(node.pods > 0 for node in answer.nodes)
    return View(
        title=title,
        tone=tone,
        lines=lines,
        tiles=[*tiles, Tile("nodes used", f"{used:,} of {len(answer.nodes):,}")],
        sections=[*_sections(answer)],
        names=lambda: answer.queue or answer.pending,
        nodes=[*(node.name for node in answer.nodes), *nodes_of(answer.pending_groups)],
    )


def _sections(answer: ScheduleResult) -> Iterator[Section]:
    # Gated pods follow by owner and gate, those of the most pods first.
    waiting = pending_groups("", answer.pending_groups, with_reasons=False)
    members = grouped(
        ((_owner(pod, answer.owners.get(pod, "")), answer.messages[pod]), pod)
        for pod in answer.gated
    )
    gated = [
        Block(
            heading=pods[0] if len(pods) == 1 else f"{counted(len(pods), 'pod')} of {owner}",
            state="gated",
            tone=Tone.WARN,
            lines=[message],
            names=pods,
        )
        for (owner, message), pods in sorted(members.items(), key=lambda item: -len(item[1]))
    ]
    yield Groups(
        heading="Pods without a node",
        blocks=[*waiting.blocks, *gated],
        brief=waiting.brief,
        noun=waiting.noun,
    )
    if answer.pending_groups:
        yield Commands(
            heading="What to try next",
            commands=[Command(f"{program_name()} explain --pending", "shows the nearest nodes")],
        )
    if answer.regret:
        yield regret_table(answer.regret)
    if answer.metrics:
        yield metrics_table(answer.metrics)
    # Each pod has a row; many pods, where lists are cut, share a row per owner.
    placed = answer.placed or [PlacedPod(*each) for each in answer.placements.items()]
    has_own_rows = len(placed) <= MAX_POD_ROWS
    yield table(
        "Placed",
        placed,
        (Column("Pod", Kind.POD), lambda each: each.pod),
        (Column("Node", Kind.NODE), lambda each: each.node),
        (
            Column("Score", Kind.NUMBER),
            lambda each: "only one fits" if each.score is None else each.score,
        ),
        (
            Column("Looked at", Kind.NUMBER, on=Medium.WIDE),
            lambda each: each.evaluated,
        ),
        on=Medium.TEXT if has_own_rows else Medium.WHOLE | Medium.WIDE,
        brief=None,
    )
    if not has_own_rows:
        by_owner = grouped((_owner(each.pod, each.owner), each) for each in placed)
        yield table(
            "Placed",
            by_owner.items(),
            (Column("Owner"), lambda each: group_name(each[0], [pod.pod for pod in each[1]])),
            (Column("Pods", Kind.NUMBER), lambda each: len(each[1])),
            # Those with the most of the pods come first.
            (
                Column("Nodes", Kind.NODE),
                lambda each: with_counts(dict(Counter(p.node for p in each[1]).most_common())),
            ),
            brief=SHOWN_OWNERS,
            noun="owners",
            note=WIDE_HINT,
            on=Medium.BRIEF,
        )
    devices = [
        (pod.pod, claim, names) for pod in answer.placed for claim, names in pod.claims.items()
    ]
    yield table(
        "Devices",
        devices,
        (Column("Pod", Kind.POD), lambda each: each[0]),
        (Column("Claim"), lambda each: each[1]),
        (Column("Devices"), lambda each: ", ".join(each[2])),
        brief=SHOWN_ROWS,
        on=Medium.TEXT,
    )
    yield evictions_table("Evictions", answer.evictions, answer.recreated or ())
    # A row says where the call went, and what became of it.
    calls = answer.extender_bindings or ()
    yield table(
        "Bound by extenders",
        calls,
        (
            Column("Pod", Kind.POD),
            lambda call: f"{call.request['PodNamespace']}/{call.request['PodName']}",
        ),
        (Column("Node", Kind.NODE), lambda call: call.request["Node"]),
        (Column("POST"), lambda call: call.url),
        (Column(""), lambda call: call.error or ("sent" if call.sent else "not sent")),
        brief=SHOWN_ROWS,
        note="" if any(call.sent for call in calls) else "--extender-bind sends them",
    )
    if answer.lists_nodes:
        yield usage.nodes_table(answer.usages)
    if answer.usages:
        yield usage.resources_table(answer.usages)
    yield Later(make=lambda: _maps(answer))
    if answer.utilization:
        yield usage.pools_table(answer.utilization)
    yield from usage.cost_tables((usage.COST_AN_HOUR, answer.cost))
    yield Later(make=lambda: _grids(answer))


def _owner(pod: str, owner: str) -> str:
    return shared_owner(owner or f"{pod.partition('/')[0]}/{POD}/")


# -- sections of the page -------------------------------------------------------------------------


def _maps(answer: ScheduleResult) -> list[Section]:
    from ksched_cli.report.html.cluster_map import NODE_COLUMN, before_and_after

    if answer.cluster_map is None or not answer.nodes:
        return []
    return [*before_and_after(answer.cluster_map, (NODE_COLUMN,))]


def _grids(answer: ScheduleResult) -> Iterator[Section]:
    from ksched_cli.report.html.cluster_map import node_columns, pod_columns
    from ksched_cli.report.html.sections import Grid

    cluster = answer.cluster_map
    if cluster is None:
        return
    if answer.nodes:
        yield Grid("Table of nodes", "nodes", node_columns(cluster))
    yield Grid("Table of pods", "pods", pod_columns(cluster.pods))
