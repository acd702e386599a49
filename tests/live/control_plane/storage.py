"""Pods with volumes and with devices, and what these are on."""

from __future__ import annotations

import random
import time
from typing import Any

from tests.live.control_plane.api import Api
from tests.live.control_plane.manifests import (
    HOST,
    ZONE,
    ZONES,
    Manifest,
    amounts,
    nodes,
    pod,
)

SEED = 11
DRIVER = "gpu.example.com"
CSI_DRIVER = "disk.example.com"


def _storage_class(name: str, mode: str) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": mode,
    }


def _volume(name: str, storage_class: str, gigabytes: int, key: str, value: str) -> Manifest:
    """A volume of the nodes with this label."""
    expression = {"key": key, "operator": "In", "values": [value]}
    source: Manifest = {"local": {"path": f"/mnt/{name}"}}
    if storage_class != "local":
        source = {"csi": {"driver": CSI_DRIVER, "volumeHandle": name}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {ZONE: value} if key == ZONE else {}},
        "spec": {
            "capacity": {"storage": f"{gigabytes}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            },
            **source,
        },
    }


def _claim(name: str, storage_class: str, gigabytes: int) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": f"{gigabytes}Gi"}},
        },
    }


def volumes() -> list[Manifest]:
    """Local disks and disks of zones, chosen when a pod comes; few per node are allowed."""
    draw = random.Random(SEED)
    machines = nodes(draw, 36, plain=True)
    names = [machine["metadata"]["name"] for machine in machines]
    disks = [
        _volume(f"local-{number:03}", "local", draw.choice([10, 20]), HOST, names[number % 36])
        for number in range(72)
    ]
    disks += [
        _volume(f"zonal-{number:03}", "zonal", draw.choice([5, 10]), ZONE, ZONES[number % 3])
        for number in range(90)
    ]
    claims, pods = [], []
    for number in range(150):
        storage_class = draw.choice(["local", "zonal", "zonal"])
        name = f"data-{number:03}"
        claims.append(_claim(name, storage_class, draw.choice([5, 8, 15])))
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
        spec: dict[str, Any] = {"volumes": [volume]} if number % 5 else {}
        pods.append(pod(f"db-{number:03}", amounts(draw), **spec))
    limits = [_limited(name) for name in names]
    classes = [
        _storage_class("local", "WaitForFirstConsumer"),
        _storage_class("zonal", "WaitForFirstConsumer"),
    ]
    return [*classes, *machines, *limits, *disks, *claims, *pods]


def _limited(name: str) -> Manifest:
    """What says that a node takes few volumes."""
    driver = {"name": CSI_DRIVER, "nodeID": name, "allocatable": {"count": 3}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def equal_volumes() -> list[Manifest]:
    """Volumes of one size, so that kube-scheduler draws among them, and few per node; most pods
    come later."""
    draw = random.Random(SEED)
    machines = nodes(draw, 30, plain=True)
    names = [machine["metadata"]["name"] for machine in machines]
    disks = [
        _volume(f"local-{number:03}", "local", 10, HOST, names[number // 3]) for number in range(90)
    ]
    disks += [
        _volume(f"zonal-{number:03}", "zonal", 10, ZONE, ZONES[number % 3]) for number in range(150)
    ]
    classes = [_storage_class(name, "WaitForFirstConsumer") for name in ("local", "zonal")]
    return [*classes, *machines, *map(_limited, names), *disks, *_claimants(draw, 0, 40)]


def more_claimants(api: Api) -> None:
    """While the volumes of the first ones are bound."""
    draw = random.Random(SEED + 1)
    for wave in range(4):
        api.create(_claimants(draw, 40 + 30 * wave, 30))
        time.sleep(0.5)


def _claimants(draw: random.Random, begin: int, count: int) -> list[Manifest]:
    """Pods with up to two claims, and these."""
    claims, pods = [], []
    for number in range(begin, begin + count):
        kinds = draw.choice([[], ["local"], ["zonal"], ["zonal", "zonal"], ["local", "zonal"]])
        names = [f"data-{number:03}-{index}" for index in range(len(kinds))]
        pairs = zip(names, kinds, strict=True)
        claims += [_claim(name, kind, draw.choice([5, 10])) for name, kind in pairs]
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        pods.append(pod(f"db-{number:03}", amounts(draw), volumes=volumes))
    return [*claims, *pods]


def devices() -> list[Manifest]:
    """Pods with claims of their own and with shared ones, of devices of two models."""
    draw = random.Random(SEED)
    machines = nodes(draw, 40, plain=True)
    slices = [_slice(machine["metadata"]["name"], draw) for machine in machines[:30]]
    templates = [_template(count, model) for count in (1, 2) for model in ("a100", "t4")]
    shared = [_resource_claim(f"shared-{number}", 1, "t4") for number in range(6)]
    pods = []
    for number in range(120):
        if number % 6 == 5:
            source = {"resourceClaimName": f"shared-{number // 6 % 6}"}
        else:
            template = f"{draw.choice([1, 1, 2])}-{draw.choice(['a100', 't4'])}"
            source = {"resourceClaimTemplateName": template}
        spec: dict[str, Any] = {}
        if number % 4:
            spec = {"resourceClaims": [{"name": "gpu", **source}], "claims": [{"name": "gpu"}]}
        pods.append(pod(f"train-{number:03}", amounts(draw), **spec))
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
    }
    return [device_class, *machines, *slices, *templates, *shared, *pods]


def _slice(name: str, draw: random.Random) -> Manifest:
    model = draw.choice(["a100", "t4"])
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-gpus"},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"gpu-{number}", "attributes": {"model": {"string": model}}}
                for number in range(draw.choice([2, 4]))
            ],
        },
    }


def _requests(count: int, model: str) -> Manifest:
    expression = f'device.attributes["{DRIVER}"].model == "{model}"'
    exactly = {
        "deviceClassName": "gpu",
        "count": count,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def _template(count: int, model: str) -> Manifest:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": f"{count}-{model}", "namespace": "default"},
        "spec": {"spec": _requests(count, model)},
    }


def _resource_claim(name: str, count: int, model: str) -> Manifest:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": _requests(count, model),
    }
