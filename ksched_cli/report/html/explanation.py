"""The page of an explanation: the funnel of plugins, the reasons, the ranking, two nodes side by
side, all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ksched_cli.analysis.explain import Explanation, NodeExplanation, ranking
from ksched_cli.analysis.reasons import FilterStep, Reason
from ksched_cli.report.explanation import headline, short_name
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import Kind, coded, column, filled
from ksched_cli.report.html.sections import Bars, Grid, Page, Pair, Section, Table, Tile
from ksched_cli.report.scale_up import group_row, scale_up_line
from ksched_cli.report.table import PAGE, marked, printable

BEST = 20
IN_ALL = (
    "Rejected here: of the nodes that the plugins above left. Rejected in all: of all nodes, also "
    "those that another plugin rejected before."
)


def page(answer: Explanation) -> Page:
    _, verdict, *lede = headline(answer, PAGE).split("\n")
    lede.append(f"profile {answer.profile}")
    return Page(f"{answer.pod}: {verdict}", lede, _tiles(answer), _sections(answer))


def _tiles(answer: Explanation) -> list[Tile]:
    nodes, steps = len(answer.nodes), answer.funnel
    if answer.ignored:
        return []
    tiles = [
        Tile("nodes shown" if steps and _total(steps) != nodes else "nodes", f"{nodes:,}"),
        Tile("fit", f"{answer.feasible:,}", "good" if answer.feasible else "bad"),
    ]
    if answer.evaluated != nodes:
        tiles.append(Tile("looked at in this attempt", f"{answer.evaluated:,}"))
    numbers = {"points": answer.score, "ahead of the next": answer.margin}
    if answer.running_on:
        numbers["rank of its node"] = answer.rank
    return [*tiles, *(Tile(key, f"{n:,}") for key, n in numbers.items() if n is not None)]


def _total(steps: Sequence[FilterStep]) -> int:
    """How many nodes there are: the first plugin leaves all that it does not reject."""
    return steps[0].rejects + steps[0].left


def _sections(answer: Explanation) -> list[Section]:
    nodes, fitting = answer.nodes, ranking(answer)
    plugins = list(dict.fromkeys(plugin for node in fitting for plugin in node.scores))
    sections: list[Section] = []
    if answer.scale_up:
        rows = [group_row(each) for each in answer.scale_up.groups]
        headers = ("Node group", "Nodes", "Verdict", "Why")
        sections.append(Table("Autoscaler", headers, rows, scale_up_line(answer.scale_up)))
    if answer.funnel:
        sections.append(_funnel(answer))
    if answer.reasons:
        sections.append(reasons_table("Why nodes do not fit", answer.reasons))
    if fitting and plugins:
        sections.append(_ranking(answer.node, fitting, plugins))
    if nodes:
        sections.append(Pair("Two nodes side by side", pair_data(answer, plugins)))
        sections.append(Grid("Table of nodes", "nodes", _columns(nodes, plugins)))
    return sections


def _funnel(answer: Explanation) -> Bars:
    """All nodes, what each plugin leaves, those that fit."""
    steps = answer.funnel
    total = _total(steps)
    names = ("left", "rejected here")
    bars = [bar(("all nodes", total, "", ""), (total, 0), names, total)]
    left, is_alone = total, True
    for step in steps:
        rejected = left - step.left
        left = step.left
        is_alone = is_alone and step.rejects == rejected
        if step.rejects:
            cells = (step.plugin or "Filter", left, rejected, step.rejects)
            bars.append(bar(cells, (left, rejected), names, total))
    if is_alone:
        bars = [replace(each, cells=each.cells[:-1]) for each in bars]
    idle = [step.plugin for step in steps if not step.rejects]
    note = "" if is_alone else IN_ALL
    note += f" Plugins that rejected no node: {', '.join(idle)}." if idle else ""
    headers = ("", "Nodes left", "Rejected here", *(() if is_alone else ("Rejected in all",)), "")
    return Bars("Nodes left after each plugin", headers, bars, names, note.strip())


def reasons_table(heading: str, reasons: Sequence[Reason]) -> Table:
    return Table(heading, REASON_HEADERS, [reason_row(reason) for reason in reasons])


REASON_HEADERS = ("Nodes", "For no other reason", "Plugin", "Reason", "Nearest node")


def reason_row(reason: Reason) -> tuple[Any, ...]:
    nearest = reason.nearest
    where = ""
    if nearest:
        ties = f" and {nearest.ties:,} as near" if nearest.ties else ""
        detail = f": {nearest.detail}" if nearest.detail else ""
        where = f"{nearest.node}{ties}{detail}"
    return reason.nodes, reason.alone, reason.plugin, reason.reason, where


def _ranking(taken: str, fitting: Sequence[NodeExplanation], plugins: Sequence[str]) -> Bars:
    """The first of them, a part of the bar for each plugin's weighted score."""
    longest = max(node.total or 0 for node in fitting)
    scoring = [plugin for plugin in plugins if any(_weighted(node, plugin) for node in fitting)]
    bars = [
        bar(
            (node.rank, marked(node.node, taken), node.total),
            [_weighted(node, plugin) or 0 for plugin in scoring],
            scoring,
            longest,
        )
        for node in fitting[:BEST]
    ]
    notes = []
    if len(bars) < len(fitting):
        notes.append(f"The best {len(bars)} of {len(fitting):,}; the table of nodes has all.")
    idle = [plugin for plugin in plugins if plugin not in scoring]
    if idle:
        notes.append(f"No points for any node: {', '.join(idle)}.")
    headers = ("Rank", "Node", "Total", "Weighted scores")
    return Bars("Ranking", headers, bars, scoring, " ".join(notes))


def _weighted(node: NodeExplanation, plugin: str) -> int | None:
    """An extender need not name every node."""
    return node.scores[plugin].weighted if plugin in node.scores else None


def pair_data(answer: Explanation, plugins: Sequence[str]) -> dict[str, Any]:
    """What each node is compared by, as columns, and which two are shown at first."""
    nodes = answer.nodes
    first, second = _first_pair(answer)
    return {
        "names": [printable(node.node) for node in nodes],
        "first": printable(first),
        "second": printable(second),
        "total": coded([node.total for node in nodes]),
        "rank": coded([node.rank for node in nodes]),
        "rejections": coded([_rejections(node) for node in nodes]),
        "plugins": [_plugin_columns(nodes, plugin) for plugin in plugins],
    }


def _plugin_columns(nodes: Sequence[NodeExplanation], plugin: str) -> dict[str, Any]:
    scores = [node.scores.get(plugin) for node in nodes]
    columns = {
        key: coded([score and getattr(score, key) for score in scores])
        for key in ("raw", "normalized", "weighted")
    }
    details = coded([printable("; ".join(score.details)) if score else "" for score in scores])
    weight = next(score.weight for score in scores if score)
    return {"name": printable(plugin), "weight": weight, **columns, "details": details}


def _rejections(node: NodeExplanation) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Plugin, reasons, details."""
    return tuple(
        (
            printable(rejection.plugin),
            tuple(map(printable, rejection.reasons)),
            tuple(map(printable, rejection.details)),
        )
        for rejection in node.rejections
    )


def _first_pair(answer: Explanation) -> tuple[str, str]:
    """The node taken, else the best; beside it the one that the pod runs on, else the next best,
    else the one nearest to fitting."""
    names = [node.node for node in answer.nodes]
    nearest = [reason.nearest.node for reason in answer.reasons if reason.nearest]
    order = [
        answer.node,
        answer.running_on,
        *(node.node for node in ranking(answer)[:2]),
        *nearest,
        *names[:2],
    ]
    chosen = [name for name in dict.fromkeys(order) if name in set(names)]
    return chosen[0], chosen[min(1, len(chosen) - 1)]


def _columns(nodes: Sequence[NodeExplanation], plugins: Sequence[str]) -> list[dict[str, Any]]:
    columns = [
        column("Node", [node.node for node in nodes]),
        column("Fits", ["yes" if node.fits else "no" for node in nodes]),
        column("Rank", [node.rank for node in nodes], Kind.NUMBER),
        column("Total", [node.total for node in nodes], Kind.NUMBER),
    ]
    columns += [
        column(short_name(plugin), [_weighted(node, plugin) for node in nodes], Kind.NUMBER)
        for plugin in plugins
    ]
    if any(node.rejections for node in nodes):
        columns.append(
            column("Rejected by", [", ".join(r.plugin for r in node.rejections) for node in nodes])
        )
        columns.append(column("Why not", [_why(node) for node in nodes]))
    return filled(columns)


def _why(node: NodeExplanation) -> str:
    return "; ".join(text for rejection in node.rejections for text in rejection.reasons)
