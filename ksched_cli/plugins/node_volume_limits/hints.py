"""Which events may let a pod fit that NodeVolumeLimits rejected.

Upstream: plugins/nodevolumelimits/csi.go (EventsToRegister, isSchedulableAfter…).
"""

from __future__ import annotations

from ksched_cli.cluster.objects import CSINode, PersistentVolumeClaim, VolumeAttachment
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import (
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    VOLUME_ATTACHMENT,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.plugins.helper.hints import had_node, refers_to
from ksched_cli.plugins.node_volume_limits.attached_volumes import is_counted
from ksched_cli.plugins.volumes.csi_migration import plugin_of


def after_csi_node_update(pod: PodInfo, old: CSINode, new: CSINode) -> bool:
    """The node may have more volumes of a driver than before."""
    limits, before = _limits(new), _limits(old)
    return any(limit > before.get(driver, 0) for driver, limit in limits.items())


def _limits(node: CSINode) -> dict[str, int]:
    """By driver; a driver without one has 0."""
    return {
        driver.name: driver.allocatable.count or 0 if driver.allocatable is not None else 0
        for driver in node.spec.drivers
    }


def after_pod_deletion(pod: PodInfo, old: PodInfo, new: None) -> bool:
    return had_node(old) and any(is_counted(volume) for volume in old.spec.volumes)


def after_claim_creation(pod: PodInfo, old: None, new: PersistentVolumeClaim) -> bool:
    return refers_to(pod, new, ephemeral=True)


def after_detachment(pod: PodInfo, old: VolumeAttachment, new: None) -> bool:
    """The pod has a claim, or a volume of the driver that was translated."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return True
        plugin = plugin_of(volume)
        if plugin is not None and plugin.driver == old.spec.attacher:
            return True
    return False


REGISTRATIONS: tuple[Registration, ...] = (
    (ClusterEvent(CSI_NODE, Action.ADD), None),
    (ClusterEvent(CSI_NODE, Action.UPDATE), after_csi_node_update),
    (ClusterEvent(POD, Action.DELETE), after_pod_deletion),
    (ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.ADD), after_claim_creation),
    (ClusterEvent(VOLUME_ATTACHMENT, Action.DELETE), after_detachment),
)
