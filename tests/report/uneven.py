"""A cluster of 5,000 nodes with uneven load, and pods that want a place on it, as manifests.

Ten zones, three machine sizes; nodes are filled between a third and to the brim by pods of a few
workloads; every seventh is tainted, every fiftieth cordoned. Pending: a Deployment that fits, one
too big for any node, one for a zone that does not exist, one that only evictions help, gated pods.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

NODES = 5000
SIZES = ((8, 32), (16, 64), (32, 128))


def node(index: int) -> Manifest:
    cores, gigabytes = SIZES[index % 3]
    name = f"ip-10-{index // 256}-{index % 256}.eu-west-1.compute.internal"
    amount = {"cpu": str(cores), "memory": f"{gigabytes}Gi", "pods": "110"}
    spec: Manifest = {}
    if index % 7 == 0:
        spec["taints"] = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
    if index % 50 == 0:
        spec["unschedulable"] = True
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"eu-west-1{'abcdefghij'[index % 10]}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": amount, "capacity": amount},
    }


def pod(name: str, cpu: str, memory: str, owner: str, **spec: Any) -> Manifest:
    replica_set = f"{owner}-5d4f8c7b9d"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{replica_set}-{name}",
            "namespace": "shop",
            "uid": f"{owner}-{name}",
            "labels": {"app": owner, "pod-template-hash": "5d4f8c7b9d"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": replica_set,
                    "uid": replica_set,
                    "controller": True,
                }
            ],
        },
        "spec": {
            "priority": 0,
            "containers": [
                {
                    "name": "main",
                    "image": "app",
                    "resources": {"requests": {"cpu": cpu, "memory": memory}},
                }
            ],
            **spec,
        },
    }


def running(index: int, manifest: Manifest) -> list[Manifest]:
    """One large pod per node, of a size that differs from node to node."""
    cores, gigabytes = SIZES[index % 3]
    share = 33 + index * 37 % 68  # percent
    spec = {"nodeName": manifest["metadata"]["name"], "priority": index % 3 * 100}
    return [
        pod(
            f"{index:05}",
            f"{cores * 10 * share}m",
            f"{gigabytes * 8 * share}Mi",
            ("web", "search", "cart")[index % 3],
            **spec,
        )
    ]


def pending() -> list[Manifest]:
    selector = {"topology.kubernetes.io/zone": "eu-west-1z"}
    return [
        *(pod(f"new-{i:03}", "1500m", "3Gi", "checkout") for i in range(120)),
        *(pod(f"new-{i:03}", "28", "64Gi", "reports") for i in range(12)),
        *(pod(f"new-{i:03}", "40", "64Gi", "training") for i in range(3)),
        *(pod(f"new-{i:03}", "1", "1Gi", "edge", nodeSelector=selector) for i in range(30)),
        *(
            pod(f"new-{i:03}", "500m", "1Gi", "payments", schedulingGates=[{"name": "quota"}])
            for i in range(2)
        ),
        pod("new-000", "30", "100Gi", "urgent", priority=1000),
    ]


def write(path: Path) -> Path:
    """The state as a List in a JSON file."""
    nodes = [node(index) for index in range(NODES)]
    pods = [pod for index, manifest in enumerate(nodes) for pod in running(index, manifest)]
    items = [*nodes, *pods, *pending()]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


if __name__ == "__main__":
    import sys

    write(Path(sys.argv[1]))
