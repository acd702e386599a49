"""Nodes with GPUs, and pods that want some of them."""

from __future__ import annotations

from typing import Any

from ksched_fgd.gpu_requests import GPU_COUNT, GPU_INDEX, GPU_MILLI, GPU_MODEL
from ksched_fgd.typical_pods import TypicalPod, manifest

from ksched_cli.testing import Manifest, node, pod


def gpu_node(name: str, gpus: int = 2, cpu: int = 96, model: str = "T4") -> Manifest:
    amounts = {GPU_COUNT: gpus, GPU_MILLI: gpus * 1000}
    labels = {GPU_MODEL: model} if model else {}
    plain = node(name, cpu=cpu, resources=amounts if gpus else {}, labels=labels)
    plain["status"]["capacity"] = plain["status"]["allocatable"]
    return plain


def gpu_pod(
    name: str, milli: int = 1000, count: int = 1, *, models: str = "", on: str = "", **fields: Any
) -> Manifest:
    """on: NODE/INDICES, where it runs already, as "n/0-1"."""
    annotations = {GPU_MILLI: str(milli), GPU_COUNT: str(count)} if count else {}
    if models:
        annotations[GPU_MODEL] = models
    node_name, _, indices = on.partition("/")
    if indices:
        annotations[GPU_INDEX] = indices
    return pod(name, annotations=annotations, node=node_name, **{"cpu": 1, **fields})


def typical(*pods: TypicalPod) -> Manifest:
    return manifest("typical", pods)
