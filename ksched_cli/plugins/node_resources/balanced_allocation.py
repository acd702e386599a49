"""Prefers nodes whose resources would be used in equal parts.

Upstream: plugins/noderesources/balanced_allocation.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.types import NodeResourcesBalancedAllocationArgs
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    Explains,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.node_resources.scoring import (
    Amount,
    ScoredRequests,
    amounts,
    only_principal,
    principal_amounts,
    principal_numbers,
    requests,
    used_lines,
)

STATE_KEY = "PreScoreNodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin, Explains):
    name = "NodeResourcesBalancedAllocation"
    scope = Scope.ROW

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._resources = args.resources or ()

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        asked = requests(self._resources, pod, nonzero=False)
        if not any(asked.amounts):
            return SKIP
        state.write(STATE_KEY, asked)
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        asked: ScoredRequests | None = state.data.get(STATE_KEY)
        if asked is None or not only_principal(asked, node.snapshot):
            return self.score_nodes(state, pod, Nodes.of(node)).item(0)
        cpu, whole_cpu, memory, whole_memory = principal_numbers(asked, node, nonzero=False)
        # As floats first: Python would divide large integers more exactly than Go does.
        first = min(float(cpu) / float(whole_cpu), 1.0)
        second = min(float(memory) / float(whole_memory), 1.0)
        return int((1 - abs(first - second) / 2) * MAX_NODE_SCORE)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        asked: ScoredRequests | None = state.data.get(STATE_KEY)
        if asked is None:
            asked = requests(self._resources, pod, nonzero=False)
            if not any(asked.amounts):
                return np.zeros(len(nodes), dtype=np.int64)
        if not self._resources:
            raise PluginError("resources not found")
        if not only_principal(asked, nodes.snapshot):
            spread = deviation(amounts(self._resources, asked.amounts, nodes, nonzero=False))
        else:
            used, capacity = principal_amounts(asked, nodes, nonzero=False)
            shares = np.minimum(used / capacity, 1.0)
            spread = np.abs(shares[0] - shares[1]) / 2
        return ((1 - spread) * MAX_NODE_SCORE).astype(np.int64)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        asked = requests(self._resources, pod, nonzero=False)
        return used_lines([spec.name for spec in self._resources], asked, node, nonzero=False)


def deviation(found: Sequence[Amount]) -> NDArray[np.float64]:
    """Per node, the standard deviation of the used fractions; in upstream's order of operations."""
    fractions, present = [], []
    for one in found:
        has = one.allocatable != 0
        share = one.requested / np.where(has, one.allocatable, 1)
        fractions.append(np.where(has, np.minimum(share, 1.0), 0.0))
        present.append(has)
    counts = np.sum(present, axis=0)
    result = np.zeros(len(counts))
    if len(found) < 2:
        return result
    two = counts == 2
    if two.any():
        result[two] = _half_difference(fractions, present)[two]
    many = counts > 2
    if many.any():
        result[many] = _root_mean_square(fractions, present, counts)[many]
    return result


def _half_difference(
    fractions: list[NDArray[np.float64]], present: list[NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """Of the first and the last resource that a node has: where there are two, those are they."""
    if len(fractions) == 2:
        return np.abs((fractions[0] - fractions[1]) / 2)
    first = np.zeros_like(fractions[0])
    last = np.zeros_like(fractions[0])
    for share, has in zip(reversed(fractions), reversed(present), strict=True):
        first = np.where(has, share, first)
    for share, has in zip(fractions, present, strict=True):
        last = np.where(has, share, last)
    return np.abs((first - last) / 2)


def _root_mean_square(
    fractions: list[NDArray[np.float64]],
    present: list[NDArray[np.bool_]],
    counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    total = np.zeros(len(counts))
    for share in fractions:
        total = total + share
    divisor = np.maximum(counts, 1)
    mean = total / divisor
    squares = np.zeros(len(counts))
    for share, has in zip(fractions, present, strict=True):
        squares = squares + np.where(has, (share - mean) * (share - mean), 0.0)
    return np.sqrt(squares / divisor)
