"""The changes of a watched cluster as events of a timeline: objects that come, change and go, and
what the scheduler decided about pods.

Only digests and a few fields of each object stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.cluster.objects.pod import FINISHED_PHASES
from ksched_cli.kube.time import unix_seconds
from ksched_cli.plugins.volume_binding.binder import SELECTED_NODE
from ksched_cli.plugins.volumes import WAIT_FOR_FIRST_CONSUMER

Plain = dict[str, Any]
Key = tuple[str, str, str]
_POD, _CLAIM = "Pod", "ResourceClaim"
DEFAULT_GRACE_SECONDS = 30
_TOPOLOGY = "topology.kubernetes.io/"
# What a kubelet or the scheduler writes of a pod, which is told in events of other kinds.
_POD_STATUS = (
    "resourceClaimStatuses", "resources", "allocatedResources", "containerStatuses",
    "initContainerStatuses",
)  # fmt: skip
# Upstream: preemption.go (PreemptPod).
_BY_SCHEDULER = ("DisruptionTarget", "PreemptionByScheduler")


class _Pod(Struct):
    """What is remembered of a pod. placed: when, in seconds since 1970"""

    uid: str
    digest: bytes
    node: str = ""
    placed: float | None = None
    finished: bool = False
    leaving: bool = False
    nominated: str = ""
    message: str = ""


class ChangeTracker:
    """What there is, as far as it takes to tell what changes."""

    def __init__(self) -> None:
        self._digests: dict[Key, bytes] = {}
        self._pods: dict[Key, _Pod] = {}
        self._binding_modes: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._digests) + len(self._pods)

    def begin(self, obj: Plain) -> None:
        """An object of the state to begin with."""
        for _ in self.change(obj, 0.0):
            pass

    def relist(
        self, kind: str, namespace: str, objects: Iterable[Plain], at: float
    ) -> Iterator[Plain]:
        """All objects of a kind that exist now."""
        present = set()
        for obj in objects:
            present.add(_key(obj))
            yield from self.change(obj, at)
        for key in [*self._digests, *self._pods]:
            if key[0] == kind and namespace in ("", key[1]) and key not in present:
                yield from self._remove(key)

    def change(self, obj: Plain, at: float) -> Iterator[Plain]:
        """An object that is there as it is now. at: seconds since 1970"""
        if obj["kind"] == _POD:
            yield from self._change_pod(obj, at)
            return
        if obj["kind"] == "StorageClass":
            self._binding_modes[obj["metadata"]["name"]] = obj.get("volumeBindingMode", "")
        key, digest = _key(obj), digest_of(obj)
        if self._digests.get(key) != digest:
            self._digests[key] = digest
            yield {"put": obj, **({"decided": True} if self._is_decided(obj) else {})}

    def remove(self, obj: Plain) -> Iterator[Plain]:
        """An object that has gone. obj: as it was at last"""
        yield from self._remove(_key(obj), obj)

    def _remove(self, key: Key, obj: Plain | None = None) -> Iterator[Plain]:
        kind, namespace, name = key
        target = {"kind": kind, **({"namespace": namespace} if namespace else {}), "name": name}
        if kind != _POD:
            if self._digests.pop(key, None) is not None:
                yield {"delete": target}
            return
        pod = self._pods.get(key)
        if pod is None or (obj is not None and obj["metadata"].get("uid", "") != pod.uid):
            return
        del self._pods[key]
        if not pod.finished:
            is_preempted = pod.leaving or (obj is not None and _is_preempted(obj))
            yield {"delete": target, **({"preempted": True} if is_preempted else {})}

    def _is_decided(self, obj: Plain) -> bool:
        """Whether the scheduler wrote it of late, or a controller because the scheduler asked."""
        spec, kind = obj.get("spec") or {}, obj["kind"]
        if kind == _CLAIM:
            return bool((obj.get("status") or {}).get("allocation"))
        annotations = obj["metadata"].get("annotations") or {}
        is_bound = {
            "PersistentVolumeClaim": spec.get("volumeName") or SELECTED_NODE in annotations,
            "PersistentVolume": spec.get("claimRef"),
        }
        mode = self._binding_modes.get(spec.get("storageClassName", ""))
        return bool(is_bound.get(kind)) and mode == WAIT_FOR_FIRST_CONSUMER

    # -- pods -------------------------------------------------------------------------------------

    def _change_pod(self, obj: Plain, at: float) -> Iterator[Plain]:
        key, metadata = _key(obj), obj["metadata"]
        node = (obj.get("spec") or {}).get("nodeName") or ""
        pod = self._pods.get(key)
        if pod is not None and pod.uid != metadata.get("uid", ""):
            yield from self._remove(key)
            pod = None
        manifest = _pod_manifest(obj)
        finished = _status(obj).get("phase") in FINISHED_PHASES
        if pod is None:
            pod = self._pods[key] = _Pod(metadata.get("uid", ""), _pod_digest(manifest), node)
            pod.finished, pod.placed = finished, _started(obj)
            pod.nominated, pod.message = _refusal(obj)
            if not finished:
                if node:
                    manifest = {**manifest, "spec": {**manifest["spec"], "nodeName": node}}
                yield {"pod": manifest}
            return
        yield from self._change_of(pod, obj, manifest, at)

    def _change_of(self, pod: _Pod, obj: Plain, manifest: Plain, at: float) -> Iterator[Plain]:
        metadata, digest = obj["metadata"], _pod_digest(manifest)
        node = (obj.get("spec") or {}).get("nodeName") or ""
        about = {"namespace": metadata["namespace"], "name": metadata["name"], "uid": pod.uid}
        if digest != pod.digest and not pod.finished:
            pod.digest = digest
            yield {"put": manifest}
        if node and not pod.node:
            pod.node, pod.placed = node, at
            yield {"decision": {**about, "node": node}}
        nominated, message = _refusal(obj)
        if not node and (nominated, message) != (pod.nominated, pod.message):
            pod.nominated, pod.message = nominated, message
            yield {"decision": {**about, "nominatedNode": nominated, "message": message}}
        if _is_preempted(obj) and metadata.get("deletionTimestamp") and not pod.leaving:
            pod.leaving = True
            period = (obj.get("spec") or {}).get("terminationGracePeriodSeconds")
            grace = DEFAULT_GRACE_SECONDS if period is None else period or 1
            target = {"kind": _POD, "namespace": about["namespace"], "name": about["name"]}
            yield {"delete": target, "gracePeriod": grace, "preempted": True}
        if _status(obj).get("phase") in FINISHED_PHASES and not pod.finished:
            pod.finished = True
            key = f"{about['namespace']}/{about['name']}"
            since = {} if pod.placed is None else {"ranFor": max(round(at - pod.placed, 6), 0)}
            yield {"end": key, **since}


def _key(obj: Plain) -> Key:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace", ""), metadata["name"]


def _status(obj: Plain) -> Plain:
    return obj.get("status") or {}


def digest_of(obj: Plain) -> bytes:
    """The digest of all but the revision, which changes with what nobody reads, and the finalizer
    that kube-scheduler gives claims before it allocates them."""
    ignored = ("resourceVersion", "finalizers") if obj["kind"] == _CLAIM else ("resourceVersion",)
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ignored}
    return blake2b(msgspec.json.encode({**obj, "metadata": metadata}), digest_size=8).digest()


def _pod_digest(manifest: Plain) -> bytes:
    """Without the labels that a binding copies from the node. Upstream: plugin/pkg/admission/
    podtopologylabels."""
    metadata = manifest["metadata"]
    labels = (metadata.get("labels") or {}).items()
    rest = {key: value for key, value in labels if not key.startswith(_TOPOLOGY)}
    return digest_of({**manifest, "metadata": {**metadata, "labels": rest}})


def _pod_manifest(obj: Plain) -> Plain:
    """Without what the scheduler writes, and what becomes of the pod on its node."""
    status = {k: v for k, v in _status(obj).items() if k in _POD_STATUS}
    if not any("resources" in each for each in status.get("containerStatuses", ())):
        status.pop("containerStatuses", None)
        status.pop("initContainerStatuses", None)
    metadata = obj["metadata"]
    if _is_preempted(obj):
        metadata = {k: v for k, v in metadata.items() if k != "deletionTimestamp"}
    spec = {k: v for k, v in (obj.get("spec") or {}).items() if k != "nodeName"}
    return {**obj, "metadata": metadata, "spec": spec, "status": status}


def _is_preempted(obj: Plain) -> bool:
    conditions = _status(obj).get("conditions") or ()
    return any((each.get("type"), each.get("reason")) == _BY_SCHEDULER for each in conditions)


def _refusal(obj: Plain) -> tuple[str, str]:
    """The node that the pod is nominated to, and why it has none; "" where neither is told."""
    status = _status(obj)
    messages = [
        each.get("message", "")
        for each in status.get("conditions") or ()
        if each.get("type") == "PodScheduled" and each.get("status") == "False"
    ]
    return status.get("nominatedNodeName", ""), "".join(messages[:1])


def _started(obj: Plain) -> float | None:
    """When a pod came to its node, as its kubelet tells."""
    try:
        return unix_seconds(_status(obj).get("startTime") or "")
    except ValueError:
        return None
