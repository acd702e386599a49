"""How many devices of a class each node reaches, and how many of them are allocated: what the
resource plugins score by.

Upstream: plugins/noderesources/resource_allocation.go (calculateDRAResourceTotals), which takes
every slice as it is, of whichever generation.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import Device, ResourceSlice, ResourceSliceSpec
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.resource_claims import ClaimStore, DeviceID
from ksched_cli.plugins.dynamic_resources.features import features_of
from ksched_cli.plugins.dynamic_resources.pools import DeviceKind, kind_of
from ksched_cli.plugins.dynamic_resources.selectors import DeviceSelectors, SelectorFailure


class _Reach(Struct, frozen=True):
    """A device, and the rows that reach it."""

    id: DeviceID
    kind: int
    mask: Mask


class DeviceCounts:
    """A service."""

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._slices = list(handle.cluster.resource_slices.values())
        self._classes = handle.cluster.device_classes
        self._features = features_of(handle.release)
        self._store = handle.service(ClaimStore)
        self._kinds: list[DeviceKind] = []
        self._cache: dict[str, tuple[int, Column, Column]] = {}

    @cached_property
    def _devices(self) -> list[_Reach]:
        return [
            self._reach(device, resource_slice)
            for resource_slice in self._slices
            for device in resource_slice.spec.devices
        ]

    def _reach(self, device: Device, resource_slice: ResourceSlice) -> _Reach:
        spec = resource_slice.spec
        kind = kind_of(spec.driver, device, self._features, True)
        # The selectors of classes do not see here whether a device may be shared.
        self._kinds.append(DeviceKind(kind.driver, kind.attributes, kind.capacity))
        place = device if spec.per_device_node_selection else spec
        device_id = spec.driver, spec.pool.name, device.name
        return _Reach(device_id, len(self._kinds) - 1, self._mask(place))

    def _mask(self, place: Device | ResourceSliceSpec) -> Mask:
        mask = np.zeros(len(self._snapshot), dtype=np.bool_)
        if place.all_nodes:
            mask[:] = True
        elif place.node_name:
            row = self._snapshot.row.get(place.node_name)
            if row is not None:
                mask[row] = True
        elif place.node_selector is not None:
            mask = matches_any(self._snapshot, node_terms(place.node_selector))
        elif isinstance(place, ResourceSliceSpec):
            mask[:] = True
        return mask

    def totals(self, class_name: str) -> tuple[Column, Column]:
        """Per row the devices of a class, and those of them that claims have."""
        position = len(self._store.log)
        cached = self._cache.get(class_name)
        if cached is None or cached[0] != position:
            cached = self._cache[class_name] = (position, *self._count(class_name))
        return cached[1], cached[2]

    def _count(self, class_name: str) -> tuple[Column, Column]:
        total = np.zeros(len(self._snapshot), dtype=np.int64)
        taken = np.zeros(len(self._snapshot), dtype=np.int64)
        failed = np.zeros(len(self._snapshot), dtype=np.bool_)
        for device in self._devices:
            result = self._matches(class_name, device.kind)
            if isinstance(result, SelectorFailure):
                failed |= device.mask
            elif result:
                total += device.mask
                if self._store.is_allocated(device.id):
                    taken += device.mask
        # Where a selector fails for one device, upstream counts none.
        total[failed] = taken[failed] = 0
        return total, taken

    @cached_property
    def _selectors(self) -> DeviceSelectors:
        return DeviceSelectors(self._kinds, self._classes)

    def _matches(self, class_name: str, kind: int) -> bool | SelectorFailure:
        for selector in self._classes[class_name].spec.selectors:
            if selector.cel is None:
                continue
            result = self._selectors.matches(selector.cel.expression, kind)
            if result is not True:
                return result
        return True
