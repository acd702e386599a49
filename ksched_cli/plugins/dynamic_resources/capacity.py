"""Capacity of devices that claims share: what a request consumes, and whether a device has it.

Amounts consumed are integers, in billionths of a unit.

Upstream: dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from ksched_cli.cluster.objects import CapacityPolicy, CapacityRange, DeviceCapacity
from ksched_cli.kube.quantity import BINARY_SI, Quantity

Capacities: TypeAlias = tuple[tuple[str, DeviceCapacity], ...]
"""A device's, by name."""

CapacityRequests: TypeAlias = tuple[tuple[str, Quantity], ...] | None
"""A request's, by name; None: it asks for no capacity."""

Consumed: TypeAlias = Mapping[str, int]
"""Of one device, by name, in billionths."""

NOTHING: Consumed = MappingProxyType({})


def fits(
    capacities: Capacities,
    requests: CapacityRequests,
    consumed: Consumed = NOTHING,
    allocating: Consumed = NOTHING,
) -> bool:
    """Whether a device has what a request consumes. Upstream: CmpRequestOverCapacity.

    consumed:   by claims that are allocated; allocating: by those that are being allocated
    """
    requested = dict(requests or ())
    if not requested.keys() <= {name for name, _ in capacities}:
        return False
    for name, capacity in capacities:
        amount = consumed_capacity(requested.get(name), capacity)
        if _violates_policy(amount, capacity.request_policy):
            return False
        total = amount.nano_value() + consumed.get(name, 0) + allocating.get(name, 0)
        if total > capacity.value.nano_value():
            return False
    return True


def consumed_capacities(
    capacities: Capacities, requests: CapacityRequests
) -> tuple[tuple[str, Quantity], ...]:
    """What a share of a device consumes. Upstream: GetConsumedCapacityFromRequest."""
    requested = dict(requests or ())
    return tuple(
        (name, consumed_capacity(requested.get(name), capacity)) for name, capacity in capacities
    )


def consumed_capacity(requested: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    """A requested amount, rounded up as the device's policy says; where none is requested the
    policy's default, else all there is. Upstream: calculateConsumedCapacity."""
    policy = capacity.request_policy
    if requested is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up(requested, policy.valid_range, policy.valid_range.min)
    return next((valid for valid in policy.valid_values if requested <= valid), requested)


def _round_up(requested: Quantity, valid_range: CapacityRange, minimum: Quantity) -> Quantity:
    """To the next step from the minimum. Upstream: roundUpRange."""
    if requested < minimum:
        return minimum
    if valid_range.step is None or not valid_range.step.value():
        return requested
    lowest, step = minimum.value(), valid_range.step.value()
    steps = -(-(requested.value() - lowest) // step)
    return Quantity(lowest + step * steps, 0, BINARY_SI)


def _violates_policy(amount: Quantity, policy: CapacityPolicy | None) -> bool:
    """Upstream: violatesPolicy."""
    if policy is None or (policy.default is not None and amount == policy.default):
        return False
    if policy.valid_range is not None:
        return _violates_range(amount, policy.valid_range)
    return bool(policy.valid_values) and amount not in policy.valid_values


def _violates_range(amount: Quantity, valid_range: CapacityRange) -> bool:
    if valid_range.max is not None and amount > valid_range.max:
        return True
    if valid_range.step is None or valid_range.min is None or not valid_range.step.value():
        return False
    return (amount.value() - valid_range.min.value()) % valid_range.step.value() != 0
