"""Which volumes a pod's claims would get on every node, for all nodes at once.

Upstream: plugins/volumebinding/binder.go (GetPodVolumeClaims, FindPodVolumes, AssumePodVolumes).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.selectors import (
    IN,
    NodeTerm,
    NodeTerms,
    Requirement,
    Selector,
    SelectorError,
    label_selector,
)
from ksched_cli.cluster.snapshot import Mask
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.results import Ids
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.sort import go_sort
from ksched_cli.plugins.node_volume_limits.csi_nodes import csi_nodes
from ksched_cli.plugins.volume_binding.assumed_volumes import AssumedVolumes
from ksched_cli.plugins.volume_binding.storage_capacity import storage_capacity
from ksched_cli.plugins.volumes.csi_migration import (
    TranslationError,
    plugin_of,
    translated_affinity,
)
from ksched_cli.plugins.volumes.persistent_volumes import (
    NONE,
    Choice,
    ClassVolumes,
    persistent_volumes,
    requested,
    smallest_per_node,
    suits,
)
from ksched_cli.plugins.volumes.pod_claims import (
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_uses,
)

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
# In upstream's order; a node's marks are a bit for each.
REASONS = (NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING)


@dataclass(frozen=True, slots=True)
class PodClaims:
    """A pod's claims, in the order of its volumes.

    bound: to a volume, completely; waiting: for a consumer; immediate: should be bound by now
    """

    bound: tuple[PersistentVolumeClaim, ...] = ()
    waiting: tuple[PersistentVolumeClaim, ...] = ()
    immediate: tuple[PersistentVolumeClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """What one claim would get: per row, the place of a volume of its class, or NONE."""

    claim: PersistentVolumeClaim
    table: ClassVolumes
    choice: Choice


@dataclass(slots=True)
class PodVolumes:
    """What a pod's claims would get on every node.

    marks:     per row, bits of REASONS
    failures:  per row, the index in `failed` of what could not be computed; 0: nothing
    matches:   claims that volumes were looked for
    provision: claims with a node selected already, to be provisioned there
    """

    marks: NDArray[np.uint8]
    failures: Ids
    failed: list[str] = field(default_factory=lambda: [""])
    matches: list[Match] = field(default_factory=list)
    provision: list[PersistentVolumeClaim] = field(default_factory=list)

    def mark(self, rows: Mask, reason: str) -> None:
        self.marks[rows] |= 1 << REASONS.index(reason)

    def fail(self, rows: Mask, problem: str) -> None:
        """Only what fails first counts."""
        self.failures[rows & (self.failures == 0)] = len(self.failed)
        self.failed.append(problem)

    def verdicts(self) -> tuple[Ids, list[Status]]:
        """An id per row into a table of statuses; a failure goes before the reasons."""
        statuses = [SUCCESS]
        ids = np.zeros(len(self.marks), dtype=np.int32)
        for mark in np.unique(self.marks).tolist():
            if mark:
                ids[self.marks == mark] = len(statuses)
                reasons = [reason for bit, reason in enumerate(REASONS) if mark >> bit & 1]
                statuses.append(Status.unresolvable(*reasons))
        for index, problem in enumerate(self.failed[1:], start=1):
            ids[self.failures == index] = len(statuses)
            statuses.append(Status.error(problem))
        return ids, statuses

    def bound_at(self, row: int) -> list[tuple[PersistentVolumeClaim, PersistentVolume]]:
        """Claims and the volumes they would get on a node."""
        return [
            (match.claim, match.table.volumes[match.choice[row]])
            for match in self.matches
            if match.choice[row] != NONE
        ]

    def provisioned_at(self, row: int) -> list[PersistentVolumeClaim]:
        """The claims that a volume would be made for."""
        unmatched = [match.claim for match in self.matches if match.choice[row] == NONE]
        return self.provision + unmatched


class VolumeBinder:
    """assumed: what Reserve has taken so far; volumes, capacity: what the API server knows."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._snapshot = handle.snapshot
        self._cluster = handle.cluster
        self.volumes = persistent_volumes(handle)
        self.capacity = storage_capacity(handle)
        self._csi_nodes = csi_nodes(handle)
        self.assumed = AssumedVolumes(self.volumes)

    # -- the pod's claims -------------------------------------------------------------------------

    def claims(self, pod: Pod) -> PodClaims:
        """The pod's claims are all there. Upstream: GetPodVolumeClaims."""
        bound, waiting, immediate = [], [], []
        for use in claim_uses(pod):
            claim = self._cluster.persistent_volume_claims[(pod.namespace, use.claim)]
            if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
                bound.append(claim)
            elif self._waits(claim) and not claim.spec.volume_name:
                waiting.append(claim)
            else:
                immediate.append(claim)
        return PodClaims(tuple(bound), tuple(waiting), tuple(immediate))

    def _waits(self, claim: PersistentVolumeClaim) -> bool:
        found = self._cluster.storage_classes.get(claim_class(claim))
        return found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

    # -- every node -------------------------------------------------------------------------------

    def find(self, claims: PodClaims) -> PodVolumes:
        """Upstream: FindPodVolumes."""
        count = len(self._snapshot)
        found = PodVolumes(np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.int32))
        self._check_bound(claims.bound, found)
        asked = np.ones(count, dtype=np.bool_)
        looked_for = []
        for claim in claims.waiting:
            node = self.assumed.selected_node(claim)
            if node is None:
                looked_for.append(claim)
                continue
            found.provision.append(claim)
            asked &= self._only(node)
        found.mark(~asked, BIND_CONFLICT)
        try:
            self._match(looked_for, found)
        except SelectorError as error:
            found.fail(asked, str(error))
            return found
        self._check_provisioned(asked, found)
        return found

    def _only(self, node: str) -> Mask:
        mask = np.zeros(len(self._snapshot), dtype=np.bool_)
        if node in self._snapshot.row:
            mask[self._snapshot.row[node]] = True
        return mask

    def _check_bound(self, claims: tuple[PersistentVolumeClaim, ...], found: PodVolumes) -> None:
        """Of several claims, the first that fails on a node has the word."""
        passing = np.ones(len(self._snapshot), dtype=np.bool_)
        for claim in claims:
            volume = self._cluster.persistent_volumes.get(claim.spec.volume_name)
            if volume is None:
                found.mark(passing, VOLUME_MISSING)
                return
            reached = self._reached(volume, passing, found)
            found.mark(passing & ~reached, NODE_CONFLICT)
            passing &= reached

    def _reached(self, volume: PersistentVolume, asked: Mask, found: PodVolumes) -> Mask:
        """The nodes that a bound volume can be used from."""
        reach = self.volumes.reach
        mask = reach.mask(volume.spec.node_affinity)
        migrated = self._migrated(volume)
        if migrated is None:
            return mask
        try:
            translated = reach.mask(translated_affinity(volume))
        except TranslationError as error:
            found.fail(asked & migrated, f"could not translate pv: {error}")
            return mask | migrated
        return np.where(migrated, translated, mask)

    def _migrated(self, volume: PersistentVolume) -> Mask | None:
        """The nodes that see the volume as one of its CSI driver; None where none does."""
        plugin = plugin_of(volume.spec)
        if plugin is None or not plugin.migrated:
            return None
        mask = self._csi_nodes.migrated(plugin.name)
        return mask if mask.any() else None

    def affinity_at(self, volume: PersistentVolume, row: int) -> VolumeNodeAffinity | None:
        """A bound volume's node affinity as one node sees it. Raises TranslationError."""
        migrated = self._migrated(volume)
        if migrated is not None and migrated[row]:
            return translated_affinity(volume)
        return volume.spec.node_affinity

    # -- volumes that are there -------------------------------------------------------------------

    def _match(self, claims: list[PersistentVolumeClaim], found: PodVolumes) -> None:
        """Small claims first, that large volumes are left for large ones."""
        go_sort(claims, lambda a, b: requested(a) < requested(b))
        for claim in claims:
            name = claim_class(claim)
            table = self.volumes.of_class(name)
            earlier = [match.choice for match in found.matches if match.table is table]
            found.matches.append(Match(claim, table, self._choice(claim, table, earlier)))

    def _choice(
        self, claim: PersistentVolumeClaim, table: ClassVolumes, earlier: list[Choice]
    ) -> Choice:
        """Upstream: FindMatchingVolume."""
        selector = claim_selector(claim)
        first = table.first_of_size(requested(claim))
        count = len(self._snapshot)
        own = [
            place
            for place in self.assumed.bound_to(claim, table)
            if place >= first and suits(claim, table.volumes[place])
        ]
        choice = np.full(count, NONE, dtype=np.intp)
        open_rows = np.ones(count, dtype=np.bool_)
        for place in own:
            # A volume made for the claim is the only one it can have, be it out of reach.
            here = open_rows.copy()
            for other in earlier:
                here &= other != place
            reached = self.volumes.reach.mask(table.volumes[place].spec.node_affinity)
            choice[here & reached] = place
            open_rows &= ~here
        if not open_rows.any():
            return choice
        free = table.offered_to(claim) & ~self.assumed.taken(claim_class(claim))
        eligible = first + np.flatnonzero(free[first:])
        if selector is not None:
            labels = [table.volumes[place].metadata.labels for place in eligible]
            eligible = eligible[np.array([selector.matches(one) for one in labels], dtype=np.bool_)]
        smallest = smallest_per_node(table.groups, eligible, earlier, count)
        return np.where(open_rows, smallest, choice)

    # -- volumes to be made -----------------------------------------------------------------------

    def _check_provisioned(self, asked: Mask, found: PodVolumes) -> None:
        """Upstream: checkVolumeProvisions. The first claim that fails on a node has the word."""
        passing = asked.copy()
        wanted = [(claim, asked) for claim in found.provision]
        wanted += [(match.claim, match.choice == NONE) for match in found.matches]
        for claim, rows in wanted:
            rows = rows & passing
            if not rows.any():
                continue
            storage_class = self._cluster.storage_classes[claim_class(claim)]
            allowed = self.provisioning_nodes(storage_class)
            found.mark(rows & ~allowed, BIND_CONFLICT)
            roomy = self.has_room(claim, storage_class)
            found.mark(rows & allowed & ~roomy, NOT_ENOUGH_SPACE)
            passing &= ~rows | (allowed & roomy)

    def provisioning_nodes(self, storage_class: StorageClass) -> Mask:
        """The nodes that a class can make volumes for, their size aside."""
        if not provisions(storage_class):
            return np.zeros(len(self._snapshot), dtype=np.bool_)
        if not storage_class.allowed_topologies:
            return np.ones(len(self._snapshot), dtype=np.bool_)
        return matches_any(self._snapshot, allowed_topologies(storage_class))

    def has_room(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> Mask:
        """The nodes whose driver can make a volume that large, as far as it tells."""
        size = claim.spec.resources.requests.get(STORAGE)
        largest = None if size is None else self.capacity.largest(storage_class)
        if size is None or largest is None:
            return np.ones(len(self._snapshot), dtype=np.bool_)
        return largest >= size.value()

    # -- taking and giving back -------------------------------------------------------------------

    def assume(self, found: PodVolumes, row: int) -> None:
        """Upstream: AssumePodVolumes."""
        for claim, volume in found.bound_at(row):
            self.assumed.assume_bound(volume, claim)
        for claim in found.provisioned_at(row):
            self.assumed.assume_provisioned(claim, self._snapshot.names[row])

    def revert(self, found: PodVolumes, row: int) -> None:
        """Upstream: RevertAssumedPodVolumes. As there, what another pod had assumed of the same
        claim before goes too."""
        for _, volume in found.bound_at(row):
            self.assumed.restore_volume(volume)
        for claim in found.provisioned_at(row):
            self.assumed.restore_claim(claim)


def provisions(storage_class: StorageClass) -> bool:
    """Whether volumes can be made of the class at all."""
    return storage_class.provisioner not in ("", NO_PROVISIONER)


def claim_selector(claim: PersistentVolumeClaim) -> Selector | None:
    """None: any volume. Raises SelectorError."""
    if claim.spec.selector is None:
        return None
    try:
        return label_selector(claim.spec.selector)
    except SelectorError as error:
        said = f"error creating internal label selector for claim: {claim.key}: {error}"
        raise SelectorError(said) from None


def allowed_topologies(storage_class: StorageClass) -> NodeTerms:
    """Terms without requirements match nothing. Upstream: MatchTopologySelectorTerms."""
    terms = [term.match_label_expressions for term in storage_class.allowed_topologies]
    return NodeTerms(
        tuple(
            NodeTerm(tuple(Requirement(one.key, IN, one.values) for one in term))
            for term in terms
            if term
        )
    )
