"""Why nodes do not fit: a row per reason, or per node; those nearest to fitting first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ksched_cli import program_name
from ksched_cli.analysis.diagnosis import Diagnosis
from ksched_cli.analysis.explain import NodeExplanation
from ksched_cli.analysis.reasons import Reason
from ksched_cli.report.view import Column, Command, Kind, Line, Medium, Section, Table, Tone, table
from ksched_cli.report.words import enumerated, grouped

if TYPE_CHECKING:
    from ksched_cli.analysis.explain import Explanation
    from ksched_cli.analysis.preempt import PreemptionResult

SHOWN_REASONS = 8
# Up to so many nodes have a row each.
APART_MAX = 10


def rejected_nodes(
    nodes: Sequence[NodeExplanation],
    reasons: Sequence[Reason],
    heading: str = "Why nodes do not fit",
) -> list[Section]:
    """Return the nodes that do not fit. Where lists are cut, a row per reason, of few nodes and
    without reasons a row per node and plugin; whole, a row per node and plugin always; on a page, a
    row per reason, as the table of nodes has the others."""
    if not reasons or len(nodes) <= APART_MAX:
        brief = _apart(heading, nodes, Medium.BRIEF, is_grouped=True)
    else:
        brief = reasons_table(reasons, heading, Medium.BRIEF)
    return [
        brief,
        _apart(heading, nodes, Medium.WHOLE | Medium.WIDE, is_grouped=False),
        reasons_table(reasons, heading, Medium.PAGE),
    ]


def reasons_table(
    reasons: Sequence[Reason],
    heading: str = "",
    on: Medium = Medium.ALL,
    brief: int = SHOWN_REASONS,
) -> Table:
    """Return a row per reason: how many nodes have it, how many for it alone, and the nearest of
    them."""
    is_alone = all(reason.alone == reason.nodes for reason in reasons)
    columns = [
        (Column("Nodes", Kind.NUMBER), lambda reason: reason.nodes),
        (Column("Only reason", Kind.NUMBER, drop=1), lambda reason: reason.alone),
        (Column("Why not"), lambda reason: why_not(reason.plugin, (reason.reason,))),
        (
            Column("Nearest"),
            lambda reason: (
                nearest_text(reason.nearest.node, reason.nearest.detail, reason.nearest.ties)
                if reason.nearest
                else ""
            ),
        ),
    ]
    if is_alone:
        del columns[1]
    return table(heading, reasons, *columns, on=on, brief=brief, noun="reasons")


def nearest_text(node: str, detail: str, ties: int) -> str:
    """Return the nearest node and what it lacks. detail: of that node; ties: how many others are as
    near"""
    others = f" (and {ties:,} more as near)" if ties else ""
    return f"{node}: {detail}{others}" if detail else f"{node}{others}"


def before_any_node(answer: Explanation | PreemptionResult) -> Iterator[Line]:
    """Yield why the scheduler does not look at the pod, or not yet."""
    if answer.ignored:
        yield Line(f"The scheduler never looks at {answer.pod}: it is {answer.ignored}", Tone.WARN)
    elif answer.gated:
        yield Line(f"{answer.pod} is not in the queue yet", Tone.WARN)
        yield Line(f"{answer.gated.plugin}: {answer.gated.message}")
        yield Line(getattr(answer, "held_by", ""))


def cause_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    """Yield the cause, then what else bears on it."""
    yield Line(diagnosis.cause)
    yield from map(Line, diagnosis.notes)


def remedy_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield who holds the room, what helps, as runs show, and who would have to act where no run
    can."""
    holders = [
        f"{each.owner} (priority {each.priority:,}) {each.amount} of {each.total} {each.resource}"
        f"{f' for {each.age}' if each.age else ''}"
        for each in diagnosis.holders
    ]
    yield f"who holds the room: {enumerated(holders)}" if holders else ""
    yield f"what helps: {diagnosis.remedy}" if diagnosis.remedy else ""
    yield diagnosis.advice


def fix_command(pod: str) -> Command:
    """Return the command that looks for remedies. pod: as `fix` takes it"""
    what = "finds what would help, each change verified by a run"
    return Command(f"{program_name()} fix {pod}", what)


def message_line(message: str) -> Line:
    """Return kube-scheduler's own words, which are in the pod's events."""
    return Line(f"kube-scheduler says: {message}" if message else "", Tone.SOFT, message)


def why_not(plugin: str, reasons: Iterable[str]) -> str:
    """Return the reasons, after the plugin, if there is one."""
    text = "; ".join(reasons)
    return f"{plugin}: {text}" if plugin else text


def _apart(
    heading: str, nodes: Sequence[NodeExplanation], on: Medium, *, is_grouped: bool
) -> Table:
    """Return the nodes and their reasons, the nearest first. is_grouped: nodes rejected for the
    same reasons with the same details share a row"""
    groups = grouped(
        (node.rejections if is_grouped else node.node, node)
        for node in sorted(nodes, key=lambda node: (node.distance, node.node))
    )
    rows: list[tuple[tuple[str, ...], str]] = []
    for group in groups.values():
        where = tuple(node.node for node in group)
        for rejection in group[0].rejections:
            why = why_not(rejection.plugin, (*rejection.reasons, *rejection.details))
            rows.append((where, why))
            where = ()
    columns = (Column("Node", Kind.NODE), Column("Why not"))
    return Table(heading=heading, columns=columns, rows=rows, on=on)
