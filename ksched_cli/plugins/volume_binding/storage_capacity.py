"""The largest volume of a storage class that each node can get, from CSIStorageCapacity objects.

Upstream: plugins/volumebinding/binder.go (hasEnoughCapacity, nodeHasAccess). As there, what was
provisioned in the meantime is not subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.objects import CSIStorageCapacity, LabelSelector, StorageClass
from ksched_cli.cluster.snapshot import Column, Mask, Snapshot
from ksched_cli.cluster.topology.node_selection import meets
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.selectors import SelectorError, label_selector

NO_CAPACITY = -1


class FittingCapacities(Struct, frozen=True):
    """Per node, which of some objects lets a volume be provisioned there.

    index:   into `capacities`, or NO_CAPACITY
    amounts: the capacity of each in bytes, 0 where it has none
    """

    capacities: list[CSIStorageCapacity]
    index: NDArray[np.intp]
    amounts: Column


class StorageCapacity:
    """A service; columns per storage class, made on first use."""

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._drivers = handle.cluster.csi_drivers
        # By storage class; each with the bytes of the largest volume.
        self._capacities: dict[str, list[tuple[CSIStorageCapacity, int]]] = {}
        capacities = handle.cluster.csi_storage_capacities.values()
        for capacity in sorted(capacities, key=lambda capacity: capacity.key):
            limit = volume_limit(capacity)
            if limit is not None:
                of_class = self._capacities.setdefault(capacity.storage_class_name, [])
                of_class.append((capacity, limit.value()))
        self._largest_of: Callable[[str], Column] = cache(self._largest)
        self._reachable: dict[str, Mask] = {}  # by key

    def largest(self, storage_class: StorageClass) -> Column | None:
        """Per node the bytes of the largest volume, or NO_CAPACITY; None if none are published."""
        published = self._published(storage_class)
        return None if published is None else self._largest_of(storage_class.name)

    def _largest(self, class_name: str) -> Column:
        column = np.full(len(self._snapshot), NO_CAPACITY, dtype=np.int64)
        for capacity, limit in self._capacities.get(class_name, ()):
            rows = self._reach(capacity)
            column[rows] = np.maximum(column[rows], limit)
        return column

    def first_fitting(self, storage_class: StorageClass, size: int) -> FittingCapacities | None:
        """Per node the object that upstream may take, which is any: the first by name. None if none
        are published."""
        published = self._published(storage_class)
        if published is None:
            return None
        index = np.full(len(self._snapshot), NO_CAPACITY, dtype=np.intp)
        for number, (capacity, limit) in enumerate(published):
            if limit >= size:
                index[self._reach(capacity) & (index == NO_CAPACITY)] = number
        capacities = [capacity for capacity, _ in published]
        amounts = [0 if c.capacity is None else c.capacity.value() for c in capacities]
        return FittingCapacities(capacities, index, np.array(amounts, dtype=np.int64))

    def _published(
        self, storage_class: StorageClass
    ) -> list[tuple[CSIStorageCapacity, int]] | None:
        driver = self._drivers.get(storage_class.provisioner)
        if driver is None or not driver.spec.storage_capacity:
            return None
        return self._capacities.get(storage_class.name, [])

    def _reach(self, capacity: CSIStorageCapacity) -> Mask:
        mask = self._reachable.get(capacity.key)
        if mask is None:
            mask = _reachable(self._snapshot, capacity.node_topology)
            self._reachable[capacity.key] = mask
        return mask


def volume_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """The largest volume: maximumVolumeSize is the more precise. Upstream: volumeLimit."""
    limit = capacity.maximum_volume_size
    return capacity.capacity if limit is None else limit


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
