"""DynamicResources with Score, as later minors have it: the earlier the alternatives of prioritized
lists that a node can give the pod, the better.

Upstream: plugins/dynamicresources/dynamicresources.go (Score, computeScore).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ksched_cli.cluster.objects import AllocationResult, ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import NormalizeScore, ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import PluginError
from ksched_cli.plugins.dynamic_resources.args import DynamicResourcesArgs
from ksched_cli.plugins.dynamic_resources.plugin import (
    STATE_KEY,
    DynamicResources,
    read_state,
)
from ksched_cli.plugins.helper.normalize import default_normalize_score

# Upstream: FirstAvailableDeviceRequestMaxSize.
MAX_ALTERNATIVES = 8

Allocations = Sequence[AllocationResult]


class ScoringDynamicResources(DynamicResources, ScorePlugin, NormalizeScore):
    normalizes_by_min_max = True

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        super().__init__(args, handle)
        mends_index = handle.release.rules.scores_allocated_claims
        self._allocations_of = _of_all_claims if mends_index else _by_position

    def cache_key(self, pod: PodInfo) -> Hashable:
        """NODE answers, those about pods without claims, are all the same."""
        return ()

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        if self.name in state.skip_filter:  # PreFilter says that the pod has no claims
            return np.zeros(len(nodes), dtype=np.int64)
        if STATE_KEY not in state.data:
            raise PluginError("not found")
        claims_state = read_state(state)
        search, claims = claims_state.search, claims_state.claims
        if search is None:
            return np.zeros(len(nodes), dtype=np.int64)
        scores = np.zeros(len(nodes), dtype=np.int64)
        for position, row in enumerate(nodes.indices().tolist()):
            allocations = search.allocations(row)
            if allocations is None:  # the node's device plugins have all the resources
                continue
            pairs = zip(claims, self._allocations_of(claims, allocations), strict=False)
            scores[position] = sum(_score(claim, allocation) for claim, allocation in pairs)
        return scores

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        return default_normalize_score(scores)


def _of_all_claims(claims: Sequence[ResourceClaim], allocations: Allocations) -> Allocations:
    """A claim's own allocation, or else the next of those made for this node."""
    remaining = iter(allocations)
    return [claim.status.allocation or next(remaining) for claim in claims]


def _by_position(claims: Sequence[ResourceClaim], allocations: Allocations) -> Allocations:
    """The nth claim has the nth allocation, as if no claim had one before. Raises PluginError."""
    if len(allocations) < len(claims):
        raise PluginError(
            f"number of allocations {len(allocations)} is smaller than number of claims"
        )
    return allocations


def _score(claim: ResourceClaim, allocation: AllocationResult) -> int:
    """8 for a first alternative, 7 for a second, over all lists of the claim."""
    allocated = {result.request for result in allocation.devices.results}
    return sum(
        MAX_ALTERNATIVES - index
        for request in claim.spec.devices.requests
        if request.exactly is None
        for index, alternative in enumerate(request.first_available)
        if f"{request.name}/{alternative.name}" in allocated
    )
