"""Which events may let a pod fit that VolumeBinding rejected.

Upstream: plugins/volumebinding/volume_binding.go (EventsToRegister, isSchedulableAfter…). Changes
of CSIDrivers matter upstream to pods with CSI volumes of their own, which are not read here.
"""

from __future__ import annotations

from ksched_cli.cluster.objects import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import (
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.helper.hints import refers_to
from ksched_cli.plugins.volumes.csi_migration import MIGRATED_PLUGINS


def after_class_change(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> bool:
    return old is None or old.allowed_topologies != new.allowed_topologies


def after_claim_change(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> bool:
    return refers_to(pod, new, ephemeral=True)


def after_csi_node_change(pod: PodInfo, old: CSINode | None, new: CSINode) -> bool:
    """Other in-tree plugins have been migrated on the node."""
    return old is None or _migrated(old) != _migrated(new)


def _migrated(node: CSINode) -> str:
    return node.metadata.annotations.get(MIGRATED_PLUGINS, "")


def after_capacity_change(
    pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> bool:
    """There is room for a greater volume."""
    if old is None:
        return True
    limit, before = _volume_limit(new), _volume_limit(old)
    return limit is not None and (before is None or limit > before)


def _volume_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """Upstream: volumeLimit."""
    limit = capacity.maximum_volume_size
    return capacity.capacity if limit is None else limit


_COMES_OR_CHANGES = Action.ADD | Action.UPDATE
REGISTRATIONS: tuple[Registration, ...] = (
    (ClusterEvent(STORAGE_CLASS, _COMES_OR_CHANGES), after_class_change),
    (ClusterEvent(PERSISTENT_VOLUME_CLAIM, _COMES_OR_CHANGES), after_claim_change),
    (ClusterEvent(PERSISTENT_VOLUME, _COMES_OR_CHANGES), None),
    (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), None),
    (ClusterEvent(CSI_NODE, _COMES_OR_CHANGES), after_csi_node_change),
    (ClusterEvent(CSI_STORAGE_CAPACITY, _COMES_OR_CHANGES), after_capacity_change),
)
