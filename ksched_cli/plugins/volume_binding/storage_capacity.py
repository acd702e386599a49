"""The largest volume of a storage class that each node can get, from CSIStorageCapacity objects.

Upstream: plugins/volumebinding/binder.go (hasEnoughCapacity, nodeHasAccess). As there, what was
provisioned in the meantime is not subtracted.
"""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.objects import CSIStorageCapacity, LabelSelector, StorageClass
from ksched_cli.cluster.snapshot import Column, Mask, Snapshot
from ksched_cli.cluster.topology.node_selection import meets
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.selectors import SelectorError, label_selector

NO_CAPACITY = -1


class StorageCapacity:
    """A service; a column per storage class, made on first use."""

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._drivers = handle.cluster.csi_drivers
        self._capacities: dict[str, list[CSIStorageCapacity]] = {}
        for capacity in handle.cluster.csi_storage_capacities.values():
            self._capacities.setdefault(capacity.storage_class_name, []).append(capacity)
        self._largest: dict[str, Column] = {}

    def largest(self, storage_class: StorageClass) -> Column | None:
        """Per node the bytes of the largest volume, or NO_CAPACITY; None if none are published."""
        driver = self._drivers.get(storage_class.provisioner)
        if driver is None or not driver.spec.storage_capacity:
            return None
        name = storage_class.name
        column = self._largest.get(name)
        if column is None:
            column = self._largest[name] = self._make(self._capacities.get(name, []))
        return column

    def _make(self, capacities: list[CSIStorageCapacity]) -> Column:
        column = np.full(len(self._snapshot), NO_CAPACITY, dtype=np.int64)
        for capacity in capacities:
            # maximumVolumeSize is the more precise of the two.
            limit = (
                capacity.capacity
                if capacity.maximum_volume_size is None
                else capacity.maximum_volume_size
            )
            if limit is not None:
                reachable = _reachable(self._snapshot, capacity.node_topology)
                column[reachable] = np.maximum(column[reachable], limit.value())
        return column


def _reachable(snapshot: Snapshot, topology: LabelSelector | None) -> Mask:
    """The nodes of a topology; none for a selector that is absent or cannot be parsed."""
    try:
        selector = label_selector(topology)
    except SelectorError:
        selector = label_selector(None)
    mask = np.full(len(snapshot), selector.selectable)
    for requirement in selector.requirements:
        mask &= meets(snapshot, requirement)
    return mask
