"""The device pools that each node can reach, gathered from resource slices.

Nodes that reach the same slices share their pools. Where upstream iterates over a map, in random
order, pools are ordered by driver and name here, and slices by name.

Upstream: dynamic-resource-allocation/structured/internal: experimental/pools_experimental.go of
1.34, incubating/pools_incubating.go (GatherPools, NodeMatches) of later minors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import (
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceTaint,
    NodeSelector,
    NodeSelectorRequirement,
    ResourceSlice,
    ResourceSliceSpec,
)
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.resource_claims import DeviceID, qualified
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.versions import Rules, release_of
from ksched_cli.plugins.dynamic_resources.features import NO_FEATURES, AllocatorFeatures
from ksched_cli.plugins.dynamic_resources.requests import Capacities, CapacityPolicyRules

# -- counters --------------------------------------------------------------------------------------
#
# Counters of a pool, which its devices consume: partitions of one card, say, that take from the
# memory of the card.
#
# Amounts are integers, in billionths of a unit.
#
# Upstream: dynamic-resource-allocation/structured/internal/incubating (allocator_incubating.go,
# checkAvailableCounters; pools_incubating.go, getAndValidateCounterSets,
# validateDeviceCounterConsumption).


CounterKey: TypeAlias = tuple[str, str]
"""Counter set, counter."""

Counters: TypeAlias = Mapping[CounterKey, int]

Consumption: TypeAlias = tuple[tuple[CounterKey, int], ...]
"""What one device consumes, a pair for each counter that it lists."""


Groups: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""The compatibility groups of one device, by the counter sets that it takes from."""


class SharedGroups(NamedTuple):
    """The groups that all devices of one counter set have; are_bare: none of them has any.

    Upstream: compatibilityGroupIntersection.
    """

    are_bare: bool
    groups: frozenset[str] = frozenset()

    def admits(self, groups: frozenset[str]) -> bool:
        """Return whether a device with these groups may be allocated beside the others."""
        if not groups or self.are_bare:
            return not groups and self.are_bare
        return not self.groups.isdisjoint(groups)


GroupsBySet: TypeAlias = Mapping[str, SharedGroups]


def with_groups(by_set: GroupsBySet, groups: Groups) -> GroupsBySet:
    """Return the groups with those of one more device."""
    joined = dict(by_set)
    for name, own in groups:
        others = joined.get(name)
        if others is None:
            joined[name] = SharedGroups(not own, own)
        elif own and not others.are_bare:
            joined[name] = SharedGroups(False, others.groups & own)
    return joined


class CounterError(Exception):
    """Counters that make a pool invalid. The text is upstream's."""


class PoolCounters(Struct, frozen=True, eq=False):
    """The counters of a pool's newest generation. Compared by identity.

    total:     of each counter
    consumers: every device of the pool that consumes some, on whichever node, with what it does
    groups:    of the same devices, where these count
    """

    total: Counters
    consumers: tuple[tuple[DeviceID, Consumption], ...]
    groups: tuple[Groups, ...] = ()

    def shared_groups(self, is_allocated: Callable[[DeviceID], bool]) -> GroupsBySet:
        """Return the groups that the allocated devices share, by counter set. Upstream:
        compatibilityGroupsBaselineForPool."""
        by_set: GroupsBySet = {}
        for (device, _), groups in zip(self.consumers, self.groups, strict=False):
            if is_allocated(device):
                by_set = with_groups(by_set, groups)
        return by_set

    def available(self, is_allocated: Callable[[DeviceID], bool]) -> dict[CounterKey, int]:
        """Return what the allocated devices leave; below 0 where they consume more than there
        is."""
        amounts = dict(self.total)
        for device, consumption in self.consumers:
            if is_allocated(device):
                for key, amount in consumption:
                    if key in amounts:
                        amounts[key] -= amount
        return amounts


def groups_of(device: Device) -> Groups:
    return tuple(
        (consumed.counter_set, frozenset(consumed.compatibility_groups))
        for consumed in device.consumes_counters
    )


def consumption_of(device: Device) -> Consumption:
    return tuple(
        ((consumed.counter_set, name), counter.value.nano_value())
        for consumed in device.consumes_counters
        for name, counter in consumed.counters.items()
    )


def total_counters(sets: Iterable[CounterSet]) -> dict[CounterKey, int]:
    """Return the value of each counter, in billionths. Raises CounterError where two sets have one
    name."""
    total: dict[CounterKey, int] = {}
    names: set[str] = set()
    for counter_set in sets:
        if counter_set.name in names:
            raise CounterError(f"duplicate counter set name {counter_set.name}")
        names.add(counter_set.name)
        for name, counter in counter_set.counters.items():
            total[counter_set.name, name] = counter.value.nano_value()
    return total


def check_consumption(devices: Iterable[Device], sets: Iterable[CounterSet]) -> None:
    """Check that the devices consume only counters that their pool has. Raises CounterError."""
    counters = {counter_set.name: counter_set.counters for counter_set in sets}
    for device in devices:
        for consumed in device.consumes_counters:
            existing = counters.get(consumed.counter_set)
            if existing is None:
                raise CounterError(f"counter set {consumed.counter_set} not found")
            for name in consumed.counters:
                if name not in existing:
                    raise CounterError(
                        f"counter {name} not found in counter set {consumed.counter_set}"
                    )


# -- devices ---------------------------------------------------------------------------------------
#
# Pools of devices and what is known of each device, as the allocator uses them.
#
# Upstream: dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go (Pool).


class DeviceTraits(Struct, frozen=True):
    """The device traits that the enabled features of a release see.

    is_reachable: by the node, where each device of a slice says so for itself
    consumption:  what it takes from its pool's counters
    is_shared:    several claims may have it
    has_capacity: requests are compared with its capacities
    groups:       of the counter sets that it takes from, where these count
    skips:        it does without operations on the node, which has to declare that it can
    """

    is_reachable: bool = True
    taints: tuple[DeviceTaint, ...] = ()
    consumption: Consumption = ()
    is_shared: bool = False
    has_capacity: bool = False
    capacities: Capacities = ()
    groups: Groups = ()
    skips: bool = False


PLAIN = DeviceTraits()


class DeviceKind(Struct, frozen=True):
    """A device as selectors and constraints see it; many devices are of one kind.

    has_binding_conditions, consumes_counters: and the gate for these is off, so that it is not
        allocated
    is_shareable: what selectors see as `device.allowMultipleAllocations`
    """

    driver: str
    attributes: tuple[tuple[str, DeviceAttribute], ...]
    capacity: tuple[tuple[str, Quantity], ...]
    has_binding_conditions: bool = False
    consumes_counters: bool = False
    traits: DeviceTraits = PLAIN
    is_shareable: bool = False


def kind_of(
    spec: ResourceSliceSpec, device: Device, features: AllocatorFeatures, is_reachable: bool
) -> DeviceKind:
    driver = spec.driver
    traits, has_capacity = PLAIN, features.consumable_capacity
    attributes, capacity = device.attributes, device.capacity
    if features.qualifies_names:
        attributes, capacity = qualified(attributes, driver), qualified(capacity, driver)
    if features.any_enabled:
        traits = DeviceTraits(
            is_reachable,
            device.taints if features.device_taints else (),
            consumption_of(device) if features.partitionable_devices else (),
            has_capacity and device.allow_multiple_allocations,
            has_capacity,
            tuple(sorted(capacity.items())) if has_capacity else (),
            groups_of(device) if features.compatibility_groups else (),
            features.needs_latest and bool(spec.skip_node_operations),
        )
    return DeviceKind(
        driver,
        tuple(sorted(attributes.items(), key=lambda item: item[0])),
        tuple(sorted((name, each.value) for name, each in capacity.items())),
        bool(device.binding_conditions) and not features.binding_conditions,
        bool(device.consumes_counters) and not features.partitionable_devices,
        traits,
        features.shows_sharing and device.allow_multiple_allocations,
    )


class PoolDevice(Struct, frozen=True):
    """kind: an index into DevicePools.kinds."""

    id: DeviceID
    kind: int
    device: Device
    slice: ResourceSlice
    traits: DeviceTraits = PLAIN

    @property
    def full_name(self) -> str:
        """Return DRIVER/POOL/NAME."""
        return "/".join(self.id)


class Pool(Struct, frozen=True, eq=False):
    """The slices of one pool that a node, or several, can reach. Compared by identity.

    number:      its index in DevicePools.pools
    slice_count: of the slices within reach; resource_slice_count: how many the pool should have
    incomplete:  not all slices of its newest generation are within reach; in later minors, are
                 there
    invalid:     the error that makes it invalid, or ""
    counters:    that its devices consume; None: it has none
    """

    number: int
    driver: str
    name: str
    devices: tuple[PoolDevice, ...]
    generation: int
    slice_count: int
    resource_slice_count: int
    incomplete: bool
    invalid: str
    counters: PoolCounters | None = None

    @property
    def key(self) -> str:
        return f"{self.driver}/{self.name}"

    @property
    def is_usable(self) -> bool:
        return not self.incomplete and not self.invalid

    @property
    def has_binding_conditions(self) -> bool:
        return any(device.device.binding_conditions for device in self.devices)


T = TypeVar("T")


def interned(item: T, items: list[T], numbers: dict[T, int]) -> int:
    """Return the index of an item in the list of distinct items, to which it is added."""
    number = numbers.setdefault(item, len(items))
    if number == len(items):
        items.append(item)
    return number


# -- the plugin ------------------------------------------------------------------------------------


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
    rules:   of the release
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
        """Read the pools from the slices. rules: of the release; by default of the newest"""
        rules = rules or release_of().rules
        slices = list(slices)
        self.features, self.rules = features, rules
        self.capacity_policy = CapacityPolicyRules(
            rules.aborts_at_bad_capacity,
            features.fractional_range,
            rules.refuses_negative_capacity,
            rules.qualifies_names,
        )
        self._generations = _count_generations(slices)
        if rules.skips_compatibility_groups and not features.compatibility_groups:
            # Upstream: sliceUsesCompatibilityGroups.
            slices = [
                each
                for each in slices
                if not any(
                    consumption.compatibility_groups
                    for device in each.spec.devices
                    for consumption in device.consumes_counters
                )
            ]
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
            drivers_by_name = Counter(name for _, name in self._counter_slices)
            self.ambiguous_names = frozenset(
                name for name, count in drivers_by_name.items() if count > 1
            )
        self.pools: list[Pool] = []
        self.kinds: list[DeviceKind] = []
        self._kind_numbers: dict[DeviceKind, int] = {}
        self._pool_cache: dict[tuple[ReachedSlice, ...], Pool] = {}
        self._counters_cache: dict[Hashable, PoolCounters] = {}
        reach = SliceReach(snapshot)
        self.of_row: list[tuple[int, ...]] = self._gather(snapshot, reach)
        self.error = reach.error
        self.rows_of: list[list[int]] = [[] for _ in self.pools]
        for row, pool_numbers in enumerate(self.of_row):
            for number in pool_numbers:
                self.rows_of[number].append(row)

    def _is_counted(self, resource_slice: ResourceSlice) -> bool:
        """Return whether upstream looks at the slice. Without DRAPartitionableDevices it ignores
        every slice with perDeviceNodeSelection, even if it is false."""
        spec = resource_slice.spec
        return self.features.partitionable_devices or (
            spec.per_device_node_selection is None
            and not (self.rules.skips_unusable_pools and spec.shared_counters)
        )

    def _gather(self, snapshot: Snapshot, reach: SliceReach) -> list[tuple[int, ...]]:
        """Return per row, the numbers of its pools."""
        slices_of_row: list[list[ReachedSlice]] = [[] for _ in snapshot.names]
        for number, resource_slice in enumerate(self._slices):
            if self.rules.places_counters or not self._has_counters(number):
                for row, reached in reach.reached_rows(resource_slice):
                    slices_of_row[row].append((number, reached))
        # Some pools cannot be used, by what their slices with counters say alone.
        with_counters = () if self.rules.places_counters else self._counter_slices
        alone = [(pool_id, self._pool_on_node(pool_id, [])) for pool_id in with_counters]
        elsewhere = {key: pool for key, pool in alone if pool is not None and not pool.is_usable}
        pools_by_slices: dict[tuple[ReachedSlice, ...], tuple[int, ...]] = {}
        of_row = []
        for slices in slices_of_row:
            key = tuple(slices)
            if key not in pools_by_slices:
                # The slices belong to pools. Upstream: GatherPools.
                slices_by_pool: dict[PoolID, list[ReachedSlice]] = {}
                for number, reached in key:
                    pool_id = _pool_id(self._slices[number].spec)
                    slices_by_pool.setdefault(pool_id, []).append((number, reached))
                pools = [
                    pool for pool_id, pool in elsewhere.items() if pool_id not in slices_by_pool
                ]
                for pool_id, pool_slices in slices_by_pool.items():
                    pool = self._pool_on_node(pool_id, pool_slices)
                    if pool is not None:
                        pools.append(pool)
                # Pools with binding conditions come last, where these are seen. Since 1.35 upstream
                # sees no devices of an unusable pool.
                sees_all = not self.rules.skips_unusable_pools
                pools.sort(
                    key=lambda pool: (
                        pool.has_binding_conditions and (sees_all or pool.is_usable),
                        pool.driver,
                        pool.name,
                    )
                )
                pools_by_slices[key] = tuple(pool.number for pool in pools)
            of_row.append(pools_by_slices[key])
        return of_row

    def _pool_on_node(self, pool_id: PoolID, slices: Sequence[ReachedSlice]) -> Pool | None:
        """Return the pool on a node, or None if slices that are out of reach are newer."""
        reach = dict(slices)
        if not self.rules.places_counters:
            reach |= dict.fromkeys(self._counter_slices.get(pool_id, ()), b"")
        # The slices of the newest generation count.
        ordered = sorted(reach)
        if not self.rules.skips_unusable_pools:
            ordered.sort(
                key=lambda number: any(
                    device.binding_conditions for device in self._slices[number].spec.devices
                )
            )
        newest_generation = max(self._slices[number].spec.pool.generation for number in ordered)
        newest = tuple(
            n for n in ordered if self._slices[n].spec.pool.generation == newest_generation
        )
        spec = self._slices[newest[0]].spec
        generation, expected = spec.pool.generation, spec.pool.resource_slice_count
        is_complete = len(newest) == expected
        # Upstream looks for slices out of reach only where not as many as there should be are
        # within reach, even if there are more.
        is_whole = self.rules.skips_unusable_pools and is_complete
        if self.rules.skips_unusable_pools and not is_complete:
            if max(self._generations[pool_id]) > generation:
                return None
            is_complete = self._counted[pool_id][generation] == expected
        key = tuple((number, reach[number]) for number in newest)
        pool = self._pool_cache.get(key)
        if pool is None:
            pool = self._pool_cache[key] = self._build_pool(key, is_complete, is_whole)
            self.pools.append(pool)
        return pool

    def _build_pool(
        self, slices: Sequence[ReachedSlice], is_complete: bool, is_whole: bool
    ) -> Pool:
        """Build the pool from its slices. Upstream: buildPool.

        is_whole: no other slices are looked at
        """
        numbers = [number for number, _ in slices]
        spec = self._slices[numbers[0]].spec
        devices: list[PoolDevice] = []
        for number, reach in slices:
            resource_slice = self._slices[number]
            if self._has_counters(number):
                continue
            is_reached = reach or bytes([1]) * len(resource_slice.spec.devices)
            for device, is_reachable in zip(resource_slice.spec.devices, is_reached, strict=True):
                kind = kind_of(resource_slice.spec, device, self.features, bool(is_reachable))
                kind_number = interned(kind, self.kinds, self._kind_numbers)
                device_id = (spec.driver, spec.pool.name, device.name)
                devices.append(
                    PoolDevice(device_id, kind_number, device, resource_slice, kind.traits)
                )
        invalid, counters = "", None
        ids = [device.id for device in devices]
        if len(set(ids)) < len(ids):
            duplicate = next(each for i, each in enumerate(ids) if each in ids[:i])
            invalid = f"duplicate device name {duplicate[2]}"
        if self.features.partitionable_devices and is_complete and not invalid:
            try:
                counters = self._counters(numbers, is_whole)
            except CounterError as error:
                invalid = str(error)
        return Pool(
            len(self.pools),
            spec.driver,
            spec.pool.name,
            tuple(devices),
            spec.pool.generation,
            len(numbers),
            spec.pool.resource_slice_count,
            not is_complete,
            invalid,
            counters,
        )

    def _has_counters(self, number: int) -> bool:
        """Return whether a slice has counters, and so no devices."""
        spec = self._slices[number].spec
        return self.features.partitionable_devices and bool(spec.shared_counters)

    def _counters(self, numbers: Sequence[int], is_whole: bool) -> PoolCounters | None:
        """Return the pool's counters, or None where its slices share none. Raises CounterError.
        Upstream: getAndValidateCounterSets, validateDeviceCounterConsumption."""
        spec = self._slices[numbers[0]].spec
        pool_id, generation = _pool_id(spec), spec.pool.generation
        key = tuple(numbers) if is_whole else (pool_id, generation)
        if key in self._counters_cache:
            return self._counters_cache[key]
        reached = [self._slices[number].spec for number in numbers]
        others: list[ResourceSliceSpec] = []
        if not is_whole:
            unreached = (self._slices[n].spec for n in self._slices_of[pool_id] if n not in numbers)
            others = [each for each in unreached if each.pool.generation == generation]
        specs = (*reached, *others)
        sets = [each for slice_spec in specs for each in slice_spec.shared_counters]
        total = total_counters(sets)
        check_consumption((device for each in specs for device in each.devices), sets)
        consuming = [
            ((each.driver, each.pool.name, device.name), device)
            for each in specs
            if not each.shared_counters
            for device in each.devices
            if device.consumes_counters
        ]
        if not sets:
            return None
        consumers = tuple((device_id, consumption_of(device)) for device_id, device in consuming)
        groups: tuple[Groups, ...] = ()
        if self.features.compatibility_groups:
            groups = tuple(groups_of(device) for _, device in consuming)
        counters = self._counters_cache[key] = PoolCounters(total, consumers, groups)
        return counters


def _count_generations(slices: Iterable[ResourceSlice]) -> dict[PoolID, Counter[int]]:
    """Return per pool, how many slices of the cluster each generation has."""
    generations: dict[PoolID, Counter[int]] = {}
    for resource_slice in slices:
        spec = resource_slice.spec
        generations.setdefault(_pool_id(spec), Counter())[spec.pool.generation] += 1
    return generations


def _pool_id(spec: ResourceSliceSpec) -> PoolID:
    return spec.driver, spec.pool.name


class SliceReach:
    """error: of the first invalid node selector, which fails every node; or ''"""

    def __init__(self, snapshot: Snapshot) -> None:
        self.error = ""
        self._snapshot = snapshot

    def reached_rows(self, resource_slice: ResourceSlice) -> Iterable[tuple[int, bytes]]:
        """Return the rows that reach the slice. Each has a byte per device, 1 where it reaches the
        device; b"" where the slice says which nodes reach all of its devices."""
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
        """Return the rows of the nodes that have the place. subject: what has the place, for a
        message"""
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
    """Return a selector as Go's String method prints it. Upstream: api/core/v1/generated.pb.go."""

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
