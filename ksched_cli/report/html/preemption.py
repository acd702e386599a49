"""The page of a preemption: how the node was chosen, the candidates with their victims, the nodes
that are no candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
from ksched_cli.report.table import counted

SHOWN_CANDIDATES = 10
NAMED_PODS = 20
VICTIM_HEADERS = ("Evicted", "Priority", "Started", "Cannot stay because", "Violates")
Candidate = Mapping[str, Any]


def page(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """headline: the pod, then the verdict"""
    title, *lede = headline.split("\n")
    return Page(title, lede, _tiles(document), _sections(document))


def _tiles(document: Mapping[str, Any]) -> list[Tile]:
    tiles = [Tile("priority", f"{document['priority']:,}")]
    if document["fits"]:
        tiles.append(Tile("fits without evictions on", counted(len(document["fits"]), "node")))
    if document["candidates"]:
        tiles += [
            Tile("evicted", f"{len(document['victims']):,}", "warn"),
            Tile("candidates", f"{len(document['candidates']):,}"),
            Tile("decided by", document["criterion"] or "nothing"),
        ]
    if document["notCandidates"]:
        tiles.append(Tile("no candidates", f"{len(document['notCandidates']):,}"))
    return tiles


def _sections(document: Mapping[str, Any]) -> list[Section]:
    sections: list[Section] = []
    candidates = document["candidates"]
    if document["criteria"]:
        sections.append(_criteria(document))
    if candidates:
        groups = [_group(document, candidate) for candidate in candidates[:SHOWN_CANDIDATES]]
        rest = len(candidates) - len(groups)
        note = f"The best {len(groups)}; the table has {rest:,} more." if rest else ""
        sections.append(Groups("Candidates, best first", groups, note))
        sections.append(Grid("Table of candidates", "candidates", _candidates(candidates)))
    if document["notCandidates"]:
        sections.append(Grid("No candidates", "others", _others(document["notCandidates"])))
    if document["notSearched"]:
        text = (
            f"{counted(len(document['notSearched']), 'node')} were not looked at, as "
            f"{document['candidatesWanted']:,} candidates are enough; "
            "--all-candidates looks at all."
        )
        sections.append(Prose("Not looked at", [text]))
    return sections


def _criteria(document: Mapping[str, Any]) -> Table:
    """The criteria asked, in their order; the last one decided."""
    rows = [
        (index, step["criterion"], step["best"], step["nodesLeft"])
        for index, step in enumerate(document["criteria"], 1)
    ]
    note = ""
    if document["ties"]:
        note = f"{len(document['ties']):,} nodes are equally good; {document['node']} is taken."
    headers = ("", "Criterion", "Best", "Nodes left")
    return Table("How the node was chosen", headers, rows, note)


def _group(document: Mapping[str, Any], candidate: Candidate) -> Group:
    is_taken = candidate["node"] == document["node"]
    victims, reprieved = candidate["victims"], candidate["reprieved"]
    parts = [f"{counted(len(victims), 'pod')} would leave"]
    if candidate["pdbViolations"]:
        violations = counted(candidate["pdbViolations"], "violation")
        parts.append(f"{violations} of disruption budgets")
    parts.append(f"{len(reprieved):,} of lower priority may stay")
    return Group(
        candidate["node"],
        "; ".join(parts) + (":" if reprieved else "."),
        "taken" if is_taken else "candidate",
        "good" if is_taken else "",
        VICTIM_HEADERS,
        [_victim(victim) for victim in victims],
        reprieved[:NAMED_PODS],
        len(reprieved),
    )


def _victim(victim: Mapping[str, Any]) -> tuple[Any, ...]:
    rejection = victim["cannotStay"]
    return (
        victim["pod"],
        victim["priority"],
        victim["startTime"],
        rejection and _why(rejection),
        ", ".join(victim["violates"]),
    )


def _why(rejection: Mapping[str, Any]) -> str:
    reasons = "; ".join((*rejection["reasons"], *rejection["details"]))
    return f"{rejection['plugin']}: {reasons}" if "plugin" in rejection else reasons


def _candidates(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """In the order of the document, best first."""
    priorities = [[victim["priority"] for victim in c["victims"]] for c in candidates]
    return [
        column("Rank", range(1, len(candidates) + 1), Kind.NUMBER),
        column("Node", [candidate["node"] for candidate in candidates]),
        column("Evicted", [len(candidate["victims"]) for candidate in candidates], Kind.NUMBER),
        column("PDB violations", [c["pdbViolations"] for c in candidates], Kind.NUMBER),
        column("Highest priority", [max(p, default=None) for p in priorities], Kind.NUMBER),
        column("Sum of priorities", [sum(p) for p in priorities], Kind.NUMBER),
        column("May stay", [len(candidate["reprieved"]) for candidate in candidates], Kind.NUMBER),
        column("Victims", [", ".join(v["pod"] for v in c["victims"]) for c in candidates]),
    ]


def _others(nodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    removed = [_removed(node["podsRemoved"]) for node in nodes]
    return [
        column("Node", [node["node"] for node in nodes]),
        column("Even without", removed),
        column("Plugin", [node.get("plugin") for node in nodes]),
        column("Reasons", ["; ".join(node["reasons"]) for node in nodes]),
        column("Details", ["; ".join(node["details"]) for node in nodes]),
    ]


def _removed(count: int | None) -> str:
    if count is None:
        return "any pod"
    return f"{counted(count, 'pod')} of lower priority" if count else ""
