"""States for tests of changes, and what a change makes of them."""

from typing import Any

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.testing import Manifest, cluster, node, pod


def changed(state: ClusterState, *lines: str) -> tuple[ClusterState, list[str]]:
    """The state after these lines, and all that they did."""
    state, records = apply_changes(state, [parse_change(line) for line in lines])
    return state, [text for record in records for text in record.applied.did]


def owned(name: str, kind: str = "ReplicaSet", owner: str = "web", **fields: Any) -> Manifest:
    """A pod with a controller. status, annotations, created: beside what `pod` takes."""
    status, annotations = fields.pop("status", {}), fields.pop("annotations", {})
    created = fields.pop("created", "")
    manifest = pod(name, **fields)
    metadata = manifest["metadata"]
    metadata["ownerReferences"] = [{"kind": kind, "name": owner, "controller": True}]
    metadata["annotations"] = annotations
    if created:
        metadata["creationTimestamp"] = created
    return {**manifest, "status": {**manifest.get("status", {}), **status}}


def pods_of(kind: str, count: int, **fields: Any) -> list[Manifest]:
    """A pod on each node, as its controller makes it. fields: beside what `owned` takes."""
    owner = "web-abc" if kind == "ReplicaSet" else "web"
    labels = {"app": "web", "pod-template-hash": "abc"}
    pods = []
    for i in range(count):
        spec = {}
        if kind == "DaemonSet":
            only = {"key": "metadata.name", "operator": "In", "values": [f"n{i}"]}
            required = {"nodeSelectorTerms": [{"matchFields": [only]}]}
            spec["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        pods.append(
            owned(
                f"{owner}-{i}", kind, owner, node=f"n{i}", cpu=1, labels=labels, spec=spec, **fields
            )
        )
    return pods


def ready() -> Manifest:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def budget(name: str, labels: dict[str, str], **status: object) -> Manifest:
    return {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}},
        "status": status,
    }


def nodes_of(state: ClusterState) -> dict[str, str]:
    """Pod → node, "" for one that is pending."""
    return {pod.key: pod.node_name for pod in state.pods}


def template(**spec: object) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container], **spec}}


def workload(
    kind: str, name: str = "web", *, status: Manifest | None = None, **spec: object
) -> Manifest:
    """A workload with a template; a CronJob's is in its jobTemplate."""
    version = {"ReplicationController": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}
    if kind not in ("Job", "CronJob"):
        labels = {"app": "web"}
        spec.setdefault(
            "selector", labels if kind == "ReplicationController" else {"matchLabels": labels}
        )
    if kind != "CronJob":
        spec.setdefault("template", template())
    return {
        "apiVersion": version.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
        "status": status or {},
    }


def cpu_of(pod: Pod) -> str:
    return str(pod.spec.containers[0].resources.requests["cpu"])


def web(*extra: str, replicas: int = 2) -> ClusterState:
    """A state with a deployment whose pods run."""
    state, _ = changed(cluster(node("n1"), workload("Deployment", replicas=replicas)), "cordon n1")
    state, _ = changed(state, "uncordon n1", *extra)
    return state
