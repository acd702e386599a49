"""Finds volumes for a pod's claims, for all nodes at once, and assumes them.

Upstream: plugins/volumebinding/binder.go (GetPodVolumeClaims, FindPodVolumes, AssumePodVolumes).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import allowed_topologies
from ksched_cli.cluster.objects import (
    CSIStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.cluster.topology.node_selection import matches_any, meets
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.results import Ids
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector
from ksched_cli.kube.sort import go_sort
from ksched_cli.plugins.volumes import (
    NO_VOLUME,
    STORAGE,
    ChosenVolumes,
    ClassVolumes,
    CSINodes,
    PersistentVolumes,
    TranslationError,
    binds_late,
    claim_class,
    claim_uses,
    is_bound_to,
    is_compatible,
    mask_of,
    plugin_of,
    requested,
    smallest_per_node,
    translated_affinity,
    volume_class,
)

# -- storage capacity ------------------------------------------------------------------------------
#
# The largest volume of a storage class that each node can get, from CSIStorageCapacity objects.
#
# Upstream: plugins/volumebinding/binder.go (hasEnoughCapacity, nodeHasAccess). As there, what was
# provisioned in the meantime is not subtracted.


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
        # Sizes are compared in whole bytes, rounded up, up to 1.37.
        self._is_exact = handle.release.rules.compares_exact_capacity
        # By storage class; each with the largest volume.
        self._capacities: dict[str, list[tuple[CSIStorageCapacity, Quantity | int]]] = {}
        capacities = handle.cluster.csi_storage_capacities.values()
        for capacity in sorted(capacities, key=lambda capacity: capacity.key):
            limit = volume_limit(capacity)
            if limit is not None:
                of_class = self._capacities.setdefault(capacity.storage_class_name, [])
                of_class.append((capacity, self._size(limit)))
        self._largest_of: Callable[[str], tuple[list[Quantity | int], Column]] = cache(
            self._largest
        )
        self._reachable: dict[str, Mask] = {}  # by key

    def _size(self, amount: Quantity) -> Quantity | int:
        return amount if self._is_exact else amount.value()

    def suffices(self, storage_class: StorageClass, size: Quantity) -> Mask | None:
        """Return, per node, whether a volume of the size may be there, or None if no capacity is
        published."""
        if self._published(storage_class) is None:
            return None
        limits, ranks = self._largest_of(storage_class.name)
        return np.asarray((ranks != NO_CAPACITY) & (ranks >= bisect_left(limits, self._size(size))))

    def largest(self, storage_class: StorageClass, row: int) -> Quantity | int | None:
        """Return the size of the largest volume of a node, or None if no capacity is published
        there."""
        if self._published(storage_class) is None:
            return None
        limits, ranks = self._largest_of(storage_class.name)
        rank = ranks.item(row)
        return None if rank == NO_CAPACITY else limits[rank]

    def _largest(self, class_name: str) -> tuple[list[Quantity | int], Column]:
        """Return the distinct sizes of the largest volumes in order, and per node an index into
        them, or NO_CAPACITY."""
        capacities = self._capacities.get(class_name, ())
        limits = sorted({limit for _, limit in capacities})
        column = np.full(len(self._snapshot), NO_CAPACITY, dtype=np.int64)
        for capacity, limit in capacities:
            rows = self._reach(capacity)
            column[rows] = np.maximum(column[rows], bisect_left(limits, limit))
        return limits, column

    def first_fitting(
        self, storage_class: StorageClass, size: Quantity
    ) -> FittingCapacities | None:
        """Return per node the object that upstream may take, which is any: the first by name. None
        if none are published."""
        published = self._published(storage_class)
        if published is None:
            return None
        index = np.full(len(self._snapshot), NO_CAPACITY, dtype=np.intp)
        for number, (capacity, limit) in enumerate(published):
            if bisect_left([limit], self._size(size)) == 0:
                index[self._reach(capacity) & (index == NO_CAPACITY)] = number
        capacities = [capacity for capacity, _ in published]
        amounts = [0 if c.capacity is None else c.capacity.value() for c in capacities]
        return FittingCapacities(capacities, index, np.array(amounts, dtype=np.int64))

    def _published(
        self, storage_class: StorageClass
    ) -> list[tuple[CSIStorageCapacity, Quantity | int]] | None:
        driver = self._drivers.get(storage_class.provisioner)
        if driver is None or not driver.spec.storage_capacity:
            return None
        return self._capacities.get(storage_class.name, [])

    def _reach(self, capacity: CSIStorageCapacity) -> Mask:
        """Return the nodes of the topology; none for a selector that is absent or cannot be
        parsed."""
        mask = self._reachable.get(capacity.key)
        if mask is None:
            try:
                selector = label_selector(capacity.node_topology)
            except SelectorError:
                selector = label_selector(None)
            mask = np.full(len(self._snapshot), selector.selectable)
            for requirement in selector.requirements:
                mask &= meets(self._snapshot, requirement)
            self._reachable[capacity.key] = mask
        return mask


def volume_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """Return the size of the largest volume: maximumVolumeSize is the more precise. Upstream:
    volumeLimit."""
    limit = capacity.maximum_volume_size
    return capacity.capacity if limit is None else limit


# -- assumed volumes -------------------------------------------------------------------------------
#
# The assume caches of volumes and claims: what Reserve assumed, on top of the stored objects.
#
# Every profile has its own and does not see what another has assumed.
#
# Upstream: pkg/scheduler/util/assumecache and plugins/volumebinding/assume_cache.go.


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
        """Return the node that the claim's volume is to be provisioned for, if one was selected."""
        node = self.selected_nodes.get(_key(claim))
        return claim.metadata.annotations.get(SELECTED_NODE) if node is None else node

    def claim_ref(self, volume: PersistentVolume) -> ObjectReference | None:
        return self.claim_refs.get(volume.name, volume.spec.claim_ref)

    def taken(self, class_name: str) -> Mask:
        """Return the volumes of a class that have a claim, in the API server or assumed.
        Read-only."""
        mask = self._taken.get(class_name)
        return self._volumes.of_class(class_name).claimed if mask is None else mask

    def bound_to(self, claim: PersistentVolumeClaim, table: ClassVolumes) -> list[int]:
        """Return the indices of the volumes in `table` whose claimRef is the claim, ascending."""
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
        """Assume that the volume is bound to the claim, unless it is already.

        Upstream: GetBindVolumeToClaim.
        """
        ref = self.claim_ref(volume)
        if ref is not None and is_bound_to(ref, claim) and ref.uid == claim.uid:
            return
        namespace, name = _key(claim)
        self._assume_claim_ref(
            volume,
            ObjectReference(
                kind="PersistentVolumeClaim", namespace=namespace, name=name, uid=claim.uid
            ),
        )

    def _assume_claim_ref(self, volume: PersistentVolume, ref: ObjectReference) -> None:
        self.claim_refs[volume.name] = ref
        self._volumes_of_claim.setdefault((ref.namespace, ref.name), set()).add(volume.name)
        name = volume_class(volume)
        table = self._volumes.of_class(name)
        self._taken.setdefault(name, table.claimed.copy())[table.index[volume.name]] = True

    def assume_alone(
        self, chosen: Sequence[tuple[PersistentVolumeClaim, PersistentVolume | None]]
    ) -> None:
        """Assume that each claim has this volume and no other; None is a volume that does not exist
        yet. All let go of what they had first: two may have each other's."""
        for claim, _ in chosen:
            table = self._volumes.of_class(claim_class(claim))
            for name in tuple(self._volumes_of_claim.get(_key(claim), ())):
                self.restore_volume(table.volumes[table.index[name]])
        for claim, volume in chosen:
            if volume is not None:
                self.restore_claim(claim)
                self.assume_bound(volume, claim)

    def assume_provisioned(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Assume that the claim's volume is to be provisioned for the node."""
        self.selected_nodes[_key(claim)] = node

    def restore_volume(self, volume: PersistentVolume) -> None:
        """Restore the API server's version. Does nothing if nothing was assumed."""
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
        """Assume what was assumed of volumes and claims that have not changed since. A volume stays
        assumed when its claim is deleted, too.

        before, after: the objects that the caches are on top of
        """
        for name, ref in previous.claim_refs.items():
            volume = after.persistent_volumes.get(name)
            if volume is not None and volume is before.persistent_volumes.get(name):
                self._assume_claim_ref(volume, ref)
        for key, node in previous.selected_nodes.items():
            claim = after.persistent_volume_claims.get(key)
            if claim is not None and claim is before.persistent_volume_claims.get(key):
                self.selected_nodes[key] = node


def _key(claim: PersistentVolumeClaim) -> Key:
    return claim.namespace, claim.name


# -- the plugin ------------------------------------------------------------------------------------


BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
# In upstream's order; a node's marks are a bit for each.
REASONS = (NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING)
REASON_BITS = {reason: 1 << index for index, reason in enumerate(REASONS)}


class PodClaims(Struct, frozen=True):
    """A pod's claims, in the order of its volumes.

    bound:             fully bound to a volume
    delayed_binding:   unbound, of a class that waits for the first consumer
    unbound_immediate: unbound, of a class that binds immediately

    Upstream: PodVolumeClaims.
    """

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    delayed_binding: list[PersistentVolumeClaim] = field(default_factory=list)
    unbound_immediate: list[PersistentVolumeClaim] = field(default_factory=list)


class StaticBinding(Struct, frozen=True):
    """A claim and, per row, the volume of its class that it gets: an index, or NO_VOLUME.

    Upstream: BindingInfo.
    """

    claim: PersistentVolumeClaim
    table: ClassVolumes
    chosen: ChosenVolumes


class PodVolumes(Struct):
    """The volumes for a pod's claims on every node. Upstream: PodVolumes.

    reason_bits:        per row, a bit for each of REASONS
    error_ids:          per row, an index into `errors`; 0: no error
    static_bindings:    the claims for which existing volumes were searched
    dynamic_provisions: the claims that have a selected node already
    """

    reason_bits: NDArray[np.uint8]
    error_ids: Ids
    errors: list[str] = field(default_factory=lambda: [""])
    static_bindings: list[StaticBinding] = field(default_factory=list)
    dynamic_provisions: list[PersistentVolumeClaim] = field(default_factory=list)

    def add_reason(self, rows: Mask, reason: str) -> None:
        self.reason_bits[rows] |= REASON_BITS[reason]

    def add_error(self, rows: Mask, message: str) -> None:
        """Set the error of the rows; a row keeps its first error."""
        self.error_ids[rows & (self.error_ids == 0)] = len(self.errors)
        self.errors.append(message)

    def verdicts(self) -> tuple[Ids, list[Status]]:
        """Return per row an id into a table of statuses, and the table; an error takes precedence
        over the reasons."""
        statuses = [SUCCESS]
        ids = np.zeros(len(self.reason_bits), dtype=np.int32)
        for bits in np.unique(self.reason_bits).tolist():
            if bits:
                ids[self.reason_bits == bits] = len(statuses)
                reasons = [reason for bit, reason in enumerate(REASONS) if bits >> bit & 1]
                statuses.append(Status.unresolvable(*reasons))
        for index, message in enumerate(self.errors[1:], start=1):
            ids[self.error_ids == index] = len(statuses)
            statuses.append(Status.error(message))
        return ids, statuses

    def static_bindings_at(self, row: int) -> list[tuple[PersistentVolumeClaim, PersistentVolume]]:
        """Return claims and the volumes that they would get on a node."""
        return [
            (binding.claim, binding.table.volumes[binding.chosen[row]])
            for binding in self.static_bindings
            if binding.chosen[row] != NO_VOLUME
        ]

    def provisions(self) -> Iterator[tuple[PersistentVolumeClaim, Mask | None]]:
        """Yield the claims that volumes are to be made for, and on which nodes; None means on every
        node."""
        yield from ((claim, None) for claim in self.dynamic_provisions)
        for binding in self.static_bindings:
            yield binding.claim, binding.chosen == NO_VOLUME

    def dynamic_provisions_at(self, row: int) -> list[PersistentVolumeClaim]:
        """Return the claims that a volume would be made for."""
        unmatched = [
            binding.claim for binding in self.static_bindings if binding.chosen[row] == NO_VOLUME
        ]
        return self.dynamic_provisions + unmatched


class VolumeBinder:
    """assumed: what Reserve assumed so far; volumes, capacity: the objects of the API server.

    Upstream: volumeBinder.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._snapshot = handle.snapshot
        self._cluster = handle.cluster
        self.volumes = handle.service(PersistentVolumes)
        self.capacity = handle.service(StorageCapacity)
        self._csi_nodes = handle.service(CSINodes)
        self.assumed = AssumedVolumes(self.volumes)

    # -- the pod's claims -------------------------------------------------------------------------

    def claims(self, pod: Pod) -> PodClaims:
        """Return the pod's claims, which must all exist. Upstream: GetPodVolumeClaims."""
        claims = PodClaims()
        for use in claim_uses(pod):
            claim = self._cluster.persistent_volume_claims[(pod.namespace, use.claim)]
            storage_class = self._cluster.storage_classes.get(claim_class(claim))
            if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
                claims.bound.append(claim)
            elif not claim.spec.volume_name and binds_late(storage_class):
                claims.delayed_binding.append(claim)
            else:
                claims.unbound_immediate.append(claim)
        return claims

    # -- finding volumes --------------------------------------------------------------------------

    def reach_every_node(self, claims: PodClaims) -> bool:
        """Return whether all claims are bound, to volumes that every node can use: then `find`
        would find nothing to bind and no reason against any node."""
        if claims.delayed_binding:
            return False
        for claim in claims.bound:
            volume = self._cluster.persistent_volumes.get(claim.spec.volume_name)
            if volume is None or not _is_unlimited(volume.spec.node_affinity):
                return False
            try:
                if self._migrated(volume) is not None and not _is_unlimited(
                    translated_affinity(volume)
                ):
                    return False
            except TranslationError:
                return False
        return True

    def find(self, claims: PodClaims) -> PodVolumes:
        """Find volumes for the pod's claims on every node. Upstream: FindPodVolumes."""
        count = len(self._snapshot)
        volumes = PodVolumes(np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.int32))
        self._check_bound_claims(claims.bound, volumes)
        rows = np.ones(count, dtype=np.bool_)
        unmatched = []
        for claim in claims.delayed_binding:
            node = self.assumed.selected_node(claim)
            if node is None:
                unmatched.append(claim)
                continue
            volumes.dynamic_provisions.append(claim)
            row = self._snapshot.row.get(node)
            rows &= mask_of([] if row is None else [row], count)
        volumes.add_reason(~rows, BIND_CONFLICT)
        try:
            # Existing volumes are chosen for the claims, the smallest claims first. Upstream:
            # findMatchingVolumes.
            go_sort(unmatched, lambda a, b: requested(a) < requested(b))
            for claim in unmatched:
                table = self.volumes.of_class(claim_class(claim))
                earlier = [each.chosen for each in volumes.static_bindings if each.table is table]
                chosen = self._find_matching_volume(claim, table, earlier)
                volumes.static_bindings.append(StaticBinding(claim, table, chosen))
        except SelectorError as error:
            volumes.add_error(rows, str(error))
            return volumes
        self._check_volume_provisions(rows, volumes)
        return volumes

    def _check_bound_claims(
        self, claims: Sequence[PersistentVolumeClaim], volumes: PodVolumes
    ) -> None:
        """Reject the nodes that cannot reach the claims' volumes. The first claim that fails on a
        node gives the reason. Upstream: checkBoundClaims."""
        passing = np.ones(len(self._snapshot), dtype=np.bool_)
        for claim in claims:
            volume = self._cluster.persistent_volumes.get(claim.spec.volume_name)
            if volume is None:
                volumes.add_reason(passing, VOLUME_MISSING)
                return
            reachable = self._reachable(volume, passing, volumes)
            volumes.add_reason(passing & ~reachable, NODE_CONFLICT)
            passing &= reachable

    def _reachable(self, volume: PersistentVolume, rows: Mask, volumes: PodVolumes) -> Mask:
        """Return the nodes that a bound volume can be used from."""
        reach = self.volumes.reach
        mask = reach.mask(volume.spec.node_affinity)
        migrated = self._migrated(volume)
        if migrated is None:
            return mask
        try:
            translated = reach.mask(translated_affinity(volume))
        except TranslationError as error:
            volumes.add_error(rows & migrated, f"could not translate pv: {error}")
            return mask | migrated
        return np.where(migrated, translated, mask)

    def _migrated(self, volume: PersistentVolume) -> Mask | None:
        """Return the nodes that see the volume as one of its CSI driver, or None where none
        does."""
        plugin = plugin_of(volume.spec)
        if plugin is None or not plugin.migrated:
            return None
        nodes = self._csi_nodes
        return nodes.migrated(plugin.name) if nodes.any_migrated(plugin.name) else None

    def affinity_at(self, volume: PersistentVolume, row: int) -> VolumeNodeAffinity | None:
        """Return a bound volume's node affinity as one node sees it. Raises TranslationError."""
        migrated = self._migrated(volume)
        if migrated is not None and migrated[row]:
            return translated_affinity(volume)
        return volume.spec.node_affinity

    # -- existing volumes -------------------------------------------------------------------------

    def _find_matching_volume(
        self, claim: PersistentVolumeClaim, table: ClassVolumes, earlier: list[ChosenVolumes]
    ) -> ChosenVolumes:
        """Choose an existing volume for a claim on each node. Upstream: FindMatchingVolume."""
        selector = claim_selector(claim)
        first = table.first_of_size(requested(claim))
        count = len(self._snapshot)
        prebound = [
            index
            for index in self.assumed.bound_to(claim, table)
            if index >= first and is_compatible(claim, table.volumes[index])
        ]
        chosen = np.full(count, NO_VOLUME, dtype=np.intp)
        undecided = np.ones(count, dtype=np.bool_)
        for index in prebound:
            # A volume bound to the claim beforehand is its only candidate, even if the node cannot
            # reach it.
            reserved = undecided.copy()
            for other in earlier:
                reserved &= other != index
            reachable = self.volumes.reach.mask(table.volumes[index].spec.node_affinity)
            chosen[reserved & reachable] = index
            undecided &= ~reserved
        if not undecided.any():
            return chosen
        free = table.available_for(claim) & ~self.assumed.taken(claim_class(claim))
        eligible = first + np.flatnonzero(free[first:])
        if selector is not None:
            labels = (table.volumes[index].metadata.labels for index in eligible)
            eligible = eligible[np.fromiter(map(selector.matches, labels), np.bool_, len(eligible))]
        smallest = smallest_per_node(table.groups, eligible, earlier, count)
        return np.where(undecided, smallest, chosen)

    # -- provisioning -----------------------------------------------------------------------------

    def _check_volume_provisions(self, rows: Mask, volumes: PodVolumes) -> None:
        """Reject the nodes for which a volume cannot be provisioned. A node's first claim that
        fails gives the reason. Upstream: checkVolumeProvisions."""
        passing = rows.copy()
        for claim, where in volumes.provisions():
            claim_rows = passing & (rows if where is None else where)
            if not claim_rows.any():
                continue
            storage_class = self._cluster.storage_classes[claim_class(claim)]
            allowed = self.provisioning_nodes(storage_class)
            volumes.add_reason(claim_rows & ~allowed, BIND_CONFLICT)
            large_enough = self.has_enough_capacity(claim, storage_class)
            volumes.add_reason(claim_rows & allowed & ~large_enough, NOT_ENOUGH_SPACE)
            passing &= ~claim_rows | (allowed & large_enough)

    def provisioning_nodes(self, storage_class: StorageClass) -> Mask:
        """Return the nodes that a class can provision volumes for, regardless of their size."""
        if not provisions(storage_class):
            return np.zeros(len(self._snapshot), dtype=np.bool_)
        if not storage_class.allowed_topologies:
            return np.ones(len(self._snapshot), dtype=np.bool_)
        return matches_any(self._snapshot, allowed_topologies(storage_class))

    def has_enough_capacity(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass
    ) -> Mask:
        """Return whether capacity suffices, as far as the driver publishes it. Upstream:
        hasEnoughCapacity."""
        size = claim.spec.resources.requests.get(STORAGE)
        suffices = None if size is None else self.capacity.suffices(storage_class, size)
        if suffices is None:
            return np.ones(len(self._snapshot), dtype=np.bool_)
        return suffices

    def first_fitting_capacity(self, claim: PersistentVolumeClaim) -> FittingCapacities | None:
        """Return the capacity that lets a claim be provisioned, per node, or None where capacities
        are not looked at."""
        size = claim.spec.resources.requests.get(STORAGE)
        if size is None:
            return None
        storage_class = self._cluster.storage_classes[claim_class(claim)]
        return self.capacity.first_fitting(storage_class, size)

    # -- assuming ---------------------------------------------------------------------------------

    def assume(self, volumes: PodVolumes, row: int) -> None:
        """Assume the volumes of a pod on a node. Upstream: AssumePodVolumes."""
        for claim, volume in volumes.static_bindings_at(row):
            self.assumed.assume_bound(volume, claim)
        for claim in volumes.dynamic_provisions_at(row):
            self.assumed.assume_provisioned(claim, self._snapshot.names[row])

    def revert(self, volumes: PodVolumes, row: int) -> None:
        """Revert `assume`. As upstream, what another pod had assumed for the same claim is reverted
        too. Upstream: RevertAssumedPodVolumes."""
        for _, volume in volumes.static_bindings_at(row):
            self.assumed.restore_volume(volume)
        for claim in volumes.dynamic_provisions_at(row):
            self.assumed.restore_claim(claim)


def _is_unlimited(affinity: VolumeNodeAffinity | None) -> bool:
    return affinity is None or affinity.required is None


def provisions(storage_class: StorageClass) -> bool:
    """Return whether the class has a provisioner."""
    return storage_class.provisioner not in ("", NO_PROVISIONER)


def claim_selector(claim: PersistentVolumeClaim) -> Selector | None:
    """Return the claim's volume selector, or None for any volume. Raises SelectorError."""
    if claim.spec.selector is None:
        return None
    try:
        return label_selector(claim.spec.selector)
    except SelectorError as error:
        message = f"error creating internal label selector for claim: {claim.key}: {error}"
        raise SelectorError(message) from None
