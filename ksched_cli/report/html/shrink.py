"""The page of a shrink: the nodes before and after as a map, what goes where, what holds the
others."""

from __future__ import annotations

from ksched_cli.analysis.shrink import ShrinkResult
from ksched_cli.report.html.charts import histogram
from ksched_cli.report.html.cluster_map import cluster_figures
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import Grid, Histograms, NodeMap, Page, Section, Tile
from ksched_cli.report.shrink import headline, notes


def page(answer: ShrinkResult) -> Page:
    going = [node for node in answer.nodes if node.removable]
    moves = [(node, pod, to) for node in going for pod, to in node.moves_to.items()]
    tiles = [
        Tile("could go", f"{answer.removable:,}", "good" if answer.removable else "warn"),
        Tile("stay", f"{len(answer.nodes) - len(going):,}"),
        Tile("pods move", f"{len(moves):,}"),
    ]
    sections: list[Section] = []
    assert answer.cluster_map is not None
    figures = cluster_figures(answer.cluster_map)
    if answer.nodes:
        histograms = [histogram(name, series) for name, series in figures.shares.items()]
        sections.append(NodeMap("Nodes", figures.map))
        sections.append(Histograms("Utilisation", histograms, ("before", "after")))
    if going:
        columns = [
            column("Order", [node.order for node in going], Kind.NUMBER),
            column("Node", [node.node for node in going]),
            column("Pods", [len(node.moves_to) for node in going], Kind.NUMBER),
            column("Waits for budgets", [node.waits for node in going], Kind.NUMBER),
        ]
        sections.append(Grid("Nodes that could go", "nodes", columns))
    if moves:
        columns = [
            column("Pod", [pod for _, pod, _ in moves]),
            column("From", [node.node for node, _, _ in moves]),
            column("To", [to for _, _, to in moves]),
        ]
        sections.append(Grid("Moves", "moves", columns))
    holds = [(node.node, hold) for node in answer.nodes for hold in node.held_by]
    if holds:
        columns = [
            column("Node", [name for name, _ in holds]),
            column("Held by", [hold.pod or "" for _, hold in holds]),
            column("Because", [hold.because for _, hold in holds]),
            column("kube-scheduler's message", [hold.message for _, hold in holds]),
        ]
        sections.append(Grid("What holds the other nodes", "holds", columns))
    return Page(headline(answer), notes(answer), tiles, sections)
