"""The pods that stay pending: a block for each group of them, with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from msgspec.structs import replace

from ksched_cli.analysis.diagnosis import PendingGroup, PendingReport
from ksched_cli.analysis.held_pods import HeldPods
from ksched_cli.analysis.hints import joined_hints, remedy_text
from ksched_cli.report.reasons import (
    cause_lines,
    fix_command,
    message_line,
    reasons_table,
    remedy_lines,
)
from ksched_cli.report.view import (
    Block,
    Column,
    Commands,
    Groups,
    Kind,
    Later,
    Line,
    Medium,
    Section,
    Table,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, verb
from ksched_cli.scenario.owned_pods import POD, WORKLOADS

# -- owners of pods, as tables name them -----------------------------------------------------------


NO_CONTROLLER = "no controller"


def shared_owner(owner: str) -> str:
    """Return the owner; pods without a controller share a name by namespace.

    owner: namespace/Kind/name
    """
    namespace, kind, _ = owner.split("/", 2)
    return f"{NO_CONTROLLER} in {namespace}" if kind == POD else owner


def group_name(owner: str, pods: Sequence[str]) -> str:
    """Return the shared owner of the pods; a single pod without a controller goes by its own
    name."""
    return pods[0] if len(pods) == 1 and owner.startswith(NO_CONTROLLER) else owner


def alike(owner: str) -> str:
    """Return what owners have in common whose pods share a row if one cause keeps them: the
    namespace of pods without a controller, and that of Jobs."""
    namespace, kind, _ = owner.split("/", 2)
    return f"{kind} in {namespace}" if kind in (POD, "Job") else owner


def joint_owner(owners: Iterable[str]) -> str:
    """Return the first owner with a count of the others, as one that shares their row."""
    first, *others = dict.fromkeys(owners)
    is_named = others and shared_owner(first) == first
    return f"{first} and {len(others):,} more" if is_named else first


SHOWN_GROUPS = 6
SHOWN_LINES = 20
OPEN_HINT = "--all opens every group, --owner KIND/NAME one"
SHOWN_BRIEF_GROUPS = 10
SHOWN_OTHERS = 3
# Reasons shown for all groups together, and for one.
SHOWN_REASONS = 8
SHOWN_REASONS_OF_GROUP = 4


def view(report: PendingReport) -> View:
    """Return a block per group, those of the most pods first, and the counts."""
    summary, groups = report.summary, report.groups
    title, tone = "No pod stays pending", Tone.GOOD
    if groups:
        pods = counted(summary.pending, "pod")
        title = f"{pods} {verb(summary.pending, 'stays', 'stay')} pending"
        tone = Tone.BAD if any(group.undecided for group in groups) else Tone.WARN
    others = [(summary.gated, "gated"), (summary.ignored, "left out")]
    line = ", ".join(f"{count:,} {what}" for count, what in others if count)
    return View(
        title=title,
        tone=tone,
        lines=[Line(line, Tone.SOFT)] if line else (),
        tiles=[
            Tile("pending", f"{summary.pending:,}", "bad" if summary.pending else "good"),
            Tile("gated", f"{summary.gated:,}", "warn" if summary.gated else ""),
            Tile("left out", f"{summary.ignored:,}"),
            Tile("nodes", f"{summary.nodes:,}"),
        ],
        sections=[
            *opened_groups("Why they wait", groups),
            *not_in_queue(report),
            what_helps(groups),
            Later(
                make=lambda: [
                    table(
                        "Table of pods",
                        [(pod, group) for group in groups for pod in group.pods],
                        (Column("Pod", Kind.POD), lambda each: each[0]),
                        (
                            Column("Owner"),
                            lambda each: shared_owner(f"{each[1].namespace}/{each[1].owner}"),
                        ),
                        (Column("kube-scheduler's message"), lambda each: each[1].message),
                        grid="pods",
                    )
                ]
            ),
        ],
        names=lambda: [pod for group in groups for pod in group.pods],
        nodes=nodes_of(groups),
    )


def not_in_queue(report: PendingReport) -> Iterator[Section]:
    """Yield the pods that no attempt was made for, those that get a node, and those that are not
    made."""
    same: dict[object, list[HeldPods]] = {}
    for each in report.held:
        owner = alike(f"{each.namespace}/{each.owner}")
        same.setdefault((owner, each.state, each.reason, each.notes), []).append(each)
    held = []
    for group in same.values():
        first, pods = group[0], [pod for each in group for pod in each.pods]
        owner = joint_owner(f"{each.namespace}/{each.owner}" for each in group)
        held.append(
            Block(
                heading=_heading(first.namespace, owner.partition("/")[2], pods),
                state=first.state,
                tone=Tone.WARN,
                lines=[first.reason, *first.notes],
                names=pods,
            )
        )
    yield Groups(heading="Not in the queue", blocks=held, brief=SHOWN_OTHERS, noun="groups of pods")
    yield table(
        "Pods that controllers have not made",
        report.absent,
        (Column("Pods", Kind.NUMBER), lambda each: each.count),
        (Column("Owner"), lambda each: f"{each.namespace}/{each.owner}"),
        (Column("Why"), lambda each: each.reason),
        brief=SHOWN_OTHERS,
        noun="owners",
    )
    columns = [
        (Column("Pods", Kind.POD), lambda each: each.pods),
        (Column("Node", Kind.NODE), lambda each: tuple(dict.fromkeys(each.nodes))),
    ]
    if any(each.evicts for each in report.placed):
        columns.append((Column("Evicts", Kind.POD), lambda each: each.evicts))
    if any(each.recorded for each in report.placed):
        columns.append((Column("Why they wait"), lambda each: each.recorded))
    yield table(
        "Pending pods that get a node",
        report.placed,
        *columns,
        brief=SHOWN_OTHERS,
        noun="groups of pods",
    )


def _heading(namespace: str, owner: str, pods: Sequence[str]) -> str:
    name = group_name(shared_owner(f"{namespace}/{owner}"), pods)
    return name if name in pods else f"{counted(len(pods), 'pod')} of {name}"


def nodes_of(groups: Sequence[PendingGroup]) -> list[str]:
    """Return the nodes that the groups' causes and reasons name."""
    nodes = [reason.nearest.node for group in groups for reason in group.reasons if reason.nearest]
    return nodes + [node for group in groups if group.diagnosis for node in group.diagnosis.nodes]


def pending_groups(
    heading: str, groups: Sequence[PendingGroup], *, with_reasons: bool, note: str = ""
) -> Groups:
    """Return a block for each group of pods that wait for one cause. with_reasons: with a table of
    them in texts too"""
    groups = merged(groups)
    most = SHOWN_GROUPS if with_reasons else SHOWN_BRIEF_GROUPS
    shown = min(len(groups), most)
    reasons = min(SHOWN_REASONS // max(shown, 1), SHOWN_REASONS_OF_GROUP)
    on = Medium.ALL if with_reasons else Medium.PAGE
    # kube-scheduler's message is shown where no cause is known, or nothing is left out.
    blocks = []
    for group in groups:
        lines: list[str | Line] = []
        sections: list[Section] = [reasons_table(group.reasons, on=on, brief=reasons)]
        if group.diagnosis:
            lines = [*cause_lines(group.diagnosis), *remedy_lines(group.diagnosis)]
        if group.diagnosis and group.message:
            whole = Medium.WHOLE | Medium.WIDE | Medium.PAGE
            sections.insert(0, Text(lines=[message_line(group.message)], on=whole))
        else:
            lines.append(message_line(group.message))
        block = Block(
            heading=_heading(group.namespace, group.owner, group.pods),
            state="cannot be decided" if group.undecided else "pending",
            tone=Tone.BAD if group.undecided else Tone.WARN,
            lines=lines,
            sections=sections,
            names=group.pods,
        )
        blocks.append(block)
    return Groups(heading=heading, blocks=blocks, brief=most, noun="groups of pods", note=note)


def opened_groups(heading: str, groups: Sequence[PendingGroup]) -> Iterator[Section]:
    """Yield a line for each of several groups, which --all opens; a single group is open."""
    blocks = pending_groups(heading, groups, with_reasons=True)
    if len(blocks.blocks) < 2:
        yield blocks
        return
    yield group_lines(heading, groups)
    yield replace(blocks, on=Medium.ALL & ~Medium.BRIEF)


def group_lines(heading: str, groups: Sequence[PendingGroup]) -> Table:
    """Return a row for each group: how many pods, whose they are, why they wait and what helps."""
    return table(
        heading,
        merged(groups),
        (Column("Pods", Kind.NUMBER), lambda group: len(group.pods)),
        (
            Column("Of", Kind.OWNER),
            lambda group: group_name(shared_owner(f"{group.namespace}/{group.owner}"), group.pods),
        ),
        (Column("Because"), _cause),
        brief=SHOWN_LINES,
        noun="groups of pods",
        hint="",
        note=OPEN_HINT,
        on=Medium.BRIEF,
    )


def _cause(group: PendingGroup) -> str:
    """Return the cause, and what helps."""
    if group.undecided:
        return f"cannot be decided: {group.message}"
    diagnosis = group.diagnosis
    if diagnosis is None:
        return group.message
    helps = f"what helps: {diagnosis.remedy}" if diagnosis.remedy else diagnosis.advice
    return "; ".join(filter(None, (diagnosis.cause, helps)))


def what_helps(groups: Sequence[PendingGroup]) -> Commands:
    """Return a command for each group, which finds what would help it."""
    subjects = [fix_subject(group) for group in merged(groups)[:SHOWN_GROUPS]]
    commands = [fix_command(subject) for subject in subjects if subject]
    return Commands(heading="What to try next", commands=commands)


def merged(groups: Sequence[PendingGroup]) -> list[PendingGroup]:
    """Merge groups: pods of one namespace without a controller that stay pending for one cause are
    a group, with the reasons of the first, and so are those of its Jobs; those of the most pods
    come first."""
    same: dict[object, list[PendingGroup]] = {}
    for group in groups:
        family = group.diagnosis.family if group.diagnosis else group.message
        key = (alike(f"{group.namespace}/{group.owner}"), family, group.undecided)
        same.setdefault(key, []).append(group)
    merged = [
        replace(
            reduce(_joined, group),
            owner=joint_owner(f"{each.namespace}/{each.owner}" for each in group).partition("/")[2],
        )
        for group in same.values()
    ]
    return sorted(merged, key=lambda group: -len(group.pods))


def fix_subject(group: PendingGroup) -> str:
    """Return the group as `fix` takes it: its workload, or its first pod."""
    kind, _, name = group.owner.partition("/")
    if kind not in WORKLOADS or " " in name:
        return group.pods[0]
    return f"{kind.lower()}/{name} -n {group.namespace}"


def _joined(first: PendingGroup, other: PendingGroup) -> PendingGroup:
    """Join two groups. If their causes differ in amounts, the first says of which pod it is."""
    mine, theirs = first.diagnosis, other.diagnosis
    if mine and theirs:
        hints = joined_hints(mine.hints, theirs.hints, len(first.pods), len(other.pods))
        advice = mine.advice if mine.advice == theirs.advice else ""
        mine = replace(mine, hints=hints, remedy=remedy_text(hints), advice=advice)
    begin = f"{first.pods[0]}: "
    if mine and theirs and mine.shortage and mine.cause not in (theirs.cause, begin + theirs.cause):
        mine = replace(mine, cause=begin + mine.cause.removeprefix(begin))
    return replace(first, pods=(*first.pods, *other.pods), diagnosis=mine)
