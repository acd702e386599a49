"""A cluster before and after a run as plain data: columns over nodes, columns over pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksched_cli.analysis.schedule import ClusterMap, MappedPod
from ksched_cli.analysis.usage import NodeUsage
from ksched_cli.report.html.charts import histogram
from ksched_cli.report.html.columns import CellKind, coded, column, resource_kind
from ksched_cli.report.html.sections import Histograms, NodeMap, PageSection
from ksched_cli.report.pending import shared_owner
from ksched_cli.report.usage import PODS, ordinary, requested_of, without
from ksched_cli.report.words import counted, printable

# In the table of pods; more resources would leave the names no room.
POD_RESOURCES = ("cpu", "memory")
NODE_COLUMN = 2  # of the table of pods


def before_and_after(cluster: ClusterMap, node_columns: Sequence[int]) -> list[PageSection]:
    """Return the map of the nodes, and how full they are. node_columns: see map_data"""
    views = (("before", cluster.before), ("after", cluster.after))
    data = map_data(views, cluster.labels, cluster.taints, node_columns)
    return [NodeMap("Nodes", data), utilisation(views)]


def utilisation(views: Sequence[tuple[str, Sequence[NodeUsage]]]) -> Histograms:
    """Return how full the nodes of each view are that take pods. views: name and nodes"""
    series = [(name, ordinary(usages)) for name, usages in views]
    resources = resource_names([usage for _, usages in series for usage in usages])
    charts = [
        histogram(resource, [shares(usages, resource) for _, usages in series])
        for resource in resources
    ]
    left_out = [f"{name}: {text}" for name, usages in views if (text := without(usages))]
    names = [f"{name} ({counted(len(usages), 'node')})" for name, usages in series]
    return Histograms("Utilisation", charts, names, "; ".join(left_out))


def resource_names(usages: Sequence[NodeUsage]) -> list[str]:
    """Return the resources that some node has; cpu, memory and pods first."""
    names = {key for usage in usages for key, amount in usage.allocatable.items() if amount}
    first = [name for name in ("cpu", "memory", PODS) if name in names]
    return [*first, *sorted(names.difference(first))]


def shares(usages: Sequence[NodeUsage], resource: str) -> list[float]:
    """Return the share of a resource that is requested on each node that has any."""
    return [
        requested_of(usage, resource) / amount
        for usage in usages
        if (amount := usage.allocatable.get(resource, 0)) > 0
    ]


def map_data(
    views: Sequence[tuple[str, Sequence[NodeUsage]]],
    labels: Mapping[str, Sequence[str]],
    taints: Sequence[str],
    node_columns: Sequence[int],
) -> dict[str, Any]:
    """Return what the map's script reads: per resource what each node has, and what is requested of
    it in each view, null where the view is without the node; and in each view why the node takes no
    ordinary pods, "" where it does.

    views:  name and nodes; labels, taints: of all nodes of any view, in order of their names
    node_columns: of the table of pods: that of the pod's node, or one for each view
    """
    by_name = [{usage.name: usage for usage in usages} for _, usages in views]
    newest = {name: usage for nodes in by_name for name, usage in nodes.items()}
    names = sorted(newest)
    usages = [newest[name] for name in names]

    def amounts(nodes: Mapping[str, NodeUsage], resource: str) -> list[float | None]:
        own = map(nodes.get, names)
        return [None if usage is None else requested_of(usage, resource) for usage in own]

    return {
        "names": list(map(printable, names)),
        "views": [printable(name) for name, _ in views],
        "resources": [
            {
                "name": resource,
                "kind": resource_kind(resource),
                "allocatable": coded([usage.allocatable.get(resource, 0) for usage in usages]),
                "views": [coded(amounts(nodes, resource)) for nodes in by_name],
            }
            for resource in resource_names(usages)
        ],
        "labels": [
            {"key": printable(key), **coded([printable(value) for value in values])}
            for key, values in labels.items()
        ],
        "taints": coded(list(map(printable, taints))),
        "apart": [
            coded([printable(nodes[name].apart) if name in nodes else "" for name in names])
            for nodes in by_name
        ],
        "nodeColumns": list(node_columns),
    }


def node_columns(cluster: ClusterMap) -> list[dict[str, Any]]:
    """Return the columns of a table of nodes."""
    columns = [column("Node", [usage.name for usage in cluster.after])]
    columns += [
        column(key.rpartition("/")[2], values) for key, values in list(cluster.labels.items())[:1]
    ]
    columns.append(column("Pods", [usage.pods for usage in cluster.after], CellKind.NUMBER))
    for resource in resource_names(cluster.after):
        kind = resource_kind(resource)
        if resource != PODS:
            amounts = [requested_of(usage, resource) for usage in cluster.after]
            columns.append(column(resource, amounts, kind))
            amounts = [usage.allocatable.get(resource, 0) for usage in cluster.after]
            columns.append(column("of", amounts, kind))
        percents = [
            round(100 * requested_of(usage, resource) / amount, 1) if amount > 0 else None
            for usage in cluster.after
            for amount in (usage.allocatable.get(resource, 0),)
        ]
        columns.append(column(f"{resource} %", percents, CellKind.SHARE))
    if any(cluster.taints):
        columns.append(column("Taints", cluster.taints))
    return columns


def pod_columns(pods: Sequence[MappedPod]) -> list[dict[str, Any]]:
    """Return the columns of a table of pods."""
    texts: list[tuple[str, Callable[[MappedPod], str]]] = [
        ("Pod", lambda pod: pod.pod),
        ("State", lambda pod: pod.state),
        ("Node", lambda pod: pod.node),
        ("Owner", lambda pod: shared_owner(pod.owner)),
    ]
    columns = [column(title, map(value_of, pods)) for title, value_of in texts]
    columns.append(column("Score", [pod.score for pod in pods], CellKind.NUMBER))
    for resource in POD_RESOURCES:
        amounts = [pod.requests.get(resource, 0) for pod in pods]
        columns.append(column(resource, amounts, resource_kind(resource)))
    columns.append(column("Priority", [pod.priority for pod in pods], CellKind.NUMBER))
    columns.append(column("Why", [pod.why for pod in pods]))
    return columns
