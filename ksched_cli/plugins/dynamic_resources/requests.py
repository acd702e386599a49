"""The requests and constraints of resource claims, in the form that the allocator uses.

Claims of one template have equal demands, and share everything computed for a demand.

Upstream: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
(requestAccessor, Allocate).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from ksched_cli.cluster.objects import (
    CapacityPolicy,
    CapacityRange,
    DeviceCapacity,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from ksched_cli.cluster.tolerations import tolerated
from ksched_cli.framework.resource_claims import qualified
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.int64 import MAX_INT64
from ksched_cli.kube.quantity import BINARY_SI, Quantity, milli_quantity

# -- capacity --------------------------------------------------------------------------------------
#
# Capacity of devices that claims share: what a request consumes, and whether a device has it.
#
# Amounts consumed are integers, in billionths of a unit.
#
# Upstream: dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go.


Capacities: TypeAlias = tuple[tuple[str, DeviceCapacity], ...]
"""A device's, by name."""

CapacityRequests: TypeAlias = tuple[tuple[str, Quantity], ...] | None
"""A request's, by name; None: it asks for no capacity."""

Consumed: TypeAlias = Mapping[str, int]
"""The capacity of one device, by name, in billionths."""

ZERO = Quantity(0)
MILLI, NANO = 10**3, 10**9
UNREPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"

NOTHING: Consumed = MappingProxyType({})


class CapacityError(Exception):
    """A request for capacity that cannot be rounded, or is negative. The text is upstream's."""


class CapacityPolicyRules(Struct, frozen=True):
    """The rules of a release for requests for capacity.

    aborts:     requests that are negative or cannot be rounded are errors (Rules)
    fractional: ranges count in thousandths (DRAFractionalCapacityRange)
    refuses_negative, qualifies_names: see Rules
    """

    aborts: bool = False
    fractional: bool = False
    refuses_negative: bool = False
    qualifies_names: bool = False

    def requested(self, requests: CapacityRequests, driver: str) -> dict[str, Quantity]:
        """Return the requests by the names of a driver's capacities."""
        requested = dict(requests or ())
        return qualified(requested, driver) if self.qualifies_names else requested

    def error(self, capacities: Capacities, requests: CapacityRequests, driver: str) -> str:
        """Return why a request breaks the allocation, or ""."""
        requested = self.requested(requests, driver)
        if not self.aborts or not requested.keys() <= {name for name, _ in capacities}:
            return ""
        if len(requested) < len(requests or ()):
            # The request names a capacity with and without the driver's domain. Which of the two
            # comes first, upstream takes from a map. Upstream: resolveCapacityRequests.
            names = [name for name, _ in requests or ()]
            name = next(name for name in names if f"{driver}/{name}" in names)
            names_text = f"{quote(name)} and as {quote(f'{driver}/{name}')}"
            return f"capacity {quote(name)} requested both as {names_text}"
        for name, capacity in capacities:
            try:
                amount = consumed_capacity(requested.get(name), capacity, self)
            except CapacityError as error:
                return f"capacity {quote(name)}: {error}"
            if amount < ZERO:
                return f"capacity {quote(name)}: capacity value is negative"
        return ""


def fits(
    capacities: Capacities,
    requests: CapacityRequests,
    driver: str,
    policy: CapacityPolicyRules,
    consumed: Consumed = NOTHING,
    allocating: Consumed = NOTHING,
) -> bool:
    """Return whether a device has what a request consumes. Upstream: CmpRequestOverCapacity.

    consumed:   by claims that are allocated; allocating: by those that are being allocated
    """
    requested = policy.requested(requests, driver)
    if not requested.keys() <= {name for name, _ in capacities}:
        return False
    for name, capacity in capacities:
        try:
            amount = consumed_capacity(requested.get(name), capacity, policy)
        except CapacityError:
            return False
        if _violates_policy(amount, capacity.request_policy, policy):
            return False
        total = amount.nano_value() + consumed.get(name, 0) + allocating.get(name, 0)
        if total > capacity.value.nano_value():
            return False
    return True


def consumed_capacities(
    capacities: Capacities, requests: CapacityRequests, driver: str, policy: CapacityPolicyRules
) -> tuple[tuple[str, Quantity], ...]:
    """Return what a share of a device consumes. Upstream: GetConsumedCapacityFromRequest."""
    requested = policy.requested(requests, driver)
    return tuple(
        (name, consumed_capacity(requested.get(name), capacity, policy))
        for name, capacity in capacities
    )


def consumed_capacity(
    requested: Quantity | None, capacity: DeviceCapacity, rules: CapacityPolicyRules
) -> Quantity:
    """Return a requested amount, rounded up as the device's policy says; where none is requested
    the policy's default, else all there is. Raises CapacityError. Upstream:
    calculateConsumedCapacity."""
    policy = capacity.request_policy
    if requested is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if rules.refuses_negative and requested.sign() < 0:
        raise CapacityError(f"capacity value is negative: request {requested}")
    if policy is None:
        return requested
    valid_range = policy.valid_range
    if valid_range is not None and valid_range.min is not None:
        # The amount is rounded up to the next step from the minimum. Upstream: roundUpRange.
        if requested < valid_range.min:
            return valid_range.min
        if valid_range.step is None or not valid_range.step.value():
            return requested
        scale = _scale(valid_range, rules)
        if rules.aborts and _exact(requested, scale) is None:
            what = "exceeds MaxInt64" if scale == 1 else "is not a representable milli value"
            raise CapacityError(f"{UNREPRESENTABLE}: request {requested} {what}")
        lowest, step = _scaled(valid_range.min, scale), _scaled(valid_range.step, scale)
        rounded = lowest + step * -(-(_scaled(requested, scale) - lowest) // step)
        if rules.aborts and lowest >= 0 and rounded > MAX_INT64:
            limit = "MaxInt64" if scale == 1 else "the milli-value range"
            what = f"rounding request {requested} up to the next step passes {limit}"
            raise CapacityError(f"{UNREPRESENTABLE}: {what}")
        if scale == 1 or rounded % scale == 0:
            return Quantity(rounded // scale, 0, BINARY_SI)
        return milli_quantity(rounded)
    return next((valid for valid in policy.valid_values if requested <= valid), requested)


def _scale(valid_range: CapacityRange, rules: CapacityPolicyRules) -> int:
    """Return 1000 where a range counts in thousandths, else 1. Upstream: useMilli."""
    bounds = (valid_range.min, valid_range.max, valid_range.step)
    is_fractional = rules.fractional and all(
        bound is None or _exact(bound, MILLI) is not None for bound in bounds
    )
    step = valid_range.step
    return MILLI if is_fractional and step is not None and _scaled(step, MILLI) >= 1 else 1


def _scaled(amount: Quantity, scale: int) -> int:
    return amount.value() if scale == 1 else amount.milli_value()


def _exact(amount: Quantity, scale: int) -> int | None:
    """Return an amount in units of 1/scale, or None where that is no int64 or, of thousandths,
    would have to be rounded. Upstream: safeMilliValue."""
    nano = amount.nano_value()
    if scale == 1:
        return amount.value() if nano <= MAX_INT64 * NANO else None
    exact, rest = divmod(nano, NANO // MILLI)
    return exact if not rest and abs(exact) <= MAX_INT64 else None


def _violates_policy(
    amount: Quantity, policy: CapacityPolicy | None, rules: CapacityPolicyRules
) -> bool:
    """Return whether the policy forbids the amount. Upstream: violatesPolicy."""
    if policy is None or (policy.default is not None and amount == policy.default):
        return False
    valid_range = policy.valid_range
    if valid_range is None:
        return bool(policy.valid_values) and amount not in policy.valid_values
    if valid_range.max is not None and amount > valid_range.max:
        return True
    if valid_range.step is None or valid_range.min is None or not valid_range.step.value():
        return False
    scale = _scale(valid_range, rules)
    if scale != 1 and _exact(amount, scale) is None:
        return True
    steps = _scaled(amount, scale) - _scaled(valid_range.min, scale)
    return steps % _scaled(valid_range.step, scale) != 0


# -- taints ----------------------------------------------------------------------------------------
#
# Taints of devices, which bar the requests that do not tolerate them.
#
# Upstream: dynamic-resource-allocation/resourceclaim/devicetoleration.go (ToleratesTaint);
# structured/internal/incubating/allocator_incubating.go (taintPreventsAllocation).


# The others, None among them, say something and bar nothing.
BARRING_EFFECTS = ("NoSchedule", "NoExecute")


def untolerated_taint(
    taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]
) -> DeviceTaint | None:
    """Return the first taint that bars a request with these tolerations."""
    for taint in taints:
        if taint.effect in BARRING_EFFECTS and not tolerated(tolerations, taint):
            return taint
    return None


# -- the plugin ------------------------------------------------------------------------------------


EXACT_COUNT, ALL = "ExactCount", "All"
MATCH_ATTRIBUTE, DISTINCT_ATTRIBUTE = "matchAttribute", "distinctAttribute"

# Upstream: AllocationResultsMaxSize.
ALLOCATION_RESULTS_MAX_SIZE = 32


class RequestAlternative(Struct, frozen=True):
    """A request, or a subrequest of a prioritized list (firstAvailable).

    Upstream: requestAccessor.

    parent:    the name of the request that a subrequest belongs to, or ""
    selectors: their CEL expressions; None for a selector without one
    mode:      EXACT_COUNT or ALL, or a mode that upstream does not support
    capacity:  what it asks for of each device, by name; None where it does not ask
    derived:   the attributes that it computes: name and CEL expression
    """

    name: str
    parent: str
    class_name: str
    selectors: tuple[str | None, ...]
    mode: str
    count: int
    admin_access: bool
    capacity: CapacityRequests = None
    tolerations: tuple[DeviceToleration, ...] = ()
    derived: tuple[tuple[str, str], ...] = ()

    @property
    def result_name(self) -> str:
        """Return its name in allocation results and constraints: `request` or
        `request/subrequest`."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        return self.parent or self.name


class RequestConstraint(Struct, frozen=True):
    """kind: MATCH_ATTRIBUTE, DISTINCT_ATTRIBUTE, or "" for neither. requests: empty means all."""

    kind: str
    attribute: str
    requests: frozenset[str]

    def applies_to(self, request: RequestAlternative) -> bool:
        if not self.requests:
            return True
        return request.base_name in self.requests or request.result_name in self.requests


class RequestAlternatives(Struct, frozen=True):
    """One request of a claim: the first alternative that can be allocated is.

    requests:    its subrequests if it is a prioritized list, else the request alone
    prioritized: it is a list
    """

    requests: tuple[RequestAlternative, ...]
    prioritized: bool

    @property
    def name(self) -> str:
        return self.requests[0].base_name


class ClaimDemand(Struct, frozen=True):
    alternatives: tuple[RequestAlternatives, ...]
    constraints: tuple[RequestConstraint, ...]


class Demand(Struct, frozen=True, dict=True):
    """A pod's claims that are to be allocated, in its order, without their names."""

    claims: tuple[ClaimDemand, ...]

    @cached_property
    def requests(self) -> tuple[RequestAlternative, ...]:
        """Return the distinct requests and subrequests of all claims."""
        entries = (entry for claim in self.claims for entry in claim.alternatives)
        return tuple(dict.fromkeys(request for entry in entries for request in entry.requests))

    @property
    def has_distinct_attributes(self) -> bool:
        constraints = (each for claim in self.claims for each in claim.constraints)
        return any(constraint.kind == DISTINCT_ATTRIBUTE for constraint in constraints)


def demand_of(claims: list[ResourceClaim]) -> Demand:
    return Demand(
        tuple(
            ClaimDemand(
                tuple(map(_alternatives, claim.spec.devices.requests)),
                tuple(map(_constraint, claim.spec.devices.constraints)),
            )
            for claim in claims
        )
    )


def _alternatives(request: DeviceRequest) -> RequestAlternatives:
    if request.first_available:
        subrequests = request.first_available
        alternatives = (_alternative(each.name, request.name, each) for each in subrequests)
        return RequestAlternatives(tuple(alternatives), True)
    exactly = _alternative(request.name, "", request.exactly or ExactDeviceRequest())
    return RequestAlternatives((exactly,), False)


def _alternative(name: str, parent: str, subrequest: DeviceSubRequest) -> RequestAlternative:
    capacity = subrequest.capacity
    return RequestAlternative(
        name,
        parent,
        subrequest.device_class_name,
        expressions(subrequest.selectors),
        subrequest.allocation_mode,
        subrequest.count,
        isinstance(subrequest, ExactDeviceRequest) and subrequest.admin_access,
        None if capacity is None else tuple(sorted(capacity.requests.items())),
        subrequest.tolerations,
        tuple((each.name, each.expression) for each in subrequest.derived_attributes),
    )


def expressions(selectors: tuple[DeviceSelector, ...]) -> tuple[str | None, ...]:
    return tuple(selector.cel.expression if selector.cel else None for selector in selectors)


def _constraint(constraint: DeviceConstraint) -> RequestConstraint:
    requests = frozenset(constraint.requests)
    if constraint.match_attribute is not None:
        return RequestConstraint(MATCH_ATTRIBUTE, constraint.match_attribute, requests)
    if constraint.distinct_attribute is not None:
        return RequestConstraint(DISTINCT_ATTRIBUTE, constraint.distinct_attribute, requests)
    return RequestConstraint("", "", requests)
