"""Volume sources of pods and persistent volumes that some plugin reads.

Upstream: k8s.io/api/core/v1/types.go (VolumeSource, PersistentVolumeSource).
"""

from __future__ import annotations

import msgspec

from ksched_cli.cluster.objects.base import Int32, LabelSelector, ObjectMeta, Record, ResourceList


class GCEPersistentDisk(Record, frozen=True):
    pd_name: str = ""
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStore(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class ISCSI(Record, frozen=True):
    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class RBD(Record, frozen=True):
    """In a pod as in a persistent volume. Upstream's API fills an absent pool with "rbd"."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class AzureDisk(Record, frozen=True):
    disk_name: str = ""
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str = "Shared"


class AzureFile(Record, frozen=True):
    secret_name: str = ""
    secret_namespace: str = ""
    share_name: str = ""


class Cinder(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class VsphereVolume(Record, frozen=True):
    volume_path: str = ""


class PortworxVolume(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class CSIVolume(Record, frozen=True):
    """An inline volume (no handle), or a persistent volume's source."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    volume_attributes: dict[str, str] = msgspec.field(default_factory=dict)


class PersistentVolumeClaimSource(Record, frozen=True):
    claim_name: str = ""
    read_only: bool = False


class VolumeResources(Record, frozen=True):
    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)


class PersistentVolumeClaimSpec(Record, frozen=True):
    """storage_class_name: None for the default class, "" for no class at all."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResources = msgspec.field(default_factory=VolumeResources)
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Record, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolume(Record, frozen=True):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class InTreeSources(Record, frozen=True):
    """Sources that a pod's volume and a persistent volume both may have."""

    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    csi: CSIVolume | None = None


class ImageVolume(Record, frozen=True):
    reference: str = ""


class PodCertificate(Record, frozen=True):
    key_type: str = ""


class ProjectedSource(Record, frozen=True):
    pod_certificate: PodCertificate | None = None


class ProjectedVolume(Record, frozen=True):
    sources: tuple[ProjectedSource, ...] = ()


class Volume(InTreeSources, frozen=True):
    """A pod's volume. Sources that no plugin reads are left out."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: EphemeralVolume | None = None
    image: ImageVolume | None = None
    projected: ProjectedVolume | None = None
