"""Changes that would let a pod's claims be bound: a missing claim or class, or another class."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.cluster.objects import PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.interface import Proposal
from ksched_cli.plugins.volumes.pod_claims import (
    WAIT_FOR_FIRST_CONSUMER,
    binds_late,
    claim_class,
    claim_uses,
)

IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
CLAIM_SIZE = "1Gi"  # of a claim of which nothing but the name is known


def proposals(pod: PodInfo, cluster: ClusterState) -> Iterator[Proposal]:
    """About the first claim of the pod that is in its way."""
    classes = _binding_late(cluster)
    for use in claim_uses(pod.pod):
        claim = cluster.persistent_volume_claims.get((pod.namespace, use.claim))
        if claim is None:
            if classes and not use.ephemeral:
                yield _created_claim(pod.namespace, use.claim, classes[0])
            return
        name = claim_class(claim)
        storage_class = cluster.storage_classes.get(name)
        if claim.spec.volume_name or binds_late(storage_class):
            continue
        if name and storage_class is None and classes:
            yield _created_class(name, classes[0])
        for other in classes:
            yield _with_class([claim], other.name)
        return


def other_classes(
    claims: Sequence[PersistentVolumeClaim],
    cluster: ClusterState,
    makes: Callable[[PersistentVolumeClaim, str], bool],
) -> Iterator[Proposal]:
    """Another class for claims that theirs makes no volume for on a node. makes: whether a class
    does there"""
    for other in _binding_late(cluster) if claims else ():
        if all(makes(claim, other.name) for claim in claims):
            yield _with_class(claims, other.name)


def _binding_late(cluster: ClusterState) -> list[StorageClass]:
    """The classes that make a volume where the pod goes: the default one first, then by name."""
    return sorted(
        filter(binds_late, cluster.storage_classes.values()),
        key=lambda each: (each.metadata.annotations.get(IS_DEFAULT) != "true", each.name),
    )


def _created_claim(namespace: str, name: str, storage_class: StorageClass) -> Proposal:
    manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class.name,
            "resources": {"requests": {"storage": CLAIM_SIZE}},
        },
    }
    text = f"create PersistentVolumeClaim {namespace}/{name} of class {storage_class.name}"
    return Proposal("object", text, (_applied(manifest),))


def _created_class(name: str, model: StorageClass) -> Proposal:
    manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": model.provisioner,
        "volumeBindingMode": WAIT_FOR_FIRST_CONSUMER,
    }
    text = f"create StorageClass {name}, like {model.name}"
    return Proposal("object", text, (_applied(manifest),))


def _with_class(claims: Sequence[PersistentVolumeClaim], name: str) -> Proposal:
    patch = json.dumps({"spec": {"storageClassName": name}}, separators=(",", ":"))
    lines = tuple(f"patch pvc/{each.name} -n {each.namespace} -p '{patch}'" for each in claims)
    noun = "claim" if len(claims) == 1 else "claims"
    keys = " and ".join(claim.key for claim in claims)
    return Proposal("class", f"create {noun} {keys} with class {name}", lines, amount=len(claims))


def _applied(manifest: Mapping[str, Any]) -> str:
    return f"apply -f '{json.dumps(manifest, separators=(',', ':'))}'"
