"""What Reserve has taken of volumes and claims, on top of what the API server knows.

Every profile has its own: one does not see what another has assumed.

Upstream: pkg/scheduler/util/assumecache and plugins/volumebinding/assume_cache.go.
"""

from __future__ import annotations

from ksched_cli.cluster.objects import ObjectReference, PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.snapshot import Mask
from ksched_cli.cluster.state import Key
from ksched_cli.plugins.volumes.persistent_volumes import (
    ClassVolumes,
    PersistentVolumes,
    is_bound_to,
)
from ksched_cli.plugins.volumes.pod_claims import volume_class

SELECTED_NODE = "volume.kubernetes.io/selected-node"


class AssumedVolumes:
    """claim_refs: volume name → the claim it was promised to, in place of its own claimRef.
    selected_nodes: claim → the node to provision its volume for, in place of its annotation."""

    def __init__(self, volumes: PersistentVolumes) -> None:
        self._volumes = volumes
        self.claim_refs: dict[str, ObjectReference] = {}
        self.selected_nodes: dict[Key, str] = {}
        self._names: dict[Key, set[str]] = {}  # claim → the volumes promised to it
        self._taken: dict[str, Mask] = {}  # class → its volumes that some claim has

    def selected_node(self, claim: PersistentVolumeClaim) -> str | None:
        """The node that the claim's volume is to be provisioned for, if one was selected."""
        found = self.selected_nodes.get(_key(claim))
        return claim.metadata.annotations.get(SELECTED_NODE) if found is None else found

    def claim_ref(self, volume: PersistentVolume) -> ObjectReference | None:
        return self.claim_refs.get(volume.name, volume.spec.claim_ref)

    def taken(self, class_name: str) -> Mask:
        """The volumes of a class that some claim has. Read-only."""
        mask = self._taken.get(class_name)
        return self._volumes.of_class(class_name).claimed if mask is None else mask

    def bound_to(self, claim: PersistentVolumeClaim, table: ClassVolumes) -> list[int]:
        """The places of the volumes in `table` that name the claim, ascending."""
        key = _key(claim)
        places = set(table.named.get(key, ()))
        places.update(table.place[name] for name in self._names.get(key, ()) if name in table.place)
        found = []
        for place in sorted(places):
            ref = self.claim_ref(table.volumes[place])
            if ref is not None and is_bound_to(ref, claim):
                found.append(place)
        return found

    def assume_bound(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Promises the volume to the claim, unless it is the claim's already.

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
        self._names.setdefault(_key(claim), set()).add(volume.name)
        name = volume_class(volume)
        table = self._volumes.of_class(name)
        self._taken.setdefault(name, table.claimed.copy())[table.place[volume.name]] = True

    def assume_provisioned(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Promises that the claim's volume is made for the node."""
        self.selected_nodes[_key(claim)] = node

    def restore_volume(self, volume: PersistentVolume) -> None:
        """Back to what the API server knows; nothing happens where nothing was assumed."""
        ref = self.claim_refs.pop(volume.name, None)
        if ref is None:
            return
        self._names[(ref.namespace, ref.name)].remove(volume.name)
        name = volume_class(volume)
        table = self._volumes.of_class(name)
        place = table.place[volume.name]
        self._taken[name][place] = table.claimed[place]

    def restore_claim(self, claim: PersistentVolumeClaim) -> None:
        """As restore_volume."""
        self.selected_nodes.pop(_key(claim), None)


def _key(claim: PersistentVolumeClaim) -> Key:
    return claim.namespace, claim.name
