"""Rejects nodes outside the zones and regions that the labels of the pod's volumes name.

Upstream: plugins/volumezone/volume_zone.go and cloud-provider/volume/helpers/zones.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Mask, Snapshot
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.cluster_events import Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Status
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    refers_to,
    sign_volumes,
)
from ksched_cli.plugins.volumes import (
    BETA_REGION,
    BETA_ZONE,
    CLAIM,
    CLASS,
    REGION,
    VOLUME,
    ZONE,
    ZONE_DELIMITER,
    binds_late,
    claim_class,
    claim_uses,
    not_found_message,
    used_claims,
)

STATE_KEY = "PreFilterVolumeZone"
REASON = Status.unresolvable("node(s) had no available volume zone")
LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
SUCCESSORS = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class VolumeTopology(Struct, frozen=True):
    """One label of a volume: the zones or regions that it can be used from."""

    claim: str
    volume: str
    key: str
    values: tuple[str, ...]

    def matching(self, snapshot: Snapshot) -> Mask:
        """Return the nodes with one of the values. A node without the old label may have its
        successor."""
        column = snapshot.labels[self.key]
        mask = column.isin(self.values)
        successor = SUCCESSORS.get(self.key)
        if successor is not None:
            mask |= ~column.present & snapshot.labels[successor].isin(self.values)
        return mask


class VolumeZone(FilteringPlugin):
    name = "VolumeZone"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self._cluster = handle.cluster

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_volumes(pod)

    def scope_for(self, pod: PodInfo) -> Scope:
        """Return CLUSTER for a pod with claims: they are looked up by their names, in which pods
        differ that look the same."""
        return Scope.CLUSTER if any(claim_uses(pod.pod)) else Scope.NODE

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(events.STORAGE_CLASS, Action.ADD), after_class_creation
        yield ClusterEvent(events.NODE, Action.ADD | Action.UPDATE_NODE_LABEL), None
        claim_event = ClusterEvent(events.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE)
        yield claim_event, lambda pod, old, new: refers_to(pod, new)
        volume_event = ClusterEvent(events.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE)
        yield volume_event, after_volume_change

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        topologies, status = self._topologies(pod)
        if not status.is_success:
            return None, status
        if not topologies:
            return None, SKIP
        state.write(STATE_KEY, topologies)
        return None, SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        topologies = state.data.get(STATE_KEY)
        if topologies is None:
            # PreFilter is switched off, or has skipped this plugin.
            topologies, status = self._topologies(pod)
            if not status.is_success:
                return Verdicts.rejecting(np.ones(len(nodes), dtype=np.bool_), status)
        if not topologies:
            return Verdicts.passing(len(nodes))
        snapshot = nodes.snapshot
        matching = np.logical_and.reduce([each.matching(snapshot) for each in topologies])
        # As upstream, nodes without a zone or region label are never rejected.
        has_labels = np.logical_or.reduce([snapshot.labels[key].present for key in LABELS])
        return Verdicts.rejecting(nodes.gather(~matching & has_labels), REASON)

    def _topologies(self, pod: PodInfo) -> tuple[list[VolumeTopology], Status]:
        """Return the topologies of the volumes that the pod's claims are bound to, and a rejection
        or success."""
        topologies: list[VolumeTopology] = []
        for use, claim in used_claims(pod.pod, self._cluster.persistent_volume_claims):
            if use.ephemeral:
                continue
            if not use.claim:
                return [], Status.unresolvable("PersistentVolumeClaim had no name")
            if claim is None:
                return [], Status.unresolvable(not_found_message(CLAIM, use.claim))
            name = claim.spec.volume_name
            if not name:
                problem = self._unbound_problem(claim)
                if problem:
                    return [], Status.unresolvable(problem)
                continue
            volume = self._cluster.persistent_volumes.get(name)
            if volume is None:
                return [], Status.unresolvable(not_found_message(VOLUME, name))
            zones = zones_of(volume).items()
            topologies += [VolumeTopology(claim.key, name, key, values) for key, values in zones]
        return topologies, SUCCESS

    def _unbound_problem(self, claim: PersistentVolumeClaim) -> str:
        """Return why a claim without a volume ends the attempt; "" if it waits for its first
        consumer."""
        name = claim_class(claim)
        if not name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self._cluster.storage_classes.get(name)
        if storage_class is None:
            return not_found_message(CLASS, name)
        return "" if binds_late(storage_class) else "PersistentVolume had no name"

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        return [
            f"claim {topology.claim}: volume {topology.volume} is in {topology.key}="
            f"{' or '.join(topology.values)}, the node has {_label_text(node, topology.key)}"
            for topology in self._topologies(pod)[0]
            if not topology.matching(node.snapshot)[node.row]
        ]


def zones_of(volume: PersistentVolume) -> dict[str, tuple[str, ...]]:
    """Return the zones by label. A label with an empty zone in it is skipped."""
    labels = volume.metadata.labels
    zones_by_key = {
        key: tuple(sorted({zone.strip() for zone in labels[key].split(ZONE_DELIMITER)}))
        for key in LABELS
        if key in labels
    }
    return {key: zones for key, zones in zones_by_key.items() if all(zones)}


def _label_text(node: NodeInfo, key: str) -> str:
    for name in (key, SUCCESSORS.get(key, key)):
        if name in node.labels:
            return f"{name}={node.labels[name]}"
    return f"no {key}"


def after_class_creation(pod: PodInfo, old: None, new: StorageClass) -> bool:
    return binds_late(new)


def after_volume_change(pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume) -> bool:
    return old is None or zones_of(old) != zones_of(new)
