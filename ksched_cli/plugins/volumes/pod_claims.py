"""The PersistentVolumeClaims that a pod's volumes refer to, and messages about them.

Upstream: component-helpers/storage/ephemeral/ephemeral.go and storage/volume/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ksched_cli.cluster.objects import (
    KubeObject,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    Volume,
)
from ksched_cli.kube.formatting import quote

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


def ephemeral_claim(pod: Pod, volume: Volume) -> str:
    """The name of the claim that is made for an ephemeral volume."""
    return f"{pod.name}-{volume.name}"


def ownership_error(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Return why an ephemeral volume's claim is not the pod's, or ""."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.uid:
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def not_found_message(resource: str, name: str) -> str:
    """The API server's NotFound message."""
    return f"{resource} {quote(name)} not found"


def binds_late(storage_class: StorageClass | None) -> bool:
    """Whether volumes of the class are bound when a pod has a node."""
    mode = WAIT_FOR_FIRST_CONSUMER
    return storage_class is not None and storage_class.volume_binding_mode == mode


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The name of its storage class, "" for none."""
    return _class(claim, claim.spec.storage_class_name or "")


def volume_class(volume: PersistentVolume) -> str:
    """The name of its storage class, "" for none."""
    return _class(volume, volume.spec.storage_class_name)


def _class(owner: KubeObject, class_name: str) -> str:
    """The beta annotation takes precedence over the field."""
    return owner.metadata.annotations.get(CLASS_ANNOTATION, class_name)
