"""Objects as an API server takes them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

Manifest = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES = ("zone-a", "zone-b", "zone-c")
IMAGES = ("registry.example/web:1", "registry.example/worker:2", "registry.example/model:3")
GPU = "example.com/gpu"


def node(name: str, cpu: int, memory: int, **fields: Any) -> Manifest:
    """memory: in Gi. fields: labels, taints, images (name → MiB), gpus, unschedulable"""
    amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"}
    if fields.get("gpus"):
        amounts[GPU] = str(fields["gpus"])
    spec: Manifest = {"taints": fields.get("taints", [])}
    if fields.get("unschedulable"):
        spec["unschedulable"] = True
    images = [
        {"names": [image], "sizeBytes": size * 2**20}
        for image, size in fields.get("images", {}).items()
    ]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **fields.get("labels", {})}},
        "spec": spec,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "images": images,
            "conditions": [ready],
        },
    }


def workload(
    kind: str,
    name: str,
    replicas: int | None,
    requests: Mapping[str, str],
    priority: str = "",
    **fields: Any,
) -> Manifest:
    """A workload of the default namespace, or a bare pod where the kind is Pod. fields: of the
    pods' specs"""
    limits = {key: amount for key, amount in requests.items() if "/" in key}
    resources = {"requests": dict(requests), "limits": limits}
    spec: Manifest = {
        "containers": [{"name": "main", "image": "i", "resources": resources}],
        "terminationGracePeriodSeconds": 0,
        **({"priorityClassName": priority} if priority else {}),
        **fields,
    }
    metadata, labels = {"name": name, "namespace": "default"}, {"app": name}
    if kind == "Pod":
        return {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {**metadata, "labels": labels},
            "spec": spec,
        }
    manifest: Manifest = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    if kind == "Job":
        spec["restartPolicy"] = "Never"
        count = {"parallelism": replicas, "completions": replicas}
        manifest |= {"apiVersion": "batch/v1", "spec": {**count, "template": {"spec": spec}}}
        manifest["spec"]["template"]["metadata"] = {"labels": labels}
    elif replicas is not None:
        manifest["spec"]["replicas"] = replicas
    if kind == "StatefulSet":
        manifest["spec"] |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return manifest


def nodes(draw: random.Random, count: int, *, plain: bool = False) -> list[Manifest]:
    """Nodes of several sizes in three zones. plain: without taints and GPUs"""
    answer = []
    for number in range(count):
        taints = []
        if not plain and draw.random() < 0.2:
            effect = draw.choice(["NoSchedule", "PreferNoSchedule"])
            taints.append({"key": "dedicated", "value": "batch", "effect": effect})
        fields: dict[str, Any] = {
            "labels": {ZONE: ZONES[number % 3], "disk": draw.choice(["ssd", "hdd"])},
            "taints": taints,
            "images": {image: draw.randrange(50, 900) for image in IMAGES if draw.random() < 0.4},
            "gpus": 0 if plain else draw.choice([0, 0, 0, 4]),
            "unschedulable": not plain and draw.random() < 0.04,
        }
        size = draw.choice([4, 8, 16])
        answer.append(node(f"node-{number:03}", size, size * draw.choice([2, 4]), **fields))
    return answer


def pod(name: str, requests: Mapping[str, str], **fields: Any) -> Manifest:
    """fields: labels, image, limits; others go to the spec."""
    labels, image = fields.pop("labels", {}), fields.pop("image", IMAGES[0])
    limits = {key: amount for key, amount in requests.items() if "/" in key}
    container: Manifest = {
        "name": "main",
        "image": image,
        "resources": {"requests": dict(requests), "limits": limits},
    }
    if "ports" in fields:
        container["ports"] = [
            {"containerPort": port, "hostPort": port} for port in fields.pop("ports")
        ]
    if "claims" in fields:
        container["resources"]["claims"] = fields.pop("claims")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **fields},
    }


def amounts(draw: random.Random) -> dict[str, str]:
    """A pod's requests."""
    cpu, memory = draw.choice([0, 50, 100, 250, 500, 1000]), draw.choice([0, 64, 256, 1024])
    return {
        **({"cpu": f"{cpu}m"} if cpu else {}),
        **({"memory": f"{memory}Mi"} if memory else {}),
    }


def priority_classes() -> list[Manifest]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in (("low", 10), ("middle", 500), ("high", 1000))
    ]


def spread(key: str, app: str, *, hard: bool, skew: int = 1) -> Manifest:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def near(app: str, key: str, *, weight: int = 0) -> Manifest:
    """Terms of pod affinity or anti-affinity: required, or preferred with a weight."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    if weight:
        weighted = {"weight": weight, "podAffinityTerm": term}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def prefers(key: str, values: Iterable[str], weight: int) -> Manifest:
    """A preferred node affinity."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    term = {"weight": weight, "preference": {"matchExpressions": [expression]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
