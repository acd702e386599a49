"""Taints of devices, which bar the requests that do not tolerate them.

Upstream: dynamic-resource-allocation/resourceclaim/devicetoleration.go (ToleratesTaint);
structured/internal/incubating/allocator_incubating.go (taintPreventsAllocation).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from ksched_cli.cluster.objects import (
    Device,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    ResourceSlice,
    ResourceSliceSpec,
)

# The others, None among them, say something and bar nothing.
BARRING_EFFECTS = ("NoSchedule", "NoExecute")


def untolerated_taint(
    taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]
) -> DeviceTaint | None:
    """The first taint that bars a request with these tolerations."""
    for taint in taints:
        if taint.effect in BARRING_EFFECTS and not any(
            _tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def with_taint_rules(
    slices: Iterable[ResourceSlice], rules: Sequence[DeviceTaintRule]
) -> Iterable[ResourceSlice]:
    """The slices, with the taints that rules add to their devices. Upstream:
    dynamic-resource-allocation/resourceslice/tracker (applyPatches)."""
    for resource_slice in slices:
        spec = resource_slice.spec
        if any(map(partial(_may_match, spec), rules)):
            devices = tuple(_tainted(device, spec, rules) for device in spec.devices)
            resource_slice = replace(resource_slice, spec=replace(spec, devices=devices))
        yield resource_slice


def _tainted(device: Device, spec: ResourceSliceSpec, rules: Sequence[DeviceTaintRule]) -> Device:
    added = tuple(
        rule.spec.taint
        for rule in rules
        if (selector := rule.spec.device_selector) is not None
        and _may_match(spec, rule)
        and selector.device in (None, device.name)
    )
    return replace(device, taints=(*device.taints, *added)) if added else device


def _may_match(spec: ResourceSliceSpec, rule: DeviceTaintRule) -> bool:
    """Whether a rule is about a slice's driver and pool."""
    selector = rule.spec.device_selector
    return (
        selector is not None
        and selector.driver in (None, spec.driver)
        and selector.pool in (None, spec.pool.name)
    )


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
