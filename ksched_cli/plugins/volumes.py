"""The PersistentVolumeClaims that a pod's volumes refer to, and messages about them.

Upstream: component-helpers/storage/ephemeral/ephemeral.go and storage/volume/helpers.go.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from urllib.parse import unquote, urlsplit

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import NodeTerms, node_terms
from ksched_cli.cluster.objects import (
    CSINode,
    InTreeSources,
    KubeObject,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    Volume,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.snapshot import Column, Mask, Rows, Snapshot
from ksched_cli.cluster.state import Key
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.quantity import Quantity

STORAGE = "storage"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

CLAIM = "persistentvolumeclaim"
VOLUME = "persistentvolume"
CLASS = "storageclass.storage.k8s.io"


class ClaimUse(Struct, frozen=True):
    """One volume of a pod that refers to a claim.

    ephemeral: the claim is made from the pod's own template, and must belong to the pod
    """

    claim: str
    ephemeral: bool


def claim_uses(pod: Pod) -> Iterator[ClaimUse]:
    """Yield the uses in the order of the pod's volumes; a claim named twice comes twice."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume.persistent_volume_claim.claim_name, False)
        elif volume.ephemeral is not None:
            yield ClaimUse(ephemeral_claim(pod, volume), True)


def used_claims(
    pod: Pod, claims: Mapping[Key, PersistentVolumeClaim]
) -> Iterator[tuple[ClaimUse, PersistentVolumeClaim | None]]:
    """Yield the uses, each with its claim, or with None where that is missing."""
    return ((use, claims.get((pod.namespace, use.claim))) for use in claim_uses(pod))


def ephemeral_claim(pod: Pod, volume: Volume) -> str:
    """Return the name of the claim that is made for an ephemeral volume."""
    return f"{pod.name}-{volume.name}"


def ownership_error(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Return why an ephemeral volume's claim is not the pod's, or ""."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.uid:
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def not_found_message(resource: str, name: str) -> str:
    """Return the API server's NotFound message."""
    return f"{resource} {quote(name)} not found"


def binds_late(storage_class: StorageClass | None) -> bool:
    """Return whether volumes of the class are bound when a pod has a node."""
    mode = WAIT_FOR_FIRST_CONSUMER
    return storage_class is not None and storage_class.volume_binding_mode == mode


def claim_class(claim: PersistentVolumeClaim) -> str:
    """Return the name of its storage class, "" for none."""
    return _class(claim, claim.spec.storage_class_name or "")


def volume_class(volume: PersistentVolume) -> str:
    """Return the name of its storage class, "" for none."""
    return _class(volume, volume.spec.storage_class_name)


def _class(owner: KubeObject, class_name: str) -> str:
    """Return the class of a claim or volume. The beta annotation takes precedence over the
    field."""
    return owner.metadata.annotations.get(CLASS_ANNOTATION, class_name)


# -- persistent volumes ----------------------------------------------------------------------------
#
# Persistent volumes by storage class, laid out for finding the smallest that fits on every node.
#
# Upstream: component-helpers/storage/volume/{helpers,pv_helpers}.go (CheckNodeAffinity,
# FindMatchingVolume).


ZERO = Quantity(0)
AVAILABLE = "Available"

# Per row, the index of a volume among those of its class, or NO_VOLUME.
ChosenVolumes = NDArray[np.intp]
NO_VOLUME = -1


def mask_of(rows: Rows | Sequence[int], count: int) -> Mask:
    """Return a mask of `count` rows that has these."""
    mask = np.zeros(count, dtype=np.bool_)
    mask[rows] = True
    return mask


class Reach:
    """The nodes that a volume can be used from, by its node affinity; cached for the whole run."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.rows: Callable[[VolumeNodeAffinity | None], Rows] = cache(
            lambda affinity: np.flatnonzero(self._matching(affinity))
        )

    def mask(self, affinity: VolumeNodeAffinity | None) -> Mask:
        return mask_of(self.rows(affinity), len(self._snapshot))

    def _matching(self, affinity: VolumeNodeAffinity | None) -> Mask:
        if affinity is None or affinity.required is None:
            return np.ones(len(self._snapshot), dtype=np.bool_)
        # Upstream matches a node with labels and no name: match_fields never apply.
        terms = node_terms(affinity.required).terms
        labels_only = tuple(replace(term, fields=()) for term in terms)
        return matches_any(self._snapshot, NodeTerms(labels_only))


class AffinityGroups(Struct, frozen=True):
    """Volumes grouped by equal node affinity.

    of:     per volume, its group
    starts: per group, where its rows begin in `rows`; one entry more than there are groups
    """

    of: NDArray[np.intp]
    starts: NDArray[np.intp]
    rows: Rows


class ClassVolumes:
    """The volumes of one storage class, smallest first; those of equal size by name.

    Upstream iterates over those of equal size in random order.
    """

    def __init__(self, reach: Reach, volumes: Iterable[PersistentVolume]) -> None:
        self._reach = reach
        self.volumes = tuple(sorted(volumes, key=lambda pv: (capacity(pv), pv.name)))
        self.index = {pv.name: index for index, pv in enumerate(self.volumes)}
        self._sizes = [capacity(pv) for pv in self.volumes]
        self._available: dict[tuple[str, str, frozenset[str]], Mask] = {}
        claimed = [pv.spec.claim_ref is not None for pv in self.volumes]
        self.claimed: Mask = np.array(claimed, dtype=np.bool_)
        self.by_claim_ref: dict[tuple[str, str], list[int]] = {}
        for index, pv in enumerate(self.volumes):
            if pv.spec.claim_ref is not None:
                ref = pv.spec.claim_ref
                self.by_claim_ref.setdefault((ref.namespace, ref.name), []).append(index)

    @cached_property
    def groups(self) -> AffinityGroups:
        ids: dict[VolumeNodeAffinity | None, int] = {}
        group_ids = [ids.setdefault(pv.spec.node_affinity, len(ids)) for pv in self.volumes]
        rows = [self._reach.rows(affinity) for affinity in ids]
        starts = np.zeros(len(rows) + 1, dtype=np.intp)
        np.cumsum([len(group_rows) for group_rows in rows], out=starts[1:])
        joined = np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)
        return AffinityGroups(np.array(group_ids, dtype=np.intp), starts, joined)

    def first_of_size(self, size: Quantity) -> int:
        """Return the index of the smallest volume that is large enough."""
        return bisect_left(self._sizes, size)

    def available_for(self, claim: PersistentVolumeClaim) -> Mask:
        """Return the available volumes that match the claim, apart from its selector, size and
        node."""
        spec = claim.spec
        modes = frozenset(spec.access_modes)
        key = (spec.volume_mode, spec.volume_attributes_class_name or "", modes)
        mask = self._available.get(key)
        if mask is None:
            answers = [
                pv.status.phase == AVAILABLE
                and is_compatible(claim, pv)
                and modes <= set(pv.spec.access_modes)
                for pv in self.volumes
            ]
            mask = self._available[key] = np.array(answers, dtype=np.bool_)
        return mask


class PersistentVolumes:
    """The volumes of a run as the API server returns them, by storage class. A service."""

    def __init__(self, handle: Handle) -> None:
        self.reach = Reach(handle.snapshot)
        by_class: dict[str, list[PersistentVolume]] = {}
        for volume in handle.cluster.persistent_volumes.values():
            by_class.setdefault(volume_class(volume), []).append(volume)
        self.of_class: Callable[[str], ClassVolumes] = cache(
            lambda name: ClassVolumes(self.reach, by_class.get(name, ()))
        )


def capacity(volume: PersistentVolume) -> Quantity:
    return volume.spec.capacity.get(STORAGE, ZERO)


def requested(claim: PersistentVolumeClaim) -> Quantity:
    return claim.spec.resources.requests.get(STORAGE, ZERO)


def is_compatible(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return whether the claim and the volume meet the conditions, besides size, that hold even for
    a volume bound to the claim beforehand."""
    return (
        claim.spec.volume_mode == volume.spec.volume_mode
        and (claim.spec.volume_attributes_class_name or "")
        == (volume.spec.volume_attributes_class_name or "")
        and not volume.metadata.deletion_timestamp
    )


def is_bound_to(ref: ObjectReference, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume with this claimRef is the claim's. Upstream: IsVolumeBoundToClaim."""
    if (ref.namespace, ref.name) != (claim.namespace, claim.name):
        return False
    return ref.uid in ("", claim.uid)


def smallest_per_node(
    groups: AffinityGroups, eligible: NDArray[np.intp], earlier: Sequence[ChosenVolumes], count: int
) -> ChosenVolumes:
    """Return per row, the smallest eligible volume that reaches it and no other claim of the pod
    gets.

    eligible: indices, ascending; earlier: the volumes of the pod's other claims of the same class;
    count: the number of rows
    """
    # At most len(earlier) volumes of a group are chosen already: one more than that is enough.
    group_of, limit = groups.of[eligible], len(earlier) + 1
    by_group = np.argsort(group_of, kind="stable")
    ordered = group_of[by_group]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    group_lengths = np.diff(begins, append=len(ordered))
    rank = np.arange(len(ordered)) - np.repeat(begins, group_lengths)
    candidates = eligible[by_group[rank < limit]]
    starts = groups.starts[groups.of[candidates]]
    lengths = groups.starts[groups.of[candidates] + 1] - starts
    # Descending, so that the smallest is assigned last.
    order = np.argsort(-candidates, kind="stable")
    candidates, starts, lengths = candidates[order], starts[order], lengths[order]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    offsets = np.arange(total) - np.repeat(ends - lengths, lengths)
    rows = groups.rows[np.repeat(starts, lengths) + offsets]
    indices = np.repeat(candidates, lengths)
    for chosen in earlier:
        remaining = chosen[rows] != indices
        rows, indices = rows[remaining], indices[remaining]
    smallest = np.full(count, NO_VOLUME, dtype=np.intp)
    smallest[rows] = indices
    return smallest


# -- in-tree volumes -------------------------------------------------------------------------------
#
# In-tree volumes that CSI drivers have replaced: names, volume handles, topology.
#
# Azure File and vSphere volumes can be translated too, but the scheduler never does.
#
# Upstream: k8s.io/csi-translation-lib (translate.go, plugins/*.go).


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
    """Return the in-tree plugin of a pod's volume or a persistent volume, if there is one."""
    return next((plugin for plugin in IN_TREE if getattr(sources, plugin.source) is not None), None)


def inline_handle(volume: Volume) -> str:
    """Return the handle of a pod's own in-tree volume. Raises TranslationError."""
    if volume.gce_persistent_disk is not None:
        disk = volume.gce_persistent_disk.pd_name
        return f"projects/{UNSPECIFIED}/zones/{UNSPECIFIED}/disks/{disk}"
    return _handle(volume)


def volume_handle(volume: PersistentVolume) -> str:
    """Return the handle of a persistent volume with an in-tree source. Raises TranslationError."""
    if volume.spec.gce_persistent_disk is not None:
        location = _gce_location(volume.metadata.labels)
        disk = volume.spec.gce_persistent_disk.pd_name
        return f"projects/{UNSPECIFIED}/{location}/disks/{disk}"
    return _handle(volume.spec)


def _handle(sources: InTreeSources) -> str:
    if sources.aws_elastic_block_store is not None:
        return ebs_volume_id(sources.aws_elastic_block_store.volume_id)
    if sources.azure_disk is not None:
        kind = sources.azure_disk.kind
        if kind.lower() != MANAGED:
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        return sources.azure_disk.disk_uri
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
        problem = f"Invalid format for AWS volume ({text})"
        raise TranslationError(f"failed to translate Kubernetes ID to EBS Volume ID {problem}")
    return volume_id


def _gce_location(labels: dict[str, str]) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_DELIMITER)
    if len(zones) > 1:
        # The region of zones that are named LOCALE-REGION-ZONE.
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
        return f"regions/{regions.pop()}"
    return f"zones/{zones[0] or UNSPECIFIED}"


def translated_affinity(volume: PersistentVolume) -> VolumeNodeAffinity | None:
    """Return the node affinity that the volume has as one of its CSI driver. Raises
    TranslationError.

    Upstream: TranslateInTreePVToCSI, translateTopologyFromInTreeToCSI.
    """
    volume_handle(volume)
    plugin = plugin_of(volume.spec)
    if plugin is None or not plugin.topology_key:
        return volume.spec.node_affinity
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity else None
    terms = own_terms = required.node_selector_terms if required else ()
    # The beta labels may apply. Upstream: getTopologyLabel.
    labels = volume.metadata.labels
    keys = {expression.key for term in terms for expression in term.match_expressions}
    labelled = (each for each in (keys, labels) if ZONE in each or BETA_ZONE in each)
    beta = ZONE not in next(labelled, (ZONE,))
    zone = BETA_ZONE if beta else ZONE
    if _has_requirement(terms, zone):
        terms = _with_key_renamed(terms, zone, plugin.topology_key)
    elif zone in labels:
        # Every term requires one of the label's zones. Upstream: addTopology.
        zones = sorted({each.strip() for each in labels[zone].split(ZONE_DELIMITER)} - {""})
        requirement = NodeSelectorRequirement(plugin.topology_key, "In", tuple(zones))
        if zones:
            terms = tuple(
                replace(term, match_expressions=(*term.match_expressions, requirement))
                for term in terms or (NodeSelectorTerm(),)
            )
    if beta and _has_requirement(terms, BETA_REGION):
        terms = _with_key_renamed(terms, BETA_REGION, REGION)
    if terms == own_terms:
        return affinity
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


def _has_requirement(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    requirements = (each for term in terms for each in term.match_expressions)
    return any(requirement.key == key and requirement.values for requirement in requirements)


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


# -- CSINodes --------------------------------------------------------------------------------------
#
# The nodes' CSINode objects as columns: volume limits per driver, plugins migrated to CSI.
#
# Upstream: plugins/nodevolumelimits/{csi,utils}.go, plugins/volumebinding/binder.go
# (isPluginMigratedToCSIOnNode).


NO_LIMIT = -1


class CSINodes:
    """A service.

    has_csi_node: the nodes that have a CSINode
    limited:      those of them with a limit for any driver
    has_limits:   whether there are any of these
    portworx:     those where volumes of Portworx count as volumes of its CSI driver
    installed:    driver → the nodes whose CSINode lists it
    migrated:     in-tree plugin → the nodes that list it as migrated; any_migrated: is there any
    """

    def __init__(self, handle: Handle) -> None:
        rows = handle.snapshot.row
        objects = handle.cluster.csi_nodes
        self._csi_nodes = {rows[name]: node for name, node in objects.items() if name in rows}
        self._count = len(handle.snapshot)
        self._limits: dict[str, Column] = {}
        self.installed: Callable[[str], Mask] = cache(
            lambda driver: self._having(lambda node: driver in [d.name for d in node.spec.drivers])
        )
        self.migrated: Callable[[str], Mask] = cache(
            lambda plugin: self._having(lambda node: plugin in migrated_plugins(node).split(","))
        )
        self.any_migrated: Callable[[str], bool] = cache(
            lambda name: bool(self.migrated(name).any())
        )
        self.has_csi_node = mask_of(list(self._csi_nodes), self._count)
        self.limited = np.zeros(self._count, dtype=np.bool_)
        for row, node in self._csi_nodes.items():
            for driver in node.spec.drivers:
                if driver.allocatable is None or driver.allocatable.count is None:
                    continue
                column = self._limits.get(driver.name)
                if column is None:
                    column = np.full(self._count, NO_LIMIT, dtype=np.int64)
                    self._limits[driver.name] = column
                column[row] = driver.allocatable.count
                self.limited[row] = True
        self.has_limits = bool(self._limits)
        always = handle.release.rules.migrates_portworx
        self.portworx = self.has_csi_node if always else self.migrated(PORTWORX.name)

    def limits(self, driver: str) -> Column | None:
        """Return the driver's volume limit per node, or NO_LIMIT; None where no node has one."""
        return self._limits.get(driver)

    def _having(self, condition: Callable[[CSINode], bool]) -> Mask:
        """Return the nodes whose CSINode meets the condition."""
        rows = [row for row, node in self._csi_nodes.items() if condition(node)]
        return mask_of(rows, self._count)


def migrated_plugins(node: CSINode) -> str:
    """Return the names of the in-tree plugins, separated by commas."""
    return node.metadata.annotations.get(MIGRATED_PLUGINS, "")
