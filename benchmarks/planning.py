#!/usr/bin/env python3
"""What planners' questions cost: processor time and memory of whole commands, by size of cluster.

    planning.py [--nodes N...]                      measure, and print a table
    planning.py --baseline CHECKOUT [--nodes N...]  with another commit, both at the same time
    planning.py --time-limit N [--nodes N...]       end searches after so many seconds
    planning.py --state N [--pending] --out FILE    write the state of N nodes

The cluster has three zones, three pools with prices, DaemonSets, Deployments that spread over
zones or nodes, budgets, and StatefulSets with anti-affinity and volumes. Its nodes are requested
by less than half, so that many could go. With --pending, Deployments are scaled up, and about a
third more pods wait than the cluster has room for.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import describe

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES = ("a", "b", "c")
# Pool: share of nodes, cpu, memory in GiB, price of an hour.
POOLS = {"general": (0.6, 8, 32, 0.38), "large": (0.3, 16, 64, 0.76), "batch": (0.1, 32, 64, 1.2)}
DAEMONS = {"log-agent": ("100m", "200Mi"), "node-exporter": ("50m", "64Mi")}
CREATED = "2026-01-01T00:00:00Z"
QUESTIONS = (
    ("`shrink`", ["shrink"], False),
    ("`shrink` with prices", ["shrink", "--price", "pool=large=0.76", "--price", "*=0.38"], False),
    ("`capacity --pending`", ["capacity", "--pending", "--like", "pool=general"], True),
    ("`drain --each zone --failed`", ["drain", "--each", "zone", "--failed"], False),
)

Manifest = dict[str, Any]


def node(index: int, count: int) -> Manifest:
    pool = next(
        name
        for name, share in (("general", 0.6), ("large", 0.9), ("batch", 1.0))
        if index < count * share or name == "batch"
    )
    _, cpu, memory, _ = POOLS[pool]
    name = f"{pool}-{index:05d}"
    size = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"}
    taints = [{"key": "batch", "value": "true", "effect": "NoSchedule"}] if pool == "batch" else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {HOST: name, ZONE: ZONES[index % len(ZONES)], "pool": pool},
        },
        "spec": {"taints": taints} if taints else {},
        "status": {
            "allocatable": size,
            "capacity": size,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(app: str, index: int, kind: str, template: Manifest, host: str = "") -> Manifest:
    name = f"{app}-{index}"
    spec = {**template, **({"nodeName": host} if host else {})}
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": app, "uid": app, "controller": True}
    if kind == "Deployment":
        owner |= {"kind": "ReplicaSet", "name": f"{app}-6d4cf56db6", "uid": f"{app}-rs"}
    status: Manifest = {"phase": "Pending"}
    if host:
        status = {
            "phase": "Running",
            "startTime": CREATED,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "labels": {"app": app},
            "creationTimestamp": CREATED,
            "ownerReferences": [owner],
        },
        "spec": spec,
        "status": status,
    }


def template(app: str, kind: str, shape: int, cpu: int, memory: int) -> Manifest:
    """shape: which constraints the pods have."""
    select = {"labelSelector": {"matchLabels": {"app": app}}}
    spec: Manifest = {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "containers": [
            {
                "name": "app",
                "image": f"registry.local/{app}:1",
                "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}},
            }
        ],
    }
    if kind == "StatefulSet" or shape == 2:
        term = {"topologyKey": HOST, **select}
        spec["affinity"] = {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        }
    elif shape == 1:
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **select}
        ]
    elif shape == 3:
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 2, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", **select}
        ]
    elif shape == 4:
        toleration = {"key": "batch", "operator": "Exists", "effect": "NoSchedule"}
        spec |= {"nodeSelector": {"pool": "batch"}, "tolerations": [toleration]}
    return spec


def volume(app: str, index: int, zone: str) -> Iterator[Manifest]:
    """The claim of a StatefulSet's pod, and the volume in its zone."""
    claim, name = f"data-{app}-{index}", f"pv-{app}-{index}"
    size = {"storage": "10Gi"}
    in_zone = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {ZONE: zone}},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "claimRef": {"namespace": "shop", "name": claim, "uid": claim},
            "csi": {"driver": "disk.example.com", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [in_zone]}},
        },
        "status": {"phase": "Bound"},
    }
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim,
            "namespace": "shop",
            "uid": claim,
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "volumeName": name,
            "resources": {"requests": size},
        },
        "status": {"phase": "Bound"},
    }


def workload(app: str, kind: str, replicas: int, spec: Manifest) -> Iterator[Manifest]:
    """A workload, and the budget of its pods."""
    selector = {"matchLabels": {"app": app}}
    metadata = {"name": app, "namespace": "shop", "uid": app, "creationTimestamp": CREATED}
    pods = {"metadata": {"labels": {"app": app}}, "spec": spec}
    body: Manifest = {"selector": selector, "template": pods}
    if kind != "DaemonSet":
        body["replicas"] = replicas
    yield {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": body}
    if kind == "Deployment":
        yield {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                **metadata,
                "name": f"{app}-6d4cf56db6",
                "uid": f"{app}-rs",
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": kind,
                        "name": app,
                        "uid": app,
                        "controller": True,
                    }
                ],
            },
            "spec": body,
        }
    if kind != "DaemonSet" and replicas > 1:
        allowed = max(1, replicas // 5)
        yield {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": "shop"},
            "spec": {"selector": selector, "maxUnavailable": allowed},
            "status": {
                "currentHealthy": replicas,
                "desiredHealthy": replicas - allowed,
                "disruptionsAllowed": allowed,
                "expectedPods": replicas,
            },
        }


def cluster(  # noqa: C901  # a state, from top to bottom
    count: int, *, pending: bool = False
) -> Iterator[Manifest]:
    """All objects: about eleven pods a node."""
    chance = random.Random(56)
    nodes = [node(index, count) for index in range(count)]
    yield from nodes
    # What each node has left: cpu in thousandths.
    free = {}
    for each in nodes:
        name = each["metadata"]["name"]
        free[name] = int(each["status"]["allocatable"]["cpu"]) * 1000 - 150
    pools = {each["metadata"]["name"]: each["metadata"]["labels"] for each in nodes}
    yield {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "disk.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    for app, (cpu, memory) in DAEMONS.items():
        spec: Manifest = {
            "schedulerName": "default-scheduler",
            "priority": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": app,
                    "image": f"registry.local/{app}:1",
                    "resources": {"requests": {"cpu": cpu, "memory": memory}},
                }
            ],
        }
        yield from workload(app, "DaemonSet", 0, spec)
        for index, name in enumerate(pools):
            yield pod(app, index, "DaemonSet", spec, name)
    placed, number = 0, 0
    while placed < count * 9:
        number += 1
        is_stateful = number % 8 == 0
        kind = "StatefulSet" if is_stateful else "Deployment"
        app = f"{'db' if is_stateful else 'web'}-{number:04d}"
        shape = number % 5
        cores, gibs = chance.choice((250, 500, 800, 1000)), chance.choice((512, 1024, 2048))
        replicas = 3 if is_stateful else chance.choice((6, 12, 24, 48))
        if not is_stateful and shape == 2:
            replicas = min(replicas, count // 4)
        spec = template(app, kind, shape, cores, gibs)
        in_batch = not is_stateful and shape == 4
        hosts = [name for name, labels in pools.items() if (labels["pool"] == "batch") == in_batch]
        chance.shuffle(hosts)
        # Zone by zone, so that spread constraints hold.
        by_zone = [[host for host in hosts if pools[host][ZONE] == zone] for zone in ZONES]
        used: list[str] = []
        for index in range(replicas):
            zone = by_zone[index % len(ZONES)]
            host = next((each for each in zone if free[each] >= 2 * cores and each not in used), "")
            if not host:
                break
            used.append(host)
            free[host] -= cores
            own = dict(spec)
            if is_stateful:
                claim = {"claimName": f"data-{app}-{index}"}
                own["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
                yield from volume(app, index, pools[host][ZONE])
            yield pod(app, index, kind, own, host)
        placed += len(used)
        yield from workload(app, kind, len(used), spec)
        if pending and not is_stateful and not in_batch and len(used) == replicas:
            for index in range(replicas, 3 * replicas):
                yield pod(app, index, kind, spec)


def write_state(path: Path, count: int, *, pending: bool = False) -> None:
    with path.open("w") as file:
        file.write('{"apiVersion": "v1", "kind": "List", "items": [\n')
        file.write(",\n".join(map(json.dumps, cluster(count, pending=pending))))
        file.write("\n]}\n")


def measure(arguments: list[str], checkouts: list[Path]) -> list[str]:
    """Run a command of each checkout, all at once. Return their processor times in seconds and
    their memory in MB."""
    command = [sys.executable, "-m", "ksched_cli", *arguments]
    processes = [
        subprocess.Popen(
            command,
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for checkout in checkouts
    ]
    figures = []
    for process in processes:
        _, _, usage = os.wait4(process.pid, 0)
        seconds, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        figures += [f"{seconds:.1f} s", f"{memory:.0f} MB"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--state", type=int)
    parser.add_argument("--pending", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("--time-limit", type=int)
    parser.add_argument("--nodes", type=int, nargs="*", default=[250, 1000])
    args = parser.parse_args()
    if args.state is not None:
        write_state(args.out, args.state, pending=args.pending)
        return
    checkouts = [Path(__file__).resolve().parents[1]]
    columns = ["processor time", "memory"]
    if args.baseline is not None:
        checkouts.insert(0, args.baseline.resolve())
        columns = [f"{name}, {when}" for when in ("before", "after") for name in columns]
    print(f"{describe()}\n")
    print(f"| question | nodes | {' | '.join(columns)} |")
    print(f"| --- | --: |{' --: |' * len(columns)}")
    with tempfile.TemporaryDirectory() as folder:
        for count in args.nodes:
            for question, arguments, pending in QUESTIONS:
                path = Path(folder, f"{count}-{pending}.json")
                if not path.exists():
                    write_state(path, count, pending=pending)
                arguments = [*arguments, "--state", str(path)]
                if args.time_limit and arguments[0] != "drain":
                    arguments += ["--time-limit", str(args.time_limit)]
                    question = f"{question}, `--time-limit {args.time_limit}`"
                figures = measure(arguments, checkouts)
                print(f"| {question} | {count:,} | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    main()
