"""Allocates devices to claims on one node, in upstream's order, so that the same devices result.

A backtracking search, whose first full allocation is the result. Claim by claim, request by
request and device by device, it takes the first device that satisfies the request and the
constraints. Where no device is left for a request, it gives the last one back and tries the next.

Upstream also retries a failed state with other devices of equal signature, which cannot succeed and
is left out. Where a device is shared or consumes counters of its pool, which one is allocated makes
a difference to the rest of the search, which then goes through all combinations, as upstream's
does: within one request every device comes after the one before.

Upstream: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go,
the allocator that v1.34's default feature gates select (DRAResourceClaimDeviceStatus is on); of
later minors incubating/allocator_incubating.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.framework.resource_claims import DeviceID, SharedDevices
from ksched_cli.framework.status import PluginError
from ksched_cli.kube.int64 import MAX_INT64, wrap
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.versions import Rules, release_of
from ksched_cli.plugins.dynamic_resources.pools import (
    Consumption,
    CounterKey,
    Counters,
    GroupsBySet,
    Pool,
    PoolDevice,
    with_groups,
)
from ksched_cli.plugins.dynamic_resources.requests import (
    ALL,
    ALLOCATION_RESULTS_MAX_SIZE,
    DISTINCT_ATTRIBUTE,
    EXACT_COUNT,
    NOTHING,
    Consumed,
    Demand,
    RequestAlternative,
    RequestConstraint,
    consumed_capacities,
    fits,
)
from ksched_cli.plugins.dynamic_resources.selectors import (
    AttributeValue,
    DemandView,
    DeviceSignature,
    PoolSignature,
)

# -- candidates ------------------------------------------------------------------------------------
#
# What the allocator works with on one node: its pools, their devices as candidates, validated
# requests, and the results.
#
# Upstream: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
# (requestData, internalDeviceResult, deviceWithID).


class NodePools(Struct, frozen=True):
    """The pools that a node reaches.

    signatures: each pool as the demand sees it
    in_use:     per pool, a bit for every device in use
    shared:     what claims consume of devices that they share
    counters:   per pool, what is left of its counters; None where it has none
    groups:     per pool, the groups that its allocated devices share, where these count
    may_skip:   the node does without operations for devices that do not need them
    """

    pools: Sequence[Pool]
    signatures: Sequence[PoolSignature]
    in_use: Sequence[int]
    shared: SharedDevices = field(default_factory=SharedDevices)
    counters: Sequence[Counters | None] = ()
    groups: Sequence[GroupsBySet] = ()
    may_skip: bool = False


class CandidateDevice(Struct):
    """A device of the node.

    pool, index:  as in DeviceResult
    device:       the device in its pool
    signature_id: an index into DemandView.signatures; signature: what is there
    claim_users:  the claims that it is tentatively allocated to
    """

    pool: int
    index: int
    device: PoolDevice
    signature_id: int
    signature: DeviceSignature
    in_use: bool
    claim_users: set[int] = field(default_factory=set)


def candidates_on(view: DemandView, node_pools: NodePools) -> list[list[CandidateDevice]]:
    """Return per pool, its devices as the demand sees them."""
    pools = zip(node_pools.pools, node_pools.signatures, node_pools.in_use, strict=True)
    return [
        [
            CandidateDevice(
                number,
                index,
                device,
                signature_id,
                view.signatures[signature_id],
                bool(in_use >> index & 1),
            )
            for index, (device, signature_id) in enumerate(
                zip(pool.devices, signature.signatures, strict=True)
            )
        ]
        for number, (pool, signature, in_use) in enumerate(pools)
    ]


class RequestData(Struct, frozen=True):
    """A validated request. number: its index in Demand.requests; all_devices: in mode All, the
    devices that match it. Upstream: requestData."""

    request: RequestAlternative
    number: int
    count: int
    all_devices: Sequence[CandidateDevice] = ()


class DeviceResult(Struct, frozen=True):
    """An allocated device. Upstream: internalDeviceResult.

    pool:     an index into the node's pools; index: into the pool's devices
    consumed: of a device that is shared, what the share consumes; else None
    """

    request: RequestAlternative
    pool: int
    index: int
    consumed: tuple[tuple[str, Quantity], ...] | None = None


# -- constraints -----------------------------------------------------------------------------------
#
# Constraints over the devices of one claim, updated while devices are allocated and deallocated.
#
# Upstream: dynamic-resource-allocation/structured/internal/experimental (allocator_experimental.go,
# matchAttributeConstraint; constraint.go, distinctAttributeConstraint).


class ConstraintState:
    """A constraint during allocation. count: of the devices added

    compares:   of distinctAttribute, whether it compares values. Up to then, upstream compares
                pointers to them, so that the values of two devices always differ
    by_request: whether one value per request is kept: of more devices, only the last one's counts
    as_sets:    whether values are sets: matchAttribute wants an element that all devices have,
                distinctAttribute none that two have
    """

    def __init__(
        self,
        constraint: RequestConstraint,
        *,
        compares: bool = False,
        by_request: bool = False,
        as_sets: bool = False,
    ) -> None:
        self.constraint = constraint
        self._compares = compares
        self._by_request = by_request
        self._as_sets = as_sets
        # The values of the devices in order, by number or by request.
        self._values: dict[int | str, AttributeValue] = {}

    @property
    def count(self) -> int:
        return len(self._values)

    def add(self, request: RequestAlternative, value: AttributeValue | None) -> bool:
        """Add a device of the request if the constraint allows it; whether it does."""
        if not self.constraint.applies_to(request):
            return True
        if value is None:
            return False
        # The values of other devices may exclude this one.
        kind: str = value[0]
        elements: Any = value[1]
        is_excluded = False
        if self._as_sets:
            others = [values for other, values in self._values.values() if other == kind]
            if self.constraint.kind == DISTINCT_ATTRIBUTE:
                is_excluded = any(elements & values for values in others)
            elif self._values:
                # matchAttribute narrows the set to what all devices have.
                elements = elements & others[-1] if others else elements
                is_excluded = not (others and elements)
                value = kind, elements
            is_excluded = is_excluded or not kind
        elif self._values and self.constraint.kind == DISTINCT_ATTRIBUTE:
            is_excluded = not kind or (self._compares and value in self._values.values())
        elif self._values:
            is_excluded = not kind or value != self._values[0]
        if is_excluded:
            return False
        self._values[request.base_name if self._by_request else self.count] = value
        return True

    def remove(self, request: RequestAlternative) -> None:
        """Remove the last device that was added. request: its own"""
        if self.constraint.applies_to(request):
            self._values.pop(request.base_name if self._by_request else self.count - 1, None)


def constraint_state(constraint: RequestConstraint, rules: Rules, as_sets: bool) -> ConstraintState:
    compares = constraint.kind == DISTINCT_ATTRIBUTE and rules.compares_distinct_values
    return ConstraintState(
        constraint,
        compares=compares,
        by_request=compares and not rules.remembers_distinct_values,
        as_sets=as_sets,
    )


# -- the search -----------------------------------------------------------------------------------

Share: TypeAlias = tuple[tuple[str, Quantity], ...] | None
"""What a share of a device consumes; None: all of the device is allocated."""


DeviceIndices: TypeAlias = tuple[int, int, int, int, bool]
"""Claim, request, alternative, device; is the alternative chosen. Upstream: deviceIndices."""
_Choices: TypeAlias = Generator[DeviceIndices, Any, bool]
"""A choice yields the position that follows it, and is resumed where that fails. It is sent, and in
the end returns, whether a claim would have too many devices. Upstream:
errAllocationResultMaxSizeExceeded."""


class AllocationError(PluginError):
    """Invalid claims, classes or slices, which end the pod's attempt. The text is upstream's."""


class InvalidPoolsError(Exception):
    """The claims cannot be allocated, and a pool was passed over because it is invalid."""


class NodeRejectedError(Exception):
    """The claims cannot be allocated on this node. The text is upstream's."""


class TimedOutError(Exception):
    """The allocation took longer than filterTimeout."""


class _Allocated(NamedTuple):
    """A device that a claim has for now, and what to give back with it.

    consumption: what it takes of its pool's counters
    share:       what is allocated of its capacity; before: what was being allocated of it before
    groups:      those of its pool before
    """

    data: RequestData
    device: CandidateDevice
    consumption: Consumption = ()
    share: Share = None
    before: Consumed | None = None
    groups: GroupsBySet | None = None

    @property
    def result(self) -> DeviceResult:
        device = self.device
        return DeviceResult(self.data.request, device.pool, device.index, self.share)

    @property
    def kind(self) -> tuple[int, int, bool]:
        """Return a key that is equal for devices that are interchangeable in a state of the
        search."""
        return self.data.number, self.device.signature_id, self.device.in_use


class DeviceAllocator:
    """One allocation of all claims of a demand from one node's pools. Upstream: allocator.

    claims:  their names, for messages
    classes: the device classes that exist, by name
    seconds: the time limit; 0: none
    rules:   of the release; by default of the newest
    """

    def __init__(
        self,
        view: DemandView,
        node_pools: NodePools,
        claims: Sequence[str],
        classes: Mapping[str, object],
        seconds: float = 0.0,
        rules: Rules | None = None,
    ) -> None:
        self._rules = rules or release_of().rules
        self._view = view
        self._demand: Demand = view.demand
        self._node_pools = node_pools
        self._claim_names = claims
        self._classes = classes
        self._deadline = monotonic() + seconds if seconds > 0 else None
        self._request_numbers = {r: index for index, r in enumerate(self._demand.requests)}
        self._pools = candidates_on(view, node_pools)
        # What follows changes during the search; _deallocate_device takes it back.
        self._request_data: dict[tuple[int, int, int], RequestData] = {}
        self._constraints: list[list[ConstraintState]] = []
        self._result: list[list[_Allocated]] = [[] for _ in claims]
        # What is taken of the capacity of shared devices, and of the counters of pools.
        self._allocating: dict[DeviceID, Consumed] = {}
        self._available: dict[str, Counters] = {}
        self._consumed: dict[str, Counter[CounterKey]] = {}
        self._groups: dict[int, GroupsBySet] = dict(enumerate(node_pools.groups))
        # Plain devices allow shortcuts: the order of a request's devices makes no difference. Every
        # one goes to one claim as a whole, and takes nothing from others.
        shared = node_pools.shared
        self._is_plain = (
            all(pool.is_plain for pool in node_pools.signatures)
            and not (shared and any(d.id in shared for p in node_pools.pools for d in p.devices))
            and not (self._rules.compares_distinct_values and self._demand.has_distinct_attributes)
            and not view.features.list_attributes
        )
        self._remembers_failures = view.interchangeable and self._is_plain
        self._failed_states: set[object] = set()

    def allocate(self) -> list[list[DeviceResult]] | None:
        """Return, per claim, the allocated devices, or None if the claims cannot all be allocated.
        Raises AllocationError, InvalidPoolsError and TimedOutError."""
        # 1. Every request is checked, and mode All finds its devices.
        for claim in range(len(self._demand.claims)):
            self._validate_claim(claim)
        # 2. The search.
        if not self._allocate_all_claims():
            pools = self._node_pools.pools if self._rules.skips_unusable_pools else ()
            if any(pool.invalid and not pool.incomplete for pool in pools):
                raise InvalidPoolsError
            return None
        return [[each.result for each in results] for results in self._result]

    # -- validating the requests ------------------------------------------------------------------

    def _validate_claim(self, claim: int) -> None:
        # 1. Each request is checked; the smallest alternative counts towards the claim's limit.
        minimum = 0
        for index, alternatives in enumerate(self._demand.claims[claim].alternatives):
            for request in alternatives.requests if self._rules.refuses_capacity_requests else ():
                if request.capacity is not None:
                    kind = "subrequest" if alternatives.prioritized else "request"
                    raise AllocationError(
                        f"claim {self._claim_names[claim]}, {kind} {request.name}: has capacity "
                        "requests, but the DRAConsumableCapacity feature is disabled"
                    )
            # The alternative that needs the fewest devices counts.
            counts: list[int] = []
            matched: dict[int, bool] | None = None
            for alternative, each in enumerate(alternatives.requests):
                # Up to 1.35 upstream's cache of matches uses the first alternative's results for
                # the second one too, which gets in mode All what the first one matched.
                is_mixed_up = alternative == 1 and not self._rules.tells_subrequests_apart
                earlier = matched if is_mixed_up else None
                request_data, matched = self._validate_request(claim, each, earlier)
                self._request_data[claim, index, alternative] = request_data
                counts.append(request_data.count)
            count = min(counts)
            left = ALLOCATION_RESULTS_MAX_SIZE - minimum
            if self._rules.counts_devices_per_request and count > left:
                raise AllocationError(
                    f"claim {self._claim_names[claim]}, request {alternatives.name}: adding {count}"
                    f" devices exceeds the claim limit of {ALLOCATION_RESULTS_MAX_SIZE}, with"
                    f" {minimum} already accounted for"
                )
            minimum = wrap(minimum + count)
        if not 0 <= minimum <= ALLOCATION_RESULTS_MAX_SIZE:
            # Upstream panics at a negative number, which the API server refuses.
            limit = f"exceeds the claim limit of {ALLOCATION_RESULTS_MAX_SIZE}"
            problem = f"{minimum} {limit if minimum > 0 else 'is negative'}"
            name = self._claim_names[claim]
            raise AllocationError(f"claim {name}: number of requested devices {problem}")
        # 2. The constraints begin without devices.
        constraints = self._demand.claims[claim].constraints
        has_distinct = self._rules.has_distinct_attributes
        for index, constraint in enumerate(constraints):
            is_distinct = constraint.kind == DISTINCT_ATTRIBUTE
            if not constraint.kind or (is_distinct and not has_distinct):
                raise AllocationError(
                    f"claim {self._claim_names[claim]}, constraint #{index}: empty constraint "
                    "(unsupported constraint type?)"
                )
        as_sets = self._view.features.list_attributes
        states = [constraint_state(each, self._rules, as_sets) for each in constraints]
        self._constraints.append(states)

    def _validate_request(  # noqa: C901, PLR0912  # one algorithm, from top to bottom
        self, claim: int, request: RequestAlternative, earlier_matches: dict[int, bool] | None
    ) -> tuple[RequestData, dict[int, bool]]:
        """Return the checked request, and by signature which devices match.

        earlier_matches: such results, reused unchecked. Upstream: validateDeviceRequest."""
        # 1. The request must be one that this release knows. The order of the checks is upstream's.
        knows = self._rules.knows_derived_attributes
        if request.derived and knows and not self._view.features.derived_attributes:
            problem = "cannot handle request with derived attributes, the feature is disabled"
            raise self._error(claim, request, problem)
        for index, expression in enumerate(request.selectors):
            if expression is None:
                raise AllocationError(
                    f"claim {self._claim_names[claim]}, request {request.name}, selector #{index}: "
                    "CEL expression empty (unsupported selector type?)"
                )
        if not request.class_name:
            problem = "missing device class name (unsupported request type?)"
            raise self._error(claim, request, problem)
        if request.class_name not in self._classes:
            missing = f'deviceclass.resource.k8s.io "{request.class_name}" not found'
            problem = f"could not retrieve device class {request.class_name}: {missing}"
            raise self._error(claim, request, problem)
        # 2. Mode ExactCount looks for its devices in the search; mode All needs all of them now.
        data = RequestData(request, self._request_numbers[request], request.count)
        if request.mode == EXACT_COUNT:
            return data, {}
        if request.mode != ALL:
            raise self._error(claim, request, f"unsupported count mode {request.mode}")
        matched = dict(earlier_matches or {})
        devices = []
        for pool_index, pool in enumerate(self._node_pools.pools):
            if pool.incomplete or pool.invalid:
                state = "being updated" if pool.incomplete else "invalid"
                problem = f"asks for all devices, but resource pool {pool.key} is currently {state}"
                error = self._error(claim, data.request, problem)
                if self._rules.rejects_unusable_pools:
                    raise NodeRejectedError(str(error))
                raise error
            # Devices of one signature are selected alike, so that selectors run once for each.
            for device in self._pools[pool_index]:
                if device.signature_id not in matched:
                    matched[device.signature_id] = self._selectable(claim, data, device)
                if not matched[device.signature_id]:
                    continue
                # The rules differ where claims use some of a device's capacity, and too little is
                # left.
                too_small = device.signature.too_small
                if not self._rules.keeps_full_devices:
                    is_counted = self._has_capacity(data, device)
                else:
                    self._check_capacity(claim, data, device)
                    is_counted = not (too_small and too_small[data.number])
                if is_counted:
                    devices.append(device)
        return replace(data, count=len(devices), all_devices=devices), matched

    def _check_capacity(self, claim: int, data: RequestData, device: CandidateDevice) -> None:
        """Raise AllocationError where a device cannot even tell how much it would consume."""
        errors = device.signature.capacity_errors
        if errors and errors[data.number]:
            name = device.device.id[2] if data.request.mode == ALL else device.device.full_name
            problem = f"checking capacity for device {name}: {errors[data.number]}"
            raise self._error(claim, data.request, problem)

    def _error(self, claim: int, request: RequestAlternative, problem: str) -> AllocationError:
        name = self._claim_names[claim]
        return AllocationError(f"claim {name}, request {request.name}: {problem}")

    # -- the search -------------------------------------------------------------------------------

    def _allocate_all_claims(self) -> bool:
        """Search for all devices. Upstream: allocateOne; its recursion is a stack here."""
        # The top of the stack is the choice made last. It proposes a position; what follows from
        # that is the next choice on the stack. A choice without proposals left is popped, and the
        # one below is asked for another.
        stack = [self._next_claim(-1)]
        is_too_large: bool | None = None
        while stack:
            try:
                step = self._next_step(stack[-1].send(is_too_large))
            except StopIteration as failure:
                stack.pop()
                is_too_large = failure.value
                continue
            if step is None:
                return True
            if isinstance(step, bool):
                is_too_large = step
            else:
                stack.append(step)
                is_too_large = None
        return False

    def _next_step(self, indices: DeviceIndices) -> _Choices | bool | None:
        """Return the choices that follow. None: all is allocated. A bool: this position fails."""
        if self._deadline is not None and monotonic() > self._deadline:
            raise TimedOutError
        claims = self._demand.claims
        claim, entry, alternative, device, chosen = indices
        # Skips requests that have all their devices, up to the next choice.
        while claim < len(claims):
            alternatives = claims[claim].alternatives
            if entry >= len(alternatives):
                return self._next_claim(claim) if claim + 1 < len(claims) else None
            if not chosen and alternatives[entry].prioritized:
                return self._first_available(claim, entry, device)
            request_data = self._request_data[claim, entry, alternative]
            # Mode All must match a device at least.
            if request_data.request.mode == ALL and not request_data.all_devices:
                return False
            if device < request_data.count:
                total = len(self._result[claim]) + request_data.count - device
                # Up to 1.36 upstream's sum is an int64, and negative beyond the greatest.
                is_wrapped = total > MAX_INT64 and not self._rules.counts_devices_per_request
                if total > ALLOCATION_RESULTS_MAX_SIZE and not is_wrapped:
                    return True
                if request_data.request.mode == ALL:
                    return self._allocate_all(indices, request_data)
                return self._allocate_exact_count(indices, request_data)
            # The request has all its devices: the next one begins.
            entry, alternative, device, chosen = entry + 1, 0, 0, False
            indices = (claim, entry, 0, 0, False)
        return None

    def _next_claim(self, claim: int) -> _Choices:
        """Yield the next claim to try. Raises AllocationError where the first claim is too large;
        later ones may yet fit after other choices."""
        is_too_large = yield claim + 1, 0, 0, 0, False
        if is_too_large and claim < 0:
            raise AllocationError("allocation max size exceeded")
        return False

    def _first_available(self, claim: int, entry: int, device: int) -> _Choices:
        # The first alternative with which everything else fits wins. The claim is too large only if
        # each alternative is.
        are_all_too_large = True
        for alternative in range(len(self._demand.claims[claim].alternatives[entry].requests)):
            is_too_large = yield claim, entry, alternative, device, True
            are_all_too_large = are_all_too_large and is_too_large
        return are_all_too_large

    def _allocate_all(self, indices: DeviceIndices, request_data: RequestData) -> _Choices:
        claim, entry, alternative, device, chosen = indices
        candidate = request_data.all_devices[device]
        if not self._allocate_device(claim, request_data, candidate, must=True):
            return False
        # Up to 1.35 upstream continues with the first alternative, whichever is being tried.
        following = alternative if self._rules.tells_subrequests_apart else 0
        is_too_large = yield claim, entry, following, device + 1, chosen
        self._deallocate_device(claim)
        return is_too_large

    def _allocate_exact_count(self, indices: DeviceIndices, request_data: RequestData) -> _Choices:
        """Yield device after device, so that the first one with which all else fits is taken."""
        claim, entry, alternative, device, chosen = indices
        # Interchangeable devices fail alike: a state that has failed once is not tried again.
        # A state is the position of the search and the devices allocated so far, by signature.
        state: object = None
        if self._remembers_failures:
            kinds = tuple(tuple(sorted(each.kind for each in of)) for of in self._result)
            state = indices, kinds
        if state in self._failed_states:
            return False
        is_admin = request_data.request.admin_access
        for candidate in self._candidate_devices(claim, device):
            users = candidate.claim_users
            if claim in users if is_admin else candidate.in_use or users:
                continue
            if not self._selectable(claim, request_data, candidate):
                continue
            # Everything else is tried with this device. Where that fails, it is given back.
            self._check_capacity(claim, request_data, candidate)
            if not self._allocate_device(claim, request_data, candidate, must=False):
                continue
            is_too_large = yield claim, entry, alternative, device + 1, chosen
            self._deallocate_device(claim)
            # More devices than a claim may have: no other device of this request changes that.
            if is_too_large:
                return True
        if state is not None:
            self._failed_states.add(state)
        return False

    def _candidate_devices(self, claim: int, device: int) -> Iterator[CandidateDevice]:
        """Yield the devices to try for a request that already has `device` of them. Where devices
        are not plain, yield only those after the previous one: combinations are tried once."""
        first = (0, 0)
        if device and not self._is_plain:
            previous = self._result[claim][-1].device
            first = previous.pool, previous.index + 1
        skips = self._rules.skips_unusable_pools
        for pool_index, pool in enumerate(self._node_pools.pools):
            if skips and (pool.incomplete or pool.invalid):
                continue
            if pool.invalid:
                raise AllocationError(f"pool {pool.name} is invalid: {pool.invalid}")
            if pool_index >= first[0]:
                yield from self._pools[pool_index][first[1] if pool_index == first[0] else 0 :]

    # -- one device -------------------------------------------------------------------------------

    def _selectable(self, claim: int, data: RequestData, device: CandidateDevice) -> bool:
        rejection = device.signature.rejections[data.number]
        if rejection is None:
            return True
        if rejection.failure is not None:
            name = device.device.full_name if self._rules.names_device_in_errors else ""
            class_name = data.request.class_name
            raise AllocationError(rejection.error(self._claim_names[claim], class_name, name))
        return False

    def _allocate_device(  # noqa: C901, PLR0912  # one algorithm, from top to bottom
        self, claim: int, request_data: RequestData, device: CandidateDevice, must: bool
    ) -> bool:
        """Allocate the device to the claim; False where that fails. Raises AllocationError.

        must: a constraint that is not satisfied is an error. Upstream: allocateDevice, in whose
        order counters and taints come before constraints. Capacity comes last in mode All, before
        all that in mode ExactCount.
        """
        request, signature, users = request_data.request, device.signature, device.claim_users
        # Others may have the device, whatever the claim asks for.
        if request.admin_access:
            is_barred = claim in users
        elif device.in_use or users:
            is_barred = True
        else:
            is_whole = self._rules.keeps_shares_of_former and signature.sharing is None
            is_barred = is_whole and self._is_shared(device.device.id)
        if is_barred or (signature.skips and not self._node_pools.may_skip):
            return False
        if signature.consumes_counters:
            return False
        if not must and not self._has_capacity(request_data, device):
            return False
        groups = self._groups.get(device.pool)
        if not self._join_groups(device):
            return False
        consumption = self._take_counters(claim, request_data, device, must)
        if consumption is None:
            self._leave_groups(device, groups)
            return False
        # From here on, a failure gives back what was taken before it, if the release does so.
        takes_back = self._rules.takes_all_back
        is_taken = self._add_to_constraints(claim, request, device, must)
        if is_taken and must and not self._has_capacity(request_data, device):
            is_taken = False
            if takes_back:
                self._remove_from_constraints(claim, request)
        if not is_taken:
            self._leave_groups(device, groups)
            if takes_back:
                self._give_back_counters(device, consumption)
            return False
        share: Share = None
        before: Consumed | None = None
        if signature.sharing is None:
            users.add(claim)
        else:
            # A share consumes a part of the device's capacity.
            device_id, capacities = device.device.id, device.device.traits.capacities
            policy = self._view.capacity_policy
            share = consumed_capacities(capacities, request.capacity, device_id[0], policy)
            before = self._allocating.get(device_id)
            amounts = Counter(before)
            for name, amount in share:
                amounts[name] += amount.nano_value()
            self._allocating[device_id] = amounts

        taken = _Allocated(request_data, device, consumption, share, before, groups)
        self._result[claim].append(taken)
        return True

    def _join_groups(self, device: CandidateDevice) -> bool:
        """Return whether the device has groups in common with the others of its counter sets; it
        then counts among these. Shares of a device in use are not asked. Upstream:
        checkAndConsumeCompatibilityGroups."""
        signature = device.signature
        is_share = signature.sharing is not None and self._is_shared(device.device.id)
        if not signature.groups or is_share:
            return True
        by_set = self._groups.get(device.pool, {})
        for name, groups in signature.groups:
            if name in by_set and not by_set[name].admits(groups):
                return False
            by_set = with_groups(by_set, ((name, groups),))
        self._groups[device.pool] = by_set
        return True

    def _leave_groups(self, device: CandidateDevice, before: GroupsBySet | None) -> None:
        if before is not None:
            self._groups[device.pool] = before

    def _take_counters(
        self, claim: int, request_data: RequestData, device: CandidateDevice, must: bool
    ) -> Consumption | None:
        """Take what the device consumes of its pool's counters. Return None if too little is left,
        or a taint bars the device. Only the first share of a device takes counters. Raises
        AllocationError where upstream panics. Upstream: checkAvailableCounters."""
        signature = device.signature
        is_tainted = bool(signature.tainted) and signature.tainted[request_data.number]
        if is_tainted and self._rules.takes_all_back:
            return None
        consumption: Consumption | None = signature.consumption
        if signature.sharing is not None and self._is_shared(device.device.id):
            consumption = ()
        if consumption:
            name = self._counter_name(device)
            counters = self._node_pools.counters[device.pool] or {}
            available = self._available.setdefault(name, counters)
            consumed = self._consumed.setdefault(name, Counter())
            for key, amount in consumption:
                consumed[key] += amount
            if any(amount < consumed[key] for key, amount in available.items()):
                self._give_back_counters(device, consumption)
                consumption = None
        if must and consumption != () and not self._rules.counts_all_devices:
            problem = f"kube-scheduler panics here: {device.device.full_name} consumes counters"
            raise self._error(claim, request_data.request, problem)
        return None if is_tainted else consumption

    def _give_back_counters(self, device: CandidateDevice, consumption: Consumption) -> None:
        """Give back the counters that a device consumes. Upstream: deallocateCountersForDevice."""
        for key, amount in consumption:
            self._consumed[self._counter_name(device)][key] -= amount

    def _counter_name(self, device: CandidateDevice) -> str:
        """Return the key of the counters of a device's pool. Up to 1.36 upstream tells pools apart
        by their names alone, not by their drivers."""
        pool = self._node_pools.pools[device.pool]
        return pool.key if self._rules.tells_pools_apart else pool.name

    def _is_shared(self, device_id: DeviceID) -> bool:
        """Return whether a claim consumes some of its capacity. Upstream: deviceCapacityInUse."""
        shared = self._node_pools.shared
        is_in_use = self._rules.counts_bare_shares and device_id in shared
        return is_in_use or shared.has_consumed(device_id) or device_id in self._allocating

    def _has_capacity(self, data: RequestData, device: CandidateDevice) -> bool:
        """Return whether what is left of a device's capacity is enough; see DRAConsumableCapacity.
        Upstream: CmpRequestOverCapacity."""
        traits, device_id = device.device.traits, device.device.id
        if not device.signature.too_small or not traits.has_capacity:
            return True
        consumed = self._node_pools.shared.consumed(device_id)
        allocating = self._allocating.get(device_id, NOTHING)
        if not consumed and not allocating:
            return not device.signature.too_small[data.number]
        policy = self._view.capacity_policy
        driver = device_id[0]
        return fits(traits.capacities, data.request.capacity, driver, policy, consumed, allocating)

    def _deallocate_device(self, claim: int) -> None:
        """Give back the claim's last device."""
        data, device, consumption, share, before, groups = self._result[claim].pop()
        self._leave_groups(device, groups)
        self._remove_from_constraints(claim, data.request)
        device.claim_users.discard(claim)
        takes_all_back = self._rules.takes_all_back
        # Releases that do not take all back leave the device of a share without capacity in use.
        # There, another share takes the mark of earlier ones that consume nothing with it.
        if share or (share is not None and takes_all_back):
            if before is None or not (takes_all_back or any(before.values())):
                del self._allocating[device.device.id]
            else:
                self._allocating[device.device.id] = before
        if share is None or takes_all_back:
            self._give_back_counters(device, consumption)

    def _add_to_constraints(
        self, claim: int, request: RequestAlternative, device: CandidateDevice, must: bool
    ) -> bool:
        constraints = self._constraints[claim]
        attributes = device.signature.attributes[claim]
        has_derived = self._view.features.derived_attributes and request.derived
        is_lazy = self._rules.reads_attributes_lazily
        for i, constraint in enumerate(constraints):
            attribute = constraint.constraint.attribute
            value: AttributeValue | str | None = attributes[i]
            # The request may compute the attribute; else it is the device's own.
            if has_derived and constraint.constraint.applies_to(request):
                derived = device.signature.derived[self._request_numbers[request]]
                value = derived.get(attribute, value)
            if isinstance(value, str):
                where = device.device.full_name
                problem = (
                    f"evaluate derived attribute {attribute} on device {where} failed: {value}"
                )
                raise self._error(claim, request, problem)
            # Some values cannot be compared.
            is_unreadable = is_lazy and value is not None and not value[0]
            if is_unreadable and constraint.constraint.applies_to(request):
                where = device.device.full_name
                problem = f"device {where}: unsupported attribute value for {attribute}"
                raise self._error(claim, request, problem)
            if constraint.add(request, value):
                continue
            if must:
                why = "because a claim constraint would not be satisfied"
                problem = f"cannot add device {device.device.full_name} {why}"
                raise self._error(claim, request, problem)
            # The constraints that took the device forget it.
            for earlier in constraints[:i]:
                earlier.remove(request)
            return False
        return True

    def _remove_from_constraints(self, claim: int, request: RequestAlternative) -> None:
        for constraint in self._constraints[claim]:
            constraint.remove(request)
