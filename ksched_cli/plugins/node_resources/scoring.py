"""Shared by the two resource plugins: per configured resource, a node's allocatable amount and the
amount requested with the pod on it; and the three strategies that score them.

Upstream: plugins/noderesources/resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go, plugins/helper/shape_score.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, HUGE, MEMORY, NATIVE, is_scalar_resource
from ksched_cli.cluster.snapshot import PRINCIPAL, Column, Floats, RowAmounts, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import RowScorer, ScoresRows
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    Explains,
    PreScorePlugin,
    Scope,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.int64 import MAX_INT64, divide
from ksched_cli.plugins.args import (
    NodeResourcesBalancedAllocationArgs,
    ResourceSpec,
    UtilizationShapePoint,
)
from ksched_cli.plugins.helper import Fragments, sign_requests

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
    """Return the usage of each resource on the nodes, with the pod.

    nonzero: pods without a request for cpu or memory count with upstream's default requests
    """
    snapshot = nodes.snapshot
    usages: list[ResourceUsage] = []
    for resource, pod_request in zip((spec.name for spec in resources), pod_requests, strict=True):
        allocatable = nodes.gather(snapshot.allocatable(resource))
        used = used_column(snapshot, resource, nonzero)
        # Allocatable 0: no node counts the resource, as where a node does not have it.
        if not is_counted(resource, pod_request):
            allocatable = np.zeros(len(nodes), dtype=np.int64)
        requested = nodes.gather(used) + pod_request
        if snapshot.saturates and pod_request > 0:
            requested[(requested < 0) & (nodes.gather(used) > 0)] = MAX_INT64
        usages.append(ResourceUsage(requested, allocatable))
    return usages


def used_column(snapshot: Snapshot, resource: str, nonzero: bool) -> Column:
    if nonzero and resource == CPU:
        return snapshot.nonzero_cpu
    if nonzero and resource == MEMORY:
        return snapshot.nonzero_memory
    return snapshot.requested(resource)


def is_counted(resource: str, pod_request: int) -> bool:
    """Return whether a resource counts: the native ones always do, others only where the pod
    requests them."""
    return resource in NATIVE or (pod_request != 0 and is_scalar_resource(resource))


class ScoredRequests(Struct, frozen=True):
    """A pod's requests of the configured resources.

    by_resource: in the order of the configuration
    column:      the same with shape (2, 1) where the resources are cpu and memory and the requests
                 are not huge; else None
    """

    by_resource: Sequence[int]
    column: Floats | None


def calculate_pod_requests(
    resources: Sequence[ResourceSpec], amounts: Mapping[str, int]
) -> ScoredRequests:
    """Return the pod's requests of the resources. Upstream: calculatePodResourceRequestList.

    amounts: those of the pod that count
    """
    by_resource = [amounts.get(spec.name, 0) for spec in resources]
    names = [spec.name for spec in resources]
    if names != [*PRINCIPAL] or max(by_resource) >= HUGE or min(by_resource) < 0:
        return ScoredRequests(by_resource, None)
    return ScoredRequests(by_resource, np.array(by_resource, dtype=np.float64)[:, None])


def plain_column(pod_requests: ScoredRequests, snapshot: Snapshot) -> Floats | None:
    """Return the pod's requests where cpu and memory are the resources to score, every node has
    both, and no product can overflow; else None."""
    if snapshot.huge:
        return None
    lowest, highest = snapshot.principal_range
    return pod_requests.column if lowest > 0 and highest < MAX_PLAIN else None


def principal_amounts(column: Floats, nodes: Nodes, nonzero: bool) -> tuple[Floats, Floats]:
    """Return what the pods on the nodes request of cpu and of memory with the pod there, and what
    is allocatable, each with shape (2, nodes). The first may be written to. column: see
    ScoredRequests"""
    snapshot = nodes.snapshot
    used = snapshot.nonzero if nonzero else snapshot.usage[: len(PRINCIPAL)]
    requested = nodes.gather_columns(used) + column
    return requested, nodes.gather_columns(snapshot.principal_floats)


def scaled_fraction(part: Scores, whole: Scores, most: int = MAX_NODE_SCORE) -> Scores:
    """Return part · most / whole, from 0 to `most`, whatever the amounts. Upstream:
    scaledFraction."""
    part = np.clip(part, 0, whole)
    if part.size and int(part.max()) > MAX_INT64 // most:
        exact = part.astype(object) * most // whole.astype(object)
        return exact.astype(np.int64)
    return part * most // whole


class Strategy(Struct, frozen=True):
    """LeastAllocated or MostAllocated: the percentage of a capacity above 0 that is free, or
    requested, with the pod there; more than all of it counts as all.

    Upstream: leastRequestedScore, mostRequestedScore.
    """

    counts_free: bool

    def columns(self, requested: Scores, capacity: Scores) -> Scores:
        """Score amounts of any size, which overflow as in Go."""
        used = np.minimum(requested, capacity)
        return divide((capacity - used if self.counts_free else used) * MAX_NODE_SCORE, capacity)

    def exact(self, requested: Scores, capacity: Scores) -> Scores:
        """Score amounts of any size, none of which overflows (Rules.saturates_sums)."""
        used = np.clip(requested, 0, capacity)
        return scaled_fraction(capacity - used if self.counts_free else used, capacity)

    def floats(self, requested: Floats, capacity: Floats) -> Floats:
        """Score amounts below MAX_PLAIN; the caller rounds down. Without this form, and that of
        BalancedAllocation, `unique`, 5,000 nodes, adaptive, takes 1.45 times the instructions."""
        used = np.minimum(requested, capacity, out=requested)
        part = np.subtract(capacity, used, out=used) if self.counts_free else used
        part *= MAX_NODE_SCORE
        part /= capacity
        return part

    def number(self, requested: int, capacity: int) -> int:
        """Score one amount that cannot overflow, for ScoresRows."""
        used = min(requested, capacity)
        return (capacity - used if self.counts_free else used) * MAX_NODE_SCORE // capacity


LEAST, MOST = Strategy(counts_free=True), Strategy(counts_free=False)


def mean_by_row(strategy: Strategy, requested: Sequence[int], weights: Sequence[int]) -> RowScorer:
    """Return the scorer of the weighted mean of the scores of cpu and memory.

    requested: by the pod
    weights: of the two
    """
    points = strategy.number
    requested_cpu, requested_memory = requested
    cpu_weight, memory_weight = weights
    weight = cpu_weight + memory_weight

    def score(amounts: RowAmounts) -> int:
        _, _, _, used_cpu, used_memory, cpu, memory, _ = amounts
        of_cpu = points(used_cpu + requested_cpu, cpu)
        of_memory = points(used_memory + requested_memory, memory)
        return (of_cpu * cpu_weight + of_memory * memory_weight) // weight

    return score


def requested_to_capacity_ratio(
    shape: Sequence[UtilizationShapePoint], *, exact: bool
) -> ResourceScore:
    """Return the score at a utilization in percent, interpolated linearly between the shape's
    points.

    exact: the utilization does not overflow (Rules.saturates_sums)

    Upstream: buildRequestedToCapacityRatioScorerFunction, helper.BuildBrokenLinearFunction.
    """
    scale = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
    points = [(point.utilization, point.score * scale) for point in shape]
    table = np.array(
        [_interpolated(points, percent) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64
    )

    def score(requested: Scores, capacity: Scores) -> Scores:
        if exact:
            return table[scaled_fraction(requested, capacity, MAX_UTILIZATION)]
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
    """Return the mean of the resources' scores, by weight, over those that a node has.

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


class ScoresResources(PreScorePlugin, ScoresRows, SignPlugin, Explains):
    """The two resource plugins.

    nonzero:   pods without a request for cpu or memory count with upstream's default requests
    state_key: of the requests that PreScore computes
    """

    scope = Scope.ROW
    nonzero: ClassVar[bool]
    state_key: ClassVar[str]
    _resources: Sequence[ResourceSpec]

    def sign_pod(self, pod: PodInfo) -> Fragments | None:
        return sign_requests(pod)

    def cache_key(self, pod: PodInfo) -> Hashable:
        """Return all that the two plugins read of a pod."""
        return tuple(pod.resources.requests.items()), tuple(self._scored(pod).items())

    def _scored(self, pod: PodInfo) -> Mapping[str, int]:
        """Return the amounts of the pod that count."""
        return pod.resources.requests

    def _requests_to_score(self, state: CycleState, pod: PodInfo) -> ScoredRequests:
        """Return the requests of PreScore, or computed where it did not run."""
        requests: ScoredRequests | None = state.data.get(self.state_key)
        return requests or calculate_pod_requests(self._resources, self._scored(pod))

    def _usages(self, pod_requests: Sequence[int], nodes: Nodes) -> list[ResourceUsage]:
        return resource_usages(self._resources, pod_requests, nodes, self.nonzero)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        """Return per resource that the node has, the percentage requested with the pod there."""
        pod_requests = self._requests_to_score(state, pod).by_resource
        lines = []
        for spec, amount in zip(self._resources, pod_requests, strict=True):
            allocatable = node.allocatable(spec.name)
            if allocatable and is_counted(spec.name, amount):
                used = used_column(node.snapshot, spec.name, self.nonzero).item(node.row)
                lines.append(f"{spec.name} {(used + amount) / allocatable:.0%} used")
        return lines


# -- NodeResourcesBalancedAllocation ---------------------------------------------------------------
#
# Prefers nodes whose resources would be used in equal parts.
#
# Upstream: plugins/noderesources/balanced_allocation.go.


HALF = MAX_NODE_SCORE // 2


class NodeResourcesBalancedAllocation(ScoresResources):
    name = "NodeResourcesBalancedAllocation"
    nonzero = False
    state_key = "PreScoreNodeResourcesBalancedAllocation"

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._resources = args.resources or ()

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        pod_requests = calculate_pod_requests(self._resources, self._scored(pod))
        if not any(pod_requests.by_resource):
            return SKIP
        state.write(self.state_key, pod_requests)
        return SUCCESS

    def row_scorer(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowScorer | None:
        pod_requests: ScoredRequests | None = state.data.get(self.state_key)
        if pod_requests is None or plain_column(pod_requests, snapshot) is None:
            return None
        requested_cpu, requested_memory = pod_requests.by_resource

        def score(amounts: RowAmounts) -> int:
            used_cpu, used_memory, _, _, _, cpu, memory, _ = amounts
            # Python divides large integers more exactly than Go divides floats; those that are too
            # large to be exact as floats are far above any capacity here.
            return _balance_of(
                (used_cpu + requested_cpu) / cpu, (used_memory + requested_memory) / memory
            )

        return score

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        pod_requests = self._requests_to_score(state, pod)
        if self.state_key not in state.data and not any(pod_requests.by_resource):
            return np.zeros(len(nodes), dtype=np.int64)
        if not self._resources:
            raise PluginError("resources not found")
        column = plain_column(pod_requests, nodes.snapshot)
        if column is None:
            return self._score_usages(pod_requests.by_resource, nodes)
        if nodes.are_most:
            return nodes.gather(self.score_nodes(state, pod, Nodes(nodes.snapshot)))
        return self._score_plain(column, nodes)

    def _score_usages(self, pod_requests: Sequence[int], nodes: Nodes) -> Scores:
        return _balance(standard_deviation(self._usages(pod_requests, nodes)))

    def _score_plain(self, column: Floats, nodes: Nodes) -> Scores:
        """Return the scores by cpu and memory. column: see ScoredRequests"""
        return _balance(_deviation_of_two(*principal_amounts(column, nodes, nonzero=False)))


class BalanceChange(NodeResourcesBalancedAllocation):
    """The rule of minors that score by how much the pod improves the balance of the node: 75
    where it changes nothing, 50 at worst and 100 at best."""

    def row_scorer(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowScorer | None:
        score_after = super().row_scorer(state, pod, snapshot)
        if score_after is None:
            return None

        def score(amounts: RowAmounts) -> int:
            used_cpu, used_memory, _, _, _, cpu, memory, _ = amounts
            before = _balance_of(used_cpu / cpu, used_memory / memory)
            return HALF + (HALF + score_after(amounts) - before) // 2

        return score

    def _score_usages(self, pod_requests: Sequence[int], nodes: Nodes) -> Scores:
        usages = self._usages(pod_requests, nodes)
        without_pod = [
            replace(usage, requested=usage.requested - request)
            for usage, request in zip(usages, pod_requests, strict=True)
        ]
        before = _balance(standard_deviation(without_pod))
        return HALF + (HALF + _balance(standard_deviation(usages)) - before) // 2

    def _score_plain(self, column: Floats, nodes: Nodes) -> Scores:
        # Both at once: with few nodes, a call costs more than what it computes.
        requested, capacity = principal_amounts(column, nodes, nonzero=False)
        both = np.empty((2, *requested.shape))
        both[:, 0] = requested
        np.subtract(requested, column, out=both[:, 1])
        after, before = _balance(_deviation_of_two(both, capacity[:, None]))
        return HALF + (HALF + after - before) // 2


def _balance_of(cpu: float, memory: float) -> int:
    """Return a score from 50 to 100, by the used fractions of cpu and memory of one node."""
    if cpu > 1:
        cpu = 1.0
    if memory > 1:
        memory = 1.0
    return int((1 - abs(cpu - memory) / 2) * MAX_NODE_SCORE)


def _balance(deviation: Floats) -> Scores:
    """Return scores from 50 to 100. Writes to `deviation`."""
    balance = np.subtract(1, deviation, out=deviation)
    balance *= MAX_NODE_SCORE
    return balance.astype(np.int64)


def _deviation_of_two(requested: Floats, capacity: Floats) -> Floats:
    """Return the standard deviation of the used fractions of cpu and memory, of which every node
    has some: a second form of `standard_deviation`, measured in scoring.Strategy. Both have a shape
    of (2, …, nodes). Writes to `requested`."""
    # Brought within the capacity, no fraction is above 1.
    np.minimum(requested, capacity, out=requested)
    requested /= capacity
    cpu, memory = requested
    cpu -= memory
    np.abs(cpu, out=cpu)
    cpu /= 2
    return cpu


def standard_deviation(usages: Sequence[ResourceUsage]) -> NDArray[np.float64]:
    """Return per node, the standard deviation of the used fractions, in upstream's order of
    operations."""
    fractions, present = [], []
    for usage in usages:
        has_resource = usage.allocatable != 0
        fraction = usage.requested / np.where(has_resource, usage.allocatable, 1)
        fractions.append(np.where(has_resource, np.minimum(fraction, 1.0), 0.0))
        present.append(has_resource)
    counts = np.sum(present, axis=0)
    result = np.zeros(len(counts))
    if len(usages) < 2:
        return result
    with_two = counts == 2
    if with_two.any():
        # Half the difference between the first and the last resource of a node, which has two.
        if len(fractions) == 2:
            first, last = fractions
        else:
            first = np.select(present, fractions)
            last = np.select(present[::-1], fractions[::-1])
        result[with_two] = np.abs((first - last) / 2)[with_two]
    with_more = counts > 2
    if with_more.any():
        divisor = np.maximum(counts, 1)
        mean = sum(fractions) / divisor
        squares = sum(
            np.where(has_resource, (fraction - mean) * (fraction - mean), 0.0)
            for fraction, has_resource in zip(fractions, present, strict=True)
        )
        result[with_more] = np.sqrt(squares / divisor)[with_more]
    return result
