"""Manifests of volumes and what belongs to them, for tests.

Every function returns a manifest; `storage` of a test's data file names them by function.
"""

from typing import Any

Manifest = dict[str, Any]

CSI = "csi.example.com"


def storage_class(
    name: str, provisioner: str = "kubernetes.io/no-provisioner", wait: bool = True, **fields: Any
) -> Manifest:
    """Waits for a first consumer by default."""
    mode = "WaitForFirstConsumer" if wait else "Immediate"
    return _object("storage.k8s.io/v1", "StorageClass", {"name": name}) | {
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **fields,
    }


def volume(
    name: str,
    size: str = "10Gi",
    storage_class: str = "local",
    *,
    on: list[str] | None = None,
    zones: list[str] | None = None,
    claim: str = "",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    phase: str = "Available",
    labels: dict[str, str] | None = None,
    metadata: Manifest | None = None,
    **spec: Any,
) -> Manifest:
    """on: host names of its node affinity; zones: zones of it; claim: its claimRef."""
    terms = [
        {"key": key, "operator": "In", "values": values}
        for key, values in (("kubernetes.io/hostname", on), ("topology.kubernetes.io/zone", zones))
        if values is not None
    ]
    fields: Manifest = {
        "capacity": {"storage": size},
        "accessModes": list(modes),
        "storageClassName": storage_class,
    }
    if terms:
        selector = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
        fields["nodeAffinity"] = {"required": selector}
    if claim:
        fields["claimRef"] = {"namespace": "default", "name": claim, "uid": claim}
    manifest = _object(
        "v1", "PersistentVolume", {"name": name, "labels": labels or {}, **(metadata or {})}
    )
    return manifest | {"spec": fields | spec, "status": {"phase": phase}}


def claim(
    name: str,
    size: str = "1Gi",
    storage_class: str | None = "local",
    *,
    volume: str = "",
    complete: bool = True,
    selected_node: str = "",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    phase: str = "",
    owner: str = "",
    metadata: Manifest | None = None,
    **spec: Any,
) -> Manifest:
    """volume: the one it is bound to, by default completely; owner: a pod's name."""
    annotations = {}
    if volume and complete:
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
    if selected_node:
        annotations["volume.kubernetes.io/selected-node"] = selected_node
    meta: Manifest = {"name": name, "namespace": "default", "uid": name, "annotations": annotations}
    if owner:
        reference = {"kind": "Pod", "name": owner, "uid": f"default/{owner}", "controller": True}
        meta["ownerReferences"] = [{"apiVersion": "v1", **reference}]
    fields: Manifest = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}}
    if storage_class is not None:
        fields["storageClassName"] = storage_class
    if volume:
        fields["volumeName"] = volume
    manifest = _object("v1", "PersistentVolumeClaim", meta | (metadata or {}))
    status = {"phase": phase or ("Bound" if volume else "Pending")}
    return manifest | {"spec": fields | spec, "status": status}


def csi_node(name: str, migrated: str = "", **limits: Any) -> Manifest:
    """limits: driver → how many volumes, with _ for the dots of its name; None for no limit."""
    drivers = []
    for key, count in limits.items():
        driver: Manifest = {"name": key.replace("_", "."), "nodeID": name}
        if count is not None:
            driver["allocatable"] = {"count": count}
        drivers.append(driver)
    meta: Manifest = {"name": name}
    if migrated:
        meta["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": migrated}
    return _object("storage.k8s.io/v1", "CSINode", meta) | {"spec": {"drivers": drivers}}


def csi_driver(name: str = CSI, **spec: Any) -> Manifest:
    return _object("storage.k8s.io/v1", "CSIDriver", {"name": name}) | {"spec": spec}


def capacity(name: str, storage_class: str, amount: str | None = None, **fields: Any) -> Manifest:
    """Reaches every node unless nodeTopology says otherwise."""
    meta = {"name": name, "namespace": "default"}
    manifest = _object("storage.k8s.io/v1", "CSIStorageCapacity", meta)
    if amount is not None:
        manifest["capacity"] = amount
    return manifest | {"storageClassName": storage_class, "nodeTopology": {}} | fields


def attachment(name: str, node: str, volume: str, attacher: str = CSI) -> Manifest:
    source = {"persistentVolumeName": volume}
    spec = {"attacher": attacher, "nodeName": node, "source": source}
    return _object("storage.k8s.io/v1", "VolumeAttachment", {"name": name}) | {"spec": spec}


def bound(
    name: str, storage_class: str = "wait", *, handle: str = "", **fields: Any
) -> list[Manifest]:
    """A CSI volume and the claim of the same name that has it."""
    modes = fields.pop("modes", ("ReadWriteOnce",))
    source = {"csi": {"driver": CSI, "volumeHandle": handle or name}}
    return [
        volume(
            name,
            storage_class=storage_class,
            claim=name,
            modes=modes,
            phase="Bound",
            **(source | fields),
        ),
        claim(name, storage_class=storage_class, volume=name, modes=modes),
    ]


def uses(*claims: str) -> list[Manifest]:
    """A pod's volumes: one per claim."""
    return [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}}
        for i, claim in enumerate(claims)
    ]


def _object(version: str, kind: str, metadata: Manifest) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
