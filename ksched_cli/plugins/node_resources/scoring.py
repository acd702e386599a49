"""What the two resource plugins share: per configured resource, what a node has and what it would
have given away with the pod on it; and the three strategies that turn those into a score.

Upstream: plugins/noderesources/resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go, plugins/helper/shape_score.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import HUGE, is_scalar_resource
from ksched_cli.cluster.snapshot import PRINCIPAL, Snapshot
from ksched_cli.config.types import ResourceSpec, UtilizationShapePoint
from ksched_cli.framework.interface import MAX_NODE_SCORE
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.kube.int64 import divide

CPU, MEMORY, EPHEMERAL_STORAGE = "cpu", "memory", "ephemeral-storage"
FULL = 100
MAX_CUSTOM_PRIORITY_SCORE = 10

A = TypeVar("A", int, Scores)

# Amounts below this leave room for the factors they are multiplied by here.
MAX_PLAIN = 2**63 // (4 * FULL)


@dataclass(frozen=True, slots=True)
class Amount:
    """One resource on some nodes: requested with the pod there, and allocatable; 0 leaves it out.

    everywhere: allocatable is more than 0 on all nodes there are, and no amount is huge
    """

    requested: Scores
    allocatable: Scores
    everywhere: bool


# (requested, allocatable, which is more than 0, whether no product can overflow) → score
ResourceScore: TypeAlias = Callable[[Scores, Scores, bool], Scores]


class Strategy(Protocol):
    """The same of columns or of numbers."""

    def __call__(self, requested: A, capacity: A, plain: bool = False) -> A: ...


def amounts(
    resources: Sequence[ResourceSpec], pod_requests: Sequence[int], nodes: Nodes, nonzero: bool
) -> list[Amount]:
    """nonzero: count pods that ask for no cpu or memory as if they asked for a little."""
    snapshot = nodes.snapshot
    found: list[Amount] = []
    for resource, asked in zip((spec.name for spec in resources), pod_requests, strict=True):
        # A node without the resource is as one where nobody counts it: allocatable 0 leaves it out.
        allocatable = nodes.gather(snapshot.allocatable(resource))
        if nonzero and resource == CPU:
            used = snapshot.nonzero_cpu
        elif nonzero and resource == MEMORY:
            used = snapshot.nonzero_memory
        else:
            used = snapshot.requested(resource)
        counted = resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or (
            asked != 0 and is_scalar_resource(resource)
        )
        if not counted:
            allocatable = np.zeros(len(nodes), dtype=np.int64)
        lowest, highest = snapshot.allocatable_range(resource)
        plain = not snapshot.huge and asked < HUGE and highest < MAX_PLAIN
        requested = nodes.gather(used) + asked
        found.append(Amount(requested, allocatable, counted and lowest > 0 and plain))
    return found


@dataclass(frozen=True, slots=True)
class ScoredRequests:
    """What a pod asks of each resource that scores.

    principal: the same as a column, where it is cpu and memory that score and nothing can overflow
               on the pod's side
    """

    amounts: Sequence[int]
    principal: Scores | None


def requests(resources: Sequence[ResourceSpec], pod: PodInfo, nonzero: bool) -> ScoredRequests:
    """Upstream: calculatePodResourceRequestList."""
    asked = pod.resources.scoring if nonzero else pod.resources.requests
    amounts = [asked.get(spec.name, 0) for spec in resources]
    if [spec.name for spec in resources] != [*PRINCIPAL] or max(amounts) >= HUGE:
        return ScoredRequests(amounts, None)
    return ScoredRequests(amounts, np.array(amounts, dtype=np.int64)[:, None])


def only_principal(asked: ScoredRequests, snapshot: Snapshot) -> bool:
    """Whether cpu and memory are all there is to it, every node has both, and no amount is so large
    that a product might overflow."""
    if asked.principal is None or snapshot.huge:
        return False
    lowest, highest = snapshot.principal_range
    return lowest > 0 and highest < MAX_PLAIN


def principal_amounts(asked: ScoredRequests, nodes: Nodes, nonzero: bool) -> tuple[Scores, Scores]:
    """Requested and allocatable of cpu and memory, a row each."""
    snapshot = nodes.snapshot
    used = snapshot.nonzero if nonzero else snapshot.usage[: len(PRINCIPAL)]
    capacity = snapshot.capacity[: len(PRINCIPAL)]
    return nodes.gather_columns(used) + asked.principal, nodes.gather_columns(capacity)


def principal_numbers(
    asked: ScoredRequests, node: NodeInfo, nonzero: bool
) -> tuple[int, int, int, int]:
    """Cpu requested and allocatable, memory requested and allocatable, on one node."""
    snapshot, row = node.snapshot, node.row
    used = snapshot.nonzero if nonzero else snapshot.usage
    capacity = snapshot.capacity
    cpu, memory = asked.amounts
    return (
        used.item(0, row) + cpu,
        capacity.item(0, row),
        used.item(1, row) + memory,
        capacity.item(1, row),
    )


def one_by_one(
    asked: ScoredRequests, nodes: Nodes, nonzero: bool, score: Callable[[int, int, int, int], int]
) -> Scores:
    """As principal_amounts, but a few nodes' numbers one after the other: an operation on arrays,
    however short, takes as long as ten on numbers.

    score: (cpu requested, cpu allocatable, memory requested, memory allocatable) → score
    """
    snapshot = nodes.snapshot
    used = snapshot.nonzero if nonzero else snapshot.usage
    capacity = snapshot.capacity
    cpu, memory = asked.amounts
    found = [
        score(
            used.item(0, row) + cpu,
            capacity.item(0, row),
            used.item(1, row) + memory,
            capacity.item(1, row),
        )
        for row in nodes.indices().tolist()
    ]
    return np.array(found, dtype=np.int64)


def least_allocated(requested: A, capacity: A, plain: bool = False) -> A:
    """More unused, more points. capacity: more than 0."""
    unused: A = (capacity - requested) * MAX_NODE_SCORE
    points = unused // capacity if plain else divide(unused, capacity)
    return points * (requested <= capacity)


def most_allocated(requested: A, capacity: A, plain: bool = False) -> A:
    """More used, more points. capacity: more than 0."""
    most: A = capacity + (requested - capacity) * (requested < capacity)
    points = most * MAX_NODE_SCORE
    return points // capacity if plain else divide(points, capacity)


def broken_linear(shape: Sequence[UtilizationShapePoint]) -> ResourceScore:
    """Points by utilisation in percent, along straight lines between the shape's points."""
    scale = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
    points = [(point.utilization, point.score * scale) for point in shape]
    table = np.array([_on_line(points, percent) for percent in range(FULL + 1)], dtype=np.int64)

    def score(requested: Scores, capacity: Scores, plain: bool = False) -> Scores:
        percent = np.where(requested > capacity, FULL, divide(requested * FULL, capacity))
        # Less than 0 where the product overflows; the shape goes on level beyond its ends.
        return table[np.clip(percent, 0, FULL)]

    return score


def _on_line(points: Sequence[tuple[int, int]], percent: int) -> int:
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
    found: Sequence[Amount], weights: Sequence[int], score: ResourceScore, *, skip_zero: bool
) -> Scores:
    """The weighted mean over the resources that a node has.

    skip_zero: a resource that scores 0 does not count, and the mean is rounded to the nearest
    (RequestedToCapacityRatio); otherwise it is rounded down.
    """
    count = len(found[0].requested)
    sums = np.zeros(count, dtype=np.int64)
    if not skip_zero and all(one.everywhere for one in found):
        for one, weight in zip(found, weights, strict=True):
            points = score(one.requested, one.allocatable, True)
            sums += points if weight == 1 else points * weight
        return sums // sum(weights)
    weight_sums = np.zeros(count, dtype=np.int64)
    for one, weight in zip(found, weights, strict=True):
        has = one.allocatable != 0
        capacity = np.where(has, one.allocatable, 1)
        points = np.where(has, score(one.requested, capacity, one.everywhere), 0)
        counted = has & (points > 0) if skip_zero else has
        sums += np.where(counted, points * weight, 0)
        weight_sums += np.where(counted, weight, 0)
    divisor = np.where(weight_sums == 0, 1, weight_sums)
    if skip_zero:
        # Go's math.Round: halves go away from zero, and the means are not negative.
        return np.floor(sums / divisor + 0.5).astype(np.int64)
    return divide(sums, divisor)


def used_lines(
    resources: Sequence[str], asked: ScoredRequests, node: NodeInfo, *, nonzero: bool
) -> list[str]:
    """Per resource that the node has, how much of it would be used with the pod there."""
    one = Nodes(node.snapshot, np.array([node.row], dtype=np.intp))
    specs = [ResourceSpec(name=name, weight=1) for name in resources]
    found = amounts(specs, asked.amounts, one, nonzero)
    return [
        f"{name} {amount.requested[0] / amount.allocatable[0]:.0%} used"
        for name, amount in zip(resources, found, strict=True)
        if amount.allocatable[0]
    ]
