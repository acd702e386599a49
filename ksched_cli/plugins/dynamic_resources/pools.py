"""The pools of devices that each node can reach.

Nodes that reach the same slices share their pools. Where upstream walks over a map, pools are in
order of driver and name here, and slices in order of name.

Upstream: dynamic-resource-allocation/structured/internal/experimental/pools_experimental.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.objects import (
    Device,
    DeviceAttribute,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceSlice,
    ResourceSliceSpec,
)
from ksched_cli.cluster.selectors import node_terms
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.dynamic_resources.claims import DeviceID


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """What selectors and constraints see of a device; many devices are of one kind.

    has_conditions, consumes_counters: the gates for these are off, which makes it unusable
    """

    driver: str
    attributes: tuple[tuple[str, DeviceAttribute], ...]
    capacity: tuple[tuple[str, Quantity], ...]
    has_conditions: bool
    consumes_counters: bool


@dataclass(frozen=True, slots=True)
class PoolDevice:
    """kind: an index into DevicePools.kinds."""

    id: DeviceID
    kind: int
    device: Device
    slice: ResourceSlice


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """As one node sees it, or several that see the same slices of it. Compared by identity.

    number:     its index in DevicePools.pools
    incomplete: not all slices of its newest generation are within reach
    invalid:    what is wrong with it, or ""
    """

    number: int
    driver: str
    name: str
    devices: tuple[PoolDevice, ...]
    generation: int
    incomplete: bool
    invalid: str

    @property
    def key(self) -> str:
        return f"{self.driver}/{self.name}"


class DevicePools:
    """All pools of a cluster.

    pools:   every pool, by its number
    of_row:  per row of the snapshot, the numbers of its pools, in the order they are searched
    rows_of: per pool, the rows that reach it
    kinds:   the kinds of devices, by the number that PoolDevice has
    error:   what is wrong with a slice's node selector, which no node gets past; or ""
    """

    def __init__(self, snapshot: Snapshot, slices: Iterable[ResourceSlice]) -> None:
        self.pools: list[Pool] = []
        self.kinds: list[DeviceKind] = []
        self.error = ""
        self._kind_numbers: dict[DeviceKind, int] = {}
        self._known: dict[tuple[int, ...], Pool] = {}
        # Partitionable devices are behind a gate: upstream then looks at no slice that chooses
        # nodes per device, be it that the field is there and false.
        self._slices = sorted(
            (one for one in slices if one.spec.per_device_node_selection is None),
            key=lambda one: one.name,
        )
        reached: list[list[int]] = [[] for _ in snapshot.names]
        for number, one in enumerate(self._slices):
            for row in self._rows(snapshot, one).tolist():
                reached[row].append(number)
        groups: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.of_row: list[tuple[int, ...]] = []
        for numbers in reached:
            key = tuple(numbers)
            if key not in groups:
                groups[key] = self._gather(key)
            self.of_row.append(groups[key])
        self.rows_of: list[list[int]] = [[] for _ in self.pools]
        for row, numbers_of_pools in enumerate(self.of_row):
            for number in numbers_of_pools:
                self.rows_of[number].append(row)

    def _rows(self, snapshot: Snapshot, one: ResourceSlice) -> Rows:
        spec = one.spec
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
                f"{one.name}: failed to parse node selector {_go_text(spec.node_selector)}: "
                f"{terms.error}"
            )
        return np.flatnonzero(matches_any(snapshot, terms))

    def _gather(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """The pools that some slices make up."""
        found: dict[tuple[str, str], list[int]] = {}
        for number in sorted(numbers, key=lambda n: _has_conditions(self._slices[n].spec)):
            spec = self._slices[number].spec
            found.setdefault((spec.driver, spec.pool.name), []).append(number)
        pools = [self._pool(self._newest(one)) for _, one in sorted(found.items())]
        # Devices that have to be waited for come last.
        pools.sort(key=lambda pool: any(d.device.binding_conditions for d in pool.devices))
        return tuple(pool.number for pool in pools)

    def _newest(self, numbers: list[int]) -> tuple[int, ...]:
        generation = max(self._slices[number].spec.pool.generation for number in numbers)
        return tuple(n for n in numbers if self._slices[n].spec.pool.generation == generation)

    def _pool(self, numbers: tuple[int, ...]) -> Pool:
        pool = self._known.get(numbers)
        if pool is not None:
            return pool
        slices = [self._slices[number] for number in numbers]
        spec = slices[0].spec
        devices = tuple(self._device(device, one) for one in slices for device in one.spec.devices)
        pool = self._known[numbers] = Pool(
            len(self.pools),
            spec.driver,
            spec.pool.name,
            devices,
            spec.pool.generation,
            len(slices) != spec.pool.resource_slice_count,
            _duplicate(devices),
        )
        self.pools.append(pool)
        return pool

    def _device(self, device: Device, one: ResourceSlice) -> PoolDevice:
        spec = one.spec
        kind = DeviceKind(
            spec.driver,
            tuple(sorted(device.attributes.items(), key=lambda item: item[0])),
            tuple(sorted((name, capacity.value) for name, capacity in device.capacity.items())),
            bool(device.binding_conditions),
            bool(device.consumes_counters),
        )
        number = self._kind_numbers.get(kind)
        if number is None:
            number = self._kind_numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        return PoolDevice((spec.driver, spec.pool.name, device.name), number, device, one)


def _go_text(selector: NodeSelector) -> str:
    """As Go prints a selector. Upstream: api/core/v1/generated.pb.go."""

    def requirements(found: tuple[NodeSelectorRequirement, ...]) -> str:
        parts = (
            f"NodeSelectorRequirement{{Key:{one.key},Operator:{one.operator},"
            f"Values:[{' '.join(one.values)}],}},"
            for one in found
        )
        return f"[]NodeSelectorRequirement{{{''.join(parts)}}}"

    terms = (
        f"NodeSelectorTerm{{MatchExpressions:{requirements(term.match_expressions)},"
        f"MatchFields:{requirements(term.match_fields)},}},"
        for term in selector.node_selector_terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{''.join(terms)}}},}}"


def _has_conditions(spec: ResourceSliceSpec) -> bool:
    return any(device.binding_conditions for device in spec.devices)


def _duplicate(devices: tuple[PoolDevice, ...]) -> str:
    seen: set[DeviceID] = set()
    for device in devices:
        if device.id in seen:
            return f"duplicate device name {device.device.name}"
        seen.add(device.id)
    return ""


def node_selector(devices: Iterable[PoolDevice], node_name: str) -> NodeSelector | None:
    """Where an allocation of these devices can be used; None: everywhere. Raises ValueError.

    Upstream: createNodeSelector.
    """
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for device in devices:
        spec = device.slice.spec
        if spec.node_name is not None or device.device.binds_to_node:
            here = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(here,)),))
        terms = spec.node_selector.node_selector_terms if spec.node_selector else ()
        if len(terms) > 1:
            raise ValueError(f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _add_new(
    found: list[NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]
) -> None:
    for one in added:
        if not any(_same(one, other) for other in found):
            found.append(one)


def _same(one: NodeSelectorRequirement, other: NodeSelectorRequirement) -> bool:
    return (one.key, one.operator, set(one.values)) == (
        other.key,
        other.operator,
        set(other.values),
    )
