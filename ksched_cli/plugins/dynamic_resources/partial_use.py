"""What an allocation takes, while it is searched for, of devices that claims share and of the
counters of pools.

Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
"""

from __future__ import annotations

from typing import TypeAlias

from ksched_cli.framework.shared_devices import DeviceID
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.dynamic_resources.candidates import (
    CandidateDevice,
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
from ksched_cli.plugins.dynamic_resources.requests import RequestAlternative
from ksched_cli.plugins.dynamic_resources.view import DemandView

Share: TypeAlias = tuple[tuple[str, Quantity], ...] | None
"""What a share of a device consumes; None: all of the device is allocated."""


class PartialUse:
    def __init__(self, view: DemandView, node_pools: NodePools, rules: Rules) -> None:
        self._view = view
        self._node_pools = node_pools
        self._allocating: dict[DeviceID, Consumed] = {}
        self._rules = rules
        self._available: dict[str, Counters] = {}
        self._consumed: dict[str, dict[CounterKey, int]] = {}

    def take_counters(self, device: CandidateDevice) -> Consumption | None:
        """What it takes; None: too little of the pool's counters is left. Only the first share of a
        device takes counters.

        Upstream: checkAvailableCounters.
        """
        signature = self._view.signatures[device.signature]
        consumption = signature.consumption
        if not consumption or (signature.sharing is not None and self._is_shared(device)):
            return ()
        name = self._counter_name(device)
        counters = self._node_pools.counters[device.pool] or {}
        available = self._available.setdefault(name, counters)
        consumed = self._consumed.setdefault(name, {})
        for key, amount in consumption:
            consumed[key] = consumed.get(key, 0) + amount
        if all(amount >= consumed.get(key, 0) for key, amount in available.items()):
            return consumption
        self.give_back_counters(device, consumption)
        return None

    def give_back_counters(self, device: CandidateDevice, consumption: Consumption) -> None:
        """Upstream: deallocateCountersForDevice."""
        if consumption:
            consumed = self._consumed[self._counter_name(device)]
            for key, amount in consumption:
                consumed[key] -= amount

    def _counter_name(self, device: CandidateDevice) -> str:
        """What the counters of a device's pool are kept under. Up to 1.36 upstream tells pools
        apart by their names alone, not by their drivers."""
        pool = self._node_pools.pools[device.pool]
        return pool.key if self._rules.tells_pools_apart else pool.name

    def has_capacity(self, data: RequestData, device: CandidateDevice) -> bool:
        """Upstream: CmpRequestOverCapacity."""
        pool_device = self._pool_device(device)
        traits = pool_device.traits
        if not traits.has_capacity:
            return True
        consumed = self._node_pools.shared.consumed(pool_device.id)
        allocating = self._allocating.get(pool_device.id, NOTHING)
        if not consumed and not allocating:
            return not self._view.signatures[device.signature].too_small[data.number]
        policy = self._view.capacity_policy
        return fits(traits.capacities, data.request.capacity, policy, consumed, allocating)

    def take_share(
        self, request: RequestAlternative, device: CandidateDevice
    ) -> tuple[Share, Consumed | None]:
        """Take a share. Return what it consumes, and what was being allocated of the device
        before."""
        pool_device = self._pool_device(device)
        share = consumed_capacities(
            pool_device.traits.capacities, request.capacity, self._view.capacity_policy
        )
        before = self._allocating.get(pool_device.id)
        amounts = dict(before or NOTHING)
        for name, amount in share:
            amounts[name] = amounts.get(name, 0) + amount.nano_value()
        self._allocating[pool_device.id] = amounts
        return share, before

    def give_back_share(
        self, device: CandidateDevice, share: Share, before: Consumed | None
    ) -> None:
        """share, before: from `take_share`"""
        device_id = self._pool_device(device).id
        if not self._rules.takes_all_back:
            # The device of a share without capacity stays in use. Another share takes the mark of
            # earlier ones that consume nothing with it.
            if not share:
                return
            before = before if before and any(before.values()) else None
        if before is None:
            del self._allocating[device_id]
        else:
            self._allocating[device_id] = before

    def _pool_device(self, device: CandidateDevice) -> PoolDevice:
        return self._node_pools.pools[device.pool].devices[device.index]

    def _is_shared(self, device: CandidateDevice) -> bool:
        """Whether a claim consumes some of its capacity. Upstream: deviceCapacityInUse."""
        device_id = self._pool_device(device).id
        shared = self._node_pools.shared
        is_in_use = self._rules.counts_bare_shares and device_id in shared
        return is_in_use or shared.has_consumed(device_id) or device_id in self._allocating
