"""Allocates devices to the resource claims of pods, and rejects nodes that cannot reach them.

Upstream: plugins/dynamicresources (dynamicresources.go, claims.go).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import (
    AllocationResult,
    ConsumerReference,
    DeviceRequest,
    PodResourceClaim,
    ResourceClaim,
    plain_fields,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import NODE_ALLOCATABLE_GATE, resources_rule
from ksched_cli.cluster.snapshot import Mask, Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import tolerated
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.cluster_events import Action, ClusterEvent, IsConcerned, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    NormalizeScore,
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    Proposal,
    Proposes,
    ReservePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.pod_groups import GroupKey, GroupRoom, PodGroup, RejectedGroup, group_key
from ksched_cli.framework.preemption import defer, deferred
from ksched_cli.framework.resource_claims import (
    PODGROUPS,
    SCHEDULING,
    BackingClasses,
    ClaimError,
    ClaimStore,
    claim_name,
    exclusive_devices,
    is_reserved_for,
)
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.gates import WORKLOAD_CLAIMS_GATE
from ksched_cli.plugins.args import DynamicResourcesArgs
from ksched_cli.plugins.dynamic_resources.features import features_of, skipping_nodes
from ksched_cli.plugins.dynamic_resources.requests import ALLOCATION_RESULTS_MAX_SIZE
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    PreFiltered,
    applied,
    default_normalize_score,
    eviction,
    may_make_room,
    named,
)
from ksched_cli.plugins.lower_requests import lower_request
from ksched_cli.plugins.node_affinity import terms_text
from ksched_cli.plugins.taint_toleration import HARD_EFFECTS, taint_text

if TYPE_CHECKING:
    from ksched_cli.plugins.dynamic_resources.node_allocatable import (
        ClaimDevices,
        NodeAllocatable,
        Statuses,
    )
    from ksched_cli.plugins.dynamic_resources.search import DeviceSearch, ExtendedSearch


# -- claims ----------------------------------------------------------------------------------------
#
# A pod's resource claims: which they are, who uses them, and their new versions.
#
# Upstream: plugins/dynamicresources (dynamicresources.go), dynamic-resource-
# allocation/resourceclaim (resourceclaim.go, pod.go).


def claims_of(
    pod: PodInfo, store: ClaimStore, pod_kind: str = "pod", *, of_groups: bool = False
) -> list[ResourceClaim]:
    """Return a pod's claims, in its order. Raises ClaimError. Upstream: foreachPodResourceClaim.

    pod_kind: what messages call a pod; of_groups: its group may own them
    """
    claims = []
    group = group_key(pod.pod) if of_groups else None
    for reference in pod.spec.resource_claims:
        name, must_own = claim_name(pod, reference)
        if name is None:
            continue
        claim = store.get(pod.namespace, name)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        owner = claim.metadata.controller
        if must_own and (owner is None or owner.uid != pod.uid):
            problem = f"ResourceClaim {claim.key} was not created for {pod_kind} {pod.key}"
            if group is None:
                raise ClaimError(f"{problem} ({pod_kind} is not owner)")
            is_of_group = (
                owner is not None
                and owner.kind == "PodGroup"
                and owner.api_version.startswith(f"{SCHEDULING}/")
                and owner.name == group[1]
            )
            if not is_of_group:
                raise ClaimError(
                    f"{problem} (neither {pod_kind} nor PodGroup {group[1]} is the owner)"
                )
        claims.append(claim)
    return claims


def consumer_of(pod: PodInfo) -> ConsumerReference:
    return ConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


def consumers(pod: PodInfo, group: PodGroup | None) -> list[ConsumerReference]:
    """Return by position of the pod's references whom the claims are reserved for: for its group,
    where that has the same reference. Raises ClaimError. Upstream: BindTo."""
    own = consumer_of(pod)
    if group is None:
        return [own] * len(pod.spec.resource_claims)
    for each in group.claims if pod.spec.resource_claims else ():
        if each.resource_claim_name is None and each.resource_claim_template_name is None:
            raise ClaimError(
                f"PodGroup {group.namespace}/{group.name} claim {each.name}: none of the supported"
                " fields are set"
            )
    of_group = ConsumerReference(SCHEDULING, PODGROUPS, group.name, group.uid)
    return [of_group if each in group.claims else own for each in pod.spec.resource_claims]


def allocated(claim: ResourceClaim, allocation: AllocationResult | None) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=allocation))


def reserved(claim: ResourceClaim, consumer: ConsumerReference) -> ResourceClaim:
    """Return the claim with the consumer added to reservedFor."""
    users = (*claim.status.reserved_for, consumer)
    return replace(claim, status=replace(claim.status, reserved_for=users))


def unreserved(claim: ResourceClaim, uid: str) -> ResourceClaim:
    """Return the claim without the consumer of this UID in reservedFor."""
    users = tuple(consumer for consumer in claim.status.reserved_for if consumer.uid != uid)
    return replace(claim, status=replace(claim.status, reserved_for=users))


MODIFIED = (
    'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "{}": the object has been'
    " modified; please apply your changes to the latest version and try again"
)


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    status = replace(claim.status, allocation=None, reserved_for=(), devices=())
    return replace(claim, status=status)


def binding_failure(claim: ResourceClaim) -> str:
    """Return why a device of the claim cannot be prepared, as its driver reports; "" where none has
    failed.

    Upstream: isClaimReadyForBinding.
    """
    allocation, statuses = claim.status.allocation, claim.status.devices
    if allocation is None or not statuses:
        return ""
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        device = (result.driver, result.pool, result.device)
        conditions = next(
            (s.conditions for s in statuses if (s.driver, s.pool, s.device) == device), ()
        )
        for name in result.binding_failure_conditions:
            failed = next((c for c in conditions if c.type == name), None)
            if failed is not None and failed.status == "True":
                return (
                    f"device binding failed: claim={claim.name}, reason={failed.reason}, "
                    f"message={quote(failed.message)}"
                )
    return ""


def describe_allocation(claim: ResourceClaim) -> str:
    """Return the explanation of an allocated claim: its devices, and the nodes that can use it."""
    allocation = claim.status.allocation
    assert allocation is not None
    devices = ", ".join("/".join(device) for device in exclusive_devices(claim)) or "no device"
    selector = allocation.node_selector
    terms = selector.node_selector_terms if selector else ()
    nodes = terms_text(terms) or "nowhere"
    return f"claim {claim.key} is allocated already: {devices}, to be used on nodes with {nodes}"


# -- the plugin ------------------------------------------------------------------------------------


STATE_KEY = "DynamicResources"
CLAIM_UNREACHABLE = Status.unresolvable("resourceclaim not available on the node")
SILENT = Status.unschedulable()
GAVE_CLAIMS_BACK = Status.unschedulable("deallocation and deletion of ResourceClaims completed")
NOTHING_TO_DEALLOCATE = Status.unschedulable("no new claims to deallocate")
STILL_NOT_SCHEDULABLE = Status.unschedulable("still not schedulable")
ELSEWHERE = "claim {} got {} elsewhere in the meantime"
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
    shared:      by index, the allocation under way of a claim that a pod before it in its group was
                 given, and that this one shares
    selected:    by index of an allocated claim, the nodes that its selector matches; None for all
    takes:       by row of a node that passed, what the claims take of what it has
    consumers:   by index, whom a claim is reserved for
    """

    claims: list[ResourceClaim] = field(default_factory=list)
    reachable: dict[int, Mask] = field(default_factory=dict)
    search: DeviceSearch | None = None
    allocations: dict[int, AllocationResult] = field(default_factory=dict)
    unavailable: set[int] = field(default_factory=set)
    extended: ExtendedSearch | None = None
    shared: dict[int, AllocationResult] = field(default_factory=dict)
    selected: dict[int, Mask | None] = field(default_factory=dict)
    takes: dict[int, Statuses] = field(default_factory=dict)
    consumers: list[ConsumerReference] = field(default_factory=list)

    @property
    def own_claims(self) -> list[ResourceClaim]:
        """Return the claims without the one for extended resources."""
        return self.claims if self.extended is None else self.claims[:-1]

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        return (
            (i, claim) for i, claim in enumerate(self.claims) if claim.status.allocation is None
        )

    def to_search(self) -> list[ResourceClaim]:
        """Return the claims to allocate whose allocation is not shared."""
        return [claim for index, claim in self.to_allocate() if index not in self.shared]

    def allocations_on(self, row: int) -> list[AllocationResult] | None:
        """Return the allocations on a node, those that are shared last, or None if there are none,
        or Filter did not run for it."""
        own = self.search.allocations(row) if self.search is not None else []
        return None if own is None else [*own, *self.shared.values()]

    def devices_on(self, row: int, with_earlier: bool) -> ClaimDevices:
        """Return the claims with their devices on a node where Filter passed so far.

        with_earlier: include claims that were allocated before the attempt
        """
        own = self.search.allocations(row) if self.search is not None else []
        if own is None:
            return ()
        remaining = iter(own)
        devices = []
        for index, claim in enumerate(self.claims):
            allocation = claim.status.allocation
            if allocation is None:
                allocation = self.shared.get(index) or next(remaining)
            elif not with_earlier:
                continue
            devices.append((claim, allocation))
        return devices


class DynamicResources(
    PreEnqueuePlugin,
    FilteringPlugin,
    PostFilterPlugin,
    PodGroupPostFilterPlugin,
    ReservePlugin,
    PreBindPlugin,
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
        self._needs_skipping = rules.knows_derived_attributes
        self._hears_of_deletions = rules.hears_of_deleted_claims
        self._looks_for_shared_devices = rules.looks_for_shared_devices
        self._counts_earlier_claims = rules.knows_device_overhead
        self._takes_of_nodes = handle.release.enabled(NODE_ALLOCATABLE_GATE)
        self._of_groups = handle.release.enabled(WORKLOAD_CLAIMS_GATE)
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

    def concerned_pods(self, event: ClusterEvent, old: Any, new: Any) -> IsConcerned | None:
        """Return which pods an event of a claim concerns: those that name it, and all where it was
        deallocated. Upstream: preQueueingHint, podResourceClaimIndexFunc."""
        if event.resource != events.RESOURCE_CLAIM:
            return None
        was_allocated = old is not None and old.status.allocation is not None
        if was_allocated and (new is None or new.status.allocation is None):
            return None
        claim: ResourceClaim = old if new is None else new

        def names_claim(pod: PodInfo) -> bool:
            if pod.namespace != claim.metadata.namespace:
                return False
            for reference in pod.spec.resource_claims:
                with suppress(ClaimError):  # a reference without a claim
                    if claim_name(pod, reference)[0] == claim.metadata.name:
                        return True
            return False

        return names_claim

    def _claims(self, pod: PodInfo) -> list[ResourceClaim]:
        """Return the pod's claims. Raises ClaimError."""
        return claims_of(pod, self._store, self._pod_kind, of_groups=self._of_groups)

    def _group(self, pod: PodInfo) -> PodGroup | None:
        """Return the pod's group, which may have claims of its own, or None where it has no group,
        or groups have no claims. Raises ClaimError where the group is missing."""
        groups, key = self._handle.pod_groups, group_key(pod.pod)
        if not self._of_groups or groups is None or key is None:
            return None
        group = groups.groups.get(key)
        if group is None:
            missing = f"pod group object not found for pod group {'/'.join(key)}"
            if not groups.are_entities:
                missing = f'podgroup.scheduling.k8s.io "{key[1]}" not found'
            raise ClaimError(missing)
        return group

    def pre_enqueue(self, pod: PodInfo) -> Status:
        if not pod.spec.resource_claims:
            return SUCCESS
        try:
            self._claims(pod)
        except ClaimError as error:
            return Status.unresolvable(str(error))
        return SUCCESS

    # -- PreFilter, Filter ------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        claims_state = ClaimsState()
        state.write(STATE_KEY, claims_state)
        if self._allocatable is not None:
            state.on_node = self._on_node(claims_state, nodes.snapshot)
        try:
            claims = self._claims(pod)
            claims_state.consumers = consumers(pod, self._group(pod))
        except ClaimError as error:
            return None, Status.unresolvable(str(error))
        if not claims:
            return None, SKIP
        for index, claim in enumerate(claims):
            allocation = claim.status.allocation or self._shared_allocation(claim, pod)
            if allocation is None:
                status = self._validate_claim(claim)
                if status is not None:
                    return None, status
                continue
            if claim.status.allocation is None:
                claims_state.shared[index] = allocation
            self._note_reachable(claims_state, index, claim, allocation, nodes.snapshot)
        claims_state.claims = claims
        pending = claims_state.to_search()
        if pending:
            self._check_shares()
            # Imported on first use: most clusters have no claims, and it doubles the start-up time.
            from ksched_cli.plugins.dynamic_resources.search import DeviceSearch

            claims_state.search = DeviceSearch(self._handle, pending, self._seconds)
        return None, SUCCESS

    def _shared_allocation(self, claim: ResourceClaim, pod: PodInfo) -> AllocationResult | None:
        """Return the allocation that a pod before it was given in the trial of its group."""
        pending = self._store.pending(claim)
        if pending is None or pending.group is None or pending.group != group_key(pod.pod):
            return None
        return pending.claim.status.allocation

    def _note_reachable(
        self,
        claims_state: ClaimsState,
        index: int,
        claim: ResourceClaim,
        allocation: AllocationResult,
        snapshot: Snapshot,
    ) -> None:
        """Note the nodes that can use a claim's allocation. Raises PluginError."""
        own, mask = claim.status.allocation, None
        if allocation.node_selector is not None and (
            self._looks_for_shared_devices or own is not None
        ):
            terms = node_terms(allocation.node_selector)
            if terms.error:
                raise PluginError(terms.error)
            mask = matches_any(snapshot, terms)
        # A device of the claim may do without operations on the node.
        results = own.devices.results if own is not None else ()
        if self._needs_skipping and any(result.skip_node_operations for result in results):
            skipping = skipping_nodes(snapshot)
            mask = skipping if mask is None else skipping & mask
        claims_state.selected[index] = mask
        if self._waits_for_devices and binding_failure(claim):
            mask = np.zeros(len(snapshot), dtype=np.bool_)
        if mask is not None:
            claims_state.reachable[index] = mask

    @property
    def _allocatable(self) -> NodeAllocatable | None:
        """Return the service for devices that take resources of their node, or None where no device
        does."""
        if not self._takes_of_nodes:
            return None
        # Imported on first use, as the search is.
        from ksched_cli.plugins.dynamic_resources.node_allocatable import NodeAllocatable

        service = self._handle.service(NodeAllocatable)
        return service if service.is_used else None

    def _on_node(
        self, claims_state: ClaimsState, snapshot: Snapshot
    ) -> Callable[[PodInfo, int], PodInfo]:
        """Return how a pod is on a node: its status says what its claims take there. Upstream:
        prepareAssumedPod, until 1.37 assume."""
        count = resources_rule(self._handle.release)

        def on_node(pod: PodInfo, row: int) -> PodInfo:
            takes = claims_state.takes.get(row)
            if not takes:
                return pod
            status = replace(pod.pod.status, node_allocatable_resource_claim_statuses=takes)
            new = replace(pod.pod, status=status)
            return pod.with_pod(new, count(replace(new, node_name=snapshot.names[row])))

        return on_node

    def _check_shares(self) -> None:
        """Raise PluginError where what claims consume cannot be told."""
        negative = self._store.negative_capacity()
        if negative:
            raise PluginError(f"gather allocation state: {negative}")

    def _validate_claim(self, claim: ResourceClaim) -> Status | None:
        """Return the status that rejects a claim which cannot be allocated on any node, else
        None."""
        if self._store.pending(claim) is not None:
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
        # The claims may exceed a node's allocatable resources, or another pod with one of the
        # claims bars it. The search for devices comes between the two.
        allocatable = self._allocatable
        if allocatable is not None:
            from ksched_cli.plugins.dynamic_resources.search import NO_SUCH_RESOURCE, STALE_CLAIM

            with_earlier = self._counts_earlier_claims
            statuses = [verdicts.statuses[number] for number in verdicts.ids.tolist()]
            for position, row in enumerate(nodes.indices().tolist()):
                status = statuses[position]
                if status in (NO_SUCH_RESOURCE, STALE_CLAIM):
                    continue
                node = NodeInfo(nodes.snapshot, row)
                sharing = (
                    allocatable.sharing_status(
                        pod, claims_state.claims[index], claims_state.shared.get(index), node
                    )
                    for index, mask in claims_state.selected.items()
                    if mask is None or mask[row]
                )
                barred = next((each for each in sharing if not each.is_success), None)
                if barred is not None:
                    statuses[position] = barred
                elif status.is_success and (with_earlier or claims_state.search is not None):
                    devices = claims_state.devices_on(row, with_earlier)
                    statuses[position], takes = allocatable.check(pod, devices, node)
                    if statuses[position].is_success:
                        claims_state.takes[row] = takes
            verdicts = Verdicts.of(statuses)
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
        if pod.is_resized:
            return None, SILENT
        if STATE_KEY not in state.data:
            # Another plugin's PreFilter ended the attempt before this plugin's ran.
            return None, Status.error("not found")
        status = self._give_back(state, pod)
        key, groups = group_key(pod.pod), self._handle.pod_groups
        if not self._of_groups or groups is None or key is None or groups.are_entities:
            return None, status
        # Until 1.36, the pods of a group are tried one by one.
        if status is not self._still_not_schedulable or self._is_scheduled(key):
            return None, status
        try:
            released = self._release(self._group(pod), pod, partial(defer, state))
        except ClaimError as error:
            return None, Status.error(str(error))
        return None, released or status

    def _release(
        self, group: PodGroup | None, pod: PodInfo, later: Callable[[Callable[[], None]], None]
    ) -> Status | None:
        """Take the group from the first of its claims that is allocated and reserved for it. Return
        the status that says so, or None. later: is given what does it. Raises ClaimError.
        Upstream: the end of deallocatePodGroupClaims, in 1.36 unreservePodGroupClaims."""
        if group is None:
            return None
        for reference in group.claims:
            name, must_own = _claim_name_of_group(group, reference)
            if name is None:
                continue
            claim = self._store.get(group.namespace, name)
            if claim is None:
                raise ClaimError(f'could not find ResourceClaim "{group.namespace}/{name}"')
            owner = claim.metadata.controller
            if must_own and (owner is None or owner.uid != group.uid):
                continue
            if claim.status.allocation is not None and is_reserved_for(claim, pod, of_groups=True):
                later(partial(self._unreserve, claim.namespace, claim.name, group.uid))
                return Status.unresolvable("ResourceClaim unreserved for PodGroup")
        return None

    def _unreserve(self, namespace: str, name: str, uid: str) -> None:
        claim = self._store.get(namespace, name)
        if claim is not None:
            self._store.write(unreserved(claim, uid))

    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        """Let every pod give back a claim that it cannot use."""
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
        given_back: set[str] = set()
        gives_too_little = False
        for pod, state in with_states:
            claim = self._unusable_claim(state, pod)
            if claim is not None and claim.metadata.uid in given_back:
                # Another pod that shares it has just written another version.
                return Status.error(MODIFIED.format(claim.name)), GroupRoom(
                    afterwards=tuple(afterwards)
                )
            status = self._give_back(state, pod)
            gives_too_little |= status in (self._nothing_to_deallocate, self._still_not_schedulable)
            if claim is not None and claim != deallocated(claim):
                given_back.add(claim.metadata.uid)
            afterwards += deferred(state)
        status = GAVE_CLAIMS_BACK
        if self._of_groups and gives_too_little and not self._is_scheduled(group.key):
            try:
                status = (
                    self._give_back_of_group(group, with_states, given_back, afterwards)
                    or self._release(group, with_states[0][0], afterwards.append)
                    or status
                )
            except ClaimError as error:
                status = Status.error(str(error))
        return status, GroupRoom(afterwards=tuple(afterwards))

    def _is_scheduled(self, key: GroupKey) -> bool:
        """Return whether a pod of the group has had a node since before its trial."""
        groups = self._handle.pod_groups
        assert groups is not None
        tried: Container[str] = () if groups.trial is None else groups.trial.pods
        return any(pod.metadata.uid not in tried for pod in groups.scheduled_pods(key))

    def _give_back_of_group(
        self,
        group: PodGroup,
        with_states: Sequence[tuple[PodInfo, CycleState]],
        given_back: Container[str],
        afterwards: list[Callable[[], None]],
    ) -> Status | None:
        """Give the first claim back that is allocated where a pod cannot go, and that no other
        group and no pod uses. given_back: the UIDs of those that the pods have given back. Upstream
        iterates over maps here, in random order: deallocatePodGroupClaims."""
        for _, state in with_states:
            claims_state = read_state(state)
            for index in sorted(claims_state.unavailable):
                claim = claims_state.claims[index]
                users = claim.status.reserved_for
                if users and not (len(users) == 1 and users[0].uid == group.uid):
                    continue
                if claim.metadata.uid in given_back:
                    return Status.error(MODIFIED.format(claim.name))
                if claim != deallocated(claim):
                    afterwards.append(partial(self._store.write, deallocated(claim)))
                return Status.unschedulable("deallocation of PodGroup ResourceClaim completed")
        return None

    def _give_back(self, state: CycleState, pod: PodInfo) -> Status:
        """Give back a claim that the pod cannot use. Upstream: deallocateOrDeletePodClaims."""
        claims_state = read_state(state)
        if not claims_state.claims:
            return self._nothing_to_deallocate
        claim = self._unusable_claim(state, pod)
        if claim is None:
            return self._still_not_schedulable
        # One that only a pod of the trial was given is not allocated: nothing is written.
        if claim != deallocated(claim):
            defer(state, partial(self._store.write, deallocated(claim)))
        return Status.unschedulable("deallocation of ResourceClaim completed")

    def _unusable_claim(self, state: CycleState, pod: PodInfo) -> ResourceClaim | None:
        """Return the pod's first claim that is allocated where it cannot go, and that no other pod
        uses. Upstream iterates over a map here, in random order."""
        claims_state = read_state(state)
        for index in sorted(claims_state.unavailable):
            claim = claims_state.claims[index]
            users = claim.status.reserved_for
            if not users or (len(users) == 1 and users[0].uid == pod.uid):
                return claim
        return None

    # -- Reserve, PreBind -------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        claims_state = read_state(state)
        allocations = claims_state.allocations_on(node.row)
        if allocations is None:
            raise PluginError("claim allocation not found for node")
        # Upstream too puts the shared ones last, and so may give a claim the devices of another.
        for (index, claim), allocation in zip(claims_state.to_allocate(), allocations, strict=True):
            claims_state.allocations[index] = allocation
            self._store.add_pending(allocated(claim, allocation), state.trial_group)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        if STATE_KEY not in state.data:
            return
        for claim in read_state(state).own_claims:
            self._store.remove_pending(claim)
            if claim.status.allocation is not None and is_reserved_for(claim, pod):
                current = self._store.get(claim.namespace, claim.name)
                if current is not None:
                    self._store.write(unreserved(current, pod.uid))

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        claims_state = read_state(state)
        for index, claim in enumerate(claims_state.own_claims):
            if is_reserved_for(claim, pod, of_groups=self._of_groups):
                continue
            allocation = claims_state.allocations.get(index)
            # Another pod of the group may have written the claim meanwhile.
            current = self._store.get(claim.namespace, claim.name) or claim
            if allocation is not None:
                if current.status.allocation is not None:
                    raise PluginError(ELSEWHERE.format(claim.key, "allocated"))
                current = allocated(current, allocation)
            elif self._waits_for_devices and current.status.allocation is None:
                raise PluginError(ELSEWHERE.format(claim.key, "deallocated"))
            updated = reserved(current, claims_state.consumers[index])
            self._store.write(updated)
            if allocation is not None:
                self._store.remove_pending(claim, is_written=True)
            claims_state.claims[index] = updated
        # All conditions of devices become true at once, unless one of a failure is.
        claims = claims_state.own_claims if self._waits_for_devices else ()
        failure = next(filter(None, map(binding_failure, claims)), "")
        return Status.error(failure) if failure else SUCCESS

    # -- explain ----------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        claims_state = read_state(state)
        lines = []
        for index, mask in claims_state.reachable.items():
            if not mask[node.row]:
                claim = claims_state.claims[index]
                if index in claims_state.shared:
                    claim = allocated(claim, claims_state.shared[index])
                failure = binding_failure(claim) if self._waits_for_devices else ""
                lines.append(failure or describe_allocation(claim))
        if claims_state.search is not None:
            lines += claims_state.search.lines(node.row, self._store)
        if not lines and self._allocatable is not None:
            devices = claims_state.devices_on(node.row, self._counts_earlier_claims)
            lines += self._allocatable.lines(pod, devices, node)
        return lines

    def shortages(self, state: CycleState, pod: PodInfo, rows: Rows) -> list[str]:
        """Return per row what the pod's claims lack there, in words that follow "would take it but
        for"; "" where the node reaches no device."""
        claims_state = read_state(state)
        search = claims_state.search
        shortages = [""] * len(rows) if search is None else search.shortages(rows, self._store)
        for index, mask in claims_state.reachable.items():
            claim = claims_state.claims[index]
            if index in claims_state.shared:
                claim = allocated(claim, claims_state.shared[index])
            failure = binding_failure(claim) if self._waits_for_devices else ""
            for position in np.flatnonzero(~mask[rows]).tolist():
                shortages[position] = failure or describe_allocation(claim)
        return shortages

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        claims = self._claims(pod)
        yield from relaxed(claims)
        yield from tolerating(claims, self._handle.cluster, node.name)
        yield from fewer_devices(pod, self._handle.service(BackingClasses).requested(pod))
        # Only pods that hold devices can give some back.
        held = [claim for claim in self._store.all() if claim.status.allocation is not None]
        holders = [
            each for each in node.pods if any(is_reserved_for(claim, each) for claim in held)
        ]
        yield from evictions(pod, node, holders)

    def propose_for_pod(self, pod: PodInfo) -> Iterator[Proposal]:
        return for_pod(pod, self._store, self._handle.cluster)


def _claim_name_of_group(group: PodGroup, reference: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the name of the claim that a group's reference refers to, None if none was needed; and
    whether the group must own it. Raises ClaimError. Upstream: NameFromPodGroup."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name, False
    if reference.resource_claim_template_name is None:
        raise ClaimError(
            f"PodGroup {group.namespace}/{group.name}, spec.resourceClaim {reference.name}: none of"
            " the supported fields are set"
        )
    for status in group.claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name, True
    raise ClaimError(f"PodGroup {group.namespace}/{group.name}: ResourceClaim not created yet")


def read_state(state: CycleState) -> ClaimsState:
    return cast(ClaimsState, state.read(STATE_KEY))


# Gives a pod's claims; raises ClaimError.
ClaimsOf = Callable[[PodInfo], Sequence[ResourceClaim]]


def registrations(claims_of: ClaimsOf, hears_of_deletions: bool) -> Iterable[Registration]:
    """Yield the events that may make a pod with claims schedulable, with their hints.

    hears_of_deletions: see Rules.hears_of_deleted_claims
    """
    comes_or_changes = Action.ADD | Action.UPDATE
    node_actions = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
    yield ClusterEvent(events.NODE, node_actions), None
    claim_actions = comes_or_changes | Action.DELETE if hears_of_deletions else comes_or_changes
    claim_event = ClusterEvent(events.RESOURCE_CLAIM, claim_actions)
    yield claim_event, partial(after_claim_change, claims_of)
    pod_event = ClusterEvent(events.POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    yield pod_event, partial(after_pod_change, claims_of)
    yield ClusterEvent(events.DEVICE_CLASS, comes_or_changes), None
    yield ClusterEvent(events.RESOURCE_SLICE, comes_or_changes), None


def after_claim_change(
    claims_of: ClaimsOf, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None
) -> bool:
    """Return whether a claim was deallocated, or one of the pod's has come, or has another
    status."""
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
    """Return whether all of the pod's claims exist now."""
    if new.key != pod.key:
        return False
    try:
        claims_of(new)
    except ClaimError:
        return False
    return True


# -- extended resources ----------------------------------------------------------------------------
#
# DynamicResources with extended resources that device classes back (DRAExtendedResource): a pod
# that requests them gets a claim of its own. Before it, DynamicResources with Score: the earlier
# the alternatives of prioritized lists that a node can give the pod, the better.
#
# Upstream: plugins/dynamicresources (dynamicresources.go with Score and computeScore,
# extendeddynamicresources.go).


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
        """Return one key for all pods: the NODE answers, which are about pods without claims, are
        all the same."""
        return ()

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        if self.name in state.skip_filter:  # PreFilter says that the pod has no claims
            return np.zeros(len(nodes), dtype=np.int64)
        if STATE_KEY not in state.data:
            raise PluginError("not found")
        claims_state = read_state(state)
        claims = claims_state.claims
        allocates = claims_state.search is not None or claims_state.shared
        scores = np.zeros(len(nodes), dtype=np.int64)
        if not allocates and not claims_state.takes:
            return scores
        for position, row in enumerate(nodes.indices().tolist()):
            # A node counts that claims were allocated on, or that they take something of.
            if not allocates and not claims_state.takes.get(row):
                continue
            allocations = claims_state.allocations_on(row)
            if allocations is None:  # the node's device plugins have all the resources
                continue
            # Each list of a claim adds 8 for a first alternative, 7 for a second, and so on.
            pairs = zip(claims, self._allocations_of(claims, allocations), strict=False)
            for claim, allocation in pairs:
                chosen = {result.request for result in allocation.devices.results}
                scores[position] += sum(
                    MAX_ALTERNATIVES - index
                    for request in claim.spec.devices.requests
                    if request.exactly is None
                    for index, alternative in enumerate(request.first_available)
                    if f"{request.name}/{alternative.name}" in chosen
                )
        return scores

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        return default_normalize_score(scores)


def _of_all_claims(claims: Sequence[ResourceClaim], allocations: Allocations) -> Allocations:
    """Return a claim's own allocation, or else the next of those made for this node."""
    remaining = iter(allocations)
    return [claim.status.allocation or next(remaining) for claim in claims]


def _by_position(claims: Sequence[ResourceClaim], allocations: Allocations) -> Allocations:
    """Return the allocations by position: the nth claim has the nth one, as if no claim had one
    before. Raises PluginError where there are too few."""
    if len(allocations) < len(claims):
        raise PluginError(
            f"number of allocations {len(allocations)} is smaller than number of claims"
        )
    return allocations


class ExtendedDynamicResources(ScoringDynamicResources):
    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._backing = handle.service(BackingClasses)

    def scope_for(self, pod: PodInfo) -> Scope:
        return Scope.CLUSTER if self._backing.requested(pod) else super().scope_for(pod)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        result, status = super().pre_filter(state, pod, nodes)
        if not self._backing.requested(pod) or not (status.is_success or status.is_skip):
            return result, status
        from ksched_cli.plugins.dynamic_resources.search import ExtendedSearch, claim_for

        claims_state = read_state(state)
        claim = self._store.extended_claim(pod) or claim_for(pod)
        self._check_shares()
        pending = claims_state.to_search()
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
        status = super().pre_bind(state, pod, node)
        if not status.is_success:
            return status
        # The claim for the pod's extended resources is created and allocated. Upstream: bindClaim.
        claims_state = read_state(state)
        extended = claims_state.extended
        index = len(claims_state.claims) - 1
        allocation = claims_state.allocations.get(index)
        if allocation is None or extended is None:
            return status
        created = self._store.create_extended(extended.claim_on(node.row), pod.uid)
        updated = reserved(allocated(created, allocation), consumer_of(pod))
        self._store.write(updated)
        self._store.remove_pending(extended.claim, is_written=True)
        claims_state.claims[index] = updated
        if not extended.has_mappings(node.row):
            raise PluginError(
                f"nil or empty request mappings, no update of pod {pod.key} "
                "ExtendedResourceClaimStatus"
            )
        return status

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        super().unreserve(state, pod, node)
        claims_state: ClaimsState | None = state.data.get(STATE_KEY)
        if claims_state is None or claims_state.extended is None:
            return
        claim, initial = claims_state.claims[-1], claims_state.extended.claim
        self._store.remove_pending(initial)
        if claim is not initial:
            self._store.delete(claim)


# -- proposals -------------------------------------------------------------------------------------
#
# What would let claims for devices be allocated: an object that is missing, fewer devices of a
# request, or a request without selectors.


API_VERSION = "resource.k8s.io/v1"
MAX_LISTED = 3  # classes or drivers, of which one is to be chosen


def for_pod(pod: PodInfo, store: ClaimStore, cluster: ClusterState) -> Iterator[Proposal]:
    """Yield proposals for the first claim of the pod that is missing, or that requests devices of a
    missing class. A claim from a template is left to its controller."""
    for reference in pod.spec.resource_claims:
        try:
            name, _ = claim_name(pod, reference)
        except ClaimError:
            return
        claim = store.get(pod.namespace, name) if name is not None else None
        if claim is None and reference.resource_claim_name:
            name = reference.resource_claim_name
            for index, device_class in enumerate(sorted(cluster.device_classes)[:MAX_LISTED]):
                exactly = {"deviceClassName": device_class, "count": 1}
                spec = {"devices": {"requests": [{"name": "device", "exactly": exactly}]}}
                metadata = {"name": name, "namespace": pod.namespace}
                line = applied(API_VERSION, "ResourceClaim", metadata, {"spec": spec})
                where = f"{pod.namespace}/{name}"
                text = f"create ResourceClaim {where}, of one device of class {device_class}"
                yield Proposal("object", text, (line,), amount=index)
            return
        for request in claim.spec.devices.requests if claim is not None else ():
            alone = () if request.exactly is None else (request.exactly,)
            for subrequest in (*alone, *request.first_available):
                if subrequest.device_class_name not in cluster.device_classes:
                    yield from _created_classes(subrequest.device_class_name, cluster)
                    return


def _created_classes(name: str, cluster: ClusterState) -> Iterator[Proposal]:
    drivers = sorted({each.spec.driver for each in cluster.resource_slices.values()})
    for index, driver in enumerate(drivers[:MAX_LISTED]):
        spec = {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}
        text = f"create DeviceClass {name}, of the devices of {driver}"
        line = applied(API_VERSION, "DeviceClass", {"name": name}, {"spec": spec})
        yield Proposal("object", text, (line,), amount=index)


def relaxed(claims: Iterable[ResourceClaim]) -> Iterator[Proposal]:
    """Yield proposals to request fewer devices in one request of a claim that is not allocated, as
    only runs tell how many fewer are enough; or to drop the selectors of that request."""
    for claim in claims:
        if claim.status.allocation is not None:
            continue
        line = f"patch resourceclaim/{claim.name} -n {claim.namespace} --type=json"
        for index, request in enumerate(claim.spec.devices.requests):
            if request.exactly is None:
                continue
            path = f"/spec/devices/requests/{index}/exactly"
            name, most = _request_text(request, claim), request.exactly.count
            for count in range(min(most - 1, ALLOCATION_RESULTS_MAX_SIZE), 0, -1):
                patch = json.dumps([{"op": "replace", "path": f"{path}/count", "value": count}])
                devices = "1 device" if count == 1 else f"{count} devices"
                text = f"request only {devices} in {name}"
                yield Proposal("claim", text, (f"{line} -p '{patch}'",), amount=most - count)
            if request.exactly.selectors:
                patch = json.dumps([{"op": "remove", "path": f"{path}/selectors"}])
                text = f"do not select devices in {name}"
                yield Proposal("claim", text, (f"{line} -p '{patch}'",), amount=1)


def _request_text(request: DeviceRequest, claim: ResourceClaim) -> str:
    """Return which request it is. A claim that a pod owns is made from a template, which stays."""
    of_template = claim.metadata.controller is not None
    more = " (later pods: in its ResourceClaimTemplate)" if of_template else ""
    return f"{request.name} of claim {claim.key}{more}"


MAX_EVICTED = 4  # pods with devices, of which each alone is evicted, then all together


def tolerating(
    claims: Iterable[ResourceClaim], cluster: ClusterState, node: str
) -> Iterator[Proposal]:
    """Yield proposals to tolerate the taints of devices that the node may use. node: its name"""
    slices = [s.spec for s in cluster.resource_slices.values() if s.spec.node_name in (None, node)]
    taints = [taint for each in slices for device in each.devices for taint in device.taints]
    taints += [rule.spec.taint for rule in cluster.device_taint_rules.values()]
    unique = {(t.key, t.value, t.effect): t for t in taints if t.effect in HARD_EFFECTS}
    for claim in claims:
        if claim.status.allocation is not None:
            continue
        line = f"patch resourceclaim/{claim.name} -n {claim.namespace} --type=json"
        for index, request in enumerate(claim.spec.devices.requests):
            if request.exactly is None:
                continue
            own = request.exactly.tolerations
            new = [taint for taint in unique.values() if not tolerated(own, taint)]
            if not new:
                continue
            added = [
                {"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect}
                for t in new
            ]
            path = f"/spec/devices/requests/{index}/exactly/tolerations"
            value = [*plain_fields(own), *added]
            patch = json.dumps([{"op": "add", "path": path, "value": value}])
            texts = " and ".join(map(taint_text, new))
            text = f"tolerate the device taint {texts} in {_request_text(request, claim)}"
            yield Proposal("claim", text, (f"{line} -p '{patch}'",), amount=len(new))


def fewer_devices(pod: PodInfo, backed: Mapping[str, int]) -> Iterator[Proposal]:
    """Yield proposals to request fewer of the resources that devices back, as only runs tell how
    many there are.

    backed: by name, how many the pod requests
    """
    for name, amount in backed.items():
        for count in range(min(amount - 1, ALLOCATION_RESULTS_MAX_SIZE), 0, -1):
            lower = lower_request(pod, {name: count})
            if lower is not None:
                yield lower


def evictions(pod: PodInfo, node: NodeInfo, holders: Sequence[PodInfo]) -> Iterator[Proposal]:
    """Evict pods that have devices, those of the lowest priority first. holders: on the node"""
    victims = [other for other in holders if may_make_room(other, pod)]
    victims.sort(key=lambda other: (other.priority, other.key))
    for victim in victims[:MAX_EVICTED]:
        yield eviction(f"evict {victim.key} from {node.name}, which has devices there", [victim])
    if 1 < len(victims) <= MAX_EVICTED:
        text = f"evict {named(victims)} from {node.name}, which have devices there"
        yield eviction(text, victims)
