"""Which devices are in use, per pool and per node.

Upstream: plugins/dynamicresources/dra_manager.go (ListAllAllocatedDevices), dynamicresources.go
(PreFilter).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import DeviceClass
from ksched_cli.framework.handle import Handle
from ksched_cli.plugins.dynamic_resources.claims import ClaimStore, DeviceID
from ksched_cli.plugins.dynamic_resources.pools import DevicePools
from ksched_cli.plugins.dynamic_resources.requests import Demand
from ksched_cli.plugins.dynamic_resources.selectors import DeviceSelectors
from ksched_cli.plugins.dynamic_resources.view import DemandView

SHARED_KEY = "Devices"


class DeviceUse:
    """masks: per pool, a bit for every device that is in use.

    of_row: per row of the snapshot, a number that nodes share whose pools have equal masks
    """

    def __init__(self, pools: DevicePools, store: ClaimStore) -> None:
        self.masks = [0] * len(pools.pools)
        self._pools = pools
        self._store = store
        self._seen = len(store.log)
        self._places: dict[DeviceID, list[tuple[int, int]]] = {}
        for pool in pools.pools:
            for place, device in enumerate(pool.devices):
                self._places.setdefault(device.id, []).append((pool.number, place))
        for used in store.devices_in_use():
            for number, place in self._places.get(used, ()):
                self.masks[number] |= 1 << place
        self._numbers: dict[tuple[int, ...], int] = {}
        self.of_row: NDArray[np.int64] = np.array(
            [self._number(row) for row in range(len(pools.of_row))], dtype=np.int64
        )

    def _number(self, row: int) -> int:
        masks = tuple(self.masks[number] for number in self._pools.of_row[row])
        return self._numbers.setdefault(masks, len(self._numbers))

    def refresh(self) -> None:
        """Takes account of what was taken and given back since."""
        log = self._store.log
        if self._seen == len(log):
            return
        changed = set()
        for device in log[self._seen :]:
            for number, place in self._places.get(device, ()):
                bit = 1 << place
                mask = self.masks[number]
                self.masks[number] = mask | bit if self._store.in_use(device) else mask & ~bit
                changed.add(number)
        self._seen = len(log)
        for row in {row for number in changed for row in self._pools.rows_of[number]}:
            self.of_row[row] = self._number(row)


class Devices:
    """Everything known about the devices of a cluster, for all profiles of a run."""

    def __init__(self, handle: Handle) -> None:
        self.classes: Mapping[str, DeviceClass] = handle.cluster.device_classes
        self.pools = DevicePools(handle.snapshot, handle.cluster.resource_slices.values())
        self.selectors = DeviceSelectors(self.pools.kinds, self.classes)
        self.use = DeviceUse(self.pools, ClaimStore.of(handle))
        self._views: dict[Demand, DemandView] = {}

    @classmethod
    def of(cls, handle: Handle) -> Devices:
        """The run's own, made when the first pod wants devices."""
        found = handle.shared.get(SHARED_KEY)
        if found is None:
            found = handle.shared[SHARED_KEY] = cls(handle)
        return cast(Devices, found)

    def view(self, demand: Demand) -> DemandView:
        found = self._views.get(demand)
        if found is None:
            found = self._views[demand] = DemandView(demand, self.pools, self.selectors)
        return found
