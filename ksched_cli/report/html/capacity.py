"""The page of a capacity: how many copies fit where and what stops the next one; or how many nodes
are needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ksched_cli.analysis.capacity import CapacityResult, NodesNeeded
from ksched_cli.report.capacity import headline, trial_nodes
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import Bars, Grid, Page, Prose, Section, Tile
from ksched_cli.report.table import counted


def page(answer: CapacityResult | NodesNeeded) -> Page:
    title, *lede = headline(answer).split("\n")
    if isinstance(answer, NodesNeeded):
        causes = [
            f"{counted(len(group.pods), 'pod')} of {group.namespace}/{group.owner}: "
            f"{group.diagnosis.cause if group.diagnosis else group.message}"
            for group in answer.not_helped
        ]
        prose = [Prose("No number of nodes helps", causes, "warn")] if causes else []
        return Page(title, lede, (), [*prose, _runs(answer)])
    count, nodes = answer.count, answer.nodes
    at_least = "" if answer.stopped_at is None else "at least "
    tiles = [
        Tile("fit", f"{at_least}{count:,}", "good" if count else "bad"),
        Tile("on nodes", f"{len(nodes):,}"),
    ]
    sections: list[Section] = []
    if answer.stopped_at is not None:
        text = f"The search stopped at {answer.stopped_at:,} copies; --max N raises the limit."
        sections.append(Prose("Not searched further", [text]))
    elif count:
        sections.append(Prose("Why the next one does not fit", [answer.limited_by], "warn"))
    if nodes:
        sections += [_copies(nodes), _table(nodes)]
    return Page(title, lede, tiles, sections)


def _copies(nodes: Mapping[str, int]) -> Bars:
    """How many nodes take how many."""
    counts = sorted(Counter(nodes.values()).items(), reverse=True)
    most = max(count for _, count in counts)
    bars = [bar((copies, count), (count,), ("nodes",), most) for copies, count in counts]
    return Bars("Nodes by how many they take", ("Copies each", "Nodes", ""), bars)


def _table(nodes: Mapping[str, int]) -> Grid:
    rows = sorted(nodes.items(), key=lambda item: (-item[1], item[0]))
    columns = [
        column("Node", [name for name, _ in rows]),
        column("Copies", [copies for _, copies in rows], Kind.NUMBER),
    ]
    return Grid("Table of nodes", "nodes", columns)


def _runs(answer: NodesNeeded) -> Bars:
    """What is left without a node, by how many nodes there are more."""
    runs = sorted(answer.runs, key=lambda run: run.nodes)
    most = max((run.pending + run.evicted for run in runs), default=0)
    names = ("pending", "evicted")
    bars = [
        bar(
            (*trial_nodes(run), run.pending, run.evicted),
            (run.pending, run.evicted),
            names,
            most,
        )
        for run in runs
    ]
    kinds = (f"Like {like}" for like in answer.like) if len(answer.like) > 1 else ()
    headers = ("More nodes", *kinds, "Pending", "Evicted", "")
    return Bars(f"Runs with more nodes like {' or '.join(answer.like)}", headers, bars, names)
