"""Explains why VolumeBinding rejects a node: which claim, which volume, and what does not match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.snapshot import Column
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.kube.quantity import amount_text
from ksched_cli.kube.selectors import Selector
from ksched_cli.plugins.node_affinity.plugin import label_text, labels_text, terms_text
from ksched_cli.plugins.volume_binding.binder import (
    PodClaims,
    PodVolumes,
    VolumeBinder,
    claim_selector,
    provisions,
)
from ksched_cli.plugins.volume_binding.storage_capacity import NO_CAPACITY
from ksched_cli.plugins.volumes.csi_migration import TranslationError
from ksched_cli.plugins.volumes.persistent_volumes import (
    AVAILABLE,
    ClassVolumes,
    capacity,
    is_bound_to,
    is_compatible,
    requested,
)
from ksched_cli.plugins.volumes.pod_claims import claim_class


class MismatchCounts(Struct, frozen=True):
    """The reasons why the volumes of a claim's class do not match it.

    everywhere: reason → how many volumes it excludes on every node
    suitable:   how many volumes match
    reaching:   per row, how many of those the node can use
    """

    everywhere: Counter[str]
    suitable: int
    reaching: Column


class BindingExplanation:
    """Explains one attempt: its claims, and the volumes found for them."""

    def __init__(
        self, binder: VolumeBinder, cluster: ClusterState, claims: PodClaims, volumes: PodVolumes
    ) -> None:
        self._binder = binder
        self._cluster = cluster
        self._claims = claims
        self._volumes = volumes
        self._mismatches: dict[str, MismatchCounts] = {}

    def rejection(self, node: NodeInfo) -> list[str]:
        """One line per claim that rejects the node."""
        lines = [*self._bound_claim_lines(node)]
        selected_node_lines = [*self._selected_node_lines(node)]
        if not selected_node_lines:
            lines += self._unmatched_claim_lines(node)
        return list(dict.fromkeys(lines + selected_node_lines))

    def _unmatched_claim_lines(self, node: NodeInfo) -> Iterator[str]:
        for claim in self._volumes.dynamic_provisions_at(node.row):
            reason = self._no_provisioning_reason(claim, node)
            if reason:
                name = claim_class(claim)
                yield f"claim {claim.key} wants {requested(claim)} of class {name}: {reason}"

    def _bound_claim_lines(self, node: NodeInfo) -> Iterator[str]:
        for claim in self._claims.bound:
            name = claim.spec.volume_name
            subject = f"claim {claim.key} is bound to volume {name}"
            volume = self._cluster.persistent_volumes.get(name)
            if volume is None:
                yield f"{subject}, which does not exist"
                continue
            try:
                affinity = self._binder.affinity_at(volume, node.row)
            except TranslationError as error:
                yield f"{subject}: {error}"
                continue
            if not self._is_reachable(affinity, node):
                yield f"{subject}, which is for nodes with {_affinity_text(affinity, node)}"

    def _is_reachable(self, affinity: VolumeNodeAffinity | None, node: NodeInfo) -> bool:
        return bool((self._binder.volumes.reach.rows(affinity) == node.row).any())

    def _selected_node_lines(self, node: NodeInfo) -> Iterator[str]:
        for claim in self._claims.delayed_binding:
            selected = self._binder.assumed.selected_node(claim)
            if selected is not None and selected != node.name:
                yield f"claim {claim.key}: its volume will be provisioned for node {selected}"

    def _no_provisioning_reason(self, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
        """Return why no volume can be provisioned for the claim, or ""."""
        storage_class = self._cluster.storage_classes[claim_class(claim)]
        if not provisions(storage_class):
            return f"{self._no_match_reason(claim, node)}, and the class provisions none"
        if not self._binder.provisioning_nodes(storage_class)[node.row]:
            terms = storage_class.allowed_topologies
            return f"the class provisions volumes only where {_topologies_text(terms, node)}"
        if self._binder.has_enough_capacity(claim, storage_class)[node.row]:
            return ""
        largest = self._binder.capacity.largest(storage_class)
        if largest is None or largest[node.row] == NO_CAPACITY:
            return "no CSIStorageCapacity covers the node"
        return f"the node can get at most {amount_text('memory', int(largest[node.row]))}"

    def _no_match_reason(self, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
        """Return why the volumes of the class do not match, and how many of them."""
        table = self._binder.volumes.of_class(claim_class(claim))
        if not table.volumes:
            return "there are no volumes"
        counts = self._mismatches.get(claim.key)
        if counts is None:
            counts = self._mismatches[claim.key] = self._count_mismatches(claim, table)
        mismatches = counts.everywhere.copy()
        reaching = int(counts.reaching[node.row])
        mismatches["out of the node's reach"] = counts.suitable - reaching
        mismatches["taken by another claim of the pod"] = reaching
        parts = [f"{count} {mismatch}" for mismatch, count in mismatches.most_common() if count]
        total = len(table.volumes)
        return (
            f"of {total} volumes {', '.join(parts)}"
            if total > 1
            else f"the only volume is {parts[0][2:]}"
        )

    def _count_mismatches(
        self, claim: PersistentVolumeClaim, table: ClassVolumes
    ) -> MismatchCounts:
        selector = claim_selector(claim)
        everywhere: Counter[str] = Counter()
        reaching = np.zeros(len(self._volumes.reason_bits), dtype=np.int64)
        for volume in table.volumes:
            mismatch = self._mismatch(claim, volume, selector)
            if mismatch:
                everywhere[mismatch] += 1
            else:
                reaching[self._binder.volumes.reach.rows(volume.spec.node_affinity)] += 1
        return MismatchCounts(everywhere, len(table.volumes) - everywhere.total(), reaching)

    def _mismatch(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume, selector: Selector | None
    ) -> str:
        """Return why the volume does not match the claim on any node, or ""."""
        ref = self._binder.assumed.claim_ref(volume)
        if ref is not None and not is_bound_to(ref, claim):
            return "taken by other claims"
        if capacity(volume) < requested(claim):
            return "too small"
        if volume.spec.volume_mode != claim.spec.volume_mode:
            return f"of mode {volume.spec.volume_mode}"
        if volume.metadata.deletion_timestamp:
            return "being deleted"
        if not is_compatible(claim, volume):
            return "with another attributes class"
        return "" if ref is not None else _unclaimed_mismatch(claim, volume, selector)


def _unclaimed_mismatch(
    claim: PersistentVolumeClaim, volume: PersistentVolume, selector: Selector | None
) -> str:
    """Return why the claim cannot take a volume that has no claim yet, or ""."""
    if volume.status.phase != AVAILABLE:
        return f"in phase {volume.status.phase}"
    if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
        return "without the access modes"
    if selector is not None and not selector.matches(volume.metadata.labels):
        return "not selected"
    return ""


def _affinity_text(affinity: VolumeNodeAffinity | None, node: NodeInfo) -> str:
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    return f"{terms_text(terms)}{labels_text(terms, node)}" if terms else "no term at all"


def _topologies_text(terms: Sequence[TopologySelectorTerm], node: NodeInfo) -> str:
    topologies = (
        " and ".join(
            f"{expression.key} is {' or '.join(expression.values)}"
            for expression in term.match_label_expressions
        )
        for term in terms
    )
    keys = dict.fromkeys(each.key for term in terms for each in term.match_label_expressions)
    labels = ", ".join(label_text(node, key) for key in keys)
    return f"{' or '.join(topologies)}, the node has {labels}"
