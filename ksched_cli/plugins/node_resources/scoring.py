"""Shared by the two resource plugins: per configured resource, a node's allocatable amount and the
amount requested with the pod on it; and the three strategies that score them.

Upstream: plugins/noderesources/resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go, plugins/helper/shape_score.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import HUGE, is_scalar_resource
from ksched_cli.cluster.snapshot import PRINCIPAL, Column, Floats, RowUsage, Snapshot
from ksched_cli.framework.in_tree_interface import RowScorer
from ksched_cli.framework.interface import MAX_NODE_SCORE
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.kube.int64 import divide
from ksched_cli.plugins.args import ResourceSpec, UtilizationShapePoint

CPU, MEMORY, EPHEMERAL_STORAGE = "cpu", "memory", "ephemeral-storage"
MAX_UTILIZATION = 100
MAX_CUSTOM_PRIORITY_SCORE = 10

# Amounts below this cannot overflow in the products computed here, which floats represent exactly.
# Nor can their quotients, of at most MAX_NODE_SCORE, be rounded up to an integer: the difference is
# at least 1 / MAX_PLAIN, and more than half the distance between two floats there.
MAX_PLAIN = 2**46


class ResourceUsage(Struct, frozen=True):
    """One resource on some nodes: requested with the pod there, and allocatable; 0 does not
    count."""

    requested: Scores
    allocatable: Scores


# (requested, allocatable, which is above 0) → score
ResourceScore: TypeAlias = Callable[[Scores, Scores], Scores]


def resource_usages(
    resources: Sequence[ResourceSpec], pod_requests: Sequence[int], nodes: Nodes, nonzero: bool
) -> list[ResourceUsage]:
    """nonzero: pods without a request for cpu or memory count with upstream's default requests."""
    snapshot = nodes.snapshot
    usages: list[ResourceUsage] = []
    for resource, pod_request in zip((spec.name for spec in resources), pod_requests, strict=True):
        allocatable = nodes.gather(snapshot.allocatable(resource))
        used = used_column(snapshot, resource, nonzero)
        # Allocatable 0: no node counts the resource, as where a node does not have it.
        if not is_counted(resource, pod_request):
            allocatable = np.zeros(len(nodes), dtype=np.int64)
        usages.append(ResourceUsage(nodes.gather(used) + pod_request, allocatable))
    return usages


def used_column(snapshot: Snapshot, resource: str, nonzero: bool) -> Column:
    if nonzero and resource == CPU:
        return snapshot.nonzero_cpu
    if nonzero and resource == MEMORY:
        return snapshot.nonzero_memory
    return snapshot.requested(resource)


def is_counted(resource: str, pod_request: int) -> bool:
    """Other resources count only where the pod requests them."""
    return resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or (
        pod_request != 0 and is_scalar_resource(resource)
    )


class ScoredRequests(Struct, frozen=True):
    """A pod's requests of the configured resources.

    by_resource: in the order of the configuration
    column:      the same with shape (2, 1) where the resources are cpu and memory and the requests
                 are not huge; else None
    """

    by_resource: Sequence[int]
    column: Floats | None


def calculate_pod_requests(
    resources: Sequence[ResourceSpec], pod: PodInfo, nonzero: bool
) -> ScoredRequests:
    """Upstream: calculatePodResourceRequestList."""
    amounts = pod.resources.scoring if nonzero else pod.resources.requests
    by_resource = [amounts.get(spec.name, 0) for spec in resources]
    if [spec.name for spec in resources] != [*PRINCIPAL] or max(by_resource) >= HUGE:
        return ScoredRequests(by_resource, None)
    return ScoredRequests(by_resource, np.array(by_resource, dtype=np.float64)[:, None])


def requests_key(pod: PodInfo) -> Hashable:
    """All that the two plugins read of a pod."""
    resources = pod.resources
    return tuple(resources.requests.items()), tuple(resources.scoring.items())


def plain_column(pod_requests: ScoredRequests, snapshot: Snapshot) -> Floats | None:
    """The pod's requests where cpu and memory are the resources to score, every node has both, and
    no product can overflow; else None."""
    if snapshot.huge:
        return None
    lowest, highest = snapshot.principal_range
    return pod_requests.column if lowest > 0 and highest < MAX_PLAIN else None


def principal_amounts(nodes: Nodes, nonzero: bool) -> tuple[Floats, Floats]:
    """What the pods on the nodes request of cpu and of memory, and what is allocatable, each with
    shape (2, nodes). The first may be written to."""
    snapshot = nodes.snapshot
    used = snapshot.nonzero if nonzero else snapshot.usage[: len(PRINCIPAL)]
    return nodes.gather_columns(used).astype(np.float64), nodes.gather_columns(
        snapshot.principal_floats
    )


class Strategy(NamedTuple):
    """LeastAllocated or MostAllocated, in three forms. capacity is above 0 in all of them.

    columns: amounts of any size, which overflow as in Go
    floats:  amounts that cannot overflow, before the score is rounded down; writes to `requested`.
             Without it, and that of BalancedAllocation, `unique`, 5,000 nodes, adaptive, takes
             1.45 times the instructions
    number:  one amount that cannot overflow, for ScoresRows
    """

    columns: Callable[[Scores, Scores], Scores]
    floats: Callable[[Floats, Floats], Floats]
    number: Callable[[int, int], int]


def least_allocated(requested: Scores, capacity: Scores) -> Scores:
    """The more is left, the higher."""
    return divide((capacity - requested) * MAX_NODE_SCORE, capacity) * (requested <= capacity)


def least_allocated_floats(requested: Floats, capacity: Floats) -> Floats:
    unused = np.subtract(capacity, requested, out=requested)
    np.maximum(unused, 0, out=unused)
    return _percentage(unused, capacity)


def least_allocated_number(requested: int, capacity: int) -> int:
    return (capacity - requested) * MAX_NODE_SCORE // capacity if requested < capacity else 0


def most_allocated(requested: Scores, capacity: Scores) -> Scores:
    """The more is requested, the higher."""
    return divide(np.minimum(requested, capacity) * MAX_NODE_SCORE, capacity)


def most_allocated_floats(requested: Floats, capacity: Floats) -> Floats:
    return _percentage(np.minimum(requested, capacity, out=requested), capacity)


def most_allocated_number(requested: int, capacity: int) -> int:
    return min(requested, capacity) * MAX_NODE_SCORE // capacity


def _percentage(amounts: Floats, capacity: Floats) -> Floats:
    """Writes to `amounts`."""
    amounts *= MAX_NODE_SCORE
    amounts /= capacity
    return amounts


LEAST = Strategy(least_allocated, least_allocated_floats, least_allocated_number)
MOST = Strategy(most_allocated, most_allocated_floats, most_allocated_number)


def mean_by_row(strategy: Strategy, requested: Sequence[int], weights: Sequence[int]) -> RowScorer:
    """The weighted mean of the scores of cpu and memory. requested: by the pod; weights: of the
    two"""
    points = strategy.number
    requested_cpu, requested_memory = requested
    cpu_weight, memory_weight = weights
    weight = cpu_weight + memory_weight

    def score(usage: RowUsage, capacity: Sequence[int]) -> int:
        _, _, _, used_cpu, used_memory = usage
        cpu, memory, _ = capacity
        of_cpu = points(used_cpu + requested_cpu, cpu)
        of_memory = points(used_memory + requested_memory, memory)
        return (of_cpu * cpu_weight + of_memory * memory_weight) // weight

    return score


def requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> ResourceScore:
    """The score at a utilization in percent, interpolated linearly between the shape's points.

    Upstream: buildRequestedToCapacityRatioScorerFunction, helper.BuildBrokenLinearFunction.
    """
    scale = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
    points = [(point.utilization, point.score * scale) for point in shape]
    table = np.array(
        [_interpolated(points, percent) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64
    )

    def score(requested: Scores, capacity: Scores) -> Scores:
        percent = np.where(
            requested > capacity, MAX_UTILIZATION, divide(requested * MAX_UTILIZATION, capacity)
        )
        # Below 0 where the product overflows; beyond its ends the shape stays level.
        return table[np.clip(percent, 0, MAX_UTILIZATION)]

    return score


def _interpolated(points: Sequence[tuple[int, int]], percent: int) -> int:
    previous: tuple[int, int] | None = None
    for utilization, score in points:
        if percent <= utilization:
            if previous is None:
                return score
            rise = (score - previous[1]) * (percent - previous[0])
            return previous[1] + divide(rise, utilization - previous[0])
        previous = (utilization, score)
    return points[-1][1]


def weighted_mean(
    usages: Sequence[ResourceUsage],
    weights: Sequence[int],
    score: ResourceScore,
    *,
    skip_zero: bool,
) -> Scores:
    """The mean of the resources' scores, by weight, over those that a node has.

    skip_zero: a resource that scores 0 does not count, and the mean is rounded to nearest, as
               RequestedToCapacityRatio does; otherwise it is rounded down
    """
    count = len(usages[0].requested)
    sums = np.zeros(count, dtype=np.int64)
    weight_sums = np.zeros(count, dtype=np.int64)
    for usage, weight in zip(usages, weights, strict=True):
        has_resource = usage.allocatable != 0
        capacity = np.where(has_resource, usage.allocatable, 1)
        points = np.where(has_resource, score(usage.requested, capacity), 0)
        counted = has_resource & (points > 0) if skip_zero else has_resource
        sums += np.where(counted, points * weight, 0)
        weight_sums += np.where(counted, weight, 0)
    divisor = np.where(weight_sums == 0, 1, weight_sums)
    if skip_zero:
        # Go's math.Round rounds halves away from zero; the means are not negative.
        return np.floor(sums / divisor + 0.5).astype(np.int64)
    return divide(sums, divisor)


def usage_lines(
    resources: Sequence[ResourceSpec],
    pod_requests: ScoredRequests,
    node: NodeInfo,
    *,
    nonzero: bool,
) -> list[str]:
    """Per resource that the node has, the percentage requested with the pod there."""
    snapshot, row = node.snapshot, node.row
    lines = []
    for spec, amount in zip(resources, pod_requests.by_resource, strict=True):
        resource = spec.name
        allocatable = snapshot.allocatable(resource).item(row)
        if allocatable and is_counted(resource, amount):
            requested = used_column(snapshot, resource, nonzero).item(row) + amount
            lines.append(f"{resource} {requested / allocatable:.0%} used")
    return lines
