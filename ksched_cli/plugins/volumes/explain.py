"""Why a pod's volumes keep it off a node, in words: which claim, which volume, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.selectors import Selector
from ksched_cli.cluster.snapshot import Column
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.kube.format_quantity import amount_text
from ksched_cli.plugins.node_affinity import label_text, term_text
from ksched_cli.plugins.volume_binding.binder import (
    PodClaims,
    PodVolumes,
    VolumeBinder,
    claim_selector,
    provisions,
)
from ksched_cli.plugins.volume_binding.storage_capacity import NOTHING
from ksched_cli.plugins.volumes.csi_migration import TranslationError
from ksched_cli.plugins.volumes.persistent_volumes import (
    AVAILABLE,
    ClassVolumes,
    capacity,
    is_bound_to,
    requested,
    suits,
)
from ksched_cli.plugins.volumes.pod_claims import claim_class


@dataclass(frozen=True, slots=True)
class MismatchCounts:
    """What keeps the volumes of a claim's class from it.

    everywhere: what they lack on every node → how many
    suitable:   how many lack nothing
    reaching:   per row, how many of those can be used from there
    """

    everywhere: Counter[str]
    suitable: int
    reaching: Column


class VolumeWords:
    """About one attempt: its claims, and what was found for them."""

    def __init__(
        self, binder: VolumeBinder, cluster: ClusterState, claims: PodClaims, found: PodVolumes
    ) -> None:
        self._binder = binder
        self._cluster = cluster
        self._claims = claims
        self._found = found
        self._lacks: dict[str, MismatchCounts] = {}

    def rejection(self, node: NodeInfo) -> list[str]:
        """One line per claim that stands in the way on the node."""
        lines = [*self._bound(node)]
        elsewhere = [*self._selected_elsewhere(node)]
        if not elsewhere:
            lines += self._unmatched(node)
        return list(dict.fromkeys(lines + elsewhere))

    def _unmatched(self, node: NodeInfo) -> Iterator[str]:
        for claim in self._found.provisioned_at(node.row):
            why_not = self._not_provisioned(claim, node)
            if why_not:
                name = claim_class(claim)
                yield f"claim {claim.key} wants {requested(claim)} of class {name}: {why_not}"

    def _bound(self, node: NodeInfo) -> Iterator[str]:
        for claim in self._claims.bound:
            name = claim.spec.volume_name
            said = f"claim {claim.key} is bound to volume {name}"
            volume = self._cluster.persistent_volumes.get(name)
            if volume is None:
                yield f"{said}, which does not exist"
                continue
            try:
                affinity = self._binder.affinity_at(volume, node.row)
            except TranslationError as error:
                yield f"{said}: {error}"
                continue
            if not self._reaches(affinity, node):
                yield f"{said}, which is for nodes with {_affinity_text(affinity, node)}"

    def _reaches(self, affinity: VolumeNodeAffinity | None, node: NodeInfo) -> bool:
        return bool((self._binder.volumes.reach.rows(affinity) == node.row).any())

    def _selected_elsewhere(self, node: NodeInfo) -> Iterator[str]:
        for claim in self._claims.waiting:
            selected = self._binder.assumed.selected_node(claim)
            if selected is not None and selected != node.name:
                yield f"claim {claim.key}: its volume is to be made for node {selected}"

    def _not_provisioned(self, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
        """Why no volume can be made for the claim, or ""."""
        storage_class = self._cluster.storage_classes[claim_class(claim)]
        if not provisions(storage_class):
            return f"{self._not_matched(claim, node)}, and the class makes none"
        if not self._binder.provisioning_nodes(storage_class)[node.row]:
            terms = storage_class.allowed_topologies
            where = " or ".join(_topology_text(term, node) for term in terms)
            return f"volumes are made only where {where}"
        if self._binder.has_room(claim, storage_class)[node.row]:
            return ""
        largest = self._binder.capacity.largest(storage_class)
        if largest is None or largest[node.row] == NOTHING:
            return "no capacity is known that the node can reach"
        return f"the node can get at most {amount_text('memory', int(largest[node.row]))}"

    def _not_matched(self, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
        """What the volumes of the class lack, and how many of them."""
        table = self._binder.volumes.of_class(claim_class(claim))
        if not table.volumes:
            return "there are no volumes"
        known = self._lacks.get(claim.key)
        if known is None:
            known = self._lacks[claim.key] = self._lacks_of(claim, table)
        lacks = known.everywhere.copy()
        reaching = int(known.reaching[node.row])
        lacks["out of the node's reach"] = known.suitable - reaching
        lacks["taken by another claim of the pod"] = reaching
        said = [f"{count} {lack}" for lack, count in lacks.most_common() if count]
        total = len(table.volumes)
        return (
            f"of {total} volumes {', '.join(said)}"
            if total > 1
            else f"the only volume is {said[0][2:]}"
        )

    def _lacks_of(self, claim: PersistentVolumeClaim, table: ClassVolumes) -> MismatchCounts:
        selector = claim_selector(claim)
        everywhere: Counter[str] = Counter()
        reaching = np.zeros(len(self._found.marks), dtype=np.int64)
        for volume in table.volumes:
            lack = self._lack(claim, volume, selector)
            if lack:
                everywhere[lack] += 1
            else:
                reaching[self._binder.volumes.reach.rows(volume.spec.node_affinity)] += 1
        return MismatchCounts(everywhere, len(table.volumes) - everywhere.total(), reaching)

    def _lack(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume, selector: Selector | None
    ) -> str:
        """Why the claim cannot have the volume on any node, or ""."""
        ref = self._binder.assumed.claim_ref(volume)
        if ref is not None and not is_bound_to(ref, claim):
            return "taken by other claims"
        if capacity(volume) < requested(claim):
            return "too small"
        if volume.spec.volume_mode != claim.spec.volume_mode:
            return f"of mode {volume.spec.volume_mode}"
        if volume.metadata.deletion_timestamp:
            return "being deleted"
        if not suits(claim, volume):
            return "with another attributes class"
        if ref is not None:
            return ""
        if volume.status.phase != AVAILABLE:
            return f"in phase {volume.status.phase}"
        if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
            return "without the access modes"
        if selector is not None and not selector.matches(volume.metadata.labels):
            return "not selected"
        return ""


def _affinity_text(affinity: VolumeNodeAffinity | None, node: NodeInfo) -> str:
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    return " or ".join(term_text(term, node) for term in terms) or "no term at all"


def _topology_text(term: TopologySelectorTerm, node: NodeInfo) -> str:
    parts = [
        f"{one.key} is {' or '.join(one.values)} ({label_text(node, one.key)})"
        for one in term.match_label_expressions
    ]
    return "(" + " and ".join(parts) + ")"
