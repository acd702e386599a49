"""DynamicResources with extended resources that device classes back (DRAExtendedResource): a pod
that requests them gets a claim of its own. Before it, DynamicResources with Score: the earlier the
alternatives of prioritized lists that a node can give the pod, the better.

Upstream: plugins/dynamicresources (dynamicresources.go with Score and computeScore,
extendeddynamicresources.go).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from ksched_cli.cluster.objects import AllocationResult, ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.deferred_actions import defer
from ksched_cli.framework.device_classes import BackingClasses
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import NormalizeScore, PreFilterResult, Scope, ScorePlugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.plugins.dynamic_resources.args import DynamicResourcesArgs
from ksched_cli.plugins.dynamic_resources.claims import allocated, reserved
from ksched_cli.plugins.dynamic_resources.plugin import (
    STATE_KEY,
    ClaimsState,
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


class ExtendedDynamicResources(ScoringDynamicResources):
    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._backing = handle.service(BackingClasses)

    def scope_for(self, pod: PodInfo) -> Scope:
        return Scope.CLUSTER if self._backing.requested(pod) else super().scope_for(pod)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        result, status = super().pre_filter(state, pod, nodes)
        if not self._backing.requested(pod) or not (status.is_success or status.is_skip):
            return result, status
        from ksched_cli.plugins.dynamic_resources.extended_search import (
            ExtendedSearch,
            claim_for,
        )

        claims_state = read_state(state)
        claim = self._store.extended_claim(pod) or claim_for(pod)
        pending = [each for _, each in claims_state.to_allocate()]
        claims_state.search = claims_state.extended = ExtendedSearch(
            self._handle, pod, pending, claim, self._seconds, bool(claims_state.claims)
        )
        claims_state.claims = [*claims_state.claims, claim]
        return None, SUCCESS

    def _give_back(self, state: CycleState, pod: PodInfo) -> Status:
        status, extended = super()._give_back(state, pod), read_state(state).extended
        if extended is None or not extended.is_stale or status is not self._still_not_schedulable:
            return status
        defer(state, partial(self._store.delete, extended.claim))
        return Status.unschedulable("deletion of ResourceClaim completed")

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        claims_state = read_state(state)
        extended = claims_state.extended
        if extended is not None and extended.allocations(node.row) is None:
            pending = [claim for _, claim in claims_state.to_allocate()]
            if pending == [extended.claim]:
                return SUCCESS  # the node's device plugins have the resources
        return super().reserve(state, pod, node)

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        claims_state = read_state(state)
        if claims_state.extended is None:
            return super().pre_bind(state, pod, node)
        extended = claims_state.claims.pop()
        try:
            status = super().pre_bind(state, pod, node)
        finally:
            claims_state.claims.append(extended)
        if status.is_success:
            self._bind_extended(claims_state, pod, node)
        return status

    def _bind_extended(self, claims_state: ClaimsState, pod: PodInfo, node: NodeInfo) -> None:
        """Upstream: bindClaim."""
        extended = claims_state.extended
        index = len(claims_state.claims) - 1
        allocation = claims_state.allocations.get(index)
        if allocation is None or extended is None:
            return
        created = self._store.create_extended(extended.claim_on(node.row), pod.uid)
        updated = reserved(allocated(created, allocation), pod)
        self._store.write(updated)
        self._store.remove_pending(extended.claim)
        claims_state.claims[index] = updated
        if not extended.has_mappings(node.row):
            raise PluginError(
                f"nil or empty request mappings, no update of pod {pod.key} "
                "ExtendedResourceClaimStatus"
            )

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        if STATE_KEY not in state.data:
            return
        claims_state = read_state(state)
        if claims_state.extended is None:
            super().unreserve(state, pod, node)
            return
        claim, initial = claims_state.claims.pop(), claims_state.extended.claim
        super().unreserve(state, pod, node)
        self._store.remove_pending(initial)
        if claim is not initial:
            self._store.delete(claim)
        claims_state.claims.append(claim)
