"""Persistent volumes by storage class, laid out for finding the smallest that fits on every node.

Upstream: component-helpers/storage/volume/{helpers,pv_helpers}.go (CheckNodeAffinity,
FindMatchingVolume).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.selectors import NodeTerms, node_terms
from ksched_cli.cluster.snapshot import Mask, Rows, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.volumes.pod_claims import STORAGE, volume_class

SHARED_KEY = "persistent_volumes"
ZERO = Quantity(0)
AVAILABLE = "Available"

# Per row, the place of a volume among those of its class, or NONE.
Choice = NDArray[np.intp]
NONE = -1


class Reach:
    """Which nodes a volume can be used from, by its node affinity. Kept for the whole run."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._rows: dict[VolumeNodeAffinity | None, Rows] = {}

    def rows(self, affinity: VolumeNodeAffinity | None) -> Rows:
        found = self._rows.get(affinity)
        if found is None:
            found = self._rows[affinity] = np.flatnonzero(self._matching(affinity))
        return found

    def mask(self, affinity: VolumeNodeAffinity | None) -> Mask:
        mask = np.zeros(len(self._snapshot), dtype=np.bool_)
        mask[self.rows(affinity)] = True
        return mask

    def _matching(self, affinity: VolumeNodeAffinity | None) -> Mask:
        if affinity is None or affinity.required is None:
            return np.ones(len(self._snapshot), dtype=np.bool_)
        # Upstream asks about a node that has labels and no name: conditions on fields are ignored.
        terms = node_terms(affinity.required).terms
        labels_only = tuple(replace(term, fields=()) for term in terms)
        return matches_any(self._snapshot, NodeTerms(labels_only))


@dataclass(frozen=True, slots=True)
class Groups:
    """Volumes with one and the same reach.

    of:     per volume, its group
    starts: per group, where its rows begin in `rows`; one entry more than there are groups
    """

    of: NDArray[np.intp]
    starts: NDArray[np.intp]
    rows: Rows


class ClassVolumes:
    """The volumes of one storage class, smallest first; equal ones in order of name.

    Upstream meets equal ones in no order at all.
    """

    def __init__(self, reach: Reach, volumes: Iterable[PersistentVolume]) -> None:
        self._reach = reach
        self.volumes = tuple(sorted(volumes, key=lambda pv: (capacity(pv), pv.name)))
        self.place = {pv.name: place for place, pv in enumerate(self.volumes)}
        self._sizes = [capacity(pv) for pv in self.volumes]
        self._offers: dict[tuple[str, str, frozenset[str]], Mask] = {}
        self.claimed = self._where([pv.spec.claim_ref is not None for pv in self.volumes])
        self.named: dict[tuple[str, str], list[int]] = {}
        for place, pv in enumerate(self.volumes):
            if pv.spec.claim_ref is not None:
                ref = pv.spec.claim_ref
                self.named.setdefault((ref.namespace, ref.name), []).append(place)

    @cached_property
    def groups(self) -> Groups:
        ids: dict[VolumeNodeAffinity | None, int] = {}
        of = [ids.setdefault(pv.spec.node_affinity, len(ids)) for pv in self.volumes]
        rows = [self._reach.rows(affinity) for affinity in ids]
        starts = np.zeros(len(rows) + 1, dtype=np.intp)
        np.cumsum([len(found) for found in rows], out=starts[1:])
        joined = np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)
        return Groups(np.array(of, dtype=np.intp), starts, joined)

    def first_of_size(self, wanted: Quantity) -> int:
        """The place of the smallest volume that is large enough."""
        return bisect_left(self._sizes, wanted)

    def offered_to(self, claim: PersistentVolumeClaim) -> Mask:
        """The volumes that suit the claim, but for its selector, size, reach and other claims."""
        spec = claim.spec
        key = (
            spec.volume_mode,
            spec.volume_attributes_class_name or "",
            frozenset(spec.access_modes),
        )
        mask = self._offers.get(key)
        if mask is None:
            mask = self._offers[key] = self._where(
                [
                    pv.status.phase == AVAILABLE
                    and suits(claim, pv)
                    and key[2] <= set(pv.spec.access_modes)
                    for pv in self.volumes
                ]
            )
        return mask

    def _where(self, answers: list[bool]) -> Mask:
        return np.array(answers, dtype=np.bool_)


class PersistentVolumes:
    """The volumes of a run as the API server has them, by storage class."""

    def __init__(self, snapshot: Snapshot, volumes: Iterable[PersistentVolume]) -> None:
        self.reach = Reach(snapshot)
        self._by_class: dict[str, list[PersistentVolume]] = {}
        for volume in volumes:
            self._by_class.setdefault(volume_class(volume), []).append(volume)
        self._tables: dict[str, ClassVolumes] = {}

    def of_class(self, name: str) -> ClassVolumes:
        table = self._tables.get(name)
        if table is None:
            table = ClassVolumes(self.reach, self._by_class.get(name, ()))
            self._tables[name] = table
        return table


def persistent_volumes(handle: Handle) -> PersistentVolumes:
    """One for the whole run."""
    found: PersistentVolumes | None = handle.shared.get(SHARED_KEY)
    if found is None:
        volumes = handle.cluster.persistent_volumes.values()
        found = handle.shared[SHARED_KEY] = PersistentVolumes(handle.snapshot, volumes)
    return found


def capacity(volume: PersistentVolume) -> Quantity:
    return volume.spec.capacity.get(STORAGE, ZERO)


def requested(claim: PersistentVolumeClaim) -> Quantity:
    return claim.spec.resources.requests.get(STORAGE, ZERO)


def suits(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """What must hold even where the volume was made for the claim, its size aside."""
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
    groups: Groups, eligible: NDArray[np.intp], earlier: Sequence[Choice], count: int
) -> Choice:
    """Per row, the first of the eligible volumes that reaches it and was not chosen there already.

    eligible: places, ascending; earlier: what other claims of the pod got, same class;
    count: the number of rows
    """
    # Of volumes with one reach at most len(earlier) are gone, so one more than that is enough.
    candidates = _first_of_each(groups.of[eligible], eligible, len(earlier) + 1)
    starts = groups.starts[groups.of[candidates]]
    lengths = groups.starts[groups.of[candidates] + 1] - starts
    # The smallest comes last, and so is the one that stays.
    order = np.argsort(-candidates, kind="stable")
    candidates, starts, lengths = candidates[order], starts[order], lengths[order]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    within = np.arange(total) - np.repeat(ends - lengths, lengths)
    rows = groups.rows[np.repeat(starts, lengths) + within]
    places = np.repeat(candidates, lengths)
    for choice in earlier:
        left = choice[rows] != places
        rows, places = rows[left], places[left]
    found = np.full(count, NONE, dtype=np.intp)
    found[rows] = places
    return found


def _first_of_each(
    groups: NDArray[np.intp], places: NDArray[np.intp], wanted: int
) -> NDArray[np.intp]:
    """The first `wanted` places of each group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(begins, append=len(ordered))
    rank = np.arange(len(ordered)) - np.repeat(begins, lengths)
    return places[order[rank < wanted]]
