"""The device pools that each node can reach, gathered from resource slices.

Nodes that reach the same slices share their pools. Where upstream iterates over a map, in random
order, pools are ordered by driver and name here, and slices by name.

Upstream: dynamic-resource-allocation/structured/internal: experimental/pools_experimental.go of
1.34, incubating/pools_incubating.go of later minors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

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
from ksched_cli.plugins.dynamic_resources.features import NO_FEATURES, AllocatorFeatures
from ksched_cli.plugins.dynamic_resources.pool_devices import (
    DeviceKind,
    Pool,
    PoolDevice,
    duplicate_device_error,
    kind_of,
)


class DevicePools:
    """All pools of a cluster.

    pools:   every pool, by its number
    of_row:  per row of the snapshot, the numbers of its pools, in allocation order
    rows_of: per pool, the rows that reach it
    kinds:   the kinds of devices, by the number that PoolDevice has
    error:   of an invalid node selector of a slice, which fails every node; or ""
    ambiguous_names: of pools of several drivers that have counters, see PartitionedPools
    """

    ambiguous_names: frozenset[str] = frozenset()

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
        self._checks_cluster = rules.skips_unusable_pools
        self._generations = _count_generations(slices) if rules.skips_unusable_pools else {}
        self.pools: list[Pool] = []
        self.kinds: list[DeviceKind] = []
        self.error = ""
        self._kind_numbers: dict[DeviceKind, int] = {}
        self._pool_cache: dict[object, Pool] = {}
        self._slices = sorted(filter(self._is_counted, slices), key=lambda item: item.name)
        self.of_row: list[tuple[int, ...]] = self._gather(snapshot)
        self.rows_of: list[list[int]] = [[] for _ in self.pools]
        for row, pool_numbers in enumerate(self.of_row):
            for number in pool_numbers:
                self.rows_of[number].append(row)

    def _is_counted(self, resource_slice: ResourceSlice) -> bool:
        """The gate DRAPartitionableDevices is off: upstream ignores every slice with
        perDeviceNodeSelection, even if it is false."""
        spec = resource_slice.spec
        return spec.per_device_node_selection is None and not (
            self._checks_cluster and spec.shared_counters
        )

    def _gather(self, snapshot: Snapshot) -> list[tuple[int, ...]]:
        """Per row, the numbers of its pools."""
        slices_of_row: list[list[int]] = [[] for _ in snapshot.names]
        for number, resource_slice in enumerate(self._slices):
            for row in self._rows(snapshot, resource_slice).tolist():
                slices_of_row[row].append(number)
        pools_by_slices: dict[tuple[int, ...], tuple[int, ...]] = {}
        of_row = []
        for numbers in slices_of_row:
            key = tuple(numbers)
            if key not in pools_by_slices:
                pools_by_slices[key] = self._gather_pools(key)
            of_row.append(pools_by_slices[key])
        return of_row

    def _rows(self, snapshot: Snapshot, resource_slice: ResourceSlice) -> Rows:
        spec = resource_slice.spec
        if spec.node_name:
            row = snapshot.row.get(spec.node_name)
            return np.array([] if row is None else [row], dtype=np.intp)
        if spec.all_nodes:
            return np.arange(len(snapshot))
        if spec.node_selector is None:
            return np.empty(0, dtype=np.intp)
        terms = node_terms(spec.node_selector)
        if terms.error:
            self.error = self.error or (
                "gather pool information: failed to perform node selection for slice "
                f"{resource_slice.name}: failed to parse node selector "
                f"{_go_text(spec.node_selector)}: {terms.error}"
            )
        return np.flatnonzero(matches_any(snapshot, terms))

    def _gather_pools(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of the pools that these slices belong to. Upstream: GatherPools."""
        slices_by_pool: dict[tuple[str, str], list[int]] = {}
        ordered: Sequence[int] = numbers
        if not self._checks_cluster:
            ordered = sorted(numbers, key=lambda n: _has_conditions(self._slices[n].spec))
        for number in ordered:
            spec = self._slices[number].spec
            slices_by_pool.setdefault((spec.driver, spec.pool.name), []).append(number)
        pools = [
            self._pool(newest)
            for _, pool_slices in sorted(slices_by_pool.items())
            if not self._is_obsolete(newest := self._newest_generation(pool_slices))
        ]
        # Pools with binding conditions come last.
        pools.sort(key=lambda pool: pool.has_binding_conditions)
        return tuple(pool.number for pool in pools)

    def _newest_generation(self, numbers: list[int]) -> tuple[int, ...]:
        generation = max(self._slices[number].spec.pool.generation for number in numbers)
        return tuple(n for n in numbers if self._slices[n].spec.pool.generation == generation)

    def _is_obsolete(self, numbers: tuple[int, ...]) -> bool:
        """Whether slices of the pool that are out of reach are newer. Upstream looks only where
        not all slices are within reach."""
        spec = self._slices[numbers[0]].spec
        if not self._checks_cluster or len(numbers) == spec.pool.resource_slice_count:
            return False
        return max(self._generations[spec.driver, spec.pool.name]) > spec.pool.generation

    def _is_incomplete(self, numbers: tuple[int, ...]) -> bool:
        spec = self._slices[numbers[0]].spec
        count = len(numbers)
        if self._checks_cluster and count != spec.pool.resource_slice_count:
            count = self._generations[spec.driver, spec.pool.name][spec.pool.generation]
        return count != spec.pool.resource_slice_count

    def _pool(self, numbers: tuple[int, ...]) -> Pool:
        pool = self._pool_cache.get(numbers)
        if pool is not None:
            return pool
        slices = [self._slices[number] for number in numbers]
        spec = slices[0].spec
        devices = tuple(
            self._device(device, resource_slice)
            for resource_slice in slices
            for device in resource_slice.spec.devices
        )
        pool = self._pool_cache[numbers] = Pool(
            len(self.pools),
            spec.driver,
            spec.pool.name,
            devices,
            spec.pool.generation,
            len(slices),
            spec.pool.resource_slice_count,
            self._is_incomplete(numbers),
            duplicate_device_error(devices),
        )
        self.pools.append(pool)
        return pool

    def _device(
        self, device: Device, resource_slice: ResourceSlice, is_reachable: bool = True
    ) -> PoolDevice:
        spec = resource_slice.spec
        kind = kind_of(spec.driver, device, self._features, is_reachable)
        number = self._kind_numbers.get(kind)
        if number is None:
            number = self._kind_numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        device_id = (spec.driver, spec.pool.name, device.name)
        return PoolDevice(device_id, number, device, resource_slice, kind.traits)


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


def _count_generations(
    slices: Iterable[ResourceSlice],
) -> dict[tuple[str, str], Counter[int]]:
    """Per pool, how many slices of the cluster each generation has."""
    generations: dict[tuple[str, str], Counter[int]] = {}
    for resource_slice in slices:
        spec = resource_slice.spec
        counts = generations.setdefault((spec.driver, spec.pool.name), Counter())
        counts[spec.pool.generation] += 1
    return generations


def _has_conditions(spec: ResourceSliceSpec) -> bool:
    return any(device.binding_conditions for device in spec.devices)
