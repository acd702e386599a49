"""Slices as the scheduler sees them: with the taints that DeviceTaintRules add to their devices.

Upstream: dynamic-resource-allocation/resourceslice/tracker/tracker.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ksched_cli.cluster.objects import (
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    ResourceSlice,
)
from ksched_cli.kube.versions import Rules

GATE = "DRADeviceTaintRules"


def with_taint_rules(
    slices: Iterable[ResourceSlice], taint_rules: Iterable[DeviceTaintRule], rules: Rules
) -> Iterable[ResourceSlice]:
    """The slices, with the taints that DeviceTaintRules add to their devices."""
    without_selector = None if rules.needs_device_selector else DeviceTaintSelector()
    taints = [
        (selector, rule.spec.taint)
        for rule in taint_rules
        if (selector := rule.spec.device_selector or without_selector) is not None
    ]
    return (_with_taints(resource_slice, taints) for resource_slice in slices)


def _with_taints(
    resource_slice: ResourceSlice, taints: Iterable[tuple[DeviceTaintSelector, DeviceTaint]]
) -> ResourceSlice:
    spec = resource_slice.spec
    of_slice = [
        (selector.device, taint)
        for selector, taint in taints
        if selector.driver in (None, spec.driver) and selector.pool in (None, spec.pool.name)
    ]
    if not of_slice:
        return resource_slice
    devices = tuple(
        replace(
            device,
            taints=(*device.taints, *(t for name, t in of_slice if name in (None, device.name))),
        )
        for device in spec.devices
    )
    return replace(resource_slice, spec=replace(spec, devices=devices))
