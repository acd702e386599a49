"""The in-tree disks and claims that running pods use.

Upstream: plugins/volumerestrictions/volume_restrictions.go (isVolumeConflict) and
pkg/scheduler/framework/types.go (PVCRefCounts).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ksched_cli.cluster.objects import PodSpec, Volume
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Mask, Snapshot
from ksched_cli.cluster.state import Key
from ksched_cli.framework.nodes import Nodes

# Identifies a disk; the first element is its kind.
DiskKey = tuple[str, ...]
# A disk, and whether it is read-only, which several pods may share.
Disk = tuple[DiskKey, bool]


def is_disk(volume: Volume) -> bool:
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    )


def disks_of(spec: PodSpec) -> list[Disk]:
    """The disks of a pod. An RBD image comes once per monitor: one in common is enough."""
    disks: list[Disk] = []
    for volume in spec.volumes:
        if volume.gce_persistent_disk is not None:
            gce = volume.gce_persistent_disk
            disks.append((("GCE persistent disk", gce.pd_name), gce.read_only))
        if volume.aws_elastic_block_store is not None:
            # Upstream lets no two pods share these, not even read-only.
            disks.append((("AWS volume", volume.aws_elastic_block_store.volume_id), False))
        if volume.iscsi is not None:
            disks.append((("iSCSI target", volume.iscsi.iqn), volume.iscsi.read_only))
        if volume.rbd is not None:
            rbd = volume.rbd
            for monitor in dict.fromkeys(rbd.monitors):
                key = ("RBD image", f"{rbd.pool}/{rbd.image}", "monitor", monitor)
                disks.append((key, rbd.read_only))
    return disks


class DiskUse:
    """disks: disk → row → how many pods use it there, and how many of them write.

    claims: namespace and name → the pods that have it, by UID, and their rows
    """

    def __init__(self) -> None:
        self.disks: dict[DiskKey, dict[int, tuple[int, int]]] = {}
        self.claims: dict[Key, dict[str, tuple[PodInfo, int]]] = {}
        self._of_spec: dict[PodSpec, list[Disk]] = {}

    @classmethod
    def following(cls, snapshot: Snapshot) -> DiskUse:
        """What is in use on all nodes, from now on too: an index of the snapshot."""
        use = cls()
        use._add_all(Nodes(snapshot))
        snapshot.subscribe(use)
        return use

    @classmethod
    def on(cls, nodes: Nodes) -> DiskUse:
        """What is in use on these nodes alone."""
        disk_use = cls()
        disk_use._add_all(nodes)
        return disk_use

    def _add_all(self, nodes: Nodes) -> None:
        for row in nodes.indices().tolist():
            for pod in nodes.snapshot.pods[row]:
                self.pod_added(pod, row)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self._count_pod(pod, row, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self._count_pod(pod, row, -1)

    def _count_pod(self, pod: PodInfo, row: int, change: int) -> None:
        if not pod.spec.volumes:
            return
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                key = (pod.namespace, volume.persistent_volume_claim.claim_name)
                users = self.claims.setdefault(key, {})
                if change > 0:
                    users[pod.uid] = (pod, row)
                else:
                    # A pod may name a claim twice.
                    users.pop(pod.uid, None)
        disks = self._of_spec.get(pod.spec)
        if disks is None:
            disks = self._of_spec[pod.spec] = disks_of(pod.spec)
        for disk, reads in disks:
            rows = self.disks.setdefault(disk, {})
            user_count, writers = rows.get(row, (0, 0))
            user_count, writers = user_count + change, writers + (0 if reads else change)
            if user_count:
                rows[row] = (user_count, writers)
            else:
                del rows[row]

    def conflicting(self, disks: Iterable[Disk], count: int) -> Mask:
        """Of `count` rows, those where a disk cannot be shared with the pods that use it."""
        mask = np.zeros(count, dtype=np.bool_)
        for disk, reads in disks:
            in_use = self.disks.get(disk, {})
            mask[[row for row, (_, writers) in in_use.items() if writers or not reads]] = True
        return mask
