"""Prefers nodes whose resources would be used in equal parts.

Upstream: plugins/noderesources/balanced_allocation.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Floats, RowUsage, Snapshot
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
from ksched_cli.plugins.args import (
    NodeResourcesBalancedAllocationArgs,
)
from ksched_cli.plugins.helper import Fragments, sign_requests
from ksched_cli.plugins.node_resources.scoring import (
    ResourceUsage,
    ScoredRequests,
    calculate_pod_requests,
    plain_column,
    principal_amounts,
    requests_key,
    resource_usages,
    usage_lines,
)

STATE_KEY = "PreScoreNodeResourcesBalancedAllocation"
HALF = MAX_NODE_SCORE // 2


class NodeResourcesBalancedAllocation(PreScorePlugin, ScoresRows, SignPlugin, Explains):
    name = "NodeResourcesBalancedAllocation"
    scope = Scope.ROW

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._resources = args.resources or ()

    def sign_pod(self, pod: PodInfo) -> Fragments | None:
        return sign_requests(pod)

    def cache_key(self, pod: PodInfo) -> Hashable:
        return requests_key(pod)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        pod_requests = calculate_pod_requests(self._resources, pod, nonzero=False)
        if not any(pod_requests.by_resource):
            return SKIP
        state.write(STATE_KEY, pod_requests)
        return SUCCESS

    def row_scorer(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowScorer | None:
        pod_requests: ScoredRequests | None = state.data.get(STATE_KEY)
        if pod_requests is None or plain_column(pod_requests, snapshot) is None:
            return None
        requested_cpu, requested_memory = pod_requests.by_resource

        def score(usage: RowUsage, capacity: Sequence[int]) -> int:
            used_cpu, used_memory, _, _, _ = usage
            cpu, memory, _ = capacity
            # Python divides large integers more exactly than Go divides floats; those that are too
            # large to be exact as floats are far above any capacity here.
            return _balance_of(
                (used_cpu + requested_cpu) / cpu, (used_memory + requested_memory) / memory
            )

        return score

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        pod_requests = self._requests_to_score(state, pod)
        if pod_requests is None:
            return np.zeros(len(nodes), dtype=np.int64)
        column = plain_column(pod_requests, nodes.snapshot)
        if column is None:
            return self._score_usages(pod_requests.by_resource, nodes)
        if nodes.are_most:
            return nodes.gather(self.score_nodes(state, pod, Nodes(nodes.snapshot)))
        return self._score_plain(column, nodes)

    def _score_usages(self, pod_requests: Sequence[int], nodes: Nodes) -> Scores:
        return _balance(standard_deviation(self._usages(pod_requests, nodes)))

    def _score_plain(self, column: Floats, nodes: Nodes) -> Scores:
        """column: see ScoredRequests"""
        used, capacity = principal_amounts(nodes, nonzero=False)
        used += column
        return _balance(_deviation_of_two(used, capacity))

    def _usages(self, pod_requests: Sequence[int], nodes: Nodes) -> list[ResourceUsage]:
        return resource_usages(self._resources, pod_requests, nodes, nonzero=False)

    def _requests_to_score(self, state: CycleState, pod: PodInfo) -> ScoredRequests | None:
        """Return the requests of PreScore, or compute them where it did not run; None if there are
        none.

        Raises PluginError.
        """
        pod_requests: ScoredRequests | None = state.data.get(STATE_KEY)
        if pod_requests is None:
            pod_requests = calculate_pod_requests(self._resources, pod, nonzero=False)
            if not any(pod_requests.by_resource):
                return None
        if not self._resources:
            raise PluginError("resources not found")
        return pod_requests

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        pod_requests = state.data.get(STATE_KEY)
        if pod_requests is None:
            pod_requests = calculate_pod_requests(self._resources, pod, nonzero=False)
        return usage_lines(self._resources, pod_requests, node, nonzero=False)


class BalanceChange(NodeResourcesBalancedAllocation):
    """The rule of minors that score by how much the pod improves the balance of the node: 75
    where it changes nothing, 50 at worst and 100 at best."""

    def row_scorer(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowScorer | None:
        score_after = super().row_scorer(state, pod, snapshot)
        if score_after is None:
            return None

        def score(usage: RowUsage, capacity: Sequence[int]) -> int:
            used_cpu, used_memory, _, _, _ = usage
            cpu, memory, _ = capacity
            before = _balance_of(used_cpu / cpu, used_memory / memory)
            return HALF + (HALF + score_after(usage, capacity) - before) // 2

        return score

    def _score_usages(self, pod_requests: Sequence[int], nodes: Nodes) -> Scores:
        usages = self._usages(pod_requests, nodes)
        before = _balance(standard_deviation(_without(usages, pod_requests)))
        return HALF + (HALF + _balance(standard_deviation(usages)) - before) // 2

    def _score_plain(self, column: Floats, nodes: Nodes) -> Scores:
        # Both at once: with few nodes, a call costs more than what it computes.
        used, capacity = principal_amounts(nodes, nonzero=False)
        both = np.empty((2, *used.shape))
        np.add(used, column, out=both[:, 0])
        both[:, 1] = used
        after, before = _balance(_deviation_of_two(both, capacity[:, None]))
        return HALF + (HALF + after - before) // 2


def _balance_of(cpu: float, memory: float) -> int:
    """50 to 100, of the used fractions of cpu and memory of one node."""
    if cpu > 1:
        cpu = 1.0
    if memory > 1:
        memory = 1.0
    return int((1 - abs(cpu - memory) / 2) * MAX_NODE_SCORE)


def _balance(deviation: Floats) -> Scores:
    """50 to 100. Writes to `deviation`."""
    balance = np.subtract(1, deviation, out=deviation)
    balance *= MAX_NODE_SCORE
    return balance.astype(np.int64)


def _deviation_of_two(requested: Floats, capacity: Floats) -> Floats:
    """The standard deviation of the used fractions of cpu and memory, of which every node has some:
    a second form of `standard_deviation`, measured in scoring.Strategy. Both have a shape of
    (2, …, nodes). Writes to `requested`."""
    requested /= capacity
    cpu, memory = np.minimum(requested, 1.0, out=requested)
    cpu -= memory
    np.abs(cpu, out=cpu)
    cpu /= 2
    return cpu


def _without(usages: Sequence[ResourceUsage], requests: Sequence[int]) -> list[ResourceUsage]:
    """The usage before the pod's requests were added."""
    return [
        replace(usage, requested=usage.requested - request)
        for usage, request in zip(usages, requests, strict=True)
    ]


def standard_deviation(usages: Sequence[ResourceUsage]) -> NDArray[np.float64]:
    """Per node, the standard deviation of the used fractions, in upstream's order of operations."""
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
        result[with_two] = _half_difference(fractions, present)[with_two]
    with_more = counts > 2
    if with_more.any():
        result[with_more] = _root_mean_square(fractions, present, counts)[with_more]
    return result


def _half_difference(
    fractions: list[NDArray[np.float64]], present: list[NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """Half the difference between the first and the last resource of a node, which has two."""
    if len(fractions) == 2:
        return np.abs((fractions[0] - fractions[1]) / 2)
    first, last = (
        np.select(has_resource, of_resource)
        for has_resource, of_resource in ((present, fractions), (present[::-1], fractions[::-1]))
    )
    return np.abs((first - last) / 2)


def _root_mean_square(
    fractions: list[NDArray[np.float64]],
    present: list[NDArray[np.bool_]],
    counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    divisor = np.maximum(counts, 1)
    mean = sum(fractions) / divisor
    squares = sum(
        np.where(has_resource, (fraction - mean) * (fraction - mean), 0.0)
        for fraction, has_resource in zip(fractions, present, strict=True)
    )
    return np.sqrt(squares / divisor)
