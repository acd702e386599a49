"""Rejects nodes that would have more volumes of a CSI driver than its CSINode allows.

Upstream: plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import CSINode, PersistentVolumeClaim, VolumeAttachment
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import (
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    VOLUME_ATTACHMENT,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Proposal,
    Proposes,
    Scope,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.helper.evictions import may_make_room, named
from ksched_cli.plugins.helper.hints import had_node, refers_to
from ksched_cli.plugins.helper.signatures import Fragments, sign_volumes
from ksched_cli.plugins.node_volume_limits.attached_volumes import (
    AttachedVolumes,
    ClaimMissingError,
    DriverByVolume,
    Migration,
    VolumeNames,
    is_counted,
    migrations,
    volume_text,
)
from ksched_cli.plugins.volumes.csi_migration import plugin_of
from ksched_cli.plugins.volumes.csi_nodes import NO_LIMIT, CSINodes
from ksched_cli.plugins.volumes.pod_claims import claim_uses

REASON = Status.unschedulable("node(s) exceed max volume count")


class Excess(Struct, frozen=True):
    """A driver that would have more volumes on a node than the limit.

    count: that it has; added: by the pod, whose `volumes` these are
    """

    driver: str
    limit: int
    count: int
    added: int
    volumes: tuple[str, ...]


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin, SignPlugin, Explains, Proposes):
    name = "NodeVolumeLimits"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._handle = handle
        self._names = handle.service(VolumeNames)
        self._csi_nodes = handle.service(CSINodes)
        self._migrations = tuple(migrations(self._csi_nodes))
        self._required_drivers: frozenset[str] = frozenset()
        if handle.release.enabled("VolumeLimitScaling"):
            drivers = handle.cluster.csi_drivers.values()
            self._required_drivers = frozenset(
                driver.name for driver in drivers if driver.spec.prevent_pod_scheduling_if_missing
            )

    def scope_for(self, pod: PodInfo) -> Scope:
        """Claims are looked up by their names, in which pods differ that look the same."""
        volumes = pod.spec.volumes
        if any(claim_uses(pod.pod)):
            return Scope.CLUSTER
        return Scope.ROW if any(is_counted(volume) for volume in volumes) else Scope.NODE

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_volumes(pod)

    def events_to_register(self) -> Iterable[Registration]:
        return REGISTRATIONS

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        counted = any(is_counted(volume) for volume in pod.spec.volumes)
        return None, SUCCESS if counted else SKIP

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        verdicts = Verdicts.passing(len(nodes))
        limited = nodes.gather(self._csi_nodes.limited)
        for migration, mask in self._migrations:
            rows = nodes.gather(mask)
            try:
                volumes = self._names.of_pod(pod.pod, migration, new=True)
            except ClaimMissingError as error:
                verdicts.reject(rows, Status.unresolvable(str(error)))
            except PluginError as error:
                verdicts.reject(rows, Status.error(str(error)))
            else:
                rows = self._with_drivers(volumes, nodes, rows, verdicts)
                if not volumes or not self._csi_nodes.has_limits:
                    continue
                rows = rows & limited
                if np.count_nonzero(rows):
                    self._check_limits(volumes, nodes, rows, verdicts)
        return verdicts

    def _with_drivers(
        self, volumes: DriverByVolume, nodes: Nodes, rows: Mask, verdicts: Verdicts
    ) -> Mask:
        """Rejects the rows without a driver that says that it must be there, by the first by name,
        where upstream takes any; returns the others."""
        for driver in sorted(self._required_drivers.intersection(volumes.values())):
            missing = rows & ~nodes.gather(self._csi_nodes.installed(driver))
            rows = rows & ~missing
            reason = f"{driver} CSI driver is not installed on the node"
            verdicts.reject(missing, Status.unschedulable(reason))
        return rows

    def _check_limits(
        self, volumes: DriverByVolume, nodes: Nodes, rows: Mask, verdicts: Verdicts
    ) -> None:
        attached = self._attached(nodes)
        for row, error in attached.errors().items():
            verdicts.reject(rows & (nodes.indices() == row), Status.error(error))
        for driver in set(volumes.values()):
            limits = self._csi_nodes.limits(driver)
            if limits is None:
                continue
            limits = nodes.gather(limits)
            added = attached.missing(
                (name for name, volume_driver in volumes.items() if volume_driver == driver), nodes
            )
            over = attached.count(driver, nodes) + added > limits
            over &= limits != NO_LIMIT
            over &= added > 0
            over &= rows
            if np.count_nonzero(over):
                verdicts.reject(over, REASON)

    def _attached(self, nodes: Nodes) -> AttachedVolumes:
        """The volumes of the pods on these nodes."""
        return self._handle.service(AttachedVolumes.following).seen_by(nodes)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        return [
            f"{excess.driver}: {excess.count} of {excess.limit} volumes are taken, {excess.added} "
            f"more wanted: {', '.join(volume_text(name, excess.driver) for name in excess.volumes)}"
            for excess in self._excesses(pod, node)
        ]

    def _excesses(self, pod: PodInfo, node: NodeInfo) -> Iterator[Excess]:
        """The drivers that would have too many volumes on the node."""
        try:
            volumes = self._names.of_pod(pod.pod, self._migration(node), new=True)
        except (ClaimMissingError, PluginError):
            return  # the status has the message
        nodes = Nodes(node.snapshot, np.array([node.row], dtype=np.intp))
        attached = self._attached(nodes)
        for driver in sorted(set(volumes.values())):
            limits = self._csi_nodes.limits(driver)
            names = [name for name, volume_driver in volumes.items() if volume_driver == driver]
            added = attached.missing(names, nodes).item()
            count = attached.count(driver, nodes).item()
            if limits is None or limits[node.row] == NO_LIMIT or not added:
                continue
            if count + added > limits[node.row]:
                new = [name for name in names if node.row not in attached.users.get(name, ())]
                yield Excess(driver, int(limits[node.row]), count, added, tuple(new))

    def _migration(self, node: NodeInfo) -> Migration:
        (migration,) = (candidate for candidate, mask in self._migrations if mask[node.row])
        return migration

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        """Evicts the pods with the most volumes that nobody else has there, until the pod's fit."""
        migration = self._migration(node)
        by_pod = {other: self._names.of_pod(other.pod, migration, new=False) for other in node.pods}
        users = Counter(name for volumes in by_pod.values() for name in volumes)
        victims: dict[str, PodInfo] = {}
        for excess in self._excesses(pod, node):
            freed = {
                other: sum(users[n] == 1 and d == excess.driver for n, d in volumes.items())
                for other, volumes in by_pod.items()
                if may_make_room(other, pod)
            }
            missing = excess.count + excess.added - excess.limit
            for other in sorted(freed, key=lambda each: (-freed[each], each.priority, each.key)):
                if missing > 0 and freed[other]:
                    victims[other.key] = other
                    missing -= freed[other]
            if missing > 0:
                return
        if victims:
            text = f"evict {named([*victims.values()])} from {node.name}, with their volumes"
            yield Proposal("evict", text, evicts=tuple(victims), amount=len(victims))


def after_csi_node_update(pod: PodInfo, old: CSINode, new: CSINode) -> bool:
    """The node may have more volumes of a driver than before."""
    limits, before = _limits(new), _limits(old)
    return any(limit > before.get(driver, 0) for driver, limit in limits.items())


def _limits(node: CSINode) -> dict[str, int]:
    """Return the limits by driver; a driver without one has 0."""
    return {
        driver.name: driver.allocatable.count or 0 if driver.allocatable is not None else 0
        for driver in node.spec.drivers
    }


def after_pod_deletion(pod: PodInfo, old: PodInfo, new: None) -> bool:
    return had_node(old) and any(is_counted(volume) for volume in old.spec.volumes)


def after_claim_creation(pod: PodInfo, old: None, new: PersistentVolumeClaim) -> bool:
    return refers_to(pod, new, ephemeral=True)


def after_detachment(pod: PodInfo, old: VolumeAttachment, new: None) -> bool:
    """The pod has a claim, or a volume of the driver that was translated."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return True
        plugin = plugin_of(volume)
        if plugin is not None and plugin.driver == old.spec.attacher:
            return True
    return False


REGISTRATIONS: tuple[Registration, ...] = (
    (ClusterEvent(CSI_NODE, Action.ADD), None),
    (ClusterEvent(CSI_NODE, Action.UPDATE), after_csi_node_update),
    (ClusterEvent(POD, Action.DELETE), after_pod_deletion),
    (ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.ADD), after_claim_creation),
    (ClusterEvent(VOLUME_ATTACHMENT, Action.DELETE), after_detachment),
)
