"""Allocates one pod's claims on every node: the allocator runs once per kind of node.

Upstream: plugins/dynamicresources/dynamicresources.go (Filter), dynamic-resource-allocation/
structured/internal/experimental/allocator_experimental.go (Allocate).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    AllocationResult,
    Container,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PodSpec,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceSlice,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.resource_claims import (
    CLAIM_ANNOTATION,
    EXTENDED_RESOURCES,
    GATE,
    BackingClasses,
    ClaimStore,
    DeviceID,
    claim_uid,
    is_dra_resource_name,
    with_taint_rules,
)
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.dynamic_resources.allocator import (
    AllocationError,
    DeviceAllocator,
    DeviceResult,
    InvalidPoolsError,
    NodePools,
    NodeRejectedError,
    TimedOutError,
    candidates_on,
)
from ksched_cli.plugins.dynamic_resources.features import (
    allocator_rules,
    features_of,
    skipping_nodes,
)
from ksched_cli.plugins.dynamic_resources.pools import (
    Counters,
    DevicePools,
    GroupsBySet,
    PoolCounters,
    PoolDevice,
)
from ksched_cli.plugins.dynamic_resources.requests import (
    ALL,
    Demand,
    RequestAlternative,
    demand_of,
    fits,
    untolerated_taint,
)
from ksched_cli.plugins.dynamic_resources.selectors import (
    BINDING_CONDITIONS,
    OUT_OF_REACH,
    AttributeValue,
    DemandView,
    DeviceSelectors,
    DeviceSignature,
    SelectorRejection,
)

# -- usage -----------------------------------------------------------------------------------------
#
# The devices in use, per pool and per node.
#
# Upstream: plugins/dynamicresources/dra_manager.go (ListAllAllocatedDevices), dynamicresources.go
# (PreFilter).


class DevicesInUse:
    """masks:  per pool, a bit for every device that is in use
    shared: what claims consume of devices that they share
    of_row: per row of the snapshot, an id, equal for nodes whose pools have equal masks; never
            changed, but replaced, so that a search keeps the one that it began with
    """

    def __init__(self, pools: DevicePools, store: ClaimStore, counts_shares: bool = True) -> None:
        """List the devices and the consumers of counters. counts_shares: see
        Rules.counts_shared_devices"""
        self.masks = [0] * len(pools.pools)
        self._pools = pools
        self._store = store
        self._log_position = len(store.log)
        self._bits: dict[DeviceID, list[tuple[int, int]]] = {}
        # Per device that consumes counters, the pools that have fewer when it is allocated.
        self._consumers: dict[DeviceID, set[int]] = {}
        for pool in pools.pools:
            for index, device in enumerate(pool.devices):
                self._bits.setdefault(device.id, []).append((pool.number, index))
            for consumer, _ in pool.counters.consumers if pool.counters else ():
                self._consumers.setdefault(consumer, set()).add(pool.number)
        for device_id in store.devices_in_use():
            for number, index in self._bits.get(device_id, ()):
                self.masks[number] |= 1 << index
        self.shared = store.shared
        self._left: dict[PoolCounters, Counters] = {}
        self._is_allocated = store.is_allocated if counts_shares else store.in_use
        self._usage_ids: dict[tuple[Hashable, ...], int] = {}
        self.of_row: NDArray[np.int64] = np.array(
            [self._usage_id(row) for row in range(len(pools.of_row))], dtype=np.int64
        )

    def _usage_id(self, row: int) -> int:
        # What the devices of each pool have left, to be compared.
        usages: list[Hashable] = []
        for number in self._pools.of_row[row]:
            left = self.counters(number)
            consumed: tuple[Hashable, ...] = ()
            if self.shared:
                consumed = tuple(
                    (index, tuple(sorted(self.shared.consumed(device.id).items())), device.traits)
                    for index, device in enumerate(self._pools.pools[number].devices)
                    if device.id in self.shared
                )
            usage: Hashable = self.masks[number]
            if left is not None or consumed:
                groups = tuple(sorted(self.groups(number).items(), key=lambda item: item[0]))
                usage = usage, consumed, left and tuple(sorted(left.items())), groups
            usages.append(usage)
        return self._usage_ids.setdefault(tuple(usages), len(self._usage_ids))

    def groups(self, number: int) -> GroupsBySet:
        """Return the groups that a pool's allocated devices share."""
        counters = self._pools.pools[number].counters
        return {} if counters is None else counters.shared_groups(self._is_allocated)

    def counters(self, number: int) -> Counters | None:
        """Return what is left of a pool's counters, or None where it has no counters."""
        counters = self._pools.pools[number].counters
        if counters is None:
            return None
        if counters not in self._left:
            self._left[counters] = counters.available(self._is_allocated)
        return self._left[counters]

    def refresh(self) -> None:
        """Apply what was allocated and deallocated since the last call."""
        log = self._store.log
        if self._log_position == len(log):
            return
        changed = set()
        for device in log[self._log_position :]:
            for number, index in self._bits.get(device, ()):
                bit = 1 << index
                mask = self.masks[number]
                self.masks[number] = mask | bit if self._store.in_use(device) else mask & ~bit
                changed.add(number)
            changed.update(self._consumers.get(device, ()))
        self._log_position = len(log)
        for number in changed:
            counters = self._pools.pools[number].counters
            if counters is not None:
                self._left.pop(counters, None)
        rows = {row for number in changed for row in self._pools.rows_of[number]}
        if rows:
            self.of_row = self.of_row.copy()
        for row in rows:
            self.of_row[row] = self._usage_id(row)


class Devices:
    """A service: the device classes, pools and devices in use of a cluster."""

    def __init__(self, handle: Handle) -> None:
        self.classes: Mapping[str, DeviceClass] = handle.cluster.device_classes
        self.rules = allocator_rules(handle.release)
        self.features = features_of(handle.release)
        slices: Iterable[ResourceSlice] = handle.cluster.resource_slices.values()
        taint_rules = handle.cluster.device_taint_rules.values()
        if taint_rules and handle.release.enabled(GATE):
            slices = with_taint_rules(slices, taint_rules, self.rules)
        self.pools = DevicePools(handle.snapshot, slices, self.rules, self.features)
        self.selectors = DeviceSelectors(
            self.pools.kinds,
            self.classes,
            self.rules.reads_lists,
            self.rules.reads_attributes_lazily,
        )
        # Per row, whether devices may do without operations on the node.
        self.may_skip = np.zeros(len(handle.snapshot), dtype=np.bool_)
        if self.features.optional_operations:
            self.may_skip = skipping_nodes(handle.snapshot)
        store = handle.service(ClaimStore)
        self.in_use = DevicesInUse(self.pools, store, self.rules.counts_shared_devices)
        self.view: Callable[[Demand], DemandView] = cache(
            lambda demand: DemandView(demand, self.pools, self.selectors)
        )


# -- the plugin ------------------------------------------------------------------------------------


NOT_ALLOCATABLE = Status.unresolvable("cannot allocate all claims")
INVALID_POOLS = Status.unresolvable("invalid resource pools were encountered")
TIMED_OUT = Status.unresolvable("timed out trying to allocate devices")


class DeviceSearch:
    """The possible allocations of a pod's claims, given the devices in use at its creation.

    claims:  those to allocate, in the pod's order
    seconds: the time limit for one node; 0: none
    """

    def __init__(self, handle: Handle, claims: list[ResourceClaim], seconds: float) -> None:
        self._node_names = handle.snapshot.names
        self._claims = claims
        self._claim_names = [claim.key for claim in claims]
        self._seconds = seconds
        self._devices = handle.service(Devices)
        self._devices.in_use.refresh()
        self._in_use = self._devices.in_use.of_row
        self._view = self._devices.view(demand_of(claims))
        self._results: dict[int, list[list[DeviceResult]]] = {}
        # By kind of node. Where Filter is run again, as when a group spares victims, other devices
        # may be in use by now, which a search does not see.
        self._statuses: dict[int, Status] = {}

    def verdicts(self, nodes: Nodes) -> Verdicts:
        if self._devices.pools.error:
            return Verdicts.of([Status.error(self._devices.pools.error)] * len(nodes))
        rows = nodes.indices()
        node_kinds, first_index, kind_of_node = np.unique(
            self._node_kinds(rows), return_index=True, return_inverse=True
        )
        kinds = node_kinds.tolist()
        for kind, row in zip(kinds, rows[first_index].tolist(), strict=True):
            if kind not in self._statuses:
                self._statuses[kind] = self._allocate(kind, row)
        by_kind = Verdicts.of([self._statuses[kind] for kind in kinds])
        return Verdicts(by_kind.ids[kind_of_node], by_kind.statuses)

    def allocations(self, row: int) -> list[AllocationResult] | None:
        """Return, per claim, its allocation on a node, or None if there is none, or Filter did not
        run for it. Raises AllocationError."""
        results = self._results.get(self._node_kind(row))
        return None if results is None else self._allocations(results, row)

    def _allocations(self, results: list[list[DeviceResult]], row: int) -> list[AllocationResult]:
        """Return the allocations of the claims on a node. Raises AllocationError."""
        allocations = []
        pools = self._devices.pools
        numbers = pools.of_row[row]
        for claim, device_results in zip(self._claims, results, strict=True):
            devices = [
                pools.pools[numbers[result.pool]].devices[result.index] for result in device_results
            ]
            allocated = tuple(
                DeviceRequestAllocationResult(
                    request=result.request.result_name,
                    driver=device.id[0],
                    pool=device.id[1],
                    device=device.id[2],
                    admin_access=result.request.admin_access,
                    tolerations=result.request.tolerations,
                    binding_conditions=device.device.binding_conditions,
                    binding_failure_conditions=device.device.binding_failure_conditions,
                    share_id=None if result.consumed is None else f"{claim_uid(claim)}-{index}",
                    # By the names that the device's slice uses. Upstream: capacityNameForStatus.
                    consumed_capacity={
                        name
                        if name in device.device.capacity
                        else name.removeprefix(f"{device.id[0]}/"): amount
                        for name, amount in result.consumed or ()
                    },
                    skip_node_operations=(
                        device.slice.spec.skip_node_operations
                        if pools.features.needs_latest
                        else ()
                    ),
                )
                for index, (result, device) in enumerate(zip(device_results, devices, strict=True))
            )
            try:
                selector = node_selector(devices, self._node_names[row])
            except ValueError as error:
                raise AllocationError(
                    f"create NodeSelector for claim {claim.name}: {error}"
                ) from None
            devices_allocation = DeviceAllocationResult(results=allocated)
            allocations.append(AllocationResult(devices=devices_allocation, node_selector=selector))
        return allocations

    def lines(self, row: int, store: ClaimStore) -> list[str]:
        """Return the lines that explain why the claims cannot be allocated on a node."""
        if self._node_kind(row) in self._results:
            return []
        return [*self._explanation(row, store).lines()]

    def shortages(self, rows: NDArray[np.intp], store: ClaimStore) -> list[str]:
        """Return per row what the claims lack there, the first thing only; "" where it reaches no
        device."""
        _, first_index, kind_of_row = np.unique(
            self._node_kinds(rows), return_index=True, return_inverse=True
        )
        by_kind = [self._explanation(row, store).shortage() for row in rows[first_index].tolist()]
        return [by_kind[kind] for kind in kind_of_row.tolist()]

    def _explanation(self, row: int, store: ClaimStore) -> AllocationExplanation:
        pools, rules = self._node_pools(row), self._devices.rules
        return AllocationExplanation(self._view, pools, self._claim_names, store, rules)

    def _node_kinds(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return per row an id, equal for nodes whose pools have equal signatures and devices in
        use."""
        in_use = self._in_use[rows]
        # Both are below the number of nodes times attempts: 31 and 32 bits will do.
        signatures = self._view.node_signatures(rows) << np.int64(32)
        may_skip = self._devices.may_skip[rows].astype(np.int64) << np.int64(62)
        return np.asarray(signatures | in_use | may_skip, dtype=np.int64)

    def _node_kind(self, row: int) -> int:
        return int(self._node_kinds(np.array([row], dtype=np.intp))[0])

    def _allocate(self, node_kind: int, row: int) -> Status:
        pools, names, devices = self._node_pools(row), self._claim_names, self._devices
        allocator = DeviceAllocator(
            self._view, pools, names, devices.classes, self._seconds, devices.rules
        )
        try:
            results = allocator.allocate()
            if results is None:
                return NOT_ALLOCATABLE
            self._allocations(results, row)  # which may fail
        except TimedOutError:
            if not self._devices.rules.filter_timeout_is_error:
                return TIMED_OUT
            return Status.error(f"node {self._node_names[row]}: {TIMED_OUT.message}")
        except InvalidPoolsError:
            return INVALID_POOLS
        except NodeRejectedError as rejection:
            return Status.unresolvable(str(rejection))
        except AllocationError as error:
            return Status.error(str(error))
        self._results[node_kind] = results
        return SUCCESS

    def _node_pools(self, row: int) -> NodePools:
        numbers = self._devices.pools.of_row[row]
        view = self._view
        return NodePools(
            [self._devices.pools.pools[number] for number in numbers],
            [view.pool_signatures[view.pool_signature_id(number)] for number in numbers],
            [self._devices.in_use.masks[number] for number in numbers],
            self._devices.in_use.shared,
            [self._devices.in_use.counters(number) for number in numbers],
            [self._devices.in_use.groups(number) for number in numbers],
            bool(self._devices.may_skip[row]),
        )


def node_selector(devices: Iterable[PoolDevice], node_name: str) -> NodeSelector | None:
    """Return the nodes that can use an allocation of these devices, or None for all nodes. Raises
    ValueError. Upstream:
    dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
    (createNodeSelector)."""
    expressions: dict[Hashable, NodeSelectorRequirement] = {}
    fields: dict[Hashable, NodeSelectorRequirement] = {}
    for device in devices:
        spec = device.slice.spec
        place = device.device if spec.per_device_node_selection else spec
        if place.node_name is not None or device.device.binds_to_node:
            this_node = NodeSelectorRequirement(
                key="metadata.name", operator="In", values=(node_name,)
            )
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(this_node,)),))
        terms = place.node_selector.node_selector_terms if place.node_selector else ()
        if len(terms) > 1:
            raise ValueError(f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(
        match_expressions=tuple(expressions.values()), match_fields=tuple(fields.values())
    )
    return NodeSelector(node_selector_terms=(term,))


def _add_new(
    requirements: dict[Hashable, NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]
) -> None:
    for each in added:
        requirements.setdefault((each.key, each.operator, frozenset(each.values)), each)


# -- extended resources ----------------------------------------------------------------------------
#
# Allocates a pod's claims and the devices that back its extended resources, on every node: the
# claim for the latter differs by which resources a node's device plugins offer.
#
# One request stands for each container and resource; init containers use the devices of the
# containers that come later.
#
# Upstream: plugins/dynamicresources/extendeddynamicresources.go (filterExtendedResources,
# createRequestsAndMappings).


class _Request(Struct, frozen=True):
    name: str
    count: int


def device_requests(
    spec: PodSpec, resources: Collection[str], classes: BackingClasses
) -> tuple[DeviceRequest, ...]:
    """Return the requests in order of their names. resources: those that devices are to stand
    for."""
    containers = (*spec.init_containers, *spec.containers)
    init_count = len(spec.init_containers)
    requests = []
    for resource in sorted(resources):
        device_class = classes.of(resource)
        if device_class is None:
            continue
        # Init containers that end run one after another: the greatest of their requests does for
        # all of them.
        long_lived: list[_Request | None] = [
            None
            if index < init_count and not container.is_sidecar
            else _request(index, container, resource, ())
            for index, container in enumerate(containers)
        ]
        greatest: _Request | None = None
        for index, container in enumerate(containers[:init_count]):
            if container.is_sidecar:
                continue
            request = _request(index, container, resource, long_lived[index:])
            if request is not None and (greatest is None or greatest.count < request.count):
                greatest = request
        requests += [
            DeviceRequest(
                name=each.name,
                exactly=ExactDeviceRequest(device_class_name=device_class.name, count=each.count),
            )
            for each in (greatest, *long_lived)
            if each is not None
        ]
    return tuple(sorted(requests, key=lambda request: request.name))


def has_mappings(spec: PodSpec, resources: Collection[str]) -> bool:
    """Return whether a container requests any of the resources."""
    containers = (*spec.init_containers, *spec.containers)
    return any(_amount(each, resource) for each in containers for resource in resources)


def _request(
    index: int, container: Container, resource: str, reusable: Sequence[_Request | None]
) -> _Request | None:
    """Return what a container requests beyond the devices of others that it may use, or None for
    nothing. Upstream: createResourceRequestAndMappings."""
    amount = _amount(container, resource)
    if not amount:
        return None
    position = sorted(container.resources.requests).index(resource)
    request = _Request(f"container-{index}-request-{position}", amount)
    available = sum(each.count for each in reusable if each is not None)
    return None if available >= amount else replace(request, count=amount - available)


def _amount(container: Container, resource: str) -> int:
    quantity = container.resources.requests.get(resource)
    return 0 if quantity is None else quantity.value()


STALE_CLAIM = Status.unresolvable("cannot schedule extended resource claim")
NO_SUCH_RESOURCE = Status.unresolvable("cannot fit resource")

_Resources = frozenset[str]


def claim_for(pod: PodInfo) -> ResourceClaim:
    """Return the claim for a pod's extended resources, before it is known what it requests."""
    owner = OwnerReference("v1", "Pod", pod.name, pod.uid, True)
    metadata = ObjectMeta(
        name=EXTENDED_RESOURCES,
        namespace=pod.namespace,
        uid=f"{pod.uid}/{EXTENDED_RESOURCES}",
        annotations={CLAIM_ANNOTATION: "true"},
        owner_references=(owner,),
    )
    return ResourceClaim(metadata=metadata)


class ExtendedSearch(DeviceSearch):
    """The possible allocations of a pod's claims, the one for its extended resources last.

    claims: those of the pod's own that are to be allocated
    claim:  the one for its extended resources; one of an earlier attempt fits nowhere
    has_claims: the pod has claims of its own, allocated or not
    """

    def __init__(
        self,
        handle: Handle,
        pod: PodInfo,
        claims: Sequence[ResourceClaim],
        claim: ResourceClaim,
        seconds: float,
        has_claims: bool,
    ) -> None:
        self._handle = handle
        self._pod = pod
        self._own_claims = list(claims)
        self.claim = claim
        self._seconds = seconds
        self._has_claims = has_claims
        self._backing = handle.service(BackingClasses)
        self._searches: dict[_Resources, DeviceSearch] = {}
        self._backed_resources = sorted(self._backing.requested(pod))
        # Each row has resources that devices stand for, and may lack another one.
        snapshot = handle.snapshot
        rows: list[set[str]] = [set() for _ in snapshot.names]
        for resource in self._backed_resources:
            for row in np.flatnonzero(snapshot.allocatable(resource) == 0).tolist():
                rows[row].add(resource)
        others = {
            name
            for name, amount in pod.resources.others.items()
            if amount and is_dra_resource_name(name) and name not in self._backed_resources
        }
        lacking = [not others <= node.status.allocatable.keys() for node in snapshot.nodes]
        self._resources_of_row = [frozenset(each) for each in rows]
        self._lacking = np.array(lacking, dtype=np.bool_)

    @property
    def is_stale(self) -> bool:
        return self.claim.name != EXTENDED_RESOURCES

    def verdicts(self, nodes: Nodes) -> Verdicts:
        if self.is_stale:
            return Verdicts.of([STALE_CLAIM] * len(nodes))
        statuses = [SUCCESS] * len(nodes)
        positions: dict[_Resources, list[int]] = {}
        rows = nodes.indices()
        for position, row in enumerate(rows.tolist()):
            resources = self._resources_of_row[row]
            if self._lacking[row]:
                statuses[position] = NO_SUCH_RESOURCE
            elif resources or self._has_claims:
                positions.setdefault(resources, []).append(position)
        for resources, chosen in positions.items():
            if resources not in self._searches:
                claims = [*self._own_claims, self._claim_with(resources)]
                self._searches[resources] = DeviceSearch(self._handle, claims, self._seconds)
            search = self._searches[resources]
            verdicts = search.verdicts(Nodes(nodes.snapshot, rows[np.array(chosen)]))
            for position, status_id in zip(chosen, verdicts.ids.tolist(), strict=True):
                statuses[position] = verdicts.statuses[status_id]
        return Verdicts.of(statuses)

    def _claim_with(self, resources: _Resources) -> ResourceClaim:
        requests = device_requests(self._pod.spec, resources, self._backing)
        return replace(self.claim, spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)))

    def claim_on(self, row: int) -> ResourceClaim:
        """Return the claim for the extended resources as a node needs it."""
        return self._claim_with(self._resources_of_row[row])

    def has_mappings(self, row: int) -> bool:
        return has_mappings(self._pod.spec, self._resources_of_row[row])

    def allocations(self, row: int) -> list[AllocationResult] | None:
        search = self._searches.get(self._resources_of_row[row])
        return None if search is None else search.allocations(row)

    def lines(self, row: int, store: ClaimStore) -> list[str]:
        search = self._searches.get(self._resources_of_row[row])
        return [] if search is None else search.lines(row, store)

    def shortages(self, rows: NDArray[np.intp], store: ClaimStore) -> list[str]:
        shortages = [""] * len(rows)
        positions: dict[_Resources, list[int]] = {}
        for position, row in enumerate(rows.tolist()):
            positions.setdefault(self._resources_of_row[row], []).append(position)
        for resources, chosen in positions.items():
            search = self._searches.get(resources)
            if search is not None:
                texts = search.shortages(rows[np.array(chosen)], store)
                for position, text in zip(chosen, texts, strict=True):
                    shortages[position] = text
        return shortages


# -- explain ---------------------------------------------------------------------------------------
#
# Explains why claims cannot be allocated on a node: per request, how many devices are free, in use
# or rejected, and by which selector. One line each.


MAX_HOLDERS = 3


class _DeviceCounts(Struct):
    """The devices of a node, for one request.

    free:       the signatures of the free devices
    in_use:     devices that match, but are allocated to other claims
    rejections: by selector, how many it rejects
    shortages:  by what bars devices that match, how many
    """

    total: int = 0
    free: list[DeviceSignature] = field(default_factory=list)
    in_use: list[DeviceID] = field(default_factory=list)
    rejections: Counter[SelectorRejection] = field(default_factory=Counter)
    shortages: Counter[str] = field(default_factory=Counter)


class AllocationExplanation(Struct, frozen=True):
    """The devices of one node, for a pod's claims. claims: their keys."""

    view: DemandView
    node_pools: NodePools
    claims: Sequence[str]
    store: ClaimStore
    rules: Rules

    def lines(self) -> Iterator[str]:
        for pool in self.node_pools.pools:
            if pool.invalid:
                yield f"pool {pool.key} is invalid: {pool.invalid}"
            if pool.incomplete:
                yield (
                    f"pool {pool.key} is incomplete: {pool.slice_count} of "
                    f"{pool.resource_slice_count} slices of generation {pool.generation}"
                )
        if not any(pool.devices for pool in self.node_pools.pools):
            yield "this node reaches no device of any ResourceSlice"
            return
        is_short = False
        for claim, demand in zip(self.claims, self.view.demand.claims, strict=True):
            for alternatives in demand.alternatives:
                all_counts = [*map(self._count_devices, alternatives.requests)]
                enough = map(self._is_enough, alternatives.requests, all_counts)
                is_short = is_short or not any(enough)
                for request, counts in zip(alternatives.requests, all_counts, strict=True):
                    yield f"claim {claim}, {self._request_line(request, counts)}"
        if not is_short:
            yield from self._constraint_lines()

    def shortage(self) -> str:
        """Return what the first claim lacks that finds too few devices, in words that follow "would
        take it but for"; "" where the node reaches no device."""
        if not any(pool.devices for pool in self.node_pools.pools):
            return ""
        for claim, demand in zip(self.claims, self.view.demand.claims, strict=True):
            for alternatives in demand.alternatives:
                counted = [(each, self._count_devices(each)) for each in alternatives.requests]
                if not any(self._is_enough(request, counts) for request, counts in counted):
                    # The last alternative of a prioritized list is what the pod can do with.
                    return f"claim {claim}: {self._request_shortage(*counted[-1])}"
        if any(claim.constraints for claim in self.view.demand.claims):
            return f"{next(self._constraint_lines())}"
        return f"claim {self.claims[0]}: each request finds devices, but several need the same"

    def _is_enough(self, request: RequestAlternative, counts: _DeviceCounts) -> bool:
        if request.mode != ALL:
            return len(counts.free) >= request.count
        # Nobody knows all devices of a pool that is incomplete or invalid.
        are_usable = all(pool.is_usable for pool in self.node_pools.pools)
        return are_usable and bool(counts.free) and not counts.in_use and not counts.shortages

    def _request_shortage(self, request: RequestAlternative, counts: _DeviceCounts) -> str:
        failing = [each for each in counts.rejections if each.failure is not None]
        if failing:
            failure = failing[0].failure
            assert failure is not None
            return f"the CEL selector {failing[0].expression} fails: {failure.text}"
        reasons = []
        if counts.in_use:
            reasons.append(f"{_are(len(counts.in_use))} in use: {self._holders(counts.in_use)}")
        reasons += [f"{_are(count)} {what}" for what, count in counts.shortages.most_common()]
        rejections = counts.rejections.most_common()
        # Devices of other classes are news only where there is nothing else to say.
        rejections = [each for each in rejections if not each[0].from_class] or (
            [] if reasons else rejections
        )
        reasons += [f"{_are(count)} {_short_rejection(each)}" for each, count in rejections]
        unusable = [pool for pool in self.node_pools.pools if not pool.is_usable]
        if request.mode == ALL and unusable:
            state = "incomplete" if unusable[0].incomplete else "invalid"
            reasons = [f"pool {unusable[0].key} is {state}"]
        why = f" ({'; '.join(reasons)})" if reasons else ""
        if request.mode == ALL:
            return f"it wants all of {request.class_name} (allocationMode All){why}"
        free = f"{_are(len(counts.free))} free"
        return f"it wants {request.count} {request.class_name} and {free}{why}"

    def _holders(self, devices: Sequence[DeviceID]) -> str:
        """Return the first of the devices, each with the claim that has it."""
        holders = self.store.holders()
        shown = [f"{each[2]} by {holders.get(each, '?')}" for each in devices[:MAX_HOLDERS]]
        return f"{', '.join(shown)}{', …' if len(devices) > MAX_HOLDERS else ''}"

    def _count_devices(self, request: RequestAlternative) -> _DeviceCounts:
        counts = _DeviceCounts()
        request_number = self.view.demand.requests.index(request)
        for candidate in chain.from_iterable(candidates_on(self.view, self.node_pools)):
            counts.total += 1
            rejection = candidate.signature.rejections[request_number]
            if rejection is not None:
                counts.rejections[rejection] += 1
            elif candidate.in_use and not request.admin_access:
                counts.in_use.append(candidate.device.id)
            elif shortage := self._shortage(request, candidate.device, candidate.pool):
                counts.shortages[shortage] += 1
            elif not candidate.signature.consumes_counters:
                counts.free.append(candidate.signature)
        return counts

    def _shortage(self, request: RequestAlternative, device: PoolDevice, pool: int) -> str:
        """Return what bars a device that the selectors match, taken alone, in words that follow "1
        device"."""
        traits, shared = device.traits, self.node_pools.shared
        in_pool = self.node_pools.pools[pool]
        if self.rules.skips_unusable_pools and in_pool.incomplete:
            return (
                f"not handed out, as pool {in_pool.key} is incomplete ({in_pool.slice_count} of "
                f"{in_pool.resource_slice_count} slices)"
            )
        if self.rules.skips_unusable_pools and in_pool.invalid:
            return f"not handed out, as pool {in_pool.key} is invalid"
        taint = untolerated_taint(traits.taints, request.tolerations)
        if taint is not None:
            value = f"={taint.value}" if taint.value else ""
            return f"tainted {taint.key}{value}:{taint.effect}"
        policy, consumed = self.view.capacity_policy, shared.consumed(device.id)
        driver = device.id[0]
        if traits.has_capacity and not fits(
            traits.capacities, request.capacity, driver, policy, consumed
        ):
            return "out of capacity"
        counters = self.node_pools.counters[pool] if self.node_pools.counters else None
        if counters is None or (traits.is_shared and shared.has_consumed(device.id)):
            return ""
        consumption = dict(traits.consumption)
        if any(amount < consumption.get(key, 0) for key, amount in counters.items()):
            return "out of counters of their pool"
        return ""

    def _request_line(self, request: RequestAlternative, counts: _DeviceCounts) -> str:
        requested = "all" if request.mode == ALL else str(request.count)
        parts = [
            f"request {request.result_name}: wants {requested} of class {request.class_name}; of "
            f"{counts.total} device{'' if counts.total == 1 else 's'} {len(counts.free)} free"
        ]
        if counts.in_use:
            parts.append(f"{len(counts.in_use)} in use ({self._holders(counts.in_use)})")
        rejections = counts.rejections.most_common()
        causes = [(_rejection_text(rejection, request), count) for rejection, count in rejections]
        parts += [f"{count} turned away by {cause}" for cause, count in causes]
        parts += [f"{count} {what}" for what, count in counts.shortages.most_common()]
        return ", ".join(parts)

    def _constraint_lines(self) -> Iterator[str]:
        """Return lines where each request alone has enough devices: the values that the constraints
        compare."""
        has_constraints = False
        for claim_number, claim in enumerate(self.view.demand.claims):
            for constraint_number, constraint in enumerate(claim.constraints):
                has_constraints = True
                parts = []
                requests = chain.from_iterable(each.requests for each in claim.alternatives)
                for request in filter(constraint.applies_to, requests):
                    free = [
                        each.attributes[claim_number] for each in self._count_devices(request).free
                    ]
                    frequencies = Counter(_value_text(each[constraint_number]) for each in free)
                    values = ", ".join(
                        f"{count} with {text}" for text, count in sorted(frequencies.items())
                    )
                    parts.append(f"request {request.result_name} finds {values}")
                names = ", ".join(sorted(constraint.requests))
                name = self.claims[claim_number]
                subject = f"claim {name}, {constraint.kind} {constraint.attribute}"
                yield f"{subject}{f' over {names}' if names else ''}: {'; '.join(parts)}"
        if not has_constraints:
            yield "each request alone finds enough devices, but several need the same devices"


def _value_text(value: AttributeValue | None) -> str:
    if value is None:
        return "no value"
    if isinstance(value[1], frozenset):
        return " or ".join(sorted(map(str, value[1])))
    return str(value[1])


def _are(count: int) -> str:
    return "1 is" if count == 1 else f"{count} are"


def _short_rejection(rejection: SelectorRejection) -> str:
    if rejection is BINDING_CONDITIONS:
        return "with binding conditions"
    if rejection is OUT_OF_REACH:
        return "out of the node's reach"
    return f"deselected by CEL: {rejection.expression}"


def _rejection_text(rejection: SelectorRejection, request: RequestAlternative) -> str:
    if rejection is BINDING_CONDITIONS:
        return "their binding conditions, which kube-scheduler does not wait for by default"
    if rejection is OUT_OF_REACH:
        return "what their slice says about the nodes that reach them"
    owner = f"class {request.class_name}" if rejection.from_class else "the request"
    failed = f", which fails: {rejection.failure.text}" if rejection.failure else ""
    return f"selector #{rejection.index} of {owner}, {rejection.expression}{failed}"
