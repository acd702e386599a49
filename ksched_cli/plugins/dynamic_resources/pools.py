"""The device pools that each node can reach, gathered from resource slices.

Nodes that reach the same slices share their pools. Where upstream iterates over a map, in random
order, pools are ordered by driver and name here, and slices by name.

Upstream: dynamic-resource-allocation/structured/internal: experimental/pools_experimental.go of
1.34, incubating/pools_incubating.go (GatherPools, NodeMatches) of later minors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import (
    Device,
    NodeSelector,
    NodeSelectorRequirement,
    ResourceSlice,
    ResourceSliceSpec,
)
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.kube.versions import Rules, release_of
from ksched_cli.plugins.dynamic_resources.capacity import CapacityPolicyRules
from ksched_cli.plugins.dynamic_resources.counters import (
    CounterError,
    PoolCounters,
    check_consumption,
    consumption_of,
    total_counters,
)
from ksched_cli.plugins.dynamic_resources.features import NO_FEATURES, AllocatorFeatures
from ksched_cli.plugins.dynamic_resources.pool_devices import (
    DeviceKind,
    Pool,
    PoolDevice,
    duplicate_device_error,
    kind_of,
)

PoolID: TypeAlias = tuple[str, str]
"""Driver, pool."""

ReachedSlice: TypeAlias = tuple[int, bytes]
"""A slice's number, and what a node reaches of it, see SliceReach.reached_rows."""


class DevicePools:
    """All pools of a cluster.

    With DRAPartitionableDevices, slices may have counters, which their pool has on every node, and
    devices may each say which nodes reach them. Without, such slices are ignored.

    pools:   every pool, by its number
    of_row:  per row of the snapshot, the numbers of its pools, in allocation order
    rows_of: per pool, the rows that reach it
    kinds:   the kinds of devices, by the number that PoolDevice has
    error:   of an invalid node selector of a slice, which fails every node; or ""
    ambiguous_names: of pools of several drivers that have counters: upstream takes those of one
                     driver for the other's
    """

    def __init__(
        self,
        snapshot: Snapshot,
        slices: Iterable[ResourceSlice],
        rules: Rules | None = None,
        features: AllocatorFeatures = NO_FEATURES,
    ) -> None:
        """rules: of the release; by default of the newest."""
        rules = rules or release_of().rules
        slices = list(slices)
        self._features = features
        self._rules = rules
        self.capacity_policy = CapacityPolicyRules(
            rules.aborts_at_bad_capacity, features.fractional_range
        )
        self._generations = _count_generations(slices)
        if rules.skips_compatibility_groups:
            slices = [each for each in slices if not _names_groups(each.spec)]
        self._counted = _count_generations(slices)
        self._slices = sorted(filter(self._is_counted, slices), key=lambda item: item.name)
        self._slices_of: dict[PoolID, list[int]] = {}
        self._counter_slices: dict[PoolID, list[int]] = {}
        for number, resource_slice in enumerate(self._slices):
            pool_id = _pool_id(resource_slice.spec)
            self._slices_of.setdefault(pool_id, []).append(number)
            if self._has_counters(number):
                self._counter_slices.setdefault(pool_id, []).append(number)
        self.ambiguous_names: frozenset[str] = frozenset()
        if not rules.tells_pools_apart:
            self.ambiguous_names = _repeated(name for _, name in self._counter_slices)
        self.pools: list[Pool] = []
        self.kinds: list[DeviceKind] = []
        self._kind_numbers: dict[DeviceKind, int] = {}
        self._pool_cache: dict[tuple[ReachedSlice, ...], Pool] = {}
        self._counters_cache: dict[tuple[PoolID, int], PoolCounters] = {}
        reach = SliceReach(snapshot)
        self.of_row: list[tuple[int, ...]] = self._gather(snapshot, reach)
        self.error = reach.error
        self.rows_of: list[list[int]] = [[] for _ in self.pools]
        for row, pool_numbers in enumerate(self.of_row):
            for number in pool_numbers:
                self.rows_of[number].append(row)

    def _is_counted(self, resource_slice: ResourceSlice) -> bool:
        """Without DRAPartitionableDevices, upstream ignores every slice with
        perDeviceNodeSelection, even if it is false."""
        spec = resource_slice.spec
        return self._features.partitionable_devices or (
            spec.per_device_node_selection is None
            and not (self._rules.skips_unusable_pools and spec.shared_counters)
        )

    def _gather(self, snapshot: Snapshot, reach: SliceReach) -> list[tuple[int, ...]]:
        """Per row, the numbers of its pools."""
        slices_of_row: list[list[ReachedSlice]] = [[] for _ in snapshot.names]
        for number, resource_slice in enumerate(self._slices):
            if self._rules.places_counters or not self._has_counters(number):
                for row, reached in reach.reached_rows(resource_slice):
                    slices_of_row[row].append((number, reached))
        elsewhere = {
            pool_id: pool
            for pool_id in (() if self._rules.places_counters else self._counter_slices)
            if (pool := self._pool_on_node(pool_id, [])) is not None and not pool.is_usable
        }
        pools_by_slices: dict[tuple[ReachedSlice, ...], tuple[int, ...]] = {}
        of_row = []
        for slices in slices_of_row:
            key = tuple(slices)
            if key not in pools_by_slices:
                pools_by_slices[key] = self._pools_on_node(key, elsewhere)
            of_row.append(pools_by_slices[key])
        return of_row

    def _pools_on_node(
        self, slices: Sequence[ReachedSlice], elsewhere: dict[PoolID, Pool]
    ) -> tuple[int, ...]:
        """The numbers of the pools that these slices belong to. Upstream: GatherPools.

        elsewhere: pools that cannot be used, by what their slices with counters say alone.
        """
        slices_by_pool: dict[PoolID, list[ReachedSlice]] = {}
        for reached in slices:
            pool_id = _pool_id(self._slices[reached[0]].spec)
            slices_by_pool.setdefault(pool_id, []).append(reached)
        pools = [pool for pool_id, pool in elsewhere.items() if pool_id not in slices_by_pool]
        for pool_id, pool_slices in slices_by_pool.items():
            pool = self._pool_on_node(pool_id, pool_slices)
            if pool is not None:
                pools.append(pool)
        pools.sort(key=lambda pool: (self._comes_last(pool), pool.driver, pool.name))
        return tuple(pool.number for pool in pools)

    def _comes_last(self, pool: Pool) -> bool:
        """With binding conditions. Since 1.35 upstream sees no devices of an unusable pool."""
        is_seen = pool.is_usable or not self._rules.skips_unusable_pools
        return pool.has_binding_conditions and is_seen

    def _pool_on_node(self, pool_id: PoolID, slices: Sequence[ReachedSlice]) -> Pool | None:
        """Return the pool on a node; None: slices that are out of reach are newer."""
        reach = dict(slices)
        if not self._rules.places_counters:
            reach |= dict.fromkeys(self._counter_slices.get(pool_id, ()), b"")
        newest = self._newest_generation(reach)
        if self._is_obsolete(newest):
            return None
        key = tuple((number, reach[number]) for number in newest)
        pool = self._pool_cache.get(key)
        if pool is None:
            pool = self._pool_cache[key] = self._build_pool(key)
            self.pools.append(pool)
        return pool

    def _newest_generation(self, numbers: Iterable[int]) -> tuple[int, ...]:
        ordered = sorted(numbers)
        if not self._rules.skips_unusable_pools:
            ordered.sort(key=lambda number: _has_conditions(self._slices[number].spec))
        generation = max(self._slices[number].spec.pool.generation for number in ordered)
        return tuple(n for n in ordered if self._slices[n].spec.pool.generation == generation)

    def _is_obsolete(self, numbers: Sequence[int]) -> bool:
        """Whether slices of the pool that are out of reach are newer. Upstream looks only where
        not all slices are within reach."""
        spec = self._slices[numbers[0]].spec
        if not self._rules.skips_unusable_pools or len(numbers) == spec.pool.resource_slice_count:
            return False
        return max(self._generations[_pool_id(spec)]) > spec.pool.generation

    def _is_incomplete(self, numbers: Sequence[int]) -> bool:
        spec = self._slices[numbers[0]].spec
        count = len(numbers)
        if self._rules.skips_unusable_pools and count != spec.pool.resource_slice_count:
            count = self._counted[_pool_id(spec)][spec.pool.generation]
        return count != spec.pool.resource_slice_count

    def _build_pool(self, slices: Sequence[ReachedSlice]) -> Pool:
        """Upstream: buildPool."""
        numbers = [number for number, _ in slices]
        spec = self._slices[numbers[0]].spec
        devices = tuple(self._reached_devices(slices))
        incomplete = self._is_incomplete(numbers)
        invalid, counters = duplicate_device_error(devices), None
        if self._features.partitionable_devices and not incomplete and not invalid:
            try:
                counters = self._counters(numbers)
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

    def _reached_devices(self, slices: Sequence[ReachedSlice]) -> Iterable[PoolDevice]:
        for number, reach in slices:
            resource_slice = self._slices[number]
            if self._has_counters(number):
                continue
            is_reached = reach or bytes([1]) * len(resource_slice.spec.devices)
            for device, is_reachable in zip(resource_slice.spec.devices, is_reached, strict=True):
                yield self._device(device, resource_slice, bool(is_reachable))

    def _has_counters(self, number: int) -> bool:
        """Whether a slice has counters, and so no devices."""
        spec = self._slices[number].spec
        return self._features.partitionable_devices and bool(spec.shared_counters)

    def _device(
        self, device: Device, resource_slice: ResourceSlice, is_reachable: bool
    ) -> PoolDevice:
        spec = resource_slice.spec
        kind = kind_of(spec.driver, device, self._features, is_reachable)
        number = self._kind_numbers.get(kind)
        if number is None:
            number = self._kind_numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        device_id = (spec.driver, spec.pool.name, device.name)
        return PoolDevice(device_id, number, device, resource_slice, kind.traits)

    def _counters(self, numbers: Sequence[int]) -> PoolCounters | None:
        """Raises CounterError. Upstream: getAndValidateCounterSets,
        validateDeviceCounterConsumption."""
        spec = self._slices[numbers[0]].spec
        key = _pool_id(spec), spec.pool.generation
        if key in self._counters_cache:
            return self._counters_cache[key]
        reached = [self._slices[number].spec for number in numbers]
        others = [
            self._slices[number].spec
            for number in self._slices_of[key[0]]
            if self._slices[number].spec.pool.generation == key[1] and number not in numbers
        ]
        sets = [each for slice_spec in (*reached, *others) for each in slice_spec.shared_counters]
        total = total_counters(sets)
        check_consumption((device for each in reached for device in each.devices), sets)
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


def _count_generations(slices: Iterable[ResourceSlice]) -> dict[PoolID, Counter[int]]:
    """Per pool, how many slices of the cluster each generation has."""
    generations: dict[PoolID, Counter[int]] = {}
    for resource_slice in slices:
        spec = resource_slice.spec
        generations.setdefault(_pool_id(spec), Counter())[spec.pool.generation] += 1
    return generations


def _names_groups(spec: ResourceSliceSpec) -> bool:
    """Upstream: sliceUsesCompatibilityGroups."""
    consumptions = (each for device in spec.devices for each in device.consumes_counters)
    return any(consumption.compatibility_groups for consumption in consumptions)


def _pool_id(spec: ResourceSliceSpec) -> PoolID:
    return spec.driver, spec.pool.name


def _has_conditions(spec: ResourceSliceSpec) -> bool:
    return any(device.binding_conditions for device in spec.devices)


def _repeated(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name, count in Counter(names).items() if count > 1)


class SliceReach:
    """error: of the first invalid node selector, which fails every node; or ''"""

    def __init__(self, snapshot: Snapshot) -> None:
        self.error = ""
        self._snapshot = snapshot

    def reached_rows(self, resource_slice: ResourceSlice) -> Iterable[tuple[int, bytes]]:
        """The rows that reach the slice. Each has a byte per device, 1 where it reaches the device;
        b"" where the slice says which nodes reach all of its devices."""
        spec = resource_slice.spec
        if not spec.per_device_node_selection:
            return ((row, b"") for row in self._slice_rows(resource_slice).tolist())
        reached: NDArray[np.bool_] = np.zeros(
            (len(spec.devices), len(self._snapshot)), dtype=np.bool_
        )
        for mask, device in zip(reached, spec.devices, strict=True):
            mask[self._rows(device, f"device {device.name}")] = True
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            rows = self._slice_rows(resource_slice)
        else:
            rows = np.flatnonzero(reached.any(axis=0))
        return ((row, reached[:, row].tobytes()) for row in rows.tolist())

    def _slice_rows(self, resource_slice: ResourceSlice) -> Rows:
        return self._rows(resource_slice.spec, f"slice {resource_slice.name}")

    def _rows(self, place: ResourceSliceSpec | Device, subject: str) -> Rows:
        """subject: what has the place, for a message"""
        if place.node_name:
            row = self._snapshot.row.get(place.node_name)
            return np.array([] if row is None else [row], dtype=np.intp)
        if place.all_nodes:
            return np.arange(len(self._snapshot))
        if place.node_selector is None:
            return np.empty(0, dtype=np.intp)
        terms = node_terms(place.node_selector)
        if terms.error:
            self.error = self.error or (
                f"gather pool information: failed to perform node selection for {subject}: "
                f"failed to parse node selector {_go_text(place.node_selector)}: {terms.error}"
            )
        return np.flatnonzero(matches_any(self._snapshot, terms))


def _go_text(selector: NodeSelector) -> str:
    """A selector as Go's String method prints it. Upstream: api/core/v1/generated.pb.go."""

    def requirements_text(requirements: tuple[NodeSelectorRequirement, ...]) -> str:
        parts = (
            f"NodeSelectorRequirement{{Key:{requirement.key},Operator:{requirement.operator},"
            f"Values:[{' '.join(requirement.values)}],}},"
            for requirement in requirements
        )
        return f"[]NodeSelectorRequirement{{{''.join(parts)}}}"

    terms = (
        f"NodeSelectorTerm{{MatchExpressions:{requirements_text(term.match_expressions)},"
        f"MatchFields:{requirements_text(term.match_fields)},}},"
        for term in selector.node_selector_terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{''.join(terms)}}},}}"
