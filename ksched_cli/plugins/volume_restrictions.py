"""Rejects nodes where another pod uses the same in-tree disk, and every node while another pod uses
a claim with access mode ReadWriteOncePod.

Upstream: plugins/volumerestrictions/volume_restrictions.go, pkg/scheduler/framework/types.go
(PVCRefCounts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import PersistentVolumeClaim, PodSpec, Volume
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Mask, Snapshot
from ksched_cli.cluster.state import Key
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.cluster_events import Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import PreFilterExtensions, Proposal, Proposes, Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Status
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    eviction,
    may_make_room,
    named,
    refers_to,
    sign_volumes,
)
from ksched_cli.plugins.volumes import CLAIM, claim_uses, not_found_message, used_claims

# Identifies a disk; the first element is its kind.
DiskKey = tuple[str, ...]
# A disk, and whether it is read-only, which several pods may share.
Disk = tuple[DiskKey, bool]


def is_disk(volume: Volume) -> bool:
    disks = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.rbd, volume.iscsi)
    return any(disk is not None for disk in disks)


def disks_of(spec: PodSpec) -> list[Disk]:
    """Return the disks of a pod. An RBD image comes once per monitor: one in common is enough."""
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
        self._disks_of: Callable[[PodSpec], list[Disk]] = cache(disks_of)

    @classmethod
    def following(cls, snapshot: Snapshot) -> DiskUse:
        """Return what is in use on all nodes, from now on too: an index of the snapshot."""
        use = cls.on(Nodes(snapshot))
        snapshot.subscribe(use)
        return use

    @classmethod
    def on(cls, nodes: Nodes) -> DiskUse:
        """Return what is in use on these nodes alone."""
        use = cls()
        for row in nodes.indices().tolist():
            for pod in nodes.snapshot.pods[row]:
                use.pod_added(pod, row)
        return use

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
        for disk, reads in self._disks_of(pod.spec):
            rows = self.disks.setdefault(disk, {})
            user_count, writers = rows.get(row, (0, 0))
            user_count, writers = user_count + change, writers + (0 if reads else change)
            if user_count:
                rows[row] = (user_count, writers)
            else:
                del rows[row]

    def conflicting(self, disks: Iterable[Disk], count: int) -> Mask:
        """Return the rows, out of `count`, where a disk cannot be shared with the pods that use
        it."""
        mask = np.zeros(count, dtype=np.bool_)
        for disk, reads in disks:
            in_use = self.disks.get(disk, {})
            mask[[row for row, (_, writers) in in_use.items() if writers or not reads]] = True
        return mask


STATE_KEY = "PreFilterVolumeRestrictions"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
DISK_CONFLICT = Status.unschedulable("node(s) had no available disk")
CLAIM_IN_USE = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
STATE_MISSING = Status.error(f'cannot read "{STATE_KEY}" from cycleState')


class SinglePodClaims(Struct):
    """claims: names of the pod's ReadWriteOncePod claims; conflicts: how many other pods use them.

    Upstream: preFilterState.
    """

    claims: frozenset[str]
    conflicts: int

    def clone(self) -> SinglePodClaims:
        return SinglePodClaims(self.claims, self.conflicts)

    def count(self, pod: PodInfo) -> int:
        """Return how many volumes of the pod refer to one of the claims. As upstream, in any
        namespace."""
        return sum(not use.ephemeral and use.claim in self.claims for use in claim_uses(pod.pod))


class VolumeRestrictions(FilteringPlugin, PreFilterExtensions, Proposes):
    name = "VolumeRestrictions"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._claims = handle.cluster.persistent_volume_claims
        self._groups = handle.pod_groups

    def scope_for(self, pod: PodInfo) -> Scope:
        if any(not use.ephemeral for use in claim_uses(pod.pod)):
            return Scope.CLUSTER
        has_disks = any(is_disk(volume) for volume in pod.spec.volumes)
        return Scope.ROW if has_disks else Scope.NODE

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_volumes(pod)

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(events.POD, Action.DELETE), after_pod_deletion
        yield ClusterEvent(events.NODE, Action.ADD), None
        yield ClusterEvent(events.PERSISTENT_VOLUME_CLAIM, Action.ADD), after_claim_creation

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        exclusive = set()
        for use, claim in used_claims(pod.pod, self._claims):
            if use.ephemeral:
                continue
            if claim is None:
                return None, Status.unresolvable(not_found_message(CLAIM, use.claim))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(use.claim)
        # A claim counts once here, however many pods use it.
        used = self._snapshot.index(DiskUse.following).claims if exclusive else {}
        conflicts = sum(bool(used.get((pod.namespace, claim))) for claim in exclusive)
        if self._groups is not None and self._groups.trial is not None:
            in_use = self._groups.trial.claims
            conflicts = sum((pod.namespace, claim) in in_use for claim in exclusive)
        if not conflicts and not any(is_disk(volume) for volume in pod.spec.volumes):
            return None, SKIP
        state.write(STATE_KEY, SinglePodClaims(frozenset(exclusive), conflicts))
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        return _update_conflicts(state, added, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        return _update_conflicts(state, removed, -1)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        exclusive: SinglePodClaims | None = state.data.get(STATE_KEY)
        if exclusive is None or exclusive.count(other) > 0:
            return True
        return bool(disks_of(pod.spec)) and bool(disks_of(other.spec))

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        verdicts = Verdicts.passing(len(nodes))
        everywhere = np.ones(len(nodes), dtype=np.bool_)
        disks = disks_of(pod.spec)
        if disks:
            # No index follows the pods of a trial: there the use of disks is computed anew.
            is_followed = nodes.snapshot is self._snapshot
            use = self._snapshot.index(DiskUse.following) if is_followed else DiskUse.on(nodes)
            conflicting = use.conflicting(disks, len(nodes.snapshot))
            verdicts.reject(nodes.gather(conflicting), DISK_CONFLICT)
        exclusive: SinglePodClaims | None = state.data.get(STATE_KEY)
        if exclusive is None:
            verdicts.reject(everywhere, STATE_MISSING)
        elif exclusive.conflicts > 0:
            verdicts.reject(everywhere, CLAIM_IN_USE)
        return verdicts

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        lines = [
            f"{' '.join(disk)} is in use by {other.key}" for other, disk in _disk_users(pod, node)
        ]
        return lines + [
            f"claim {pod.namespace}/{claim} is for a single pod, and {other.key} on "
            f"{self._snapshot.names[row]} uses it"
            for claim, other, row in self._claim_users(state, pod)
        ]

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        """Evict the pods that use its disks and claims."""
        users = [other for other, _ in _disk_users(pod, node)]
        users += [other for _, other, _ in self._claim_users(state, pod)]
        by_key = {other.key: other for other in users}
        if by_key and all(may_make_room(other, pod) for other in users):
            pods = [*by_key.values()]
            yield eviction(f"evict {named(pods)}, which has its volume", pods)

    def _claim_users(self, state: CycleState, pod: PodInfo) -> Iterator[tuple[str, PodInfo, int]]:
        """Yield the pod's claims that are for a single pod, the pods that have them, and their
        rows."""
        exclusive: SinglePodClaims | None = state.data.get(STATE_KEY)
        used = self._snapshot.index(DiskUse.following).claims
        for claim in sorted(exclusive.claims) if exclusive is not None else ():
            for other, row in used.get((pod.namespace, claim), {}).values():
                yield claim, other, row


def _disk_users(pod: PodInfo, node: NodeInfo) -> Iterator[tuple[PodInfo, DiskKey]]:
    """Yield the pods on the node that use disks of the pod which it cannot share with them."""
    for other in node.pods:
        use = DiskUse()
        use.pod_added(other, node.row)
        for disk, reads in disks_of(pod.spec):
            if use.conflicting([(disk, reads)], len(node.snapshot))[node.row]:
                yield other, disk


def _update_conflicts(state: CycleState, other: PodInfo, number: int) -> Status:
    exclusive: SinglePodClaims | None = state.data.get(STATE_KEY)
    if exclusive is None:
        return STATE_MISSING
    exclusive.conflicts += number * exclusive.count(other)
    return SUCCESS


def after_pod_deletion(pod: PodInfo, old: PodInfo, new: None) -> bool:
    """Return whether the deleted pod had a disk or a claim of the pod's."""
    if old.namespace != pod.namespace:
        return False
    use = DiskUse()
    use.pod_added(old, 0)
    if use.conflicting(disks_of(pod.spec), 1).any():
        return True
    claims = {use.claim for use in claim_uses(pod.pod) if not use.ephemeral}
    return any(use.claim in claims for use in claim_uses(old.pod) if not use.ephemeral)


def after_claim_creation(pod: PodInfo, old: None, new: PersistentVolumeClaim) -> bool:
    return refers_to(pod, new)
