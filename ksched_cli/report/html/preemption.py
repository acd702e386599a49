"""The page of a preemption: how the node was chosen, the candidates with their victims, the nodes
that are not candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.analysis.preempt import (
    CandidateNode,
    NonCandidateNode,
    PreemptionResult,
    Victim,
)
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import (
    Grid,
    Group,
    Groups,
    Page,
    Prose,
    Section,
    Table,
    Tile,
)
from ksched_cli.report.preemption import headline, pods_removed, why_not_with_it
from ksched_cli.report.table import PAGE, counted

SHOWN_CANDIDATES = 10
NAMED_PODS = 20
VICTIM_HEADERS = ("Evicted", "Priority", "Started", "Cannot stay because", "Violates")


def page(answer: PreemptionResult) -> Page:
    _, verdict, *lede = headline(answer, PAGE).split("\n")
    lede.append(f"profile {answer.profile}")
    return Page(f"{answer.pod}: {verdict}", lede, _tiles(answer), _sections(answer))


def _tiles(answer: PreemptionResult) -> list[Tile]:
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
    return tiles


def _sections(answer: PreemptionResult) -> list[Section]:
    sections: list[Section] = []
    candidates = answer.candidates
    if answer.criteria:
        sections.append(_criteria(answer))
    if candidates:
        groups = [_group(answer, candidate) for candidate in candidates[:SHOWN_CANDIDATES]]
        rest = len(candidates) - len(groups)
        note = f"The best {len(groups)}; the table has {rest:,} more." if rest else ""
        sections.append(Groups("Candidates, best first", groups, note))
        sections.append(Grid("Table of candidates", "candidates", _candidates(candidates)))
    if answer.not_candidates:
        sections.append(Grid("No candidates", "others", _others(answer.not_candidates)))
    if answer.not_searched:
        text = (
            f"{counted(len(answer.not_searched), 'node')} were not looked at, as "
            f"{answer.num_candidates:,} candidates are enough; "
            "--all-candidates looks at all."
        )
        sections.append(Prose("Not looked at", [text]))
    return sections


def _criteria(answer: PreemptionResult) -> Table:
    """The criteria asked, in their order; the last one decided."""
    rows = [
        (index, step.criterion, step.best, step.nodes_left)
        for index, step in enumerate(answer.criteria, 1)
    ]
    note = ""
    if answer.ties:
        note = f"{len(answer.ties):,} nodes are equally good; {answer.node} is taken."
    headers = ("", "Criterion", "Best", "Nodes left")
    return Table("How the node was chosen", headers, rows, note)


def _group(answer: PreemptionResult, candidate: CandidateNode) -> Group:
    is_taken = candidate.node == answer.node
    victims, reprieved = candidate.victims, candidate.reprieved
    parts = [f"{counted(len(victims), 'pod')} would leave"]
    if candidate.pdb_violations:
        violations = counted(candidate.pdb_violations, "violation")
        parts.append(f"{violations} of disruption budgets")
    parts.append(f"{len(reprieved):,} of lower priority may stay")
    return Group(
        candidate.node,
        "; ".join(parts) + (":" if reprieved else "."),
        "taken" if is_taken else "candidate",
        "good" if is_taken else "",
        VICTIM_HEADERS,
        [_victim(victim) for victim in victims],
        reprieved[:NAMED_PODS],
        len(reprieved),
    )


def _victim(victim: Victim) -> tuple[Any, ...]:
    rejection = victim.cannot_stay
    return (
        victim.pod,
        victim.priority,
        victim.start_time,
        rejection and why_not_with_it(rejection),
        ", ".join(victim.violates),
    )


def _candidates(candidates: Sequence[CandidateNode]) -> list[dict[str, Any]]:
    """In the order of the answer, best first."""
    priorities = [[victim.priority for victim in c.victims] for c in candidates]
    return [
        column("Rank", range(1, len(candidates) + 1), Kind.NUMBER),
        column("Node", [candidate.node for candidate in candidates]),
        column("Evicted", [len(candidate.victims) for candidate in candidates], Kind.NUMBER),
        column("PDB violations", [c.pdb_violations for c in candidates], Kind.NUMBER),
        column("Highest priority", [max(p, default=None) for p in priorities], Kind.NUMBER),
        column("Sum of priorities", [sum(p) for p in priorities], Kind.NUMBER),
        column("May stay", [len(candidate.reprieved) for candidate in candidates], Kind.NUMBER),
        column("Victims", [", ".join(v.pod for v in c.victims) for c in candidates]),
    ]


def _others(nodes: Sequence[NonCandidateNode]) -> list[dict[str, Any]]:
    return [
        column("Node", [node.node for node in nodes]),
        column("Pods removed", [pods_removed(node) for node in nodes]),
        column("Plugin", [node.plugin for node in nodes]),
        column("Reasons", ["; ".join(node.reasons) for node in nodes]),
        column("Details", ["; ".join(node.details) for node in nodes]),
    ]
