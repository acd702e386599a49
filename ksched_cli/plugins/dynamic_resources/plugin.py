"""Allocates devices to the resource claims of pods, and rejects nodes that cannot reach them.

Upstream: plugins/dynamicresources (dynamicresources.go, claims.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from ksched_cli.cluster.objects import AllocationResult, ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.selectors import node_terms
from ksched_cli.cluster.snapshot import Mask
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.config import types as config
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.deferred_actions import defer
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    Scope,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.dynamic_resources.claims import (
    ClaimError,
    ClaimStore,
    allocated,
    claims_of,
    deallocated,
    is_reserved_for,
    reserved,
    unreachable,
    unreserved,
)

if TYPE_CHECKING:
    from ksched_cli.plugins.dynamic_resources.search import DeviceSearch

STATE_KEY = "DynamicResources"
NOT_AVAILABLE = Status.unresolvable("resourceclaim not available on the node")
NANOSECONDS = 1e9


@dataclass(slots=True)
class ClaimsState:
    """What one attempt knows of its pod's claims.

    claims:      all of them, in the pod's order; those that PreBind wrote as they were written
    available:   per index of an allocated claim that not every node reaches, the nodes that do
    search:      the search for the claims to allocate; None where there are none
    allocations: per index, what Reserve took
    unavailable: the indices of allocated claims that some node does not reach
    """

    claims: list[ResourceClaim] = field(default_factory=list)
    available: dict[int, Mask] = field(default_factory=dict)
    search: DeviceSearch | None = None
    allocations: dict[int, AllocationResult] = field(default_factory=dict)
    unavailable: set[int] = field(default_factory=set)

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        return (
            (i, claim) for i, claim in enumerate(self.claims) if claim.status.allocation is None
        )


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    ReservePlugin,
    PreBindPlugin,
    Explains,
):
    name = "DynamicResources"

    def __init__(self, args: config.DynamicResourcesArgs | None, handle: Handle) -> None:
        timeout = args.filter_timeout if args is not None else None
        self._seconds = (timeout or 0) / NANOSECONDS
        self._handle = handle

    def scope_for(self, pod: PodInfo) -> Scope:
        return Scope.CLUSTER if pod.spec.resource_claims else Scope.NODE

    @property
    def _store(self) -> ClaimStore:
        return ClaimStore.of(self._handle)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        try:
            claims_of(pod, self._store)
        except ClaimError as missing:
            return Status.unresolvable(str(missing))
        return SUCCESS

    # -- PreFilter, Filter ------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        found = ClaimsState()
        state.write(STATE_KEY, found)
        try:
            claims = claims_of(pod, self._store)
        except ClaimError as missing:
            return None, Status.unresolvable(str(missing))
        if not claims:
            return None, SKIP
        pending = []
        for index, claim in enumerate(claims):
            if claim.status.allocation is None:
                problem = self._problem(claim)
                if problem is not None:
                    return None, problem
                pending.append(claim)
            elif claim.status.allocation.node_selector is not None:
                terms = node_terms(claim.status.allocation.node_selector)
                if terms.error:
                    raise PluginError(terms.error)
                found.available[index] = matches_any(nodes.snapshot, terms)
        if pending:
            # Loaded only now: most clusters have no claims, and it would double the time to start.
            from ksched_cli.plugins.dynamic_resources.search import DeviceSearch

            found.search = DeviceSearch(self._handle, pending, self._seconds)
        found.claims = claims
        return None, SUCCESS

    def _problem(self, claim: ResourceClaim) -> Status | None:
        """What keeps a claim from being allocated anywhere."""
        if self._store.is_pending(claim):
            return Status.unresolvable(
                f"resource claim {claim.key} is in the process of being allocated"
            )
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                wanted = [(request.name, request.exactly.device_class_name)]
            elif request.first_available:
                wanted = [
                    (f"{request.name}/{one.name}", one.device_class_name)
                    for one in request.first_available
                ]
            else:
                return Status.unresolvable(
                    f"resource claim {claim.key}, request {request.name}: unknown request type"
                )
            for name, class_name in wanted:
                if not class_name:
                    raise PluginError(f"request {name}: unsupported request type")
                if class_name not in self._handle.cluster.device_classes:
                    return Status.unresolvable(
                        f"request {name}: device class {class_name} does not exist"
                    )
        return None

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        found = claims_state(state)
        verdicts = found.search.verdicts(nodes) if found.search else Verdicts.passing(len(nodes))
        missed = np.zeros(len(nodes), dtype=np.bool_)
        for index, mask in found.available.items():
            misses = ~nodes.gather(mask) & (verdicts.ids == 0)
            if misses.any():
                found.unavailable.add(index)
                missed |= misses
        verdicts.reject(missed, NOT_AVAILABLE)
        return verdicts

    # -- PostFilter -------------------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        if STATE_KEY not in state.data:
            # Another plugin's PreFilter ended the attempt before this one's had its turn.
            return None, Status.error("not found")
        found = claims_state(state)
        if not found.claims:
            return None, Status.unschedulable("no new claims to deallocate")
        # Upstream walks over a map here, and so takes any of them.
        for index in sorted(found.unavailable):
            claim = found.claims[index]
            users = claim.status.reserved_for
            if not users or (len(users) == 1 and users[0].uid == pod.uid):
                defer(state, partial(self._store.write, deallocated(claim)))
                return None, Status.unschedulable("deallocation of ResourceClaim completed")
        return None, Status.unschedulable("still not schedulable")

    # -- Reserve, PreBind -------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        found = claims_state(state)
        if found.search is None:
            return SUCCESS
        allocations = found.search.allocations(node.row)
        if allocations is None:
            raise PluginError("claim allocation not found for node")
        for (index, claim), allocation in zip(found.to_allocate(), allocations, strict=True):
            found.allocations[index] = allocation
            self._store.hold(allocated(claim, allocation))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        if STATE_KEY not in state.data:
            return
        for claim in claims_state(state).claims:
            self._store.let_go(claim)
            if claim.status.allocation is not None and is_reserved_for(claim, pod):
                now = self._store.get(claim.namespace, claim.name)
                if now is not None:
                    self._store.write(unreserved(now, pod))

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        found = claims_state(state)
        for index, claim in enumerate(found.claims):
            if is_reserved_for(claim, pod):
                continue
            allocation = found.allocations.get(index)
            written = reserved(claim if allocation is None else allocated(claim, allocation), pod)
            self._store.write(written)
            if allocation is not None:
                self._store.let_go(claim)
            found.claims[index] = written
        return SUCCESS

    # -- explain ----------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        found = claims_state(state)
        lines = [
            unreachable(found.claims[index])
            for index, mask in found.available.items()
            if not mask[node.row]
        ]
        if found.search is not None:
            lines += found.search.lines(node.row, self._store)
        return lines


def claims_state(state: CycleState) -> ClaimsState:
    return cast(ClaimsState, state.read(STATE_KEY))
