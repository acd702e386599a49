"""Allocates devices to the resource claims of pods, and rejects nodes that cannot reach them.

Upstream: plugins/dynamicresources (dynamicresources.go, claims.go).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import AllocationResult, ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Mask
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.cluster_events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.deferred_actions import defer, deferred
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import PodGroupPostFilterPlugin
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    Proposal,
    Proposes,
    ReservePlugin,
    Scope,
    SignPlugin,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.pod_groups import GroupRoom, RejectedGroup
from ksched_cli.framework.resource_claims import ClaimError, ClaimStore
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.dynamic_resources.args import DynamicResourcesArgs
from ksched_cli.plugins.dynamic_resources.claims import (
    allocated,
    binding_failure,
    claims_of,
    deallocated,
    describe_allocation,
    is_reserved_for,
    reserved,
    unreserved,
)
from ksched_cli.plugins.dynamic_resources.features import features_of
from ksched_cli.plugins.dynamic_resources.proposals import for_pod, relaxed

if TYPE_CHECKING:
    from ksched_cli.plugins.dynamic_resources.extended_search import ExtendedSearch
    from ksched_cli.plugins.dynamic_resources.search import DeviceSearch


STATE_KEY = "DynamicResources"
CLAIM_UNREACHABLE = Status.unresolvable("resourceclaim not available on the node")
SILENT = Status.unschedulable()
GAVE_CLAIMS_BACK = Status.unschedulable("deallocation and deletion of ResourceClaims completed")
NOTHING_TO_DEALLOCATE = Status.unschedulable("no new claims to deallocate")
STILL_NOT_SCHEDULABLE = Status.unschedulable("still not schedulable")
NANOSECONDS = 1e9


class ClaimsState(Struct):
    """The pod's claims in one scheduling attempt. Upstream: stateData.

    claims:      all of them, in the pod's order; PreBind replaces those it writes
    reachable:   by index of an allocated claim with a node selector, the nodes that match it; none,
                 where a device of the claim cannot be prepared
    search:      allocates the claims that are not allocated yet; None if all are
    allocations: by index, what Reserve allocated
    unavailable: the indices of allocated claims that some node does not reach
    extended:    the search, where the last claim is for extended resources
    """

    claims: list[ResourceClaim] = field(default_factory=list)
    reachable: dict[int, Mask] = field(default_factory=dict)
    search: DeviceSearch | None = None
    allocations: dict[int, AllocationResult] = field(default_factory=dict)
    unavailable: set[int] = field(default_factory=set)
    extended: ExtendedSearch | None = None

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        return (
            (i, claim) for i, claim in enumerate(self.claims) if claim.status.allocation is None
        )


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PodGroupPostFilterPlugin,
    ReservePlugin,
    PreBindPlugin,
    SignPlugin,
    Explains,
    Proposes,
):
    name = "DynamicResources"
    idle_after_skip = True

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        timeout = args.filter_timeout if args is not None else None
        self._seconds = (timeout or 0) / NANOSECONDS
        self._handle = handle
        self._waits_for_devices = features_of(handle.release).binding_conditions
        rules = handle.release.rules
        self._pod_kind = "Pod" if rules.names_owner_kind else "pod"
        self._hears_of_deletions = rules.hears_of_deleted_claims
        is_silent = rules.device_post_filter_is_silent
        self._nothing_to_deallocate = SILENT if is_silent else NOTHING_TO_DEALLOCATE
        self._still_not_schedulable = SILENT if is_silent else STILL_NOT_SCHEDULABLE

    def scope_for(self, pod: PodInfo) -> Scope:
        return Scope.CLUSTER if pod.spec.resource_claims else Scope.NODE

    def sign_pod(self, pod: PodInfo) -> Mapping[str, Hashable] | None:
        return None if pod.spec.resource_claims else {}

    @property
    def _store(self) -> ClaimStore:
        return self._handle.service(ClaimStore)

    def events_to_register(self) -> Iterable[Registration]:
        return registrations(self._claims, self._hears_of_deletions)

    def _claims(self, pod: PodInfo) -> list[ResourceClaim]:
        """The pod's claims. Raises ClaimError."""
        return claims_of(pod, self._store, self._pod_kind)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        if not pod.spec.resource_claims:
            return SUCCESS
        try:
            self._claims(pod)
        except ClaimError as error:
            return Status.unresolvable(str(error))
        return SUCCESS

    # -- PreFilter, Filter ------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        claims_state = ClaimsState()
        state.write(STATE_KEY, claims_state)
        try:
            claims = self._claims(pod)
        except ClaimError as error:
            return None, Status.unresolvable(str(error))
        if not claims:
            return None, SKIP
        pending = []
        for index, claim in enumerate(claims):
            if claim.status.allocation is None:
                status = self._validate_claim(claim)
                if status is not None:
                    return None, status
                pending.append(claim)
                continue
            if claim.status.allocation.node_selector is not None:
                terms = node_terms(claim.status.allocation.node_selector)
                if terms.error:
                    raise PluginError(terms.error)
                claims_state.reachable[index] = matches_any(nodes.snapshot, terms)
            if self._waits_for_devices and binding_failure(claim):
                claims_state.reachable[index] = np.zeros(len(nodes.snapshot), dtype=np.bool_)
        if pending:
            # Imported on first use: most clusters have no claims, and it doubles the start-up time.
            from ksched_cli.plugins.dynamic_resources.search import DeviceSearch

            claims_state.search = DeviceSearch(self._handle, pending, self._seconds)
        claims_state.claims = claims
        return None, SUCCESS

    def _validate_claim(self, claim: ResourceClaim) -> Status | None:
        """The status that rejects a claim which cannot be allocated on any node, else None."""
        if self._store.is_pending(claim):
            return Status.unresolvable(
                f"resource claim {claim.key} is in the process of being allocated"
            )
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                classes = [(request.name, request.exactly.device_class_name)]
            elif request.first_available:
                classes = [
                    (f"{request.name}/{subrequest.name}", subrequest.device_class_name)
                    for subrequest in request.first_available
                ]
            else:
                return Status.unresolvable(
                    f"resource claim {claim.key}, request {request.name}: unknown request type"
                )
            for name, class_name in classes:
                if not class_name:
                    raise PluginError(f"request {name}: unsupported request type")
                if class_name not in self._handle.cluster.device_classes:
                    return Status.unresolvable(
                        f"request {name}: device class {class_name} does not exist"
                    )
        return None

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        claims_state = read_state(state)
        search = claims_state.search
        verdicts = search.verdicts(nodes) if search else Verdicts.passing(len(nodes))
        rejected = np.zeros(len(nodes), dtype=np.bool_)
        for index, mask in claims_state.reachable.items():
            unreachable = ~nodes.gather(mask) & (verdicts.ids == 0)
            if unreachable.any():
                claims_state.unavailable.add(index)
                rejected |= unreachable
        verdicts.reject(rejected, CLAIM_UNREACHABLE)
        return verdicts

    # -- PostFilter -------------------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        if STATE_KEY not in state.data:
            # Another plugin's PreFilter ended the attempt before this plugin's ran.
            return None, Status.error("not found")
        return None, self._give_back(state, pod)

    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        """Every pod gives a claim back that it cannot use."""
        groups, group = self._handle.pod_groups, rejected.group
        is_placed = groups is not None and groups.places and group.is_constrained
        if group.is_composite or is_placed:
            return SILENT, GroupRoom()
        afterwards: list[Callable[[], None]] = []
        states = ((pod, rejected.states.get(pod.uid)) for pod in rejected.pods)
        with_states = [(pod, state) for pod, state in states if state and STATE_KEY in state.data]
        if not with_states:
            # No pod came as far as this plugin's PreFilter.
            return Status.error("not found"), GroupRoom()
        for pod, state in with_states:
            self._give_back(state, pod)
            afterwards += deferred(state)
        return GAVE_CLAIMS_BACK, GroupRoom(afterwards=tuple(afterwards))

    def _give_back(self, state: CycleState, pod: PodInfo) -> Status:
        """Upstream: deallocateOrDeletePodClaims."""
        claims_state = read_state(state)
        if not claims_state.claims:
            return self._nothing_to_deallocate
        # Upstream iterates over a map here, in random order.
        for index in sorted(claims_state.unavailable):
            claim = claims_state.claims[index]
            users = claim.status.reserved_for
            if not users or (len(users) == 1 and users[0].uid == pod.uid):
                defer(state, partial(self._store.write, deallocated(claim)))
                return Status.unschedulable("deallocation of ResourceClaim completed")
        return self._still_not_schedulable

    # -- Reserve, PreBind -------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        claims_state = read_state(state)
        if claims_state.search is None:
            return SUCCESS
        allocations = claims_state.search.allocations(node.row)
        if allocations is None:
            raise PluginError("claim allocation not found for node")
        for (index, claim), allocation in zip(claims_state.to_allocate(), allocations, strict=True):
            claims_state.allocations[index] = allocation
            self._store.add_pending(allocated(claim, allocation))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        if STATE_KEY not in state.data:
            return
        for claim in read_state(state).claims:
            self._store.remove_pending(claim)
            if claim.status.allocation is not None and is_reserved_for(claim, pod):
                current = self._store.get(claim.namespace, claim.name)
                if current is not None:
                    self._store.write(unreserved(current, pod))

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        claims_state = read_state(state)
        for index, claim in enumerate(claims_state.claims):
            if is_reserved_for(claim, pod):
                continue
            allocation = claims_state.allocations.get(index)
            updated = reserved(claim if allocation is None else allocated(claim, allocation), pod)
            self._store.write(updated)
            if allocation is not None:
                self._store.remove_pending(claim)
            claims_state.claims[index] = updated
        if self._waits_for_devices and claims_state.claims:
            return self._devices_status(claims_state)
        return SUCCESS

    def _devices_status(self, claims_state: ClaimsState) -> Status:
        """All conditions of devices become true at once, unless one of a failure is."""
        failures = filter(None, map(binding_failure, claims_state.claims))
        failure = next(failures, "")
        return Status.error(failure) if failure else SUCCESS

    # -- explain ----------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        claims_state = read_state(state)
        lines = [
            self._unavailability(claims_state.claims[index])
            for index, mask in claims_state.reachable.items()
            if not mask[node.row]
        ]
        if claims_state.search is not None:
            lines += claims_state.search.lines(node.row, self._store)
        return lines

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        return relaxed(self._claims(pod))

    def propose_for_pod(self, pod: PodInfo) -> Iterator[Proposal]:
        return for_pod(pod, self._store, self._handle.cluster)

    def _unavailability(self, claim: ResourceClaim) -> str:
        failure = binding_failure(claim) if self._waits_for_devices else ""
        return failure or describe_allocation(claim)


def read_state(state: CycleState) -> ClaimsState:
    return cast(ClaimsState, state.read(STATE_KEY))


# Gives a pod's claims; raises ClaimError.
ClaimsOf = Callable[[PodInfo], Sequence[ResourceClaim]]


def registrations(claims_of: ClaimsOf, hears_of_deletions: bool) -> Iterable[Registration]:
    """hears_of_deletions: see Rules.hears_of_deleted_claims"""
    comes_or_changes = Action.ADD | Action.UPDATE
    node_actions = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
    yield ClusterEvent(NODE, node_actions), None
    claim_actions = comes_or_changes | Action.DELETE if hears_of_deletions else comes_or_changes
    claim_event = ClusterEvent(RESOURCE_CLAIM, claim_actions)
    yield claim_event, partial(after_claim_change, claims_of)
    pod_event = ClusterEvent(POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    yield pod_event, partial(after_pod_change, claims_of)
    yield ClusterEvent(DEVICE_CLASS, comes_or_changes), None
    yield ClusterEvent(RESOURCE_SLICE, comes_or_changes), None


def after_claim_change(
    claims_of: ClaimsOf, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None
) -> bool:
    """A claim was deallocated, or one of the pod's has come, or has another status."""
    was_allocated = old is not None and old.status.allocation is not None
    if new is None:
        return was_allocated
    try:
        claims = claims_of(pod)
    except ClaimError:
        return False
    if was_allocated and new.status.allocation is None:
        return True
    if all(claim.metadata.uid != new.metadata.uid for claim in claims):
        return False
    return old is None or old.status != new.status


def after_pod_change(claims_of: ClaimsOf, pod: PodInfo, old: PodInfo | None, new: PodInfo) -> bool:
    """All of the pod's claims are there now."""
    if new.key != pod.key:
        return False
    try:
        claims_of(new)
    except ClaimError:
        return False
    return True
