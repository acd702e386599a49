"""Rejects nodes that would have more volumes of a CSI driver than its CSINode allows.

Upstream: plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import (
    CSINode,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    Volume,
    VolumeAttachment,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.cluster.state import Key
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.cluster_events import Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import Proposal, Proposes, Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    eviction,
    had_node,
    may_make_room,
    named,
    refers_to,
    sign_volumes,
)
from ksched_cli.plugins.volumes import (
    BY_NAME,
    CLAIM,
    NO_LIMIT,
    PORTWORX,
    CSINodes,
    InTreePlugin,
    TranslationError,
    claim_class,
    claim_uses,
    ephemeral_claim,
    inline_handle,
    not_found_message,
    ownership_error,
    plugin_of,
    volume_handle,
)

# -- volumes ---------------------------------------------------------------------------------------
#
# The CSI volumes that count towards each node's limits: of its pods, and of VolumeAttachments.
#
# Upstream: plugins/nodevolumelimits/csi.go (filterAttachableVolumes, getCSIDriverInfo,
# getNodeVolumeAttachmentInfo) and utils.go (isCSIMigrationOn).


# No real handle begins so. Upstream takes random letters.
UNPROVISIONED = "(not provisioned)"

# Volumes by name, driver/handle, with their drivers.
DriverByVolume = dict[str, str]


class ClaimMissingError(Exception):
    """A pod to be scheduled names a claim that does not exist. The text is upstream's."""


class Migration(Struct, frozen=True):
    """The in-tree volumes that count as volumes of a CSI driver on a node.

    has_csi_node: the node has a CSINode; without one, none do
    portworx:     volumes of Portworx count too; the other plugins need no annotation
    """

    has_csi_node: bool
    portworx: bool

    def covers(self, plugin: InTreePlugin) -> bool:
        if not self.has_csi_node or not plugin.migrated:
            return False
        return self.portworx or plugin is not PORTWORX


def migrations(nodes: CSINodes) -> Iterator[tuple[Migration, Mask]]:
    """Yield the migration states that occur, and the nodes of each."""
    portworx = nodes.portworx
    for kind, mask in (
        (Migration(False, False), ~nodes.has_csi_node),
        (Migration(True, False), nodes.has_csi_node & ~portworx),
        (Migration(True, True), portworx),
    ):
        if mask.any():
            yield kind, mask


class RunningPodVolumes(Struct, frozen=True):
    """The volumes of a running pod; error: why they cannot be determined, or ""."""

    volumes: DriverByVolume
    error: str = ""


class VolumeNames:
    """The volumes of pods, by the unique names under which a node counts them. Cached.

    A service. chosen: claim → the volume that it gets when its pod is placed, where that is known
    beforehand: running pods have it
    """

    def __init__(self, handle: Handle) -> None:
        self._cluster = handle.cluster
        self.chosen: Mapping[Key, str] = {}
        self._is_counting: Callable[[PodSpec], bool] = cache(
            lambda spec: any(map(is_counted, spec.volumes))
        )
        self._running: dict[tuple[str, bool], RunningPodVolumes] = {}

    def of_running_pod(self, pod: Pod, *, portworx: bool) -> RunningPodVolumes:
        """Return the volumes of a running pod. portworx: as in Migration, of the node that it runs
        on"""
        key = (pod.metadata.uid, portworx)
        running = self._running.get(key)
        if running is None:
            try:
                running = RunningPodVolumes(self.of_pod(pod, Migration(True, portworx), new=False))
            except PluginError as error:
                running = RunningPodVolumes({}, str(error))
            self._running[key] = running
        return running

    def of_pod(self, pod: Pod, migration: Migration, *, new: bool) -> DriverByVolume:
        """Return the driver of each of the pod's volumes that count.

        new: the pod is to be scheduled, and its claims must exist; those of running pods are
            skipped if missing

        Raises ClaimMissingError, and PluginError for upstream's other errors.
        """
        volumes: DriverByVolume = {}
        for volume in pod.spec.volumes if self._is_counting(pod.spec) else ():
            if volume.persistent_volume_claim is not None:
                name = volume.persistent_volume_claim.claim_name
            elif volume.ephemeral is not None:
                name = ephemeral_claim(pod, volume)
            else:
                plugin = plugin_of(volume)
                if plugin is not None and migration.covers(plugin):
                    try:
                        handle = inline_handle(volume)
                    except TranslationError as error:
                        what = f"converting volume({volume.name}) from inline to csi"
                        raise PluginError(f"{what}: {error}") from None
                    # As upstream, an empty handle counts here only.
                    volumes[f"{plugin.driver}/{handle}"] = plugin.driver
                continue
            if not name:
                raise PluginError("PersistentVolumeClaim had no name")
            claim = self._cluster.persistent_volume_claims.get((pod.namespace, name))
            if claim is None and new:
                message = not_found_message(CLAIM, name)
                raise ClaimMissingError(f"looking up PVC {pod.namespace}/{name}: {message}")
            if claim is None:
                continue
            problem = ownership_error(pod, claim) if volume.ephemeral is not None else ""
            if problem:
                raise PluginError(problem)
            volumes |= self._of_claim(claim, migration, new=new)
        return volumes

    def _of_claim(
        self, claim: PersistentVolumeClaim, migration: Migration, *, new: bool
    ) -> DriverByVolume:
        key = claim.namespace, claim.name
        volume_name = claim.spec.volume_name or ("" if new else self.chosen.get(key, ""))
        volume = self._cluster.persistent_volumes.get(volume_name)
        if volume is not None:
            if volume.spec.csi is not None:
                return _volume_name(volume.spec.csi.driver, volume.spec.csi.volume_handle)
            plugin = plugin_of(volume.spec)
            if plugin is None or not migration.covers(plugin):
                return {}
            try:
                return _volume_name(plugin.driver, volume_handle(volume))
            except TranslationError:
                return {}
        storage_class = self._cluster.storage_classes.get(claim_class(claim))
        if storage_class is None:
            return {}
        driver = storage_class.provisioner
        plugin = BY_NAME.get(driver)
        if plugin is not None:
            driver = plugin.driver if migration.covers(plugin) else ""
        return _volume_name(driver, f"{UNPROVISIONED}-{claim.key}")


def is_counted(volume: Volume) -> bool:
    """Return whether a pod's volume may count towards a limit."""
    by_claim = volume.persistent_volume_claim is not None or volume.ephemeral is not None
    return by_claim or plugin_of(volume) is not None


def _volume_name(driver: str, handle: str) -> DriverByVolume:
    return {f"{driver}/{handle}": driver} if driver and handle else {}


def volume_text(name: str, driver: str) -> str:
    """Return a volume in an explanation: its handle, or the claim it is to be provisioned for."""
    handle = name.removeprefix(f"{driver}/")
    claim = handle.removeprefix(f"{UNPROVISIONED}-")
    return handle if claim == handle else f"a new one for claim {claim}"


class Attachments:
    """The VolumeAttachment objects, which do not change in a run. A service.

    rows:   volume → the nodes that it is attached to
    counts: driver → how many volumes on each node
    """

    def __init__(self, handle: Handle) -> None:
        cluster, snapshot = handle.cluster, handle.snapshot
        self.rows: dict[str, set[int]] = {}
        self.counts: dict[str, Column] = {}
        for attachment in cluster.volume_attachments.values():
            spec = attachment.spec
            row = snapshot.row.get(spec.node_name)
            volume = cluster.persistent_volumes.get(spec.source.persistent_volume_name or "")
            if row is None or not spec.attacher or volume is None or volume.spec.csi is None:
                continue
            rows = self.rows.setdefault(f"{spec.attacher}/{volume.spec.csi.volume_handle}", set())
            if row not in rows:
                rows.add(row)
                _column(self.counts, spec.attacher, len(snapshot))[row] += 1


class AttachedVolumes:
    """The volumes of the pods on nodes with limits; each counts once per node.

    users: volume → row → how many pods there use it
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._names = handle.service(VolumeNames)
        self._attachments = handle.service(Attachments)
        self._nodes = handle.service(CSINodes)
        self._portworx = self._nodes.portworx
        self._count = len(handle.snapshot)
        self.users: dict[str, dict[int, int]] = {}
        # driver → volumes of pods that no VolumeAttachment has counted.
        self._unattached: dict[str, Column] = {}
        self._errors: dict[int, dict[str, str]] = {}

    @classmethod
    def following(cls, handle: Handle) -> AttachedVolumes:
        """Count the pods of the run's snapshot, from now on too: as a service, one for the run."""
        attached = cls(handle)
        attached._add_all(Nodes(handle.snapshot))
        handle.snapshot.subscribe(attached)
        return attached

    def seen_by(self, nodes: Nodes) -> AttachedVolumes:
        """Return what is on these nodes; in a trial, which nobody follows, count it again."""
        if nodes.snapshot is self._handle.snapshot:
            return self
        attached = AttachedVolumes(self._handle)
        attached._add_all(nodes)
        return attached

    def _add_all(self, nodes: Nodes) -> None:
        limited = nodes.indices()[nodes.gather(self._nodes.limited)]
        for row in limited.tolist():
            for pod in nodes.snapshot.pods[row]:
                self.pod_added(pod, row)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self._count_pod(pod, row, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self._count_pod(pod, row, -1)

    def _count_pod(self, pod: PodInfo, row: int, change: int) -> None:
        if not self._nodes.limited.item(row):
            return
        running = self._names.of_running_pod(pod.pod, portworx=self._portworx.item(row))
        if running.error:
            errors = self._errors.setdefault(row, {})
            if change > 0:
                errors[pod.uid] = running.error
            else:
                del errors[pod.uid]
        for name, driver in running.volumes.items():
            rows = self.users.setdefault(name, {})
            count = rows.get(row, 0)
            if count + change:
                rows[row] = count + change
            else:
                del rows[row]
            if 0 in (count, count + change) and row not in self._attachments.rows.get(name, ()):
                _column(self._unattached, driver, self._count)[row] += change

    def errors(self) -> Mapping[int, str]:
        """Return the rows with a pod whose volumes cannot be determined, and its error."""
        return {row: next(iter(errors.values())) for row, errors in self._errors.items() if errors}

    def count(self, driver: str, nodes: Nodes) -> Column:
        """Return how many volumes of the driver each of the nodes has. Do not write to it."""
        columns = (self._attachments.counts.get(driver), self._unattached.get(driver))
        counts = [nodes.gather(column) for column in columns if column is not None]
        if not counts:
            return np.zeros(len(nodes), dtype=np.int64)
        return counts[0] if len(counts) == 1 else counts[0] + counts[1]

    def missing(self, volume_names: Iterable[str], nodes: Nodes) -> Column:
        """Count, per node, how many of these volumes no pod uses there; as upstream, even if
        attached."""
        names = [*volume_names]
        users = [rows for name in names if (rows := self.users.get(name))]
        if not users:
            return np.full(len(nodes), len(names), dtype=np.int64)
        missing = np.full(self._count, len(names), dtype=np.int64)
        for rows in users:
            missing[list(rows)] -= 1
        return nodes.gather(missing)


def _column(columns: dict[str, Column], key: str, count: int) -> Column:
    column = columns.get(key)
    if column is None:
        column = columns[key] = np.zeros(count, dtype=np.int64)
    return column


# -- the plugin ------------------------------------------------------------------------------------


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


class NodeVolumeLimits(FilteringPlugin, Proposes):
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
        """Return CLUSTER for a pod with claims: they are looked up by their names, in which pods
        differ that look the same. Other volumes that count make it ROW, and else it is NODE."""
        volumes = pod.spec.volumes
        if any(claim_uses(pod.pod)):
            return Scope.CLUSTER
        return Scope.ROW if any(is_counted(volume) for volume in volumes) else Scope.NODE

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_volumes(pod)

    def events_to_register(self) -> Iterable[Registration]:
        return REGISTRATIONS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
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
                # Nodes without a driver that says that it must be there are rejected, by the first
                # by name, where upstream takes any.
                for driver in sorted(self._required_drivers.intersection(volumes.values())):
                    missing = rows & ~nodes.gather(self._csi_nodes.installed(driver))
                    rows = rows & ~missing
                    reason = f"{driver} CSI driver is not installed on the node"
                    verdicts.reject(missing, Status.unschedulable(reason))
                if not volumes or not self._csi_nodes.has_limits:
                    continue
                rows = rows & limited
                if np.count_nonzero(rows):
                    self._check_limits(volumes, nodes, rows, verdicts)
        return verdicts

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
            names = [name for name, volume_driver in volumes.items() if volume_driver == driver]
            added = attached.missing(names, nodes)
            over = attached.count(driver, nodes) + added > limits
            over &= (limits != NO_LIMIT) & (added > 0) & rows
            if np.count_nonzero(over):
                verdicts.reject(over, REASON)

    def _attached(self, nodes: Nodes) -> AttachedVolumes:
        """Return the volumes of the pods on these nodes."""
        return self._handle.service(AttachedVolumes.following).seen_by(nodes)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        return [
            f"{excess.driver}: {excess.count} of {excess.limit} volumes are taken, {excess.added} "
            f"more wanted: {', '.join(volume_text(name, excess.driver) for name in excess.volumes)}"
            for excess in self._excesses(pod, node)
        ]

    def _excesses(self, pod: PodInfo, node: NodeInfo) -> Iterator[Excess]:
        """Yield the drivers that would have too many volumes on the node."""
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
        """Evict the pods with the most volumes that nobody else has there, until the pod's fit."""
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
            pods = [*victims.values()]
            yield eviction(f"evict {named(pods)} from {node.name}, with their volumes", pods)


def after_csi_node_update(pod: PodInfo, old: CSINode, new: CSINode) -> bool:
    """Return whether the node may have more volumes of a driver than before."""
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
    """Return whether the pod has a claim, or a volume of the driver that was translated."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return True
        plugin = plugin_of(volume)
        if plugin is not None and plugin.driver == old.spec.attacher:
            return True
    return False


REGISTRATIONS: tuple[Registration, ...] = (
    (ClusterEvent(events.CSI_NODE, Action.ADD), None),
    (ClusterEvent(events.CSI_NODE, Action.UPDATE), after_csi_node_update),
    (ClusterEvent(events.POD, Action.DELETE), after_pod_deletion),
    (ClusterEvent(events.PERSISTENT_VOLUME_CLAIM, Action.ADD), after_claim_creation),
    (ClusterEvent(events.VOLUME_ATTACHMENT, Action.DELETE), after_detachment),
)
