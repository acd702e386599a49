"""The page of `explain` for a pod group: what blocks it, the domains that it was tried in, and its
members."""

from __future__ import annotations

from ksched_cli.analysis.explain import Blocker, Domain, GroupExplanation, Member
from ksched_cli.report.group_explanation import headline
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.sections import Bars, Grid, Group, Groups, Page, Prose, Section, Tile
from ksched_cli.report.reasons import remedy_line
from ksched_cli.report.table import PAGE


def page(answer: GroupExplanation) -> Page:
    title, *lede = headline(answer, PAGE).split("\n")
    tiles = [
        Tile("have a node", f"{answer.placed:,}", "good" if answer.placed else ""),
        Tile("pending", f"{answer.pending:,}", "bad" if answer.pending else ""),
    ]
    if answer.min_count is not None:
        tiles.append(Tile("at least", f"{answer.min_count:,}"))
    sections: list[Section] = []
    if answer.blocked_by is not None:
        sections.append(
            Groups("What blocks the group", [_blocker(answer.blocked_by, answer.group)])
        )
    if answer.domains:
        sections.append(_domains(answer.domains, answer.topology_key))
    if answer.parts:
        parts = answer.parts
        columns = [
            column("Group", [f"{'· ' * part.depth}{part.group}" for part in parts]),
            column("At once", ["" if part.min_count is None else part.min_count for part in parts]),
            column("Within", [part.topology_key for part in parts]),
            column("Placed", [part.placed for part in parts]),
            column("Pods", [part.pods for part in parts]),
            column("Why not", [part.message for part in parts]),
        ]
        sections.append(Grid("The tree of groups", "parts", columns))
    if answer.evicts:
        sections.append(Prose("Evicted for it", answer.evicts))
    if answer.members:
        members = answer.members
        columns = [
            column("Pod", [member.pod for member in members]),
            column("State", [_state(member) for member in members]),
            column("Node", [member.node for member in members]),
            column("Why not", [member.message for member in members]),
        ]
        sections.append(Grid("Members", "members", columns))
    return Page(title, lede, tiles, sections)


def _blocker(blocker: Blocker, group: str) -> Group:
    where = f" in {blocker.domain}" if blocker.domain else ""
    diagnosis = blocker.diagnosis
    lede = (
        (diagnosis.cause, remedy_line(diagnosis, blocker.pod or group, PAGE)) if diagnosis else ()
    )
    return Group(f"{blocker.pod or group}{where}", blocker.message, "blocks", "bad", lede=lede)


def _domains(domains: tuple[Domain, ...], key: str) -> Bars:
    """How many of the members that were tried fit in each."""
    names = ("fit", "do not fit")
    most = max(domain.tried for domain in domains)
    bars = [
        bar(
            (domain.domain, domain.nodes, _verdict(domain), domain.blocked_by or domain.message),
            (domain.fitting, domain.tried - domain.fitting),
            names,
            most,
        )
        for domain in domains
    ]
    return Bars(f"Tried by {key}", ("Domain", "Nodes", "", "Blocked by", ""), bars, names)


def _verdict(domain: Domain) -> str:
    return "chosen" if domain.chosen else "fits" if domain.fits else "does not fit"


def _state(member: Member) -> str:
    if member.node:
        return "running" if member.running else "gets a node"
    return "gated" if member.gated else "pending"
