"""The CSI volumes that count towards each node's limits: of its pods, and of VolumeAttachments.

Upstream: plugins/nodevolumelimits/csi.go (filterAttachableVolumes, getCSIDriverInfo,
getNodeVolumeAttachmentInfo) and utils.go (isCSIMigrationOn).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    Volume,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.cluster.state import Key
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.status import PluginError
from ksched_cli.plugins.volumes.csi_migration import (
    BY_NAME,
    PORTWORX,
    InTreePlugin,
    TranslationError,
    inline_handle,
    plugin_of,
    volume_handle,
)
from ksched_cli.plugins.volumes.csi_nodes import CSINodes
from ksched_cli.plugins.volumes.pod_claims import (
    CLAIM,
    claim_class,
    ephemeral_claim,
    not_found_message,
    ownership_error,
)

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
    """The migration states that occur, and the nodes of each."""
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
        """portworx: as in Migration, of the node that it runs on."""
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
        """new: the pod is to be scheduled, and its claims must exist; those of running pods are
        skipped if missing.

        Raises ClaimMissingError, and PluginError for upstream's other errors.
        """
        volumes: DriverByVolume = {}
        for volume in pod.spec.volumes if self._is_counting(pod.spec) else ():
            if volume.persistent_volume_claim is not None:
                name = volume.persistent_volume_claim.claim_name
            elif volume.ephemeral is not None:
                name = ephemeral_claim(pod, volume)
            else:
                volumes |= _of_inline_volume(volume, migration)
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
            return _of_volume(volume, migration)
        storage_class = self._cluster.storage_classes.get(claim_class(claim))
        if storage_class is None:
            return {}
        driver = storage_class.provisioner
        plugin = BY_NAME.get(driver)
        if plugin is not None:
            driver = plugin.driver if migration.covers(plugin) else ""
        return _volume_name(driver, f"{UNPROVISIONED}-{claim.key}")


def is_counted(volume: Volume) -> bool:
    """Whether a pod's volume may count towards a limit."""
    by_claim = volume.persistent_volume_claim is not None or volume.ephemeral is not None
    return by_claim or plugin_of(volume) is not None


def _of_inline_volume(volume: Volume, migration: Migration) -> DriverByVolume:
    plugin = plugin_of(volume)
    if plugin is None or not migration.covers(plugin):
        return {}
    try:
        handle = inline_handle(volume)
    except TranslationError as error:
        message = f"converting volume({volume.name}) from inline to csi: {error}"
        raise PluginError(message) from None
    # As upstream, an empty handle counts here only.
    return {f"{plugin.driver}/{handle}": plugin.driver}


def _of_volume(volume: PersistentVolume, migration: Migration) -> DriverByVolume:
    if volume.spec.csi is not None:
        return _volume_name(volume.spec.csi.driver, volume.spec.csi.volume_handle)
    plugin = plugin_of(volume.spec)
    if plugin is None or not migration.covers(plugin):
        return {}
    try:
        return _volume_name(plugin.driver, volume_handle(volume))
    except TranslationError:
        return {}


def _volume_name(driver: str, handle: str) -> DriverByVolume:
    return {f"{driver}/{handle}": driver} if driver and handle else {}


def volume_text(name: str, driver: str) -> str:
    """A volume in an explanation: its handle, or the claim it is to be provisioned for."""
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
        """Counts the pods of the run's snapshot, from now on too: as a service, one for the run."""
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
            self._record_error(row, pod.uid, running.error if change > 0 else "")
        for name, driver in running.volumes.items():
            rows = self.users.setdefault(name, {})
            count = rows.get(row, 0)
            if count + change:
                rows[row] = count + change
            else:
                del rows[row]
            if 0 in (count, count + change) and row not in self._attachments.rows.get(name, ()):
                _column(self._unattached, driver, self._count)[row] += change

    def _record_error(self, row: int, uid: str, error: str) -> None:
        """error: "" removes the pod's error."""
        errors = self._errors.setdefault(row, {})
        if error:
            errors[uid] = error
        else:
            del errors[uid]
        if not errors:
            del self._errors[row]

    def errors(self) -> Mapping[int, str]:
        """Rows with a pod whose volumes cannot be determined, and its error."""
        return {row: next(iter(errors.values())) for row, errors in self._errors.items()}

    def count(self, driver: str, nodes: Nodes) -> Column:
        """Return how many volumes of the driver each of the nodes has. Do not write to it."""
        columns = (self._attachments.counts.get(driver), self._unattached.get(driver))
        counts = [nodes.gather(column) for column in columns if column is not None]
        if not counts:
            return np.zeros(len(nodes), dtype=np.int64)
        return counts[0] if len(counts) == 1 else counts[0] + counts[1]

    def missing(self, volume_names: Iterable[str], nodes: Nodes) -> Column:
        """How many of these volumes no pod uses on each of the nodes; as upstream, even if
        attached."""
        names = list(volume_names)
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
