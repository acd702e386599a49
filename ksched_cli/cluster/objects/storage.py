"""Storage. Upstream: k8s.io/api/storage/v1/types.go, k8s.io/api/core/v1/types.go."""

from __future__ import annotations

import msgspec

from ksched_cli.cluster.objects.base import (
    Int32,
    KubeObject,
    LabelSelector,
    NodeSelector,
    ObjectReference,
    Record,
    ResourceList,
)
from ksched_cli.cluster.objects.volumes import InTreeSources, PersistentVolumeClaimSpec
from ksched_cli.kube.quantity import Quantity


class HostPath(Record, frozen=True):
    path: str = ""


class LocalVolume(Record, frozen=True):
    path: str = ""


class NFS(Record, frozen=True):
    server: str = ""
    path: str = ""


class VolumeNodeAffinity(Record, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(InTreeSources, frozen=True):
    capacity: ResourceList = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    local: LocalVolume | None = None
    host_path: HostPath | None = None
    nfs: NFS | None = None


class PersistentVolumeStatus(Record, frozen=True):
    phase: str = "Pending"


class PersistentVolume(KubeObject, frozen=True):
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Record, frozen=True):
    phase: str = "Pending"
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = msgspec.field(default_factory=dict)


class PersistentVolumeClaim(KubeObject, frozen=True):
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)


class TopologySelectorLabelRequirement(Record, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Record, frozen=True):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubeObject, frozen=True):
    provisioner: str = ""
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Record, frozen=True):
    count: Int32 | None = None


class CSINodeDriver(Record, frozen=True):
    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Record, frozen=True):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, frozen=True):
    """The drivers of a node of this name, and how many of their volumes it can take."""

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Record, frozen=True):
    attach_required: bool = True
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(KubeObject, frozen=True):
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject, frozen=True):
    """node_topology: None matches no node."""

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Record, frozen=True):
    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Record, frozen=True):
    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachmentStatus(Record, frozen=True):
    attached: bool = False


class VolumeAttachment(KubeObject, frozen=True):
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
