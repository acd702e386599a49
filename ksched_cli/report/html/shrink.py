"""The page of a shrink: the nodes before and after as a map, what goes where, what holds the
others."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.shrink import NodeToDrain, ShrinkResult
from ksched_cli.analysis.upgrade import UpgradePlan, Wave
from ksched_cli.report.html.charts import bar, histogram
from ksched_cli.report.html.cluster_map import cluster_figures
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import Bars, Grid, Histograms, NodeMap, Page, Section, Tile
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
    sections += _holds(answer.nodes)
    return Page(headline(answer), notes(answer), tiles, sections)


def _holds(nodes: Sequence[NodeToDrain]) -> list[Section]:
    holds = [(node.node, hold) for node in nodes for hold in node.held_by]
    if not holds:
        return []
    columns = [
        column("Node", [name for name, _ in holds]),
        column("Held by", [hold.pod or "" for _, hold in holds]),
        column("Because", [hold.because for _, hold in holds]),
        column("kube-scheduler's message", [hold.message for _, hold in holds]),
    ]
    return [Grid("What holds the other nodes", "holds", columns)]


def upgrade_page(answer: UpgradePlan) -> Page:
    """The page of `shrink --upgrade`: wave by wave which nodes come and go."""
    drained = [(number, node) for number, wave in enumerate(answer.waves, 1)
               for node in wave.drained]  # fmt: skip
    tiles = [
        Tile("replaced", f"{answer.replaced:,}", "good" if answer.succeeds else "warn"),
        Tile("held for ever", f"{len(answer.blocked):,}", "bad" if answer.blocked else ""),
        Tile("waves", f"{len(answer.waves):,}"),
        Tile("pods move", f"{sum(len(node.moves_to) for _, node in drained):,}"),
    ]
    sections: list[Section] = []
    if answer.waves:
        sections.append(_waves(answer.waves))
    if drained:
        columns = [
            column("Wave", [number for number, _ in drained], Kind.NUMBER),
            column("Drain", [node.node for _, node in drained]),
            column("Pods", [len(node.moves_to) for _, node in drained], Kind.NUMBER),
            column("Move to", [", ".join(dict.fromkeys(node.moves_to.values()))
                               for _, node in drained]),
            column("Waits for budgets", [node.waits for _, node in drained], Kind.NUMBER),
        ]  # fmt: skip
        sections.append(Grid("Nodes to drain", "nodes", columns))
    sections += _holds(answer.blocked)
    return Page(headline(answer), notes(answer), tiles, sections)


def _waves(waves: Sequence[Wave]) -> Bars:
    names = ("drained", "drained, delayed by an earlier wave")
    counts = [(len(wave.drained) - len(wave.delayed), len(wave.delayed)) for wave in waves]
    most = max(map(sum, counts))
    bars = [
        bar(
            (f"wave {number}", len(wave.added), len(wave.drained),
             sum(len(node.moves_to) for node in wave.drained)),
            count,
            names,
            most,
        )
        for number, (wave, count) in enumerate(zip(waves, counts, strict=True), 1)
    ]  # fmt: skip
    return Bars("Waves", ("", "New nodes", "Nodes drained", "Pods move", ""), bars, names)
