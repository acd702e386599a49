"""The page of a shrink: the nodes before and after as a map, what goes where, what holds the
others."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.diagnosis import PendingGroup
from ksched_cli.analysis.schedule import ClusterMap
from ksched_cli.analysis.shrink import NodeToDrain, ShrinkResult, UpgradePlan, Wave
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.cluster_map import map_data, utilisation
from ksched_cli.report.html.columns import Kind, column, filled
from ksched_cli.report.html.pending import pending_blocks
from ksched_cli.report.html.sections import (
    Bars,
    Grid,
    Groups,
    NodeMap,
    Page,
    Section,
    Tile,
)
from ksched_cli.report.shrink import headline, notes

MOVE_COLUMNS = (1, 2)  # of the table of moves: the pod's node before and after
MESSAGES = (
    "kube-scheduler's messages count the nodes that would be left: without the node itself and "
    "those that go."
)
LEFT_ASIDE = "No node is kept for these pods."


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
    if answer.nodes:
        sections += _before_and_after(answer.cluster_map)
    if going:
        columns = [
            column("Order", [node.order for node in going], Kind.NUMBER),
            column("Node", [node.node for node in going]),
            column("Pods that move", [len(node.moves_to) for node in going], Kind.NUMBER),
            column("Waits for budgets", [node.waits for node in going], Kind.NUMBER),
        ]
        sections.append(Grid("Nodes that could go", "nodes", columns))
    if moves:
        columns = [
            column("Pod", [pod for _, pod, _ in moves]),
            column("From", [node.node for node, _, _ in moves]),
            column("To", [to for _, _, to in moves]),
        ]
        sections.append(Grid("Moves", "pods", columns))
    sections += _holds(answer.nodes)
    sections += _pending(answer.pending)
    return Page(headline(answer), notes(answer), tiles, sections)


def _before_and_after(cluster: ClusterMap) -> list[Section]:
    """The map, with where pods leave and come, and how full the nodes are that are there."""
    views = (("before", cluster.before), ("after", cluster.after))
    figures = map_data(views, cluster.labels, cluster.taints, MOVE_COLUMNS)
    return [NodeMap("Nodes", figures), utilisation(views)]


def _pending(groups: Sequence[PendingGroup]) -> list[Section]:
    heading = "Pending before any node goes"
    return [Groups(heading, pending_blocks(groups), LEFT_ASIDE)] if groups else []


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
    return [Grid("What holds the other nodes", "holds", filled(columns), MESSAGES)]


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
    sections += _pending(answer.pending)
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
