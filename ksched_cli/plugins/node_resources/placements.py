"""The score of a pod group's placement: the more of its nodes is requested, the higher.

Upstream: plugins/noderesources/resource_allocation.go (scorePlacement), most_allocated.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.plugins.node_resources.resource_spec import ResourceSpec
from ksched_cli.plugins.node_resources.scoring import (
    calculate_pod_requests,
    is_counted,
    most_allocated_number,
    used_column,
)


def placement_score(
    resources: Sequence[ResourceSpec], snapshot: Snapshot, rows: Rows, pods: Sequence[PodInfo]
) -> int:
    """pods: of the group, that have a node among the rows, besides the pods that are there."""
    by_pod = [calculate_pod_requests(resources, pod, nonzero=True).by_resource for pod in pods]
    points = weights = 0
    for index, spec in enumerate(resources):
        requested = sum(requests[index] for requests in by_pod)
        allocatable = snapshot.allocatable(spec.name)[rows]
        if not is_counted(spec.name, requested) or not allocatable.any():
            continue
        used = used_column(snapshot, spec.name, nonzero=True)[rows]
        requested += int(used[allocatable != 0].sum())
        points += most_allocated_number(requested, int(allocatable.sum())) * spec.weight
        weights += spec.weight
    return points // weights if weights else 0
