"""The devices in use, per pool and per node.

Upstream: plugins/dynamicresources/dra_manager.go (ListAllAllocatedDevices), dynamicresources.go
(PreFilter).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import DeviceClass, ResourceSlice
from ksched_cli.framework.device_taint_rules import GATE, with_taint_rules
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.framework.shared_devices import DeviceID
from ksched_cli.plugins.dynamic_resources.counters import Counters, PoolCounters
from ksched_cli.plugins.dynamic_resources.features import allocator_rules, features_of
from ksched_cli.plugins.dynamic_resources.pools import DevicePools
from ksched_cli.plugins.dynamic_resources.requests import Demand
from ksched_cli.plugins.dynamic_resources.selectors import DeviceSelectors
from ksched_cli.plugins.dynamic_resources.view import DemandView


class DevicesInUse:
    """masks:  per pool, a bit for every device that is in use
    shared: what claims consume of devices that they share
    of_row: per row of the snapshot, an id, equal for nodes whose pools have equal masks
    """

    def __init__(self, pools: DevicePools, store: ClaimStore, counts_shares: bool = True) -> None:
        """counts_shares: see Rules.counts_shared_devices"""
        self.masks = [0] * len(pools.pools)
        self._pools = pools
        self._store = store
        self._log_position = len(store.log)
        self._bits: dict[DeviceID, list[tuple[int, int]]] = {}
        for pool in pools.pools:
            for index, device in enumerate(pool.devices):
                self._bits.setdefault(device.id, []).append((pool.number, index))
        for device_id in store.devices_in_use():
            for number, index in self._bits.get(device_id, ()):
                self.masks[number] |= 1 << index
        self.shared = store.shared
        self._left: dict[PoolCounters, Counters] = {}
        self._is_allocated = store.is_allocated if counts_shares else store.in_use
        self._consumers = _pools_by_consumer(pools)
        self._usage_ids: dict[tuple[Hashable, ...], int] = {}
        self.of_row: NDArray[np.int64] = np.array(
            [self._usage_id(row) for row in range(len(pools.of_row))], dtype=np.int64
        )

    def _usage_id(self, row: int) -> int:
        usages = tuple(self._usage(number) for number in self._pools.of_row[row])
        return self._usage_ids.setdefault(usages, len(self._usage_ids))

    def _usage(self, number: int) -> Hashable:
        """Return what a pool's devices have left, to be compared."""
        left = self.counters(number)
        consumed = self._consumed(number) if self.shared else ()
        if left is None and not consumed:
            return self.masks[number]
        return self.masks[number], consumed, left and tuple(sorted(left.items()))

    def _consumed(self, number: int) -> Hashable:
        return tuple(
            (index, tuple(sorted(self.shared.consumed(device.id).items())), device.traits)
            for index, device in enumerate(self._pools.pools[number].devices)
            if device.id in self.shared
        )

    def counters(self, number: int) -> Counters | None:
        """Return what is left of a pool's counters; None where it has no counters."""
        counters = self._pools.pools[number].counters
        if counters is None:
            return None
        if counters not in self._left:
            self._left[counters] = counters.available(self._is_allocated)
        return self._left[counters]

    def refresh(self) -> None:
        """Applies what was allocated and deallocated since the last call."""
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
        for row in {row for number in changed for row in self._pools.rows_of[number]}:
            self.of_row[row] = self._usage_id(row)


def _pools_by_consumer(pools: DevicePools) -> dict[DeviceID, set[int]]:
    """Per device that consumes counters, the pools that have fewer when it is allocated."""
    numbers: dict[DeviceID, set[int]] = {}
    for pool in pools.pools:
        for device, _ in pool.counters.consumers if pool.counters else ():
            numbers.setdefault(device, set()).add(pool.number)
    return numbers


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
        self.selectors = DeviceSelectors(self.pools.kinds, self.classes, self.rules.reads_lists)
        store = handle.service(ClaimStore)
        self.in_use = DevicesInUse(self.pools, store, self.rules.counts_shared_devices)
        self.view: Callable[[Demand], DemandView] = cache(
            lambda demand: DemandView(demand, self.pools, self.selectors)
        )
