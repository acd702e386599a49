"""An answer of `capacity`: how many copies fit, on which nodes, and what stops the next one; or how
many more nodes all pods need."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from ksched_cli import program_name
from ksched_cli.analysis.capacity import CapacityResult
from ksched_cli.analysis.more_nodes import NodesNeeded, NodeTrial
from ksched_cli.report.pending import nodes_of, pending_groups, what_helps
from ksched_cli.report.reasons import message_line
from ksched_cli.report.view import (
    Column,
    Command,
    Commands,
    Kind,
    Line,
    Medium,
    Table,
    Text,
    Tile,
    Tone,
    View,
    bars,
    table,
)
from ksched_cli.report.words import counted, enumerated, grouped, verb

SHOWN_RUNS = 12


def view(answer: CapacityResult) -> View:
    """How many copies fit, the nodes by how many they take, and what stops the next copy."""
    subject = answer.workload or answer.pod
    singular, plural = ("replica", "replicas") if answer.workload else ("copy", "copies")
    if subject.startswith("Job "):
        singular, plural = "pod", "pods"
    at_least = "" if answer.stopped_at is None else "at least "
    causes = [Line(answer.cause), message_line(answer.limited_by)]
    lines = []
    if not answer.count:
        without = " without evictions; with preemption one does" if answer.by_preemption else ""
        title = f"No {singular} of {subject} fits{without}"
        lines += causes
    else:
        more = "more " if answer.workload else ""
        copies = f"{answer.count:,} {more}{verb(answer.count, singular, plural)}"
        fit = f"{verb(answer.count, 'fits', 'fit')}, on {counted(len(answer.nodes), 'node')}"
        title = f"{at_least.capitalize()}{copies} of {subject} {fit}"
    if answer.gated:
        why = f"{answer.gated.plugin}: {answer.gated.message}"
        lines.append(Line(f"{answer.pod} is not in the queue yet: {why}", Tone.WARN))
    if answer.stopped_at is not None:
        stopped = f"the search stopped at {answer.stopped_at:,}"
        lines.append(Line(f"{stopped}; --max N raises that limit"))
    by_copies = sorted(
        grouped((copies, node) for node, copies in answer.nodes.items()).items(), reverse=True
    )
    command = None
    if answer.by_preemption:
        text = f"{program_name()} preempt {answer.pod}"
        command = Command(text, "shows which pods would be evicted")
    elif not answer.count and answer.cause:
        command = Command(f"{program_name()} explain {answer.pod}", "shows what helps")
    return View(
        title=title,
        tone=Tone.GOOD if answer.count else Tone.BAD,
        lines=lines,
        tiles=[
            Tile("fit", f"{at_least}{answer.count:,}", "good" if answer.count else "bad"),
            Tile("on nodes", f"{len(answer.nodes):,}"),
        ],
        sections=[
            table(
                "",
                by_copies,
                (Column("Copies each", Kind.NUMBER), lambda each: each[0]),
                (Column("Nodes", Kind.NUMBER), lambda each: len(each[1])),
                (Column("Names", Kind.NODE), lambda each: tuple(each[1])),
                noun="numbers of copies",
                on=Medium.BRIEF | Medium.WHOLE,
            ),
            Text(
                heading="Why the next one does not fit",
                lines=causes if answer.count and answer.stopped_at is None else [],
            ),
            bars(
                "Nodes by how many they take",
                [Column("Copies each", Kind.NUMBER), Column("Nodes", Kind.NUMBER)],
                [(copies, len(nodes)) for copies, nodes in by_copies],
                ("nodes",),
            ),
            table(
                "Nodes that take a copy",
                sorted(answer.nodes.items(), key=lambda item: (-item[1], item[0])),
                (Column("Node", Kind.NODE), lambda each: each[0]),
                (Column("Copies", Kind.NUMBER), lambda each: each[1]),
                grid="nodes",
                on=Medium.WIDE | Medium.PAGE,
            ),
            Commands(heading="What to try next", commands=[command] if command else ()),
        ],
        names=lambda: tuple(answer.nodes),
        nodes=tuple(answer.nodes),
    )


# -- how many more nodes ---------------------------------------------------------------------------


def nodes_needed_view(answer: NodesNeeded) -> View:
    """Return how many more nodes, whom no number of them helps, and the runs."""
    needed, stay = answer.nodes_needed, sum(len(group.pods) for group in answer.not_helped)
    lines = []
    if needed is None and not answer.not_helped:
        lines.append(Line(answer.limited_by))
    if answer.stopped:
        lines.append(Line(f"{answer.stopped}: this is the best run so far", Tone.WARN))
    if answer.evicted:
        count = len(answer.evicted)
        evicted = f"{counted(count, 'pod')} of negative priority {verb(count, 'is', 'are')} evicted"
        lines.append(Line(evicted, Tone.WARN))
    total = sum(answer.mix.values())
    if total and answer.at_least == total:
        lines.append(Line("fewer cannot hold the pods that they help"))
    elif 0 < answer.at_least < total and answer.why_not_fewer:
        least = counted(answer.at_least, "node")
        lines.append(Line(f"fewer than {least} cannot hold the pods that they help"))
        lines.append(Line(answer.why_not_fewer))
    tiles = [Tile(_nothing(answer), counted(stay, "pod"), "bad")] if stay else []
    if needed is not None or answer.mix:
        tiles.insert(0, Tile("more nodes", f"{total:,}"))
    if answer.per_hour is not UNSET and needed is not None:
        tiles.append(Tile("an hour", f"{answer.per_hour:g}"))
    # Where lists are cut, the runs nearest to the answer are shown.
    runs = sorted(answer.runs, key=lambda trial: trial.nodes)
    nearest = sorted(runs, key=lambda trial: abs(trial.nodes - total))[:SHOWN_RUNS]
    shown = [trial for trial in runs if trial in nearest]
    like = enumerated(answer.like, "or")
    good = Tone.GOOD if needed is not None else Tone.WARN if answer.helped else Tone.BAD
    commands = [*what_helps(answer.not_helped).commands]
    if answer.other_zones:
        flags = " ".join(f"--like {name}" for name in (*answer.like, *answer.other_zones))
        what = "such nodes in the other zones, too, help more pods"
        commands.insert(0, Command(f"{program_name()} capacity --pending {flags}", what))
    return View(
        title=_needed(answer, stay),
        tone=good,
        lines=lines,
        tiles=tiles,
        sections=[
            table(
                "Pods that more nodes help",
                answer.helped if answer.not_helped else (),
                (Column("Owner", Kind.OWNER), lambda group: f"{group.namespace}/{group.owner}"),
                (Column("Pods", Kind.NUMBER), lambda group: len(group.pods)),
                (Column("More nodes", Kind.NUMBER), lambda group: group.nodes),
                noun="owners",
            ),
            pending_groups(
                f"Pods that no {'run so far' if answer.stopped else 'number of nodes'} helps",
                answer.not_helped,
                with_reasons=False,
            ),
            Commands(heading="What to try next", commands=commands),
            _runs(answer, shown, Medium.BRIEF),
            _runs(answer, runs, Medium.WHOLE | Medium.WIDE),
            bars(
                f"Runs with more nodes like {like}",
                _run_columns(answer),
                [*map(_cells, runs)],
                ("pending", "evicted"),
            ),
        ],
        nodes=[*answer.like, *nodes_of(answer.not_helped)],
    )


def _needed(answer: NodesNeeded, stay: int) -> str:
    if answer.nodes_needed is None:
        if answer.helped:
            pods = counted(sum(len(group.pods) for group in answer.helped), "pod")
            help_ = verb(sum(answer.mix.values()), "helps", "help")
            others = counted(stay, "other pod")
            return f"{_mix(answer)} {help_} {pods}; {_nothing(answer)} {others}"
        if answer.stopped:
            return "No run so far helps all pods that wait"
        return f"No number of nodes like {enumerated(answer.like, 'or')} helps"
    if not answer.nodes_needed:
        return "No more nodes are needed: every pod gets a node, and no pod is evicted"
    price = "" if answer.per_hour is UNSET else f", at {answer.per_hour:g} an hour"
    return f"{_mix(answer)} {verb(answer.nodes_needed, 'is', 'are')} needed{price}"


def _nothing(answer: NodesNeeded) -> str:
    return "no run so far helps" if answer.stopped else "no number helps"


def _mix(answer: NodesNeeded) -> str:
    """`3 more nodes like a`, `3 more nodes, 2 like a and 1 like b,`."""
    kinds = {like: count for like, count in answer.mix.items() if count}
    nodes = counted(sum(kinds.values()), "more node")
    if len(kinds) == 1:
        return f"{nodes} like {next(iter(kinds))}"
    return f"{nodes}, {enumerated([f'{count:,} like {like}' for like, count in kinds.items()])},"


def _runs(answer: NodesNeeded, runs: Sequence[NodeTrial], on: Medium) -> Table:
    return Table(
        heading="Runs with more nodes",
        columns=_run_columns(answer),
        rows=[*map(_cells, runs)],
        brief=SHOWN_RUNS,
        count=len(answer.runs),
        noun="runs",
        on=on,
    )


def _run_columns(answer: NodesNeeded) -> list[Column]:
    kinds = answer.like if len(answer.like) > 1 else ()
    return [
        Column("More nodes", Kind.NUMBER),
        *(Column(f"like {like}", Kind.NUMBER, named=True) for like in kinds),
        Column("Pending", Kind.NUMBER),
        Column("Evicted", Kind.NUMBER, fold=True),
    ]


def _cells(trial: NodeTrial) -> tuple[int, ...]:
    """Return the nodes more, of several kinds those of each too; the pods without a node, the
    evicted."""
    kinds = trial.mix.values() if len(trial.mix) > 1 else ()
    return (trial.nodes, *kinds, trial.pending, trial.evicted)
