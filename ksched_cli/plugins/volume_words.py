"""Why a pod's volumes keep it off a node, in words: which claim, which volume, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ksched_cli.cluster.amounts import amount_text
from ksched_cli.cluster.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.nodes import Node
from ksched_cli.plugins.csi_migration import TranslationError
from ksched_cli.plugins.node_affinity import has_label, term_text
from ksched_cli.plugins.persistent_volumes import (
    AVAILABLE,
    capacity,
    is_bound_to,
    requested,
)
from ksched_cli.plugins.pod_claims import claim_class
from ksched_cli.plugins.storage_capacity import NOTHING
from ksched_cli.plugins.volume_binder import (
    PodClaims,
    PodVolumes,
    VolumeBinder,
    claim_selector,
    provisions,
)


class VolumeWords:
    def __init__(self, binder: VolumeBinder, cluster: ClusterState) -> None:
        self._binder = binder
        self._cluster = cluster

    def rejection(self, claims: PodClaims, found: PodVolumes, node: Node) -> list[str]:
        """One line per claim and obstacle on the node."""
        lines = list(self._bound(claims, node))
        elsewhere = list(self._selected_elsewhere(claims, node))
        if elsewhere:
            return lines + elsewhere
        others = {volume.name for _, volume in found.bound_at(node.row)}
        for claim in found.provisioned_at(node.row):
            why_not = self._not_provisioned(claim, others, node)
            if why_not:
                name = claim_class(claim)
                lines.append(
                    f"claim {claim.key} wants {requested(claim)} of class {name}: {why_not}"
                )
        return lines

    def _bound(self, claims: PodClaims, node: Node) -> Iterator[str]:
        for claim in claims.bound:
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

    def _reaches(self, affinity: VolumeNodeAffinity | None, node: Node) -> bool:
        return bool(self._binder.volumes.reach.mask(affinity)[node.row])

    def _selected_elsewhere(self, claims: PodClaims, node: Node) -> Iterator[str]:
        for claim in claims.waiting:
            selected = self._binder.assumed.selected_node(claim)
            if selected is not None and selected != node.name:
                yield f"claim {claim.key}: its volume is to be made for node {selected}"

    def _not_provisioned(self, claim: PersistentVolumeClaim, others: set[str], node: Node) -> str:
        """Why no volume can be made, or ""; others: those that the pod's other claims get."""
        storage_class = self._cluster.storage_classes[claim_class(claim)]
        if not provisions(storage_class):
            return f"{self._not_matched(claim, others, node)}, and the class makes none"
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

    def _not_matched(self, claim: PersistentVolumeClaim, others: set[str], node: Node) -> str:
        """What the volumes of the class lack first, and how many of them."""
        volumes = self._binder.volumes.of_class(claim_class(claim)).volumes
        lacks = Counter(self._lack(claim, volume, others, node) for volume in volumes)
        if not lacks:
            return "there are no volumes"
        said = ", ".join(f"{count} {lack}" for lack, count in lacks.most_common())
        return (
            f"of {len(volumes)} volumes {said}"
            if len(volumes) > 1
            else f"the only volume is {said[2:]}"
        )

    def _lack(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume, others: set[str], node: Node
    ) -> str:
        ref = self._binder.assumed.claim_ref(volume)
        selector = claim_selector(claim)
        if volume.name in others:
            return "taken by another claim of the pod"
        if ref is not None and not is_bound_to(ref, claim):
            return "taken by other claims"
        if capacity(volume) < requested(claim):
            return "too small"
        if volume.spec.volume_mode != claim.spec.volume_mode:
            return f"of mode {volume.spec.volume_mode}"
        if not self._reaches(volume.spec.node_affinity, node):
            return "out of the node's reach"
        if volume.metadata.deletion_timestamp:
            return "being deleted"
        if volume.status.phase != AVAILABLE:
            return f"in phase {volume.status.phase}"
        if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
            return "without the access modes"
        if selector is not None and not selector.matches(volume.metadata.labels):
            return "not selected"
        return "with another attributes class"


def _affinity_text(affinity: VolumeNodeAffinity | None, node: Node) -> str:
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    return " or ".join(term_text(term, node) for term in terms) or "no term at all"


def _topology_text(term: TopologySelectorTerm, node: Node) -> str:
    parts = [
        f"{one.key} is {' or '.join(one.values)} ({has_label(node, one.key)})"
        for one in term.match_label_expressions
    ]
    return "(" + " and ".join(parts) + ")"
