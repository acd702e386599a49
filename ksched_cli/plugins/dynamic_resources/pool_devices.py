"""Pools of devices and what is known of each device, as the allocator uses them.

Upstream: dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go (Pool).
"""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.cluster.objects import Device, DeviceAttribute, DeviceTaint, ResourceSlice
from ksched_cli.framework.shared_devices import DeviceID
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.dynamic_resources.capacity import Capacities
from ksched_cli.plugins.dynamic_resources.counters import Consumption, PoolCounters, consumption_of
from ksched_cli.plugins.dynamic_resources.features import AllocatorFeatures


@dataclass(frozen=True, slots=True)
class DeviceTraits:
    """The device traits that the enabled features of a release see.

    is_reachable: by the node, where each device of a slice says so for itself
    consumption:  what it takes from its pool's counters
    is_shared:    several claims may have it
    has_capacity: requests are compared with its capacities
    """

    is_reachable: bool = True
    taints: tuple[DeviceTaint, ...] = ()
    consumption: Consumption = ()
    is_shared: bool = False
    has_capacity: bool = False
    capacities: Capacities = ()


PLAIN = DeviceTraits()


def traits_of(
    device: Device, features: AllocatorFeatures, is_reachable: bool = True
) -> DeviceTraits:
    if not features.any_enabled:
        return PLAIN
    has_capacity = features.consumable_capacity
    return DeviceTraits(
        is_reachable,
        device.taints if features.device_taints else (),
        consumption_of(device) if features.partitionable_devices else (),
        has_capacity and device.allow_multiple_allocations,
        has_capacity,
        tuple(sorted(device.capacity.items())) if has_capacity else (),
    )


@dataclass(frozen=True, slots=True)
class DeviceKind:
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
    driver: str, device: Device, features: AllocatorFeatures, is_reachable: bool
) -> DeviceKind:
    return DeviceKind(
        driver,
        tuple(sorted(device.attributes.items(), key=lambda item: item[0])),
        tuple(sorted((name, capacity.value) for name, capacity in device.capacity.items())),
        bool(device.binding_conditions) and not features.binding_conditions,
        bool(device.consumes_counters) and not features.partitionable_devices,
        traits_of(device, features, is_reachable),
        features.shows_sharing and device.allow_multiple_allocations,
    )


@dataclass(frozen=True, slots=True)
class PoolDevice:
    """kind: an index into DevicePools.kinds."""

    id: DeviceID
    kind: int
    device: Device
    slice: ResourceSlice
    traits: DeviceTraits = PLAIN


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
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


def duplicate_device_error(devices: tuple[PoolDevice, ...]) -> str:
    ids: set[DeviceID] = set()
    for device in devices:
        if device.id in ids:
            return f"duplicate device name {device.device.name}"
        ids.add(device.id)
    return ""
