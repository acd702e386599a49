"""What a state's devices and claims ask of feature gates that are on in a release and that ksched
does not implement: warnings, for the decision may differ from kube-scheduler's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ksched_cli.cluster.objects import DeviceClass, DeviceRequest, ResourceClaim, ResourceSlice
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.versions import Release


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """gate: the feature gate; subject: what asks for it, in words."""

    gate: str
    subject: str
    is_used: Callable[[ClusterState], bool]


def unfollowed_gates(state: ClusterState, release: Release) -> list[str]:
    """A line per gate that is on and that the state needs."""
    return [
        f"{item.subject}: ksched does not implement {item.gate}, which Kubernetes {release.minor}"
        " has on; what is decided about these devices may differ"
        for item in _UNFOLLOWED
        if release.enabled(item.gate) and item.is_used(state)
    ]


def _any_slice(test: Callable[[ResourceSlice], bool]) -> Callable[[ClusterState], bool]:
    return lambda state: any(map(test, state.resource_slices.values()))


def _has_counters(item: ResourceSlice) -> bool:
    spec = item.spec
    return bool(spec.shared_counters) or spec.per_device_node_selection is not None


def _has_taints(item: ResourceSlice) -> bool:
    return any(device.taints for device in item.spec.devices)


def _has_conditions(item: ResourceSlice) -> bool:
    return any(device.binding_conditions for device in item.spec.devices)


def _is_shared(item: ResourceSlice) -> bool:
    return any(device.allow_multiple_allocations for device in item.spec.devices)


def _asks_for_capacity(claims: Iterable[ResourceClaim]) -> bool:
    return any(map(_has_capacity, (r for claim in claims for r in claim.spec.devices.requests)))


def _has_capacity(request: DeviceRequest) -> bool:
    alternatives = (request.exactly, *request.first_available)
    return any(item is not None and item.capacity is not None for item in alternatives)


def _backs_resource(item: DeviceClass) -> bool:
    return bool(item.spec.extended_resource_name)


_UNFOLLOWED = (
    Unfollowed("DRADeviceTaints", "taints of devices", _any_slice(_has_taints)),
    Unfollowed(
        "DRAPartitionableDevices", "devices that consume counters", _any_slice(_has_counters)
    ),
    Unfollowed(
        "DRADeviceBindingConditions", "devices with binding conditions", _any_slice(_has_conditions)
    ),
    Unfollowed(
        "DRAConsumableCapacity",
        "devices shared by capacity",
        lambda state: (
            _any_slice(_is_shared)(state) or _asks_for_capacity(state.resource_claims.values())
        ),
    ),
    Unfollowed(
        "DRAExtendedResource",
        "extended resources that device classes back",
        lambda state: any(map(_backs_resource, state.device_classes.values())),
    ),
)
