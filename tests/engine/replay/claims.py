"""Claims of volumes and devices, and what they are made of, for tests."""

from __future__ import annotations

from tests.replays import Plain, pod

LATE = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
STORAGE_CLASS: Plain = {
    "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"}, **LATE
}  # fmt: skip
DEVICE_CLASS: Plain = {
    "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
    "spec": {},
}  # fmt: skip


def volume(name: str, host: str) -> Plain:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    spec: Plain = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}
    spec |= {"storageClassName": "local", "local": {"path": "/"}, "nodeAffinity": affinity}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec,
        "status": {"phase": "Available"},
    }  # fmt: skip


def volume_claim(name: str) -> Plain:
    spec: Plain = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    spec |= {"resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec
    }  # fmt: skip


def devices(host: str) -> Plain:
    pool = {"name": host, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d", "nodeName": host, "pool": pool, "devices": [{"name": "gpu-0"}]}
    metadata = {"name": host}
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata,
        "spec": spec,
    }  # fmt: skip


def device_claim(name: str) -> Plain:
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata,
        "spec": {"devices": {"requests": requests}},
    }  # fmt: skip


def mounting(name: str, claim: str) -> Plain:
    source = {"persistentVolumeClaim": {"claimName": claim}}
    return pod(name, "100m", volumes=[{"name": "v", **source}])


def claiming(name: str, claim: str) -> Plain:
    return pod(name, "100m", resourceClaims=[{"name": "r", "resourceClaimName": claim}])
