"""The page of an explanation: the funnel of plugins, the reasons, the ranking, two nodes side by
side, all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.explanation import short_name
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import Kind, coded, column
from ksched_cli.report.html.sections import Bars, Grid, Page, Pair, Section, Table, Tile
from ksched_cli.report.table import marked, printable

BEST = 20
Node = Mapping[str, Any]


def page(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """headline: the pod, then the verdict"""
    title, *lede = headline.split("\n")
    return Page(title, lede, _tiles(document), _sections(document))


def _tiles(document: Mapping[str, Any]) -> list[Tile]:
    nodes, steps = len(document["nodes"]), document["funnel"]
    if document["ignored"]:
        return []
    tiles = [
        Tile("nodes shown" if steps and _total(steps) != nodes else "nodes", f"{nodes:,}"),
        Tile("fit", f"{document['feasible']:,}", "good" if document["feasible"] else "bad"),
        Tile("looked at", f"{document['evaluated']:,}"),
    ]
    numbers = [key for key in ("score", "margin", "rank") if document[key] is not None]
    return [*tiles, *(Tile(key, f"{document[key]:,}") for key in numbers)]


def _total(steps: Sequence[Mapping[str, Any]]) -> int:
    """How many nodes there are: the first plugin leaves all that it does not reject."""
    return int(steps[0]["rejects"]) + int(steps[0]["left"])


def _sections(document: Mapping[str, Any]) -> list[Section]:
    nodes, fitting = document["nodes"], _ranked(document)
    plugins = list(dict.fromkeys(plugin for node in fitting for plugin in node["scores"]))
    sections: list[Section] = []
    if document["funnel"]:
        sections.append(_funnel(document))
    if document["reasons"]:
        sections.append(reasons_table("Why nodes do not fit", document["reasons"]))
    if fitting and plugins:
        sections.append(_ranking(document["node"], fitting, plugins))
    if nodes:
        sections.append(Pair("Two nodes side by side", pair_data(document, plugins)))
        sections.append(Grid("Table of nodes", "nodes", _columns(nodes, plugins)))
    return sections


def _funnel(document: Mapping[str, Any]) -> Bars:
    """All nodes, what each plugin leaves, those that fit, the best."""
    steps = document["funnel"]
    total = _total(steps)
    names = ("left", "rejected here")
    bars = [bar(("all nodes", total, "", ""), (total, 0), names, total)]
    left = total
    for step in steps:
        rejected = left - step["left"]
        left = step["left"]
        if step["rejects"]:
            cells = (step["plugin"] or "Filter", left, rejected, step["rejects"])
            bars.append(bar(cells, (left, rejected), names, total))
    idle = [step["plugin"] for step in steps if not step["rejects"]]
    note = f"Reject no node: {', '.join(idle)}." if idle else ""
    best = len(document["ties"]) or bool(document["node"])
    bars.append(bar(("fit", document["feasible"], "", ""), (document["feasible"], 0), names, total))
    if document["score"] is not None:
        bars.append(bar(("best", int(best), "", ""), (int(best), 0), names, total))
    headers = ("", "Nodes left", "Rejected here", "Rejects of all", "")
    return Bars("From all nodes to the best", headers, bars, names, note)


def reasons_table(heading: str, reasons: Sequence[Mapping[str, Any]]) -> Table:
    return Table(heading, REASON_HEADERS, [reason_row(reason) for reason in reasons])


REASON_HEADERS = ("Nodes", "For this alone", "Plugin", "Reason", "Nearest node")


def reason_row(reason: Mapping[str, Any]) -> tuple[Any, ...]:
    nearest = reason["nearest"]
    where = ""
    if nearest:
        ties = f" and {nearest['ties']:,} as near" if nearest["ties"] else ""
        detail = f": {nearest['detail']}" if nearest["detail"] else ""
        where = f"{nearest['node']}{ties}{detail}"
    return reason["nodes"], reason["alone"], reason["plugin"], reason["reason"], where


def _ranked(document: Mapping[str, Any]) -> list[Node]:
    """The nodes that fit: the one taken, then the others, best first."""
    return sorted(
        (node for node in document["nodes"] if node["fits"]),
        key=lambda node: (node["node"] != document["node"], node["rank"] or 0, node["node"]),
    )


def _ranking(taken: str, fitting: Sequence[Node], plugins: Sequence[str]) -> Bars:
    """The first of them, a part of the bar for each plugin's weighted score."""
    longest = max(node["total"] for node in fitting)
    scoring = [plugin for plugin in plugins if any(_weighted(node, plugin) for node in fitting)]
    bars = [
        bar(
            (node["rank"], marked(node["node"], taken), node["total"]),
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


def _weighted(node: Node, plugin: str) -> int | None:
    """An extender need not name every node."""
    return node["scores"][plugin]["weighted"] if plugin in node["scores"] else None


def pair_data(document: Mapping[str, Any], plugins: Sequence[str]) -> dict[str, Any]:
    """What each node is compared by, as columns, and which two are shown at first."""
    nodes = document["nodes"]
    first, second = _first_pair(document)
    return {
        "names": [printable(node["node"]) for node in nodes],
        "first": printable(first),
        "second": printable(second),
        "total": coded([node["total"] for node in nodes]),
        "rank": coded([node["rank"] for node in nodes]),
        "rejections": coded([_rejections(node) for node in nodes]),
        "plugins": [_plugin_columns(nodes, plugin) for plugin in plugins],
    }


def _plugin_columns(nodes: Sequence[Node], plugin: str) -> dict[str, Any]:
    scores = [node["scores"].get(plugin) for node in nodes]
    columns = {
        key: coded([score and score[key] for score in scores])
        for key in ("raw", "normalized", "weighted")
    }
    details = coded([printable("; ".join(score["details"])) if score else "" for score in scores])
    weight = next(score["weight"] for score in scores if score)
    return {"name": printable(plugin), "weight": weight, **columns, "details": details}


def _rejections(node: Node) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Plugin, reasons, details."""
    return tuple(
        (
            printable(rejection.get("plugin", "")),
            tuple(map(printable, rejection["reasons"])),
            tuple(map(printable, rejection["details"])),
        )
        for rejection in node["rejections"]
    )


def _first_pair(document: Mapping[str, Any]) -> tuple[str, str]:
    """The node taken, else the best; beside it the one that the pod runs on, else the next best,
    else the one nearest to fitting."""
    names = [node["node"] for node in document["nodes"]]
    nearest = [reason["nearest"]["node"] for reason in document["reasons"] if reason["nearest"]]
    order = [
        document["node"],
        document["runningOn"],
        *(node["node"] for node in _ranked(document)[:2]),
        *nearest,
        *names[:2],
    ]
    chosen = [name for name in dict.fromkeys(order) if name in set(names)]
    return chosen[0], chosen[min(1, len(chosen) - 1)]


def _columns(nodes: Sequence[Node], plugins: Sequence[str]) -> list[dict[str, Any]]:
    columns = [
        column("Node", [node["node"] for node in nodes]),
        column("Fits", ["yes" if node["fits"] else "no" for node in nodes]),
        column("Rank", [node["rank"] for node in nodes], Kind.NUMBER),
        column("Total", [node["total"] for node in nodes], Kind.NUMBER),
    ]
    columns += [
        column(short_name(plugin), [_weighted(node, plugin) for node in nodes], Kind.NUMBER)
        for plugin in plugins
    ]
    if any(node["rejections"] for node in nodes):
        columns.append(
            column(
                "By", [", ".join(r.get("plugin", "") for r in node["rejections"]) for node in nodes]
            )
        )
        columns.append(column("Why not", [_why(node) for node in nodes]))
    return columns


def _why(node: Node) -> str:
    return "; ".join(text for rejection in node["rejections"] for text in rejection["reasons"])
