"""In-tree volumes that CSI drivers have replaced: names, volume handles, topology.

Azure File and vSphere volumes can be translated too, but the scheduler never does.

Upstream: k8s.io/csi-translation-lib (translate.go, plugins/*.go).
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.objects import (
    AzureDisk,
    InTreeSources,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    Volume,
    VolumeNodeAffinity,
)

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
ZONE_DELIMITER = "__"

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

UNSPECIFIED = "UNSPECIFIED"
MANAGED = "managed"
_EBS_VOLUME = re.compile(r"vol-[^/]*")


class TranslationError(ValueError):
    """A volume that cannot be translated. The text is upstream's."""


class InTreePlugin(Struct, frozen=True):
    """source: the field that holds its volumes; name: in-tree; driver: the CSI driver's.

    topology_key: the driver's zone label; "" where the topology stays as it is
    migrated:     whether the scheduler translates its volumes at all
    """

    source: str
    name: str
    driver: str
    topology_key: str = ""
    migrated: bool = True


GCE = InTreePlugin(
    "gce_persistent_disk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"
)
EBS = InTreePlugin(
    "aws_elastic_block_store",
    "kubernetes.io/aws-ebs",
    "ebs.csi.aws.com",
    "topology.ebs.csi.aws.com/zone",
)
CINDER = InTreePlugin(
    "cinder",
    "kubernetes.io/cinder",
    "cinder.csi.openstack.org",
    "topology.cinder.csi.openstack.org/zone",
)
AZURE_DISK = InTreePlugin("azure_disk", "kubernetes.io/azure-disk", "disk.csi.azure.com")
AZURE_FILE = InTreePlugin(
    "azure_file", "kubernetes.io/azure-file", "file.csi.azure.com", migrated=False
)
VSPHERE = InTreePlugin(
    "vsphere_volume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", migrated=False
)
PORTWORX = InTreePlugin("portworx_volume", "kubernetes.io/portworx-volume", "pxd.portworx.com")

IN_TREE = (GCE, EBS, CINDER, AZURE_DISK, AZURE_FILE, VSPHERE, PORTWORX)
BY_NAME = {plugin.name: plugin for plugin in IN_TREE}


def plugin_of(sources: InTreeSources) -> InTreePlugin | None:
    """The in-tree plugin of a pod's volume or a persistent volume, if there is one."""
    return next((plugin for plugin in IN_TREE if getattr(sources, plugin.source) is not None), None)


def inline_handle(volume: Volume) -> str:
    """The handle of a pod's own in-tree volume. Raises TranslationError."""
    if volume.gce_persistent_disk is not None:
        disk = volume.gce_persistent_disk.pd_name
        return f"projects/{UNSPECIFIED}/zones/{UNSPECIFIED}/disks/{disk}"
    return _handle(volume)


def volume_handle(volume: PersistentVolume) -> str:
    """The handle of a persistent volume with an in-tree source. Raises TranslationError."""
    if volume.spec.gce_persistent_disk is not None:
        location = _gce_location(volume.metadata.labels)
        disk = volume.spec.gce_persistent_disk.pd_name
        return f"projects/{UNSPECIFIED}/{location}/disks/{disk}"
    return _handle(volume.spec)


def _handle(sources: InTreeSources) -> str:
    if sources.aws_elastic_block_store is not None:
        return ebs_volume_id(sources.aws_elastic_block_store.volume_id)
    if sources.azure_disk is not None:
        return _azure_handle(sources.azure_disk)
    if sources.cinder is not None:
        return sources.cinder.volume_id
    if sources.portworx_volume is not None:
        return sources.portworx_volume.volume_id
    raise TranslationError("could not find in-tree plugin translation logic")


def ebs_volume_id(text: str) -> str:
    """Return the id of aws://ZONE/ID, aws:///ID or ID. Upstream:
    KubernetesVolumeIDToEBSVolumeID."""
    if not text.startswith("aws://"):
        return text
    volume_id = unquote(urlsplit(text).path).strip("/")
    if not _EBS_VOLUME.fullmatch(volume_id):
        raise TranslationError(
            "failed to translate Kubernetes ID to EBS Volume ID "
            f"Invalid format for AWS volume ({text})"
        )
    return volume_id


def _azure_handle(disk: AzureDisk) -> str:
    if disk.kind.lower() != MANAGED:
        raise TranslationError(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri


def _gce_location(labels: dict[str, str]) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_DELIMITER)
    if len(zones) > 1:
        return f"regions/{_gce_region(zones)}"
    return f"zones/{zones[0] or UNSPECIFIED}"


def _gce_region(zones: list[str]) -> str:
    """The region of zones that are named LOCALE-REGION-ZONE."""
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise TranslationError(
            "failed to get region from zones: multiple or no regions gotten from zones, "
            f"got: {sorted(regions)}"
        )
    return regions.pop()


def translated_affinity(volume: PersistentVolume) -> VolumeNodeAffinity | None:
    """The node affinity that the volume has as one of its CSI driver. Raises TranslationError.

    Upstream: TranslateInTreePVToCSI, translateTopologyFromInTreeToCSI.
    """
    volume_handle(volume)
    plugin = plugin_of(volume.spec)
    if plugin is None or not plugin.topology_key:
        return volume.spec.node_affinity
    terms = _affinity_terms(volume)
    beta = _uses_beta(terms, volume.metadata.labels)
    zone = BETA_ZONE if beta else ZONE
    if _has_requirement(terms, zone):
        terms = _with_key_renamed(terms, zone, plugin.topology_key)
    elif zone in volume.metadata.labels:
        terms = _with_zones(terms, plugin.topology_key, volume.metadata.labels[zone])
    if beta and _has_requirement(terms, BETA_REGION):
        terms = _with_key_renamed(terms, BETA_REGION, REGION)
    if terms == _affinity_terms(volume):
        return volume.spec.node_affinity
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


def _affinity_terms(volume: PersistentVolume) -> tuple[NodeSelectorTerm, ...]:
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity else None
    return required.node_selector_terms if required else ()


def _uses_beta(terms: tuple[NodeSelectorTerm, ...], labels: dict[str, str]) -> bool:
    """Whether the beta labels apply. Upstream: getTopologyLabel."""
    keys = {expression.key for term in terms for expression in term.match_expressions}
    for label_keys in (keys, labels):
        if ZONE in label_keys:
            return False
        if BETA_ZONE in label_keys:
            return True
    return False


def _has_requirement(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    return any(
        requirement.key == key and requirement.values
        for term in terms
        for requirement in term.match_expressions
    )


def _with_key_renamed(
    terms: tuple[NodeSelectorTerm, ...], old: str, new: str
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(requirement, key=new) if requirement.key == old else requirement
                for requirement in term.match_expressions
            ),
        )
        for term in terms
    )


def _with_zones(
    terms: tuple[NodeSelectorTerm, ...], key: str, label: str
) -> tuple[NodeSelectorTerm, ...]:
    """Adds a requirement for one of the label's zones to every term. Upstream: addTopology."""
    zones = sorted({zone.strip() for zone in label.split(ZONE_DELIMITER)} - {""})
    if not zones:
        return terms
    requirement = NodeSelectorRequirement(key=key, operator="In", values=tuple(zones))
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, requirement))
        for term in terms or (NodeSelectorTerm(),)
    )
