"""A trace made into the workload of an experiment: pods in the order they arrive, nodes in an order
of their own, both drawn as the paper's simulator draws them.

Upstream: pkg/simulator (core.go, Simulate; simulator.go, SortClusterPods,
TunePodsByNodeTotalResource and syncClusterResourceList).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ksched_fgd import typical_pods
from ksched_fgd.go_random import GoRandom
from ksched_fgd.gpu_requests import GPU_COUNT, GPU_MILLI, GPU_MODEL, MILLI, gpu_annotations
from ksched_fgd.traces import TraceNode, TracePod
from ksched_fgd.typical_pods import Demand, TypicalPod

NAMESPACE = "paib-gpu"

# Between tuning and the order of nodes the simulator starts ten informers, which draw the times
# of their watches from the same numbers.
INFORMERS = 10


@dataclass(frozen=True, slots=True)
class Workload:
    """pods: as they arrive; nodes: in order of name; typical: of the trace before tuning."""

    pods: Sequence[TracePod]
    nodes: Sequence[TraceNode]
    typical: Sequence[TypicalPod]


def draw_workload(
    pods: Sequence[TracePod], nodes: Sequence[TraceNode], ratio: float, seed: int
) -> Workload:
    """pods, nodes: in order of name. ratio: the GPUs that the pods ask for together, of those that
    the nodes have; 0: those of the trace."""
    numbers = GoRandom(seed)
    numbers.int63()
    arriving = list(pods)
    numbers.shuffle(arriving)
    if ratio > 0:
        _tune(arriving, pods, ratio * sum(node.gpus * MILLI for node in nodes), numbers)
    for _ in range(INFORMERS):
        numbers.float64()
    renamed = [
        replace(node, name=f"{place:04d}-{node.name}")
        for place, node in zip(numbers.permutation(len(nodes)), nodes, strict=True)
    ]
    typical = typical_pods.typical_pods(Demand(pod.cpu, pod.gpus) for pod in pods)
    return Workload(arriving, sorted(renamed, key=lambda node: node.name), typical)


def _tune(
    arriving: list[TracePod], trace: Sequence[TracePod], limit: float, numbers: GoRandom
) -> None:
    """Add pods of the trace, or take pods away, until those that arrive ask for `limit`."""
    requested = sum(pod.gpus.total for pod in arriving)
    if requested > limit:
        while requested > limit:
            requested -= arriving.pop(numbers.intn(len(arriving))).gpus.total
    elif requested < limit:
        added = 0
        while True:
            pod = trace[numbers.intn(len(trace))]
            # As upstream: what the pod asks for of one GPU decides, not of all of its GPUs.
            if requested + pod.gpus.milli > limit:
                return
            requested += pod.gpus.total
            arriving.append(replace(pod, name=f"{pod.name}-tuned-{added}"))
            added += 1


def manifests(workload: Workload, name: str) -> dict[str, Any]:
    """A List of all of it, as a state file has it. name: of the TypicalPods."""
    items = [_node(node) for node in workload.nodes]
    items.append(typical_pods.manifest(name, workload.typical))
    items += [_pod(pod) for pod in workload.pods]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _node(node: TraceNode) -> dict[str, Any]:
    amounts = {"cpu": f"{node.cpu}m", "memory": f"{node.memory}Mi", "pods": "1001"}
    if node.gpus:
        amounts |= {GPU_COUNT: str(node.gpus), GPU_MILLI: str(node.gpus * MILLI)}
    labels = {"kubernetes.io/hostname": node.name}
    if node.model:
        labels[GPU_MODEL] = node.model
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _pod(pod: TracePod) -> dict[str, Any]:
    amounts = {"cpu": f"{pod.cpu}m", "memory": f"{pod.memory}Mi"}
    container = {"name": "main", "image": "trace", "resources": {"requests": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod.name,
            "namespace": NAMESPACE,
            "annotations": gpu_annotations(pod.gpus),
        },
        "spec": {"containers": [container]},
    }
