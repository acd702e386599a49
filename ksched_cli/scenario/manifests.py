"""Manifests of the pods that the controllers of workloads make.

Upstream: pkg/controller/controller_utils.go (GetPodFromTemplate),
statefulset/stateful_set_utils.go, daemon/util/daemonset_util.go,
job/job_controller.go, deployment/sync.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ksched_cli.cluster.objects import Workload

Manifest = dict[str, Any]

# The alphabet of upstream's rand.SafeEncodeString: no vowels, so that no bad words arise.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5

_DAEMON_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK_TAINT = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def suffix(number: int) -> str:
    """Five characters as the API server appends to generated names, in order of the number."""
    text = ""
    for _ in range(_SUFFIX_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        text = _ALPHABET[digit] + text
    return text


def template_hash(template: Mapping[str, Any]) -> str:
    """A hash in the form of pod-template-hash; upstream hashes Go's own dump of the template, whose
    value nothing but the label depends on."""
    value = 2166136261
    for byte in msgspec.json.encode(template, order="sorted"):
        value = (value ^ byte) * 16777619 % 2**32
    return "".join(_ALPHABET[ord(char) % len(_ALPHABET)] for char in str(value))


def pod_manifest(
    template: Mapping[str, Any],
    owner: Workload,
    kind: str,
    name: str,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """A pod of the owner's template. labels: what the controller adds."""
    metadata = template.get("metadata") or {}
    version = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": {**(metadata.get("labels") or {}), **(labels or {})},
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [
                {
                    "apiVersion": version,
                    "kind": kind,
                    "name": owner.name,
                    "uid": owner.uid or f"{owner.namespace}/{owner.name}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": template.get("spec") or {},
        "status": {"phase": "Pending"},
    }


def daemon_template(template: Mapping[str, Any]) -> Manifest:
    """Return the template with the tolerations of daemon pods. Upstream:
    AddOrUpdateDaemonPodTolerations."""
    spec = dict(template.get("spec") or {})
    taints = [*_DAEMON_TOLERATIONS, *([_NETWORK_TAINT] if spec.get("hostNetwork") else [])]
    tolerations = list(spec.get("tolerations") or ())
    for key, effect in taints:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        same = [t for t in tolerations if _matches(t, toleration)]
        tolerations = [toleration if t in same else t for t in tolerations]
        tolerations += [] if same else [toleration]
    return {**template, "spec": {**spec, "tolerations": tolerations}}


def _matches(toleration: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Upstream: Toleration.MatchToleration."""
    keys = ("key", "effect", "operator", "value")
    return all(toleration.get(key, "") == other.get(key, "") for key in keys)


def on_node(manifest: Manifest, node: str) -> Manifest:
    """The daemon pod for one node. Upstream: ReplaceDaemonSetPodNodeNameNodeAffinity."""
    spec = manifest["spec"]
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity = {**node_affinity, "requiredDuringSchedulingIgnoredDuringExecution": required}
    affinity = {**affinity, "nodeAffinity": node_affinity}
    return {**manifest, "spec": {**spec, "affinity": affinity}}


def stateful_manifest(
    plain: Mapping[str, Any], owner: Workload, ordinal: int
) -> tuple[Manifest, list[Manifest]]:
    """The pod of an ordinal, and its claims. Upstream: newStatefulSetPod."""
    spec = plain.get("spec") or {}
    name = f"{owner.name}-{ordinal}"
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
    }
    pod = pod_manifest(spec.get("template") or {}, owner, "StatefulSet", name, labels)
    claims, volumes = [], []
    for template in spec.get("volumeClaimTemplates") or ():
        metadata = template.get("metadata") or {}
        claim = f"{metadata.get('name', '')}-{name}"
        claims.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {**metadata, "name": claim, "namespace": owner.namespace},
                "spec": template.get("spec") or {},
            }
        )
        volumes.append(
            {"name": metadata.get("name", ""), "persistentVolumeClaim": {"claimName": claim}}
        )
    names = {volume["name"] for volume in volumes}
    own = [v for v in pod["spec"].get("volumes") or () if v.get("name") not in names]
    pod["spec"] = {**pod["spec"], "hostname": name, "volumes": [*volumes, *own]}
    return pod, claims


def job_labels(owner: Workload) -> dict[str, str]:
    uid = owner.uid or f"{owner.namespace}-{owner.name}"
    return {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": owner.name,
        "controller-uid": uid,
        "job-name": owner.name,
    }
