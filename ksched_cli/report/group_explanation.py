"""An answer of `explain podgroup/NAME`: the verdict, what blocks, the domains, the members."""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli import program_name
from ksched_cli.analysis.explain import Blocker, Domain, GroupExplanation, Member
from ksched_cli.report.reasons import cause_lines, fix_command, message_line, remedy_lines
from ksched_cli.report.view import (
    Bars,
    Block,
    Column,
    Command,
    Commands,
    Groups,
    Kind,
    Line,
    Medium,
    Section,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, grouped, listed

SHOWN_DOMAINS = 3
SHOWN_MEMBERS = 8
SHOWN_EVICTED = 3


def view(answer: GroupExplanation) -> View:
    """Return the verdict and its cause, a row per domain, the tree of groups, the members, what to
    try next."""
    title, *lines = _verdict(answer)
    tiles = [
        Tile("have a node", f"{answer.placed:,}", "good" if answer.placed else ""),
        Tile("pending", f"{answer.pending:,}", "bad" if answer.pending else ""),
    ]
    if answer.min_count is not None:
        tiles.append(Tile("at least", f"{answer.min_count:,}"))
    # The map marks the nodes that the cause names.
    diagnosis = answer.blocked_by and answer.blocked_by.diagnosis
    return View(
        title=title.text,
        tone=title.tone,
        lines=lines,
        tiles=tiles,
        sections=[*_sections(answer)],
        names=lambda: [member.pod for member in answer.members if not member.node],
        nodes=[
            *(member.node for member in answer.members),
            *(diagnosis.nodes if diagnosis else ()),
        ],
    )


def _verdict(answer: GroupExplanation) -> Iterator[Line]:
    pods = counted(len(answer.members), "pod")
    kind, unit = ("composite pod group", " groups") if answer.composite else ("pod group", "")
    gang = "" if answer.min_count is None else f", {answer.min_count:,}{unit} at once"
    about = Line(f"{kind} of {pods}{gang}", Tone.SOFT)
    blocker = answer.blocked_by
    if not answer.pending:
        chosen = (domain.domain for domain in answer.domains if domain.chosen)
        where = "".join(f", in {answer.topology_key}={name}" for name in chosen)
        yield Line(f"Every pod of {answer.group} has a node{where}", Tone.GOOD)
        yield about
    else:
        what = "gets no node"
        if answer.placed:
            what = f"is placed without {answer.pending:,} of {pods}"
        if answer.undecided:
            what = "cannot be decided"
        tone = Tone.BAD if not answer.placed or answer.undecided else Tone.WARN
        yield Line(f"{answer.group} {what}", tone)
        if blocker is not None:
            yield Line(_cause(answer, blocker))
            if blocker.diagnosis is not None:
                yield from map(Line, blocker.diagnosis.notes)
                yield from map(Line, remedy_lines(blocker.diagnosis))
        yield about
        if blocker is not None:
            for message in dict.fromkeys((blocker.message, answer.message)):
                yield message_line(message)
    if answer.evicts:
        yield Line(f"after evicting {listed(answer.evicts, SHOWN_EVICTED)}", Tone.WARN)


def _cause(answer: GroupExplanation, blocker: Blocker) -> str:
    """Return the pod that blocks, where, and why."""
    cause = blocker.diagnosis.cause if blocker.diagnosis is not None else ""
    part = next((each for each in answer.parts if each.group == blocker.group), None)
    is_other = blocker.group != answer.group and part is not None
    if not blocker.pod:
        return cause or (f"{blocker.group} does not fit" if is_other else blocker.message)
    key = answer.topology_key if part is None else part.topology_key
    where = f" in {key}={blocker.domain}" if blocker.domain and key else ""
    text = f"{blocker.pod}{f' of {blocker.group}' if is_other else ''} blocks it{where}"
    return f"{text}: {cause}" if cause else text


def _sections(answer: GroupExplanation) -> Iterator[Section]:
    blocker = answer.blocked_by
    if blocker:
        # A page has what blocks as a block; texts have it in their lines.
        where = f" in {blocker.domain}" if blocker.domain else ""
        cause: list[str | Line] = []
        if blocker.diagnosis:
            cause = [*cause_lines(blocker.diagnosis), *remedy_lines(blocker.diagnosis)]
        block = Block(
            heading=f"{blocker.pod or answer.group}{where}",
            state="blocks",
            tone=Tone.BAD,
            lines=[*cause, message_line(blocker.message)],
        )
        yield Groups(heading="What blocks the group", blocks=[block], on=Medium.PAGE)
    if answer.domains:
        # The domain chosen comes first, then those that the most members fit in.
        yield table(
            f"Tried by {answer.topology_key}",
            sorted(answer.domains, key=lambda each: (not each.chosen, -each.fitting)),
            (Column(answer.topology_key.rpartition("/")[2]), lambda each: each.domain),
            (Column("Nodes", Kind.NUMBER, drop=1), lambda each: each.nodes),
            (Column("Pods fit", Kind.NUMBER), lambda each: (each.fitting, each.tried)),
            (Column("Fits"), _domain_verdict),
            (Column("Blocked by", Kind.POD), lambda each: each.blocked_by),
            (Column("Why not"), lambda each: each.message),
            brief=SHOWN_DOMAINS,
            noun="domains",
            on=Medium.TEXT,
        )
        # How many of the members that were tried fit in each domain.
        yield Bars(
            heading=f"Tried by {answer.topology_key}",
            columns=(
                Column("Domain"),
                Column("Nodes", Kind.NUMBER),
                Column("Fits"),
                Column("Blocked by"),
            ),
            rows=[
                (each.domain, each.nodes, _domain_verdict(each), each.blocked_by or each.message)
                for each in answer.domains
            ],
            values=[(each.fitting, each.tried - each.fitting) for each in answer.domains],
            legend=("fit", "do not fit"),
        )
    # The tree begins with its outermost group.
    yield table(
        "The tree of groups",
        answer.parts,
        (Column("Group"), lambda part: f"{'· ' * part.depth}{part.group.partition('/')[2]}"),
        (Column("At once", Kind.NUMBER), lambda part: part.min_count),
        (Column("Within", drop=1), lambda part: part.topology_key),
        (Column("Placed", Kind.NUMBER), lambda part: (part.placed, part.pods)),
        (Column("Why not"), lambda part: part.message),
    )
    yield Text(heading="Evicted for it", lines=answer.evicts, on=Medium.PAGE)
    # Members of one fate share a row where lists are cut. Where none has a node, the domains say
    # why.
    columns = (
        (Column("Pod", Kind.POD), lambda each: each[0]),
        (Column("Node", Kind.NODE), lambda each: each[1].node),
        (Column("State"), lambda each: _state(each[1])),
        (Column("Why not"), lambda each: each[1].message),
    )
    alike = grouped(
        ((member.node, member.running, member.gated, member.message), member)
        for member in answer.members
    )
    together = [(tuple(each.pod for each in group), group[0]) for group in alike.values()]
    apart = [(member.pod, member) for member in answer.members]
    if not answer.domains or answer.placed:
        brief = {"brief": SHOWN_MEMBERS, "noun": "rows", "on": Medium.BRIEF}
        yield table("Members", together, *columns, **brief)
    yield table("Members", apart, *columns, on=Medium.WHOLE | Medium.WIDE)
    yield table("Members", apart, *columns, on=Medium.PAGE, grid="members")
    commands = []
    if blocker is not None and blocker.pod and not answer.undecided:
        # `explain` shows a single pod in the first domain.
        if blocker.domain in ("", *(each.domain for each in answer.domains[:1])):
            explain = f"{program_name()} explain {blocker.pod}"
            commands.append(Command(explain, "shows every node for the pod that blocks"))
        commands.append(fix_command(answer.group))
    yield Commands(heading="What to try next", commands=commands)


def _domain_verdict(domain: Domain) -> str:
    return "chosen" if domain.chosen else "yes" if domain.fits else "no"


def _state(member: Member) -> str:
    if member.node:
        return "running" if member.running else "gets a node"
    return "held back" if member.gated else "pending"
