"""States to pack: the pods of a timeline, in a random order, until they request a load.

A trace spreads its pods over days, so that few exist at a time and every policy places them all.
Here all are pending at once.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ksched_cli.api import Quantity, QuantityError, UsageError

Manifest = dict[str, Any]

GPU = "nvidia.com/gpu"
# What Open-Gpu-Share of ksched-fgd reads.
ANNOTATION = "alibabacloud.com/gpu"
MODEL = "gpu-model"


def packed(
    timeline: Path, nodes: list[Manifest], resource: str, load: float, seed: int
) -> list[Manifest]:
    """Return the nodes, and pods of the timeline that together request `load` per cent of what the
    nodes have of a resource; pods come again where the timeline has too few.

    Raises UsageError where no pod requests it, or no node has it
    """
    draw = random.Random(seed)  # nosec B311  # the same draws for the same seed
    pods = [*_pods(timeline)]
    limit = sum(_allocatable(node, resource) for node in nodes) * load / 100
    if not limit or not any(_requests(pod, resource) for pod in pods):
        raise UsageError(f"--resource {resource}: no node has it, or no pod requests it")
    queue: list[Manifest] = []
    total = 0.0
    while total < limit:
        for pod in draw.sample(pods, len(pods)):
            total += _requests(pod, resource)
            if total >= limit:
                break
            queue.append(_queued(pod, len(queue)))
    return [*nodes, *queue]


def read_nodes(path: Path) -> list[Manifest]:
    """Return the nodes of a state, a List in JSON. Raises UsageError for anything else."""
    try:
        items = json.loads(path.read_bytes())["items"]
        nodes = [item for item in items if item["kind"] == "Node"]
    except OSError as error:
        raise UsageError(f"--state {path}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise UsageError(
            f"--state {path}: expected a List in JSON, as `ksched timeline from-csv --state-to` "
            "writes it"
        ) from None
    return nodes


def sample_nodes(nodes: list[Manifest], count: int, seed: int) -> list[Manifest]:
    """Return so many of the nodes."""
    if count > len(nodes):
        raise UsageError(f"--nodes {count}: there are {len(nodes)}")
    draw = random.Random(seed)  # nosec B311  # as above
    return draw.sample(nodes, count)


def _pods(timeline: Path) -> Iterator[Manifest]:
    """Yield the pods that arrive in a timeline of JSON lines. Raises UsageError for anything
    else."""
    try:
        with timeline.open("rb") as lines:
            templates = json.loads(next(lines)).get("templates", {})
            for line in lines:
                event = json.loads(line)
                if "template" in event:
                    yield templates[event["template"]]
                elif isinstance(event.get("pod"), dict):
                    yield event["pod"]
    except OSError as error:
        raise UsageError(f"{timeline}: {error.strerror}") from None
    except (ValueError, LookupError, AttributeError, StopIteration):
        raise UsageError(
            f"{timeline}: expected a timeline in JSON lines, as `ksched timeline from-csv --to` "
            "writes it"
        ) from None


def _queued(pod: Manifest, number: int) -> Manifest:
    """Return a pod with a name and a time of its place in the queue, and what ksched-fgd reads."""
    hours, seconds = divmod(number, 3600)
    metadata = {
        **pod.get("metadata", {}),
        "name": f"pod-{number:06}",
        "namespace": "default",
        "uid": str(number),
        "creationTimestamp": f"2026-01-{1 + hours // 24:02}T{hours % 24:02}:{seconds // 60:02}"
        f":{seconds % 60:02}Z",
    }
    gpus = int(_requests(pod, GPU))
    if gpus:
        models = _models(pod)
        metadata["annotations"] = {
            f"{ANNOTATION}-count": str(gpus),
            f"{ANNOTATION}-milli": "1000",
            **({f"{ANNOTATION}-card-model": "|".join(models)} if models else {}),
        }
    spec = {**pod["spec"], "priority": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _models(pod: Manifest) -> list[str]:
    """Return the models of GPUs that the pod's node selector or affinity names."""
    spec = pod["spec"]
    if MODEL in spec.get("nodeSelector", {}):
        return [spec["nodeSelector"][MODEL]]
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    return [
        value
        for term in terms.get("nodeSelectorTerms", [])
        for expression in term.get("matchExpressions", [])
        if expression["key"] == MODEL
        for value in expression["values"]
    ]


def with_gpus(node: Manifest) -> Manifest:
    """Return a node with what Open-Gpu-Share reads of it."""
    gpus = node["status"]["allocatable"].get(GPU)
    if gpus is None:
        return node
    labels = node["metadata"].get("labels", {})
    model = labels.get(MODEL, "GPU")
    allocatable = {**node["status"]["allocatable"], f"{ANNOTATION}-count": gpus}
    return {
        **node,
        "metadata": {
            **node["metadata"],
            "labels": {**labels, f"{ANNOTATION}-card-model": model},
        },
        "status": {**node["status"], "allocatable": allocatable},
    }


def _allocatable(node: Manifest, resource: str) -> float:
    return _amount(node["status"]["allocatable"].get(resource, 0))


def _requests(pod: Manifest, resource: str) -> float:
    return sum(
        _amount(container.get("resources", {}).get("requests", {}).get(resource, 0))
        for container in pod["spec"]["containers"]
    )


def _amount(text: str | int) -> float:
    try:
        return Quantity.parse(str(text)).milli_value() / 1000
    except QuantityError as error:
        raise UsageError(str(error)) from None
