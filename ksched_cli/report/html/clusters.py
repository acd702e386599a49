"""Which pods of a comparison go from where to where, and its nodes as a map."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.analysis.compare import Comparison, PodDifference
from ksched_cli.analysis.schedule import grouping_labels
from ksched_cli.report.html.charts import MAX_PLACES, flow
from ksched_cli.report.html.cluster_map import map_data
from ksched_cli.report.html.sections import Flows, NamedFlow, NodeMap
from ksched_cli.report.words import counted

MAX_FLOWS = 2
FIRST_SIDE = 2  # column of the table of pods with the first side's nodes


def flows(answer: Comparison, side: int) -> Flows:
    """Draw how pods go from node to node if these are few, else between values of the labels that
    group them."""
    names = (answer.sides[0].name, answer.sides[side].name)
    pods = [pod for pod in answer.pods if pod.place_text(0) != pod.place_text(side)]
    heading = f"Where pods differ: {names[0]}, then {names[1]}"
    places = {pod.place_text(each) for pod in pods for each in (0, side)}
    if len(places) <= MAX_PLACES:
        pairs = [(pod.place_text(0), pod.place_text(side)) for pod in pods]
        return Flows(heading, [NamedFlow("", flow(names, pairs))])
    drawings = []
    for key, values in _labels(answer).items():
        group = {name: f"{key.rpartition('/')[2]} {value}" if value else f"without {key}"
                 for name, value in values.items()}  # fmt: skip

        def place(pod: PodDifference, each: int, group: Mapping[str, str] = group) -> str:
            node = pod.nodes[each]
            return group[node] if node else pod.place_text(each)

        pairs = [(place(pod, 0), place(pod, side)) for pod in pods]
        drawings.append(NamedFlow(f"by {key}", flow(names, pairs)))
    if not drawings:
        pairs = [(pod.place_text(0), pod.place_text(side)) for pod in pods]
        drawings.append(NamedFlow("", flow(names, pairs)))
    count = counted(len(pods), "pod")
    return Flows(heading, drawings[:MAX_FLOWS], f"{count}; the table of pods has their nodes.")


def _labels(answer: Comparison) -> dict[str, dict[str, str]]:
    """Return, by label that groups nodes, the value of each node of any side."""
    nodes = {usage.name: usage.labels for side in answer.sides for usage in side.usages}
    keys = grouping_labels([*nodes.values()])
    return {key: dict(zip(nodes, values, strict=True)) for key, values in keys.items()}


def node_map(answer: Comparison) -> NodeMap:
    """Return the nodes of all sides; the columns of the table of pods are those of the sides."""
    newest = {usage.name: usage for side in answer.sides for usage in side.usages}
    names = sorted(newest)
    labels = {key: [values[name] for name in names] for key, values in _labels(answer).items()}
    views = [(side.name, side.usages) for side in answer.sides]
    columns = range(FIRST_SIDE, FIRST_SIDE + len(views))
    taints = [newest[name].apart for name in names]
    return NodeMap("Nodes", map_data(views, labels, taints, columns))
