"""The page of `fix`: the remedies best first with what each costs, or what makes all impossible."""

from __future__ import annotations

from ksched_cli.analysis.fix import Remedies, Remedy
from ksched_cli.report.fix import change_option, effects, headline, search
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.sections import Bars, Group, Groups, Page, Prose, Section, Table, Tile
from ksched_cli.report.reasons import why_not
from ksched_cli.report.table import PAGE


def page(answer: Remedies) -> Page:
    title, *lede = headline(answer, PAGE).split("\n")
    if lede:
        title = f"{title}: {lede.pop(0)}"
    remedies = answer.remedies
    tiles = [
        Tile("without a node", f"{len(answer.pods):,}", "bad" if answer.pods else "good"),
        Tile("remedies", f"{len(remedies):,}", "good" if remedies else ""),
        Tile("runs", f"{answer.runs:,}"),
    ]
    sections: list[Section] = []
    if remedies:
        groups = [_group(number, each, answer) for number, each in enumerate(remedies, 1)]
        sections.append(Groups("What helps", groups, "Each was verified by a complete run."))
        sections.append(_costs(remedies))
    if answer.conflict:
        rows = [(each.nodes, why_not(each.plugin, (each.reason,))) for each in answer.conflict]
        sections.append(Table("Why no change that was tried helps", ("Nodes", "Reason"), rows))
    if answer.runs:
        sections.append(Prose("The search", (search(answer, PAGE),)))
    return Page(title, lede, tiles, sections)


def _group(number: int, remedy: Remedy, answer: Remedies) -> Group:
    """What to do, what it does, and how it is typed."""
    rows = [("ksched", change_option(line)) for line in remedy.changes]
    rows += [("kubectl", command) for command in remedy.commands if command]
    return Group(
        f"{number}. {' and '.join(remedy.parts or (remedy.text,))}",
        "\n".join(effects(remedy, answer, PAGE)),
        "best" if number == 1 else "helps",
        "good" if number == 1 else "",
        ("", ""),
        rows,
    )


def _costs(remedies: tuple[Remedy, ...]) -> Bars:
    most = max(each.cost.points for each in remedies)
    bars = [
        bar(
            (
                f"{number}. {each.text}",
                each.cost.disruption,
                each.cost.evictions,
                each.cost.nodes,
                f"{each.cost.requests:.0%}",
            ),
            (each.cost.points,),
            ("points",),
            most,
        )
        for number, each in enumerate(remedies, 1)
    ]
    headers = ("Remedy", "Restarts", "Evictions", "Nodes added", "Request given up", "")
    return Bars("What they cost", headers, bars)
