"""Persistent volumes by storage class, laid out for finding the smallest that fits on every node.

Upstream: component-helpers/storage/volume/{helpers,pv_helpers}.go (CheckNodeAffinity,
FindMatchingVolume).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import NodeTerms, node_terms
from ksched_cli.cluster.objects import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.snapshot import Mask, Rows, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.volumes.pod_claims import STORAGE, volume_class

ZERO = Quantity(0)
AVAILABLE = "Available"

# Per row, the index of a volume among those of its class, or NO_VOLUME.
ChosenVolumes = NDArray[np.intp]
NO_VOLUME = -1


class Reach:
    """The nodes that a volume can be used from, by its node affinity; cached for the whole run."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.rows: Callable[[VolumeNodeAffinity | None], Rows] = cache(
            lambda affinity: np.flatnonzero(self._matching(affinity))
        )

    def mask(self, affinity: VolumeNodeAffinity | None) -> Mask:
        mask = np.zeros(len(self._snapshot), dtype=np.bool_)
        mask[self.rows(affinity)] = True
        return mask

    def _matching(self, affinity: VolumeNodeAffinity | None) -> Mask:
        if affinity is None or affinity.required is None:
            return np.ones(len(self._snapshot), dtype=np.bool_)
        # Upstream matches a node with labels and no name: match_fields never apply.
        terms = node_terms(affinity.required).terms
        labels_only = tuple(replace(term, fields=()) for term in terms)
        return matches_any(self._snapshot, NodeTerms(labels_only))


class AffinityGroups(Struct, frozen=True):
    """Volumes grouped by equal node affinity.

    of:     per volume, its group
    starts: per group, where its rows begin in `rows`; one entry more than there are groups
    """

    of: NDArray[np.intp]
    starts: NDArray[np.intp]
    rows: Rows


class ClassVolumes:
    """The volumes of one storage class, smallest first; those of equal size by name.

    Upstream iterates over those of equal size in random order.
    """

    def __init__(self, reach: Reach, volumes: Iterable[PersistentVolume]) -> None:
        self._reach = reach
        self.volumes = tuple(sorted(volumes, key=lambda pv: (capacity(pv), pv.name)))
        self.index = {pv.name: index for index, pv in enumerate(self.volumes)}
        self._sizes = [capacity(pv) for pv in self.volumes]
        self._available: dict[tuple[str, str, frozenset[str]], Mask] = {}
        self.claimed = self._mask([pv.spec.claim_ref is not None for pv in self.volumes])
        self.by_claim_ref: dict[tuple[str, str], list[int]] = {}
        for index, pv in enumerate(self.volumes):
            if pv.spec.claim_ref is not None:
                ref = pv.spec.claim_ref
                self.by_claim_ref.setdefault((ref.namespace, ref.name), []).append(index)

    @cached_property
    def groups(self) -> AffinityGroups:
        ids: dict[VolumeNodeAffinity | None, int] = {}
        group_ids = [ids.setdefault(pv.spec.node_affinity, len(ids)) for pv in self.volumes]
        rows = [self._reach.rows(affinity) for affinity in ids]
        starts = np.zeros(len(rows) + 1, dtype=np.intp)
        np.cumsum([len(group_rows) for group_rows in rows], out=starts[1:])
        joined = np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)
        return AffinityGroups(np.array(group_ids, dtype=np.intp), starts, joined)

    def first_of_size(self, size: Quantity) -> int:
        """The index of the smallest volume that is large enough."""
        return bisect_left(self._sizes, size)

    def available_for(self, claim: PersistentVolumeClaim) -> Mask:
        """The available volumes that match the claim, apart from its selector, size and node."""
        spec = claim.spec
        key = (
            spec.volume_mode,
            spec.volume_attributes_class_name or "",
            frozenset(spec.access_modes),
        )
        mask = self._available.get(key)
        if mask is None:
            mask = self._available[key] = self._mask(
                [
                    pv.status.phase == AVAILABLE
                    and is_compatible(claim, pv)
                    and key[2] <= set(pv.spec.access_modes)
                    for pv in self.volumes
                ]
            )
        return mask

    def _mask(self, answers: list[bool]) -> Mask:
        return np.array(answers, dtype=np.bool_)


class PersistentVolumes:
    """The volumes of a run as the API server returns them, by storage class. A service."""

    def __init__(self, handle: Handle) -> None:
        self.reach = Reach(handle.snapshot)
        by_class: dict[str, list[PersistentVolume]] = {}
        for volume in handle.cluster.persistent_volumes.values():
            by_class.setdefault(volume_class(volume), []).append(volume)
        self.of_class: Callable[[str], ClassVolumes] = cache(
            lambda name: ClassVolumes(self.reach, by_class.get(name, ()))
        )


def capacity(volume: PersistentVolume) -> Quantity:
    return volume.spec.capacity.get(STORAGE, ZERO)


def requested(claim: PersistentVolumeClaim) -> Quantity:
    return claim.spec.resources.requests.get(STORAGE, ZERO)


def is_compatible(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """The conditions, besides size, that hold even for a volume bound to the claim beforehand."""
    return (
        claim.spec.volume_mode == volume.spec.volume_mode
        and (claim.spec.volume_attributes_class_name or "")
        == (volume.spec.volume_attributes_class_name or "")
        and not volume.metadata.deletion_timestamp
    )


def is_bound_to(ref: ObjectReference, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume with this claimRef is the claim's. Upstream: IsVolumeBoundToClaim."""
    if (ref.namespace, ref.name) != (claim.namespace, claim.name):
        return False
    return ref.uid in ("", claim.uid)


def smallest_per_node(
    groups: AffinityGroups, eligible: NDArray[np.intp], earlier: Sequence[ChosenVolumes], count: int
) -> ChosenVolumes:
    """Per row, the smallest eligible volume that reaches it and no other claim of the pod gets.

    eligible: indices, ascending; earlier: the volumes of the pod's other claims of the same class;
    count: the number of rows
    """
    # At most len(earlier) volumes of a group are chosen already: one more than that is enough.
    candidates = _first_of_each(groups.of[eligible], eligible, len(earlier) + 1)
    starts = groups.starts[groups.of[candidates]]
    lengths = groups.starts[groups.of[candidates] + 1] - starts
    # Descending, so that the smallest is assigned last.
    order = np.argsort(-candidates, kind="stable")
    candidates, starts, lengths = candidates[order], starts[order], lengths[order]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    offsets = np.arange(total) - np.repeat(ends - lengths, lengths)
    rows = groups.rows[np.repeat(starts, lengths) + offsets]
    indices = np.repeat(candidates, lengths)
    for chosen in earlier:
        remaining = chosen[rows] != indices
        rows, indices = rows[remaining], indices[remaining]
    smallest = np.full(count, NO_VOLUME, dtype=np.intp)
    smallest[rows] = indices
    return smallest


def _first_of_each(
    groups: NDArray[np.intp], indices: NDArray[np.intp], limit: int
) -> NDArray[np.intp]:
    """The first `limit` indices of each group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(begins, append=len(ordered))
    rank = np.arange(len(ordered)) - np.repeat(begins, lengths)
    return indices[order[rank < limit]]
