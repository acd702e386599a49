"""The pages about all pods and nodes of a cluster: where they go, how full it is, what could go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.analysis.compare import Comparison, PodDifference
from ksched_cli.analysis.diagnosis import PendingGroup
from ksched_cli.analysis.schedule import grouping_labels
from ksched_cli.analysis.shrink import NodeToDrain, ShrinkResult, UpgradePlan, Wave
from ksched_cli.report import compare, shrink
from ksched_cli.report.compare import standing_text, totals
from ksched_cli.report.html.charts import MAX_PLACES, bar, flow
from ksched_cli.report.html.cluster_map import (
    before_and_after,
    map_data,
    utilisation,
)
from ksched_cli.report.html.columns import Kind, column, filled
from ksched_cli.report.html.of_view import group_of
from ksched_cli.report.html.sections import (
    Bars,
    Flows,
    Grid,
    Group,
    Groups,
    NamedFlow,
    NodeMap,
    Page,
    Section,
    Table,
    Tile,
    present,
    tally,
)
from ksched_cli.report.pending import pending_groups
from ksched_cli.report.shrink import notes
from ksched_cli.report.table import PAGE

# -- compare ---------------------------------------------------------------------------------------


MAX_CAUSES = 20
OTHER_CAUSES = "other causes; the table of pods has them"
MAX_FLOWS = 2
FIRST_SIDE = 2  # column of the table of pods with the first side's nodes


def comparison_page(answer: Comparison) -> Page:
    """The page of a comparison: the sides' totals, how full the nodes are on each, what moves from
    where to where."""
    title, *lede = compare.headline(answer, PAGE).split("\n")
    sides, pods = answer.sides, answer.pods
    names = [side.name for side in sides]
    columns = [
        column("Pod", [pod.pod for pod in pods]),
        column("Owner", [pod.owner for pod in pods]),
        *(column(name, [_place(pod, side) for pod in pods]) for side, name in enumerate(names)),
        column("Because of", [pod.because for pod in pods]),
    ]
    sections: list[Section] = []
    if pods:
        sections += [_flows(answer, index) for index in range(1, len(names))]
    sections += present(Table("Totals", ("", *names), totals(sides)), _causes(pods))
    if sides[0].usages:
        sections.append(NodeMap("Nodes", _map(answer)))
        sections.append(utilisation([(side.name, side.usages) for side in sides]))
    sections += present(Grid("Table of pods", "pods", columns))
    tiles = [Tile("differ", f"{len(pods):,}", "warn" if pods else "good")]
    return Page(title, lede, tiles, sections)


def _flows(answer: Comparison, side: int) -> Flows:
    """From node to node where these are few, else by the labels that group them."""
    names = (answer.sides[0].name, answer.sides[side].name)
    pods = [pod for pod in answer.pods if _place(pod, 0) != _place(pod, side)]
    heading = f"Where pods differ: {names[0]}, then {names[1]}"
    places = {_place(pod, each) for pod in pods for each in (0, side)}
    if len(places) <= MAX_PLACES:
        pairs = [(_place(pod, 0), _place(pod, side)) for pod in pods]
        return Flows(heading, [NamedFlow("", flow(names, pairs))])
    drawings = []
    for key, values in _labels(answer).items():
        group = {name: f"{key.rpartition('/')[2]} {value}" if value else f"without {key}"
                 for name, value in values.items()}  # fmt: skip

        def place(pod: PodDifference, each: int, group: Mapping[str, str] = group) -> str:
            node = pod.nodes[each]
            return group[node] if node else _place(pod, each)

        pairs = [(place(pod, 0), place(pod, side)) for pod in pods]
        drawings.append(NamedFlow(f"by {key}", flow(names, pairs)))
    if not drawings:
        pairs = [(_place(pod, 0), _place(pod, side)) for pod in pods]
        drawings.append(NamedFlow("", flow(names, pairs)))
    count = f"{len(pods):,} pods"
    return Flows(heading, drawings[:MAX_FLOWS], f"{count}; the table of pods has their nodes.")


def _labels(answer: Comparison) -> dict[str, dict[str, str]]:
    """By label that groups nodes, the value of each node of any side."""
    nodes = {usage.name: usage.labels for side in answer.sides for usage in side.usages}
    keys = grouping_labels([*nodes.values()])
    return {key: dict(zip(nodes, values, strict=True)) for key, values in keys.items()}


def _map(answer: Comparison) -> dict[str, Any]:
    newest = {usage.name: usage for side in answer.sides for usage in side.usages}
    names = sorted(newest)
    labels = {key: [values[name] for name in names] for key, values in _labels(answer).items()}
    views = [(side.name, side.usages) for side in answer.sides]
    columns = range(FIRST_SIDE, FIRST_SIDE + len(views))
    return map_data(views, labels, [newest[name].apart for name in names], columns)


def _place(pod: PodDifference, side: int) -> str:
    """The node, or what the pod is instead."""
    return pod.nodes[side] or standing_text(pod.states[side])


def _causes(pods: Sequence[PodDifference]) -> Bars:
    """Pods by the plugin that turned them, or another cause that several have."""
    causes = Counter(pod.plugin or pod.because for pod in pods)
    named = {pod.plugin for pod in pods} | {cause for cause in causes if causes[cause] > 1}
    if len(causes) > MAX_CAUSES:
        causes = Counter(
            cause if (cause := pod.plugin or pod.because) in named else OTHER_CAUSES for pod in pods
        )
    return tally("Because of", ("", "Pods"), causes.most_common(MAX_CAUSES), "pods")


# -- shrink ----------------------------------------------------------------------------------------


MOVE_COLUMNS = (1, 2)  # of the table of moves: the pod's node before and after
MESSAGES = (
    "kube-scheduler's messages count the nodes that would be left: without the node itself and "
    "those that go."
)
LEFT_ASIDE = "No node is kept for these pods."


def shrink_page(answer: ShrinkResult) -> Page:
    """The page of a shrink: the nodes before and after as a map, what goes where, what holds the
    others."""
    going = [node for node in answer.nodes if node.removable]
    moves = [(node, pod, to) for node in going for pod, to in node.moves_to.items()]
    tiles = [
        Tile("could go", f"{answer.removable:,}", "good" if answer.removable else "warn"),
        Tile("stay", f"{len(answer.nodes) - len(going):,}"),
        Tile("pods move", f"{len(moves):,}"),
    ]
    cluster = answer.cluster_map
    assert cluster is not None
    nodes = [
        column("Order", [node.order for node in going], Kind.NUMBER),
        column("Node", [node.node for node in going]),
        column("Pods that move", [len(node.moves_to) for node in going], Kind.NUMBER),
        column("Waits for budgets", [node.waits for node in going], Kind.NUMBER),
    ]
    pods = [
        column("Pod", [pod for _, pod, _ in moves]),
        column("From", [node.node for node, _, _ in moves]),
        column("To", [to for _, _, to in moves]),
    ]
    sections = [
        *(before_and_after(cluster, MOVE_COLUMNS) if answer.nodes else ()),
        *present(Grid("Nodes that could go", "nodes", nodes), Grid("Moves", "pods", pods)),
        *_staying(answer.nodes, answer.pending),
    ]
    return Page(shrink.headline(answer), notes(answer), tiles, sections)


def _staying(nodes: Sequence[NodeToDrain], groups: Sequence[PendingGroup]) -> list[Section]:
    """What holds nodes, and the pods that no drain leaves pending."""
    holds = [(node.node, hold) for node in nodes for hold in node.held_by]
    columns = [
        column("Node", [name for name, _ in holds]),
        column("Held by", [hold.pod or "" for _, hold in holds]),
        column("Because", [hold.because for _, hold in holds]),
        column("kube-scheduler's message", [hold.message for _, hold in holds]),
    ]
    return present(
        Grid("What holds the other nodes", "holds", filled(columns), MESSAGES),
        Groups("Pending before any node goes", pending_blocks(groups), LEFT_ASIDE),
    )


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
    targets = [", ".join(dict.fromkeys(node.moves_to.values())) for _, node in drained]
    columns = [
        column("Wave", [number for number, _ in drained], Kind.NUMBER),
        column("Drain", [node.node for _, node in drained]),
        column("Pods", [len(node.moves_to) for _, node in drained], Kind.NUMBER),
        column("Move to", targets),
        column("Waits for budgets", [node.waits for _, node in drained], Kind.NUMBER),
    ]
    sections = [
        *present(_waves(answer.waves), Grid("Nodes to drain", "nodes", columns)),
        *_staying(answer.blocked, answer.pending),
    ]
    return Page(shrink.headline(answer), notes(answer), tiles, sections)


def _waves(waves: Sequence[Wave]) -> Bars:
    names = ("drained", "drained, delayed by an earlier wave")
    counts = [(len(wave.drained) - len(wave.delayed), len(wave.delayed)) for wave in waves]
    most = max(map(sum, counts), default=0)
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


def pending_blocks(groups: Sequence[PendingGroup]) -> list[Group]:
    """The pods that stay pending, with all of their reasons."""
    shown = pending_groups("", groups, with_reasons=True).blocks
    return [group_of(block) for block in shown]
