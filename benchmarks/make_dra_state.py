#!/usr/bin/env python3
"""Writes a cluster state with devices and claims as JSON.

    make_dra_state.py [NODES] [PODS] [--devices N] [--own-numbers] > state.json

Each of 1,000 nodes has a slice of eight GPUs of its own, of three models; each of 500 pods has a
claim of its own for one of them, made from one of four templates: any GPU, a big one, two on one
NUMA node, a prioritised list. With --own-numbers every device has a serial number, so that no two
devices in the cluster are alike.
"""

import argparse
import json
import sys
from typing import Any

DRIVER = "gpu.example.com"
GPU_ATTRIBUTES = f'device.attributes["{DRIVER}"]'
MODELS = (("h100", "80Gi"), ("a100", "40Gi"), ("t4", "16Gi"))
API = "resource.k8s.io/v1"

Manifest = dict[str, Any]


def node(i: int) -> Manifest:
    name = f"node-{i:05d}"
    amount = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": amount, "capacity": amount},
    }


def device(node_number: int, i: int, own_numbers: bool) -> Manifest:
    model, memory = MODELS[node_number % len(MODELS)]
    attributes: Manifest = {
        "model": {"string": model},
        "index": {"int": i},
        "numa": {"int": i // 4},
        "driverVersion": {"version": "1.4.2"},
    }
    if own_numbers:
        attributes["uuid"] = {"string": f"gpu-{node_number:05d}-{i}"}
    capacity = {"memory": {"value": memory}}
    return {"name": f"gpu-{i}", "attributes": attributes, "capacity": capacity}


def resource_slice(i: int, devices: int, own_numbers: bool) -> Manifest:
    name = f"node-{i:05d}"
    spec = {
        "driver": DRIVER,
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [device(i, number, own_numbers) for number in range(devices)],
    }
    metadata = {"name": f"{name}-gpus"}
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def device_class(name: str, *expressions: str) -> Manifest:
    spec = {"selectors": [{"cel": {"expression": expression}} for expression in expressions]}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def requests(i: int) -> Manifest:
    exact = {"allocationMode": "ExactCount", "count": 1}
    if i % 4 == 0:
        return {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", **exact}}]}
    if i % 4 == 1:
        return {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "big", **exact}}]}
    if i % 4 == 2:
        two = {**exact, "deviceClassName": "gpu", "count": 2}
        near = {"requests": ["gpus"], "matchAttribute": f"{DRIVER}/numa"}
        return {"requests": [{"name": "gpus", "exactly": two}], "constraints": [near]}
    choices = [
        {"name": "best", "deviceClassName": "h100", **exact},
        {"name": "many", "deviceClassName": "gpu", **exact, "count": 4},
    ]
    return {"requests": [{"name": "gpu", "firstAvailable": choices}]}


def claim(i: int) -> Manifest:
    meta = {"name": f"pod-{i:05d}-gpu", "namespace": "default", "uid": f"claim-{i}"}
    spec = {"devices": requests(i)}
    return {"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": spec}


def pod(i: int) -> Manifest:
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "claims": [{"name": "gpu"}]}
    spec = {
        "containers": [{"name": "c", "image": "pause", "resources": resources}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": f"pod-{i:05d}-gpu"}],
        "schedulerName": "default-scheduler",
        "priority": 0,
    }
    metadata = {"name": f"pod-{i:05d}", "namespace": "default", "uid": f"pod-{i}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("nodes", type=int, nargs="?", default=1000)
    parser.add_argument("pods", type=int, nargs="?", default=500)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--own-numbers", action="store_true")
    options = parser.parse_args()
    of_driver = f'device.driver == "{DRIVER}"'
    items = [
        device_class("gpu", of_driver),
        device_class("h100", of_driver, f'{GPU_ATTRIBUTES}.model == "h100"'),
        device_class(
            "big",
            of_driver,
            f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0',
        ),
        *(node(i) for i in range(options.nodes)),
        *(resource_slice(i, options.devices, options.own_numbers) for i in range(options.nodes)),
        *(claim(i) for i in range(options.pods)),
        *(pod(i) for i in range(options.pods)),
    ]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)


if __name__ == "__main__":
    main()
