"""The requests and constraints of resource claims, in the form that the allocator uses.

Claims of one template have equal demands, and share everything computed for a demand.

Upstream: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
(requestAccessor, Allocate).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct

from ksched_cli.cluster.objects import (
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from ksched_cli.plugins.dynamic_resources.capacity import CapacityRequests

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

    @property
    def result_name(self) -> str:
        """Its name in allocation results and constraints: `request` or `request/subrequest`."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        return self.parent or self.name


class Constraint(Struct, frozen=True):
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
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """A pod's claims that are to be allocated, in its order, without their names.

    requests: the distinct requests and subrequests of all claims
    """

    claims: tuple[ClaimDemand, ...]
    requests: tuple[RequestAlternative, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        requests = (
            request
            for claim in self.claims
            for alternatives in claim.alternatives
            for request in alternatives.requests
        )
        object.__setattr__(self, "requests", tuple(dict.fromkeys(requests)))


def demand_of(claims: list[ResourceClaim]) -> Demand:
    return Demand(tuple(map(_claim_demand, claims)))


def _claim_demand(claim: ResourceClaim) -> ClaimDemand:
    devices = claim.spec.devices
    return ClaimDemand(
        tuple(map(_alternatives, devices.requests)), tuple(map(_constraint, devices.constraints))
    )


def _alternatives(request: DeviceRequest) -> RequestAlternatives:
    if request.first_available:
        subrequests = tuple(
            _alternative(subrequest.name, request.name, subrequest)
            for subrequest in request.first_available
        )
        return RequestAlternatives(subrequests, True)
    return RequestAlternatives(
        (_alternative(request.name, "", request.exactly or ExactDeviceRequest()),), False
    )


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
    )


def expressions(selectors: tuple[DeviceSelector, ...]) -> tuple[str | None, ...]:
    return tuple(selector.cel.expression if selector.cel else None for selector in selectors)


def _constraint(constraint: DeviceConstraint) -> Constraint:
    requests = frozenset(constraint.requests)
    if constraint.match_attribute is not None:
        return Constraint(MATCH_ATTRIBUTE, constraint.match_attribute, requests)
    if constraint.distinct_attribute is not None:
        return Constraint(DISTINCT_ATTRIBUTE, constraint.distinct_attribute, requests)
    return Constraint("", "", requests)
