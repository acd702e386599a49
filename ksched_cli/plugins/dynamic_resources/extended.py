"""DynamicResources with extended resources that device classes back (DRAExtendedResource): a pod
that requests them gets a claim of its own.

Upstream: plugins/dynamicresources (dynamicresources.go, extendeddynamicresources.go).
"""

from __future__ import annotations

from functools import partial

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.deferred_actions import defer
from ksched_cli.framework.device_classes import BackingClasses
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import PreFilterResult, Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.plugins.dynamic_resources.args import DynamicResourcesArgs
from ksched_cli.plugins.dynamic_resources.claims import allocated, reserved
from ksched_cli.plugins.dynamic_resources.plugin import (
    STATE_KEY,
    ClaimsState,
    read_state,
)
from ksched_cli.plugins.dynamic_resources.scoring import ScoringDynamicResources


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
