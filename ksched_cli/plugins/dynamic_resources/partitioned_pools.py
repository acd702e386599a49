"""Pools whose devices may consume counters that the pool's slices share, and may each say which
nodes reach them (DRAPartitionableDevices).

Upstream: dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import Device, ResourceSlice, ResourceSliceSpec
from ksched_cli.cluster.snapshot import Mask, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.plugins.dynamic_resources.counters import (
    CounterError,
    PoolCounters,
    check_consumption,
    consumption_of,
    total_counters,
)
from ksched_cli.plugins.dynamic_resources.pool_devices import (
    Pool,
    PoolDevice,
    duplicate_device_error,
)
from ksched_cli.plugins.dynamic_resources.pools import DevicePools

PoolID: TypeAlias = tuple[str, str]
"""Driver, pool."""

_SliceReach: TypeAlias = tuple[int, bytes]
"""A slice's number, and a byte for each of its devices: 1 where a node reaches it; empty where the
slice says which nodes reach all of them."""


class PartitionedPools(DevicePools):
    """Slices with counters belong to their pool on every node.

    ambiguous_names: of pools of several drivers that have counters: upstream takes those of one
                     driver for the other's
    """

    def _is_counted(self, resource_slice: ResourceSlice) -> bool:
        return True

    def _gather(self, snapshot: Snapshot) -> list[tuple[int, ...]]:
        self._counters_cache: dict[tuple[PoolID, int], PoolCounters] = {}
        self._slices_of: dict[PoolID, list[int]] = {}
        self._counter_slices: dict[PoolID, list[int]] = {}
        slices_of_row: list[list[_SliceReach]] = [[] for _ in snapshot.names]
        for number, resource_slice in enumerate(self._slices):
            pool_id = _pool_id(resource_slice.spec)
            self._slices_of.setdefault(pool_id, []).append(number)
            if resource_slice.spec.shared_counters:
                self._counter_slices.setdefault(pool_id, []).append(number)
                continue
            for row, reach in self._reached_rows(snapshot, resource_slice):
                slices_of_row[row].append((number, reach))
        self.ambiguous_names = _repeated(name for _, name in self._counter_slices)
        elsewhere = {
            pool_id: pool
            for pool_id in self._counter_slices
            if (pool := self._pool_on_node(pool_id, [])) is not None and not pool.is_usable
        }
        pools_by_slices: dict[tuple[_SliceReach, ...], tuple[int, ...]] = {}
        of_row = []
        for reached in slices_of_row:
            key = tuple(reached)
            if key not in pools_by_slices:
                pools_by_slices[key] = self._pools_on_node(key, elsewhere)
            of_row.append(pools_by_slices[key])
        return of_row

    def _reached_rows(
        self, snapshot: Snapshot, resource_slice: ResourceSlice
    ) -> Iterable[tuple[int, bytes]]:
        spec = resource_slice.spec
        if not spec.per_device_node_selection:
            return ((row, b"") for row in self._rows(snapshot, resource_slice).tolist())
        masks: NDArray[np.bool_] = np.array(
            [self._device_mask(snapshot, device) for device in spec.devices]
        ).reshape(len(spec.devices), len(snapshot))
        rows = self._rows(snapshot, resource_slice)
        if not (spec.node_name or spec.all_nodes or spec.node_selector is not None):
            rows = np.flatnonzero(masks.any(axis=0))
        return ((row, masks[:, row].tobytes()) for row in rows.tolist())

    def _device_mask(self, snapshot: Snapshot, device: Device) -> Mask:
        mask = np.zeros(len(snapshot), dtype=np.bool_)
        if device.node_name:
            row = snapshot.row.get(device.node_name)
            if row is not None:
                mask[row] = True
        elif device.all_nodes:
            mask[:] = True
        elif device.node_selector is not None:
            terms = node_terms(device.node_selector)
            if terms.error:
                self.error = self.error or (
                    "gather pool information: failed to perform node selection for device "
                    f"{device.name}: failed to parse node selector: {terms.error}"
                )
            mask = matches_any(snapshot, terms)
        return mask

    def _pools_on_node(
        self, reached: Sequence[_SliceReach], elsewhere: dict[PoolID, Pool]
    ) -> tuple[int, ...]:
        """elsewhere: pools that cannot be used, by what their slices with counters say alone."""
        slices_by_pool: dict[PoolID, list[_SliceReach]] = {}
        for slice_reach in reached:
            pool_id = _pool_id(self._slices[slice_reach[0]].spec)
            slices_by_pool.setdefault(pool_id, []).append(slice_reach)
        pools = [pool for pool_id, pool in elsewhere.items() if pool_id not in slices_by_pool]
        for pool_id, slices in slices_by_pool.items():
            pool = self._pool_on_node(pool_id, slices)
            if pool is not None:
                pools.append(pool)
        # Pools with binding conditions come last.
        pools.sort(key=lambda p: (p.is_usable and p.has_binding_conditions, p.driver, p.name))
        return tuple(pool.number for pool in pools)

    def _pool_on_node(self, pool_id: PoolID, reached: Sequence[_SliceReach]) -> Pool | None:
        """None: slices that are out of reach are newer."""
        counters = self._counter_slices.get(pool_id, [])
        reach = dict(reached) | dict.fromkeys(counters, b"")
        newest = self._newest_generation(sorted(reach))
        if self._is_obsolete(newest):
            return None
        key = tuple((number, reach[number]) for number in newest)
        pool = self._pool_cache.get(key)
        if pool is None:
            pool = self._pool_cache[key] = self._build_pool(newest, reach)
            self.pools.append(pool)
        return pool

    def _build_pool(self, numbers: tuple[int, ...], reach: dict[int, bytes]) -> Pool:
        """Upstream: buildPool."""
        spec = self._slices[numbers[0]].spec
        devices = tuple(self._reached_devices(numbers, reach))
        incomplete = self._is_incomplete(numbers)
        invalid, counters = "", None
        if not incomplete:
            invalid = duplicate_device_error(devices)
            try:
                counters = None if invalid else self._counters(numbers)
            except CounterError as error:
                invalid = str(error)
        return Pool(
            len(self.pools),
            spec.driver,
            spec.pool.name,
            devices,
            spec.pool.generation,
            len(numbers),
            spec.pool.resource_slice_count,
            incomplete,
            invalid,
            counters,
        )

    def _reached_devices(
        self, numbers: tuple[int, ...], reach: dict[int, bytes]
    ) -> Iterable[PoolDevice]:
        for number in numbers:
            resource_slice = self._slices[number]
            if resource_slice.spec.shared_counters:
                continue
            is_reached = reach[number] or bytes([1]) * len(resource_slice.spec.devices)
            for device, is_reachable in zip(resource_slice.spec.devices, is_reached, strict=True):
                yield self._device(device, resource_slice, bool(is_reachable))

    def _counters(self, numbers: tuple[int, ...]) -> PoolCounters | None:
        """Raises CounterError. Upstream: getAndValidateCounterSets,
        validateDeviceCounterConsumption."""
        spec = self._slices[numbers[0]].spec
        key = _pool_id(spec), spec.pool.generation
        if key in self._counters_cache:
            return self._counters_cache[key]
        reached = [self._slices[number].spec for number in numbers]
        sets = [each for slice_spec in reached for each in slice_spec.shared_counters]
        total = total_counters(sets)
        check_consumption((device for each in reached for device in each.devices), sets)
        others = [
            self._slices[number].spec
            for number in self._slices_of[key[0]]
            if self._slices[number].spec.pool.generation == key[1] and number not in numbers
        ]
        check_consumption((device for each in others for device in each.devices), sets)
        consumers = tuple(
            ((each.driver, each.pool.name, device.name), consumption_of(device))
            for each in (*reached, *others)
            if not each.shared_counters
            for device in each.devices
            if device.consumes_counters
        )
        if not sets:
            return None
        counters = self._counters_cache[key] = PoolCounters(total, consumers)
        return counters


def _pool_id(spec: ResourceSliceSpec) -> PoolID:
    return spec.driver, spec.pool.name


def _repeated(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name, count in Counter(names).items() if count > 1)
