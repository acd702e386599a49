"""The pages about all pods and nodes of a cluster: where they go, how full it is, what could go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.analysis.compare import Comparison, PodDifference
from ksched_cli.analysis.schedule import grouping_labels
from ksched_cli.report import compare
from ksched_cli.report.compare import standing_text, totals
from ksched_cli.report.html.charts import MAX_PLACES, flow
from ksched_cli.report.html.cluster_map import (
    map_data,
    utilisation,
)
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.sections import (
    Bars,
    Flows,
    Grid,
    NamedFlow,
    NodeMap,
    Page,
    Section,
    Table,
    Tile,
    present,
    tally,
)
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
