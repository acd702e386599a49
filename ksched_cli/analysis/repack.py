"""How few nodes would do if every pod were placed afresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ksched_cli.analysis.drained_cluster import DrainedCluster
from ksched_cli.answers import Count, Part
from ksched_cli.cluster.resources import PODS
from ksched_cli.scenario.drainability import goes_with_node
from ksched_cli.scenario.pods import unbound


class Repack(Part, frozen=True):
    """How few nodes would do if every pod were placed afresh, whatever keeps it where it is.

    nodes: on how many a run places as many pods as on all
    at_least: no placement of all pods needs fewer, by what they request alone
    unplaced: how many pods a run that places them afresh leaves pending, on all nodes too
    """

    nodes: Count
    at_least: Count
    unplaced: Count


def repack(base: DrainedCluster, free: Sequence[str]) -> Repack:
    """free: the nodes that may be left empty, those to be left first in front"""
    all_nodes, unplaced = len(base.state.nodes), _unplaced_without(base, ())
    fits, misfits = 0, len(free) + 1
    while misfits - fits > 1:
        middle = (fits + misfits) // 2
        if _unplaced_without(base, free[:middle]) <= unplaced:
            fits = middle
        else:
            misfits = middle
    nodes = all_nodes - fits
    least = max(_least_nodes(base), all_nodes - len(free))
    return Repack(nodes, min(least, nodes), unplaced)


def _unplaced_without(base: DrainedCluster, nodes: Sequence[str]) -> int:
    """How many pods a run leaves pending that places all afresh on the other nodes."""
    cluster = base.cordoned(nodes)
    pods = cluster.pods_leaving([node.name for node in cluster.state.nodes])
    return replace(cluster, state=unbound(cluster.state, pods)).unplaced()


def _least_nodes(base: DrainedCluster) -> int:
    """The largest nodes that have, together, what pods request of each resource."""
    snapshot = base.simulation.snapshot
    least = 0
    catalog = base.simulation.catalog
    fixed = [
        (pod.pod, row)
        for row, pods in enumerate(snapshot.pods)
        for pod in pods
        if goes_with_node(pod.pod)
    ]
    for resource, allocatable in snapshot.node_columns.allocatable.items():
        is_count = resource == PODS
        requests = snapshot.pod_count if is_count else snapshot.requested(resource)
        free, total = allocatable.copy(), int(requests.sum())
        for pod, row in fixed:
            amount = 1 if is_count else catalog.info(pod).resources.requests.get(resource, 0)
            free[row] -= amount
            total -= amount
        if total > 0:
            sums = np.cumsum(np.sort(np.maximum(free, 0))[::-1])
            least = max(least, int(np.searchsorted(sums, total)) + 1)
    return least
