"""An answer of `preempt`: the verdict, the criteria, the best candidates, and the other nodes,
grouped by reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ksched_cli.analysis.attempts import NodeRejection
from ksched_cli.analysis.preempt import CandidateNode, NonCandidateNode, PreemptionResult
from ksched_cli.report.explanation import DEFAULT_PROFILE
from ksched_cli.report.reasons import before_any_node, message_line, nearest_text, why_not
from ksched_cli.report.recreation import recreation_table, waiting_lines
from ksched_cli.report.view import (
    Block,
    Column,
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
from ksched_cli.report.words import counted, grouped, listed, marked, verb

BEST_CANDIDATES = 3
SHOWN_CANDIDATES = 10  # on a page
SHOWN_VICTIMS = 5
SHOWN_GROUPS = 8
SHOWN_NAMES = 3
MAX_NAMED_NODES = 3  # are named, not counted


def view(answer: PreemptionResult) -> View:
    """Return the verdict, how the node was chosen, the candidates best first, the nodes that are
    none."""
    title, *lines = _verdict(answer)
    tiles = [Tile("priority", f"{answer.priority:,}")]
    if answer.fits:
        tiles.append(Tile("fits without evictions on", counted(len(answer.fits), "node")))
    if answer.candidates:
        tiles += [
            Tile("evicted", f"{len(answer.victims):,}", "warn"),
            Tile("candidates", f"{len(answer.candidates):,}"),
            Tile("decided by", answer.criterion or "nothing"),
        ]
    if answer.not_candidates:
        tiles.append(Tile("no candidates", f"{len(answer.not_candidates):,}"))
    return View(
        title=title.text,
        tone=title.tone,
        lines=lines,
        tiles=tiles,
        sections=[*_sections(answer)],
        names=lambda: answer.victims,
        nodes=[
            *answer.fits,
            *answer.ties,
            *answer.not_searched,
            *(each.node for each in answer.candidates),
            *(each.node for each in answer.not_candidates),
        ],
    )


# -- the verdict ----------------------------------------------------------------------------------


def _verdict(answer: PreemptionResult) -> Iterator[Line]:
    yield from before_any_node(answer)
    if answer.ignored:
        return
    subject = "once it is, it" if answer.gated else answer.pod
    text, tone = _outcome(answer)
    yield Line(f"{subject} {text}", tone)
    if answer.node and not answer.fits:
        # Why this candidate, and what follows for the pods that leave it.
        among = f" among {counted(len(answer.candidates), 'candidate')}" if answer.criteria else ""
        if answer.criterion:
            yield Line(f"{answer.criterion}{among}")
        others = [name for name in answer.ties if name != answer.node]
        if others:
            yield Line(f"equally good: {listed(others, SHOWN_NAMES)}")
        yield from waiting_lines(answer.recreated or ())
        if answer.lapsing_nominations:
            pods = listed(answer.lapsing_nominations, SHOWN_NAMES)
            yield Line(f"no longer nominated there: {pods}", Tone.WARN)
    elif not answer.fits and answer.message and not answer.error:
        yield message_line(answer.message)
    if answer.running_on:
        yield Line(f"it runs on {answer.running_on}; asked as if it were still to be placed")
    profile = "" if answer.profile in ("", DEFAULT_PROFILE) else f", profile {answer.profile}"
    yield Line(f"priority {answer.priority:,}{profile}", Tone.SOFT)


def _outcome(answer: PreemptionResult) -> tuple[str, Tone]:
    """Return the answer in words that follow the pod."""
    if answer.fits:
        return f"needs no preemption: it fits on {listed(answer.fits, SHOWN_NAMES)}", Tone.GOOD
    if answer.undecided:
        return f"cannot be decided: {answer.error or answer.message}", Tone.BAD
    if answer.reason:
        return f"may not preempt: {answer.reason}", Tone.BAD
    if answer.error:
        return f"cannot be scheduled: {answer.error}", Tone.BAD
    if answer.node:
        return f"would evict {listed(answer.victims, SHOWN_NAMES)} from {answer.node}", Tone.WARN
    return "may preempt, but no eviction makes room for it", Tone.BAD


# -- sections -------------------------------------------------------------------------------------


def _sections(answer: PreemptionResult) -> Iterator[Section]:
    candidates = answer.candidates
    yield table(
        "How the node was chosen",
        answer.criteria,
        (Column("Criterion"), lambda step: step.criterion),
        (Column("Best"), lambda step: "" if step.best == answer.node else step.best),
        (Column("Nodes left", Kind.NUMBER), lambda step: step.nodes_left),
    )
    yield _candidates(answer, candidates[:BEST_CANDIDATES], SHOWN_VICTIMS, Medium.BRIEF)
    yield _candidates(answer, candidates, None, Medium.WHOLE | Medium.WIDE)
    # On a page, each candidate has a block, with a row for each of its victims.
    blocks = []
    for candidate in candidates[:SHOWN_CANDIDATES]:
        is_taken = candidate.node == answer.node
        parts = [f"{counted(len(candidate.victims), 'pod')} would leave"]
        if candidate.pdb_violations:
            violations = counted(candidate.pdb_violations, "violation")
            parts.append(f"{violations} of disruption budgets")
        parts.append(f"{len(candidate.reprieved):,} of lower priority may stay")
        victims = table(
            "",
            candidate.victims,
            (Column("Evicted", Kind.POD), lambda each: each.pod),
            (Column("Priority", Kind.NUMBER), lambda each: each.priority),
            (Column("Started"), lambda each: each.start_time),
            (
                Column("Cannot stay because"),
                lambda each: why_not_with_it(each.cannot_stay) if each.cannot_stay else "",
            ),
            (Column("Violates"), lambda each: ", ".join(each.violates)),
        )
        block = Block(
            heading=candidate.node,
            state="taken" if is_taken else "candidate",
            tone=Tone.GOOD if is_taken else Tone.NONE,
            lines=["; ".join(parts) + (":" if candidate.reprieved else ".")],
            sections=[victims],
            names=candidate.reprieved,
        )
        blocks.append(block)
    rest = len(candidates) - len(blocks)
    yield Groups(
        heading="Candidates, best first",
        blocks=blocks,
        note=f"The best {len(blocks)}; the table has {rest:,} more." if rest else "",
        on=Medium.PAGE,
    )
    yield recreation_table(answer.recreated or ())
    # Nodes that are no candidates for the same reason share a row where lists are cut; those
    # nearest to fitting come first.
    others = sorted(answer.not_candidates, key=lambda node: (node.shortfall, node.node))
    groups = grouped(((pods_removed(node), node.plugin, node.reasons), node) for node in others)
    ordered = sorted(
        groups.values(), key=lambda group: (group[0].pods_removed is None, -len(group))
    )
    columns = (
        Column("Nodes"),
        Column("Tried without", drop=1, fold=True),
        Column("Why not"),
    )
    yield Table(
        heading="No candidates",
        columns=columns,
        rows=[_other_row(group) for group in ordered],
        brief=SHOWN_GROUPS,
        noun="reasons",
        on=Medium.BRIEF,
    )
    yield Table(
        heading="No candidates",
        columns=columns,
        rows=[_other_row([node]) for node in others],
        on=Medium.WHOLE | Medium.WIDE,
    )
    if answer.not_searched:
        count = len(answer.not_searched)
        text = (
            f"{counted(count, 'node')} {verb(count, 'was', 'were')} not looked at, as "
            f"{counted(answer.num_candidates, 'candidate')} "
            f"{verb(answer.num_candidates, 'is', 'are')} enough: "
            f"{listed(answer.not_searched, SHOWN_NAMES)}"
        )
        yield Text(heading="Not looked at", lines=[text], note="--all-candidates looks at all")
    # A page lists the candidates in the order of the answer, best first, then the other nodes.
    yield Later(
        make=lambda: [
            table(
                "Table of candidates",
                enumerate(candidates, 1),
                (Column("Rank", Kind.NUMBER), lambda each: each[0]),
                (Column("Node", Kind.NODE), lambda each: each[1].node),
                (Column("Evicted", Kind.NUMBER), lambda each: len(each[1].victims)),
                (Column("PDB violations", Kind.NUMBER), lambda each: each[1].pdb_violations),
                (
                    Column("Highest priority", Kind.NUMBER),
                    lambda each: max((pod.priority for pod in each[1].victims), default=None),
                ),
                (
                    Column("Sum of priorities", Kind.NUMBER),
                    lambda each: sum(pod.priority for pod in each[1].victims),
                ),
                (Column("May stay", Kind.NUMBER), lambda each: len(each[1].reprieved)),
                (Column("Victims"), lambda each: ", ".join(pod.pod for pod in each[1].victims)),
                grid="candidates",
            ),
            table(
                "No candidates",
                answer.not_candidates,
                (Column("Node", Kind.NODE), lambda node: node.node),
                (Column("Pods removed"), pods_removed),
                (Column("Plugin"), lambda node: node.plugin),
                (Column("Reasons"), lambda node: "; ".join(node.reasons)),
                (Column("Details"), lambda node: "; ".join(node.details)),
                grid="others",
            ),
        ]
    )


def _candidates(
    answer: PreemptionResult,
    candidates: Sequence[CandidateNode],
    victims: int | None,
    on: Medium,
) -> Table:
    """Return a row per victim of each candidate, and one for the pods that may stay."""
    rows: list[tuple[Any, ...]] = []
    for candidate in candidates:
        # The node is named in the first of its rows.
        where = marked(candidate.node, answer.node)
        shown = candidate.victims[:victims]
        for victim in shown:
            parts = []
            if victim.cannot_stay and victims is not None:
                parts = [why_not(victim.cannot_stay.plugin, victim.cannot_stay.reasons)]
            elif victim.cannot_stay:
                parts = [why_not_with_it(victim.cannot_stay)]
            if victim.violates:
                parts.append(f"violates {', '.join(victim.violates)}")
            rows.append((where, victim.pod, victim.priority, victim.start_time, "; ".join(parts)))
            where = ""
        others = len(candidate.victims) - len(shown)
        if others:
            rows.append((where, f"and {others:,} more", None, "", ""))
            where = ""
        if candidate.reprieved:
            stay = f"{len(candidate.reprieved):,} may stay"
            names = f": {listed(candidate.reprieved)}" if victims is None else ""
            rows.append((where, stay + names, None, "", ""))
    has_started = any(row[3] for row in rows)
    columns = (
        Column("Candidate", Kind.NODE),
        Column("Evicted", Kind.POD),
        Column("Priority", Kind.NUMBER, drop=1),
        Column("Started", drop=2, on=Medium.ALL if has_started else Medium.PAGE),
        Column("Cannot stay because"),
    )
    rest = len(answer.candidates) - len(candidates)
    note = f"… and {counted(rest, 'more candidate')} (--all shows every one)" if rest else ""
    return Table(heading="Candidates, best first", columns=columns, rows=rows, on=on, note=note)


def why_not_with_it(rejection: NodeRejection) -> str:
    """Return why a victim cannot stay."""
    return why_not(rejection.plugin, (*rejection.reasons, *rejection.details))


def _other_row(group: list[NonCandidateNode]) -> tuple[Any, ...]:
    first = group[0]
    why = why_not(first.plugin, first.reasons)
    names = [node.node for node in group]
    if len(group) <= MAX_NAMED_NODES and len({node.details for node in group}) == 1:
        return ", ".join(names), pods_removed(first), "; ".join((why, *first.details))
    ties = [node.node for node in group if node.shortfall == first.shortfall]
    nearest = nearest_text(ties[0], "; ".join(first.details), len(ties) - 1)
    return counted(len(group), "node"), pods_removed(first), f"{why}; nearest {nearest}"


def pods_removed(node: NonCandidateNode) -> str:
    """Return which pods the attempt did without."""
    if node.pods_removed is None:
        return "all pods"
    if node.pods_removed == 0:
        return ""
    return f"{counted(node.pods_removed, 'pod')} of lower priority"


# -- sections of the page -------------------------------------------------------------------------
