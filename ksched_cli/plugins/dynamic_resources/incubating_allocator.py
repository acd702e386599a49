"""The allocator of devices that may have taints, consume counters of their pool, or be shared by
capacity.

Plain devices are searched as DeviceAllocator does. Where a device is shared or consumes counters,
which one is allocated makes a difference to the rest of the search, which then goes through all
combinations, as upstream's does: within one request every device comes after the one before.

Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ksched_cli.framework.shared_devices import DeviceID
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.dynamic_resources.allocator import DeviceAllocator
from ksched_cli.plugins.dynamic_resources.candidates import (
    CandidateDevice,
    DeviceResult,
    NodePools,
    RequestData,
)
from ksched_cli.plugins.dynamic_resources.capacity import (
    NOTHING,
    Consumed,
    consumed_capacities,
    fits,
)
from ksched_cli.plugins.dynamic_resources.counters import Consumption, CounterKey, Counters
from ksched_cli.plugins.dynamic_resources.pool_devices import PoolDevice
from ksched_cli.plugins.dynamic_resources.requests import DISTINCT_ATTRIBUTE, RequestAlternative
from ksched_cli.plugins.dynamic_resources.view import DemandView

_Share: TypeAlias = tuple[tuple[str, Quantity], ...] | None
"""What a share of a device consumes; None: all of the device is allocated."""


@dataclass(frozen=True, slots=True)
class _Undo:
    """What allocating a device changed. capacity: what was being allocated of it before."""

    consumption: Consumption
    share: _Share
    capacity: Consumed | None


class IncubatingAllocator(DeviceAllocator):
    def __init__(
        self,
        view: DemandView,
        node_pools: NodePools,
        claims: Sequence[str],
        classes: Mapping[str, object],
        seconds: float = 0.0,
        rules: Rules | None = None,
    ) -> None:
        super().__init__(view, node_pools, claims, classes, seconds, rules)
        self._undo: list[list[_Undo]] = [[] for _ in claims]
        self._allocating: dict[DeviceID, Consumed] = {}
        self._available: dict[str, Counters] = {}
        self._consumed: dict[str, dict[CounterKey, int]] = {}
        self._is_plain = self._has_plain_devices() and not any(
            constraint.kind == DISTINCT_ATTRIBUTE
            for claim in self._demand.claims
            for constraint in claim.constraints
        )
        self._remembers_failures &= self._is_plain

    def _has_plain_devices(self) -> bool:
        shared = self._node_pools.shared
        return all(pool.is_plain for pool in self._node_pools.signatures) and not (
            shared
            and any(
                device.id in shared for pool in self._node_pools.pools for device in pool.devices
            )
        )

    def allocate(self) -> list[list[DeviceResult]] | None:
        results = super().allocate()
        if results is None or self._is_plain:
            return results
        return [
            [replace(result, consumed=undo.share) for result, undo in zip(*each, strict=True)]
            for each in zip(results, self._undo, strict=True)
        ]

    def _all_devices(
        self, claim: int, request: RequestAlternative, number: int, matched: dict[int, bool]
    ) -> list[CandidateDevice]:
        devices = super()._all_devices(claim, request, number, matched)
        return [device for device in devices if self._has_capacity(request, number, device)]

    # -- the search -------------------------------------------------------------------------------

    def _candidate_devices(self, claim: int, device: int) -> Iterator[CandidateDevice]:
        """Those after the request's previous device, unless all are plain."""
        candidates = super()._candidate_devices(claim, device)
        if self._is_plain or not device:
            return candidates
        _, previous = self._result[claim][-1]
        first = previous.pool, previous.index
        return (each for each in candidates if (each.pool, each.index) > first)

    # -- one device -------------------------------------------------------------------------------

    def _allocate_device(
        self, claim: int, request_data: RequestData, device: CandidateDevice, must: bool
    ) -> bool:
        """Upstream: allocateDevice, in whose order taints and counters come before constraints,
        which may be an error, and capacity after them."""
        request, number = request_data.request, request_data.number
        signature = self._signature(device)
        if signature.tainted and signature.tainted[number]:
            return False
        if self._is_plain:
            return self._has_capacity(request, number, device) and super()._allocate_device(
                claim, request_data, device, must
            )
        is_share = signature.sharing is not None
        consumption = () if is_share and self._is_shared(device) else signature.consumption
        if self._is_in_use(claim, request, device) or not self._take(device, consumption):
            return False
        if not super()._allocate_device(claim, request_data, device, must):
            self._give_back(device, consumption)
            return False
        if not self._has_capacity(request, number, device):
            super()._deallocate_device(claim, request_data, device)
            self._give_back(device, consumption)
            return False
        share = None if signature.sharing is None else self._take_share(claim, request, device)
        self._undo[claim].append(_Undo(consumption, *(share or (None, None))))
        return True

    def _deallocate_device(
        self, claim: int, request_data: RequestData, device: CandidateDevice
    ) -> None:
        super()._deallocate_device(claim, request_data, device)
        if self._is_plain:
            return
        undo = self._undo[claim].pop()
        self._give_back(device, undo.consumption)
        if undo.share is not None:
            device_id = self._pool_device(device).id
            if undo.capacity is None:
                del self._allocating[device_id]
            else:
                self._allocating[device_id] = undo.capacity

    # -- capacity ---------------------------------------------------------------------------------

    def _pool_device(self, device: CandidateDevice) -> PoolDevice:
        return self._node_pools.pools[device.pool].devices[device.index]

    def _is_shared(self, device: CandidateDevice) -> bool:
        """Whether a claim consumes some of its capacity. Upstream: deviceCapacityInUse."""
        device_id = self._pool_device(device).id
        return self._node_pools.shared.has_consumed(device_id) or device_id in self._allocating

    def _has_capacity(
        self, request: RequestAlternative, number: int, device: CandidateDevice
    ) -> bool:
        """Upstream: CmpRequestOverCapacity."""
        pool_device = self._pool_device(device)
        traits = pool_device.traits
        if not traits.has_capacity:
            return True
        consumed = self._node_pools.shared.consumed(pool_device.id)
        allocating = self._allocating.get(pool_device.id, NOTHING)
        if not consumed and not allocating:
            return not self._signature(device).too_small[number]
        return fits(traits.capacities, request.capacity, consumed, allocating)

    def _take_share(
        self, claim: int, request: RequestAlternative, device: CandidateDevice
    ) -> tuple[_Share, Consumed | None]:
        """What it consumes, and what was being allocated of the device before."""
        device.claim_users.discard(claim)
        pool_device = self._pool_device(device)
        share = consumed_capacities(pool_device.traits.capacities, request.capacity)
        before = self._allocating.get(pool_device.id)
        amounts = dict(before or NOTHING)
        for name, amount in share:
            amounts[name] = amounts.get(name, 0) + amount.nano_value()
        self._allocating[pool_device.id] = amounts
        return share, before

    # -- counters ---------------------------------------------------------------------------------

    def _take(self, device: CandidateDevice, consumption: Consumption) -> bool:
        """Consumes the counters if enough of all the pool's are left. Upstream, and so this, tells
        pools apart by their names alone, not by their drivers.

        Upstream: checkAvailableCounters.
        """
        if not consumption:
            return True
        name = self._node_pools.pools[device.pool].name
        counters = self._node_pools.counters[device.pool] or {}
        available = self._available.setdefault(name, counters)
        consumed = self._consumed.setdefault(name, {})
        for key, amount in consumption:
            consumed[key] = consumed.get(key, 0) + amount
        if all(amount >= consumed.get(key, 0) for key, amount in available.items()):
            return True
        self._give_back(device, consumption)
        return False

    def _give_back(self, device: CandidateDevice, consumption: Consumption) -> None:
        """Upstream: deallocateCountersForDevice."""
        if consumption:
            consumed = self._consumed[self._node_pools.pools[device.pool].name]
            for key, amount in consumption:
                consumed[key] -= amount
