"""A policy: a linear score of what a pod would leave on each node. `tune.py` writes the weights.

ksched-referee judge linear.py --case STATE
"""

from typing import Any

import numpy as np

GPU = "nvidia.com/gpu"
FEATURES = (
    "free cpu", "free cpu squared", "free memory", "free memory squared", "free GPUs",
    "free GPUs squared", "no GPU left", "GPUs left without cpu", "cpu left without GPUs",
    "a node with GPUs for a pod without", "free cpu of a pod without GPUs",
)  # fmt: skip
# Full nodes first, and nodes without GPUs for pods without.
WEIGHTS = (
    -0.1635,
    0.8756,
    1.1031,
    -1.0620,
    0.2045,
    -0.8258,
    2.3009,
    -1.1747,
    -0.7659,
    -1.8236,
    -0.7952,
)


def features(pod: Any, nodes: Any) -> Any:
    """A row per node and a column per feature, all between 0 and 1, as the pod would leave it."""
    cpu, memory = (_left(pod, nodes, name) for name in ("cpu", "memory"))
    gpus = nodes.allocatable.get(GPU, np.zeros(len(cpu)))
    has_gpus, wants_gpus = gpus > 0, pod.requests.get(GPU, 0) > 0
    gpu = _left(pod, nodes, GPU) if has_gpus.any() else np.zeros(len(cpu))
    columns = (
        cpu,
        cpu**2,
        memory,
        memory**2,
        gpu,
        gpu**2,
        has_gpus & (gpu == 0),
        np.maximum(gpu - cpu, 0),
        np.maximum(cpu - gpu, 0) * has_gpus,
        has_gpus & ~np.bool_(wants_gpus),
        cpu * (not wants_gpus),
    )
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)


def _left(pod: Any, nodes: Any, resource: str) -> Any:
    """The share of a resource that stays free with the pod on the node; 0 where there is none."""
    allocatable = nodes.allocatable[resource]
    free = nodes.free[resource] - pod.requests.get(resource, 0)
    return np.divide(free, allocatable, out=np.zeros_like(free), where=allocatable > 0)


def score(pod: Any, nodes: Any) -> Any:
    return features(pod, nodes) @ np.array(WEIGHTS)
