"""What resource claims ask for, in the shape that devices are searched with.

Claims of one template have equal demands, so that what is known about a demand is known about all
of them.

Upstream: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
(requestAccessor, Allocate).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ksched_cli.cluster.objects import (
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)

EXACT_COUNT, ALL = "ExactCount", "All"
MATCH_ATTRIBUTE, DISTINCT_ATTRIBUTE = "matchAttribute", "distinctAttribute"

# Upstream: AllocationResultsMaxSize.
MOST_DEVICES = 32


@dataclass(frozen=True, slots=True)
class RequestAlternative:
    """A request, or one choice of a prioritised list.

    parent:     the name of the list, or ""
    selectors:  the expressions; None where a selector has none
    mode:       EXACT_COUNT or ALL, or something that upstream does not know
    of_capacity: it asks for a share of a device, for which a gate is off
    """

    name: str
    parent: str
    class_name: str
    selectors: tuple[str | None, ...]
    mode: str
    count: int
    admin_access: bool
    of_capacity: bool

    @property
    def result_name(self) -> str:
        """As allocation results and constraints name it."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        return self.parent or self.name


@dataclass(frozen=True, slots=True)
class Constraint:
    """kind: MATCH_ATTRIBUTE, DISTINCT_ATTRIBUTE, or "" for neither. requests: none means all."""

    kind: str
    attribute: str
    requests: frozenset[str]

    def concerns(self, request: RequestAlternative) -> bool:
        if not self.requests:
            return True
        return request.base_name in self.requests or request.result_name in self.requests


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be taken for one entry of a claim's requests: the first that works out.

    prioritised: a list; otherwise `requests` has one
    """

    requests: tuple[RequestAlternative, ...]
    prioritised: bool


@dataclass(frozen=True, slots=True)
class ClaimDemand:
    choices: tuple[Choices, ...]
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """The claims of a pod that are not allocated yet, in its order; without their names."""

    claims: tuple[ClaimDemand, ...]
    requests: tuple[RequestAlternative, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        every = (
            request
            for claim in self.claims
            for choices in claim.choices
            for request in choices.requests
        )
        object.__setattr__(self, "requests", tuple(dict.fromkeys(every)))


def demand_of(claims: list[ResourceClaim]) -> Demand:
    return Demand(tuple(map(_claim_demand, claims)))


def _claim_demand(claim: ResourceClaim) -> ClaimDemand:
    devices = claim.spec.devices
    return ClaimDemand(
        tuple(map(_choices, devices.requests)), tuple(map(_constraint, devices.constraints))
    )


def _choices(request: DeviceRequest) -> Choices:
    if request.first_available:
        found = tuple(_request(one.name, request.name, one) for one in request.first_available)
        return Choices(found, True)
    return Choices((_request(request.name, "", request.exactly or ExactDeviceRequest()),), False)


def _request(name: str, parent: str, wanted: DeviceSubRequest) -> RequestAlternative:
    return RequestAlternative(
        name,
        parent,
        wanted.device_class_name,
        expressions(wanted.selectors),
        wanted.allocation_mode,
        wanted.count,
        isinstance(wanted, ExactDeviceRequest) and wanted.admin_access,
        wanted.capacity is not None,
    )


def expressions(selectors: tuple[DeviceSelector, ...]) -> tuple[str | None, ...]:
    return tuple(one.cel.expression if one.cel else None for one in selectors)


def _constraint(constraint: DeviceConstraint) -> Constraint:
    requests = frozenset(constraint.requests)
    if constraint.match_attribute is not None:
        return Constraint(MATCH_ATTRIBUTE, constraint.match_attribute, requests)
    if constraint.distinct_attribute is not None:
        return Constraint(DISTINCT_ATTRIBUTE, constraint.distinct_attribute, requests)
    return Constraint("", "", requests)
