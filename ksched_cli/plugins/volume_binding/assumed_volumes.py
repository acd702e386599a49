"""The assume caches of volumes and claims: what Reserve assumed, on top of the stored objects.

Every profile has its own and does not see what another has assumed.

Upstream: pkg/scheduler/util/assumecache and plugins/volumebinding/assume_cache.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ksched_cli.cluster.objects import ObjectReference, PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.snapshot import Mask
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.plugins.volumes.persistent_volumes import (
    ClassVolumes,
    PersistentVolumes,
    is_bound_to,
)
from ksched_cli.plugins.volumes.pod_claims import claim_class, volume_class


class VolumeMemory(Struct, frozen=True):
    """The assumed data, see AssumedVolumes."""

    claim_refs: dict[str, ObjectReference]
    selected_nodes: dict[Key, str]


SELECTED_NODE = "volume.kubernetes.io/selected-node"


class AssumedVolumes:
    """claim_refs: volume name → the claim it is assumed bound to, in place of its own claimRef.
    selected_nodes: claim → the node to provision its volume for, in place of its annotation."""

    def __init__(self, volumes: PersistentVolumes) -> None:
        self._volumes = volumes
        self.claim_refs: dict[str, ObjectReference] = {}
        self.selected_nodes: dict[Key, str] = {}
        self._volumes_of_claim: dict[Key, set[str]] = {}  # claim → the volumes assumed bound to it
        self._taken: dict[str, Mask] = {}  # class → its volumes that have a claim

    def selected_node(self, claim: PersistentVolumeClaim) -> str | None:
        """The node that the claim's volume is to be provisioned for, if one was selected."""
        node = self.selected_nodes.get(_key(claim))
        return claim.metadata.annotations.get(SELECTED_NODE) if node is None else node

    def claim_ref(self, volume: PersistentVolume) -> ObjectReference | None:
        return self.claim_refs.get(volume.name, volume.spec.claim_ref)

    def taken(self, class_name: str) -> Mask:
        """The volumes of a class that have a claim, in the API server or assumed. Read-only."""
        mask = self._taken.get(class_name)
        return self._volumes.of_class(class_name).claimed if mask is None else mask

    def bound_to(self, claim: PersistentVolumeClaim, table: ClassVolumes) -> list[int]:
        """The indices of the volumes in `table` whose claimRef is the claim, ascending."""
        key = _key(claim)
        indices = set(table.by_claim_ref.get(key, ()))
        indices.update(
            table.index[name] for name in self._volumes_of_claim.get(key, ()) if name in table.index
        )
        bound = []
        for index in sorted(indices):
            ref = self.claim_ref(table.volumes[index])
            if ref is not None and is_bound_to(ref, claim):
                bound.append(index)
        return bound

    def assume_bound(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Assumes that the volume is bound to the claim, unless it is already.

        Upstream: GetBindVolumeToClaim.
        """
        ref = self.claim_ref(volume)
        if ref is not None and is_bound_to(ref, claim) and ref.uid == claim.uid:
            return
        self.claim_refs[volume.name] = ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=claim.namespace,
            name=claim.name,
            uid=claim.uid,
        )
        self._volumes_of_claim.setdefault(_key(claim), set()).add(volume.name)
        name = volume_class(volume)
        table = self._volumes.of_class(name)
        self._taken.setdefault(name, table.claimed.copy())[table.index[volume.name]] = True

    def assume_alone(
        self, chosen: Sequence[tuple[PersistentVolumeClaim, PersistentVolume | None]]
    ) -> None:
        """Assumes that each claim has this volume and no other. None: one that is not there yet.
        All let go of what they had first: two may have each other's."""
        for claim, _ in chosen:
            table = self._volumes.of_class(claim_class(claim))
            for name in tuple(self._volumes_of_claim.get(_key(claim), ())):
                self.restore_volume(table.volumes[table.index[name]])
        for claim, volume in chosen:
            if volume is not None:
                self.restore_claim(claim)
                self.assume_bound(volume, claim)

    def assume_provisioned(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Assumes that the claim's volume is to be provisioned for the node."""
        self.selected_nodes[_key(claim)] = node

    def restore_volume(self, volume: PersistentVolume) -> None:
        """Restores the API server's version. Does nothing if nothing was assumed."""
        ref = self.claim_refs.pop(volume.name, None)
        if ref is None:
            return
        self._volumes_of_claim[(ref.namespace, ref.name)].remove(volume.name)
        name = volume_class(volume)
        table = self._volumes.of_class(name)
        index = table.index[volume.name]
        self._taken[name][index] = table.claimed[index]

    def restore_claim(self, claim: PersistentVolumeClaim) -> None:
        """Restore a claim, as restore_volume does."""
        self.selected_nodes.pop(_key(claim), None)

    def carry_over(
        self, previous: AssumedVolumes, before: ClusterState, after: ClusterState
    ) -> None:
        """Assumes what was assumed of volumes and claims that have not changed since.

        before, after: the objects that the caches are on top of
        """
        for name, ref in previous.claim_refs.items():
            volume = after.persistent_volumes.get(name)
            claim = after.persistent_volume_claims.get((ref.namespace, ref.name))
            if (
                volume is not None
                and claim is not None
                and volume is before.persistent_volumes.get(name)
            ):
                self.assume_bound(volume, claim)
        for key, node in previous.selected_nodes.items():
            claim = after.persistent_volume_claims.get(key)
            if claim is not None and claim is before.persistent_volume_claims.get(key):
                self.selected_nodes[key] = node

    def assumed(self) -> VolumeMemory:
        """All of it; see Checkpointed."""
        return VolumeMemory(self.claim_refs, self.selected_nodes)

    def assume(self, assumed: VolumeMemory, cluster: ClusterState) -> None:
        """Takes it up, over the same objects. cluster: that has them"""
        for name, ref in assumed.claim_refs.items():
            claim = cluster.persistent_volume_claims[ref.namespace, ref.name]
            self.assume_bound(cluster.persistent_volumes[name], claim)
        self.selected_nodes.update(assumed.selected_nodes)


def _key(claim: PersistentVolumeClaim) -> Key:
    return claim.namespace, claim.name
