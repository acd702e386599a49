"""A cluster of 60 nodes like one of EKS: node groups, three zones, long names, DaemonSets,
disruption budgets, and what goes wrong on a usual day."""

from collections.abc import Iterator
from typing import Any

from ksched_cli.testing import node, pod

Object = dict[str, Any]

END = ".eu-west-1.compute.internal"
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
GROUP = "eks.amazonaws.com/nodegroup"
# Node group → nodes, cpu, memory, taint.
GROUPS: dict[str, tuple[int, str, str, str]] = {
    "general": (36, "7910m", "29317696Ki", ""),
    "batch": (12, "15890m", "27381460Ki", "dedicated=batch:NoSchedule"),
    "memory": (8, "7910m", "61848544Ki", ""),
    "gpu": (4, "7910m", "30000000Ki", "nvidia.com/gpu=true:NoSchedule"),
}
NAMES = [f"ip-10-12-{100 + place // 20}-{100 + place}{END}" for place in range(60)]
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def cluster_objects() -> list[Object]:
    return [*_nodes(), *_daemons(), *_workloads()]


def _group_of(place: int) -> str:
    for group, (count, *_) in GROUPS.items():
        if place < count:
            return group
        place -= count
    raise IndexError(place)


def _nodes() -> Iterator[Object]:
    pressure = "node.kubernetes.io/disk-pressure:NoSchedule"
    unreachable = "node.kubernetes.io/unreachable:NoSchedule"
    troubles = {9: pressure, 40: unreachable}
    for place, name in enumerate(NAMES):
        group = _group_of(place)
        _, cpu, memory, taint = GROUPS[group]
        labels = {
            GROUP: group,
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": ZONES[place % 3],
        }
        taints = [each for each in (taint, troubles.get(place, "")) if each]
        gpus = {"nvidia.com/gpu": 1} if group == "gpu" else {}
        yield node(
            name,
            cpu=cpu,
            memory=memory,
            pods=58,
            labels=labels,
            taints=taints,
            resources=gpus,
            unschedulable=place in (5, 6),
        )


def _daemons() -> Iterator[Object]:
    for name, cpu, memory in (("aws-node", "50m", "128Mi"), ("kube-proxy", "100m", "64Mi")):
        for place, host in enumerate(NAMES):
            yield _owned(
                f"{name}-{place:02}", "kube-system", f"DaemonSet/{name}", host, cpu, memory
            )


def _owned(
    name: str,
    namespace: str,
    owner: str,
    where: str,
    cpu: str,
    memory: str,
    **spec: Any,
) -> Object:
    """A pod of a controller, ready where it runs."""
    kind, _, controller = owner.partition("/")
    group = {"Job": "batch/v1"}.get(kind, "apps/v1")
    reference = {"apiVersion": group, "kind": kind, "name": controller, "controller": True}
    labels = {"app": controller}
    if kind == "ReplicaSet":
        app, _, template_hash = controller.rpartition("-")
        labels = {"app": app, "pod-template-hash": template_hash}
    return pod(
        name,
        namespace,
        cpu=cpu,
        memory=memory,
        node=where,
        labels=labels,
        metadata={"ownerReferences": [reference]},
        spec=spec,
        status=READY if where else None,
    )


def deployment(name: str, replicas: int, cpu: str, memory: str, namespace: str = "shop") -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod(cpu=cpu, memory=memory)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


def _replicas(
    namespace: str, name: str, count: int, cpu: str, memory: str, first: int, **spec: Any
) -> Iterator[Object]:
    """Pods of a Deployment on the nodes from the first on; of no node where that is -1."""
    nodes = [place for place in range(36) if place not in (5, 6)]
    for place in range(count):
        where = NAMES[nodes[(first + place) % len(nodes)]] if first >= 0 else ""
        owner = f"ReplicaSet/{name}-6d4f8c7b9d"
        pod_name = f"{name}-6d4f8c7b9d-{place:05}"
        yield _owned(pod_name, namespace, owner, where, cpu, memory, **spec)


def budget(namespace: str, app: str, healthy: int, needed: int, **spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
        "status": {
            "currentHealthy": healthy,
            "desiredHealthy": needed,
            "expectedPods": healthy,
            "disruptionsAllowed": healthy - needed,
        },
    }


def _workloads() -> Iterator[Object]:
    scratch = {"volumes": [{"name": "tmp", "emptyDir": {}}]}
    yield from _replicas("shop", "search", 9, "1500m", "2Gi", 3)
    yield deployment("search", 9, "1500m", "2Gi")
    yield budget("shop", "search", 9, 9, minAvailable=9)
    yield from _replicas("shop", "web", 60, "500m", "1Gi", 0)
    yield budget("shop", "web", 60, 54, maxUnavailable="10%")
    yield from _replicas("shop", "checkout", 24, "750m", "1Gi", 0, **scratch)
    yield budget("shop", "checkout", 24, 22, minAvailable="90%")
    yield from _replicas("data", "api", 120, "600m", "1500Mi", 7)
    yield from _replicas("monitoring", "prometheus", 2, "2", "12Gi", 12)
    yield budget("monitoring", "prometheus", 2, 2, maxUnavailable=0)
    yield budget("shop", "legacy", 0, 0, minAvailable=0)
    for place in range(48, 56):
        name = f"elastic-{place - 48}"
        yield _owned(name, "search", "StatefulSet/elastic", NAMES[place], "3", "40Gi")
    yield budget("search", "elastic", 8, 7, minAvailable=7)
    # What waits.
    wrong = {"nodeSelector": {GROUP: "gpus"}}
    yield from _replicas("ml", "notebook", 3, "1", "2Gi", -1, **wrong)
    yield from _replicas("shop", "recommend", 5, "7900m", "8Gi", -1)
    gates = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    for place in range(3):
        name = f"nightly-{place}"
        yield _owned(name, "data", "Job/nightly", "", "4", "9Gi", **gates)
    yield pod("debug", cpu="100m", node=NAMES[3], status=READY)
