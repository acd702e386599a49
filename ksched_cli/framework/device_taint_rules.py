"""Slices as the scheduler sees them: with the taints that DeviceTaintRules add to their devices.

Upstream: dynamic-resource-allocation/resourceslice/tracker/tracker.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from ksched_cli.cluster.objects import (
    Device,
    DeviceTaintRule,
    ResourceSlice,
    ResourceSliceSpec,
)

GATE = "DRADeviceTaintRules"


def with_taint_rules(
    slices: Iterable[ResourceSlice], rules: Sequence[DeviceTaintRule]
) -> Iterable[ResourceSlice]:
    """The slices, with the taints that rules add to their devices."""
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
