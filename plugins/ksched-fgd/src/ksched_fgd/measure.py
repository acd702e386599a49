"""The paper's measures of a run: GPUs allocated, and fragments, as pods arrive.

Upstream: pkg/simulator/analysis.go (ClusterGpuFragReport), experiments/analysis
(merge_alloc_discrete.py, merge_frag_discrete.py, merge_frag_ratio_discrete.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ksched_fgd.fragmentation import Fragmentation
from ksched_fgd.gpu_requests import MILLI
from ksched_fgd.traces import TraceNode
from ksched_fgd.typical_pods import Demand, TypicalPod
from ksched_fgd.workload import NAMESPACE, Workload

BINS = 131


@dataclass(frozen=True, slots=True)
class Measures:
    """Per percent of the cluster's GPUs that the pods so far asked for, in percent; NaN where no
    pod arrived about then.

    allocated:  of the GPUs
    fragments:  of the GPUs
    idle_fragments: of the idle GPUs; NaN where all are in use
    """

    gpus: int
    allocated: Sequence[float]
    fragments: Sequence[float]
    idle_fragments: Sequence[float]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod, and where it is. node: "" for a pod that fits nowhere; gpus: their indices"""

    demand: Demand
    node: str = ""
    gpus: Sequence[int] = ()


def arrivals(workload: Workload, result: Mapping[str, Any]) -> list[Arrival]:
    """result: what `ksched schedule` printed of the workload; its notes say on which GPUs pods
    are."""
    notes = result.get("notes", {})
    pods = []
    for pod in workload.pods:
        key = f"{NAMESPACE}/{pod.name}"
        node = result["placements"].get(key, "")
        pods.append(Arrival(Demand(pod.cpu, pod.gpus), node, notes.get(key, {}).get("GPU", ())))
    return pods


def measures(
    nodes: Sequence[TraceNode], typical: Sequence[TypicalPod], pods: Sequence[Arrival]
) -> Measures:
    """pods: in the order they arrive"""
    gpus = sum(node.gpus for node in nodes)
    arrived, used, amounts = _follow(nodes, typical, pods)
    idle = gpus * MILLI - used
    # Upstream prints two decimals and reads them again, and so rounds twice.
    allocated = np.array([round(share, 2) for share in (used / gpus / 10).tolist()])
    printed = np.array([float(f"{amount:.2f}") for amount in amounts.tolist()])
    # Nothing idle has no share: Go divides 0 by 0, and prints NaN.
    ratios = np.divide(100 * amounts, idle, out=np.full(len(idle), np.nan), where=idle != 0)
    shares = np.array([float(f"{share:.2f}") for share in ratios.tolist()])
    bins = np.array([round(share) for share in (arrived / gpus / 10).tolist()])
    return Measures(
        gpus,
        [_rounded(mean) for mean in _means(bins, allocated)],
        [_rounded(100 * mean / 1000 / gpus) for mean in _means(bins, printed)],
        _means(bins, shares),
    )


def _follow(
    nodes: Sequence[TraceNode], typical: Sequence[TypicalPod], pods: Sequence[Arrival]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """After each pod: thousandths of GPUs asked for so far, in use, and in fragments."""
    models = list(dict.fromkeys(node.model for node in nodes))
    fragmentation = Fragmentation(typical, models)
    model_ids = np.array([models.index(node.model) for node in nodes])
    counts = np.array([node.gpus for node in nodes])
    cpu = np.array([node.cpu for node in nodes])
    left = np.where(np.arange(counts.max()) < counts[:, None], MILLI, 0)
    fragments = fragmentation.amounts(cpu, left, model_ids)
    row_of = {node.name: row for row, node in enumerate(nodes)}
    arrived, used, amounts = [], [], []
    arrived_milli = used_milli = 0
    for pod in pods:
        arrived_milli += pod.demand.gpus.total
        if pod.node:
            row = row_of[pod.node]
            cpu[row] -= pod.demand.cpu
            left[row, list(pod.gpus)] -= pod.demand.gpus.milli
            used_milli += len(pod.gpus) * pod.demand.gpus.milli
            own = slice(row, row + 1)
            fragments[row] = fragmentation.amounts(cpu[own], left[own], model_ids[own])[0]
        arrived.append(arrived_milli)
        used.append(used_milli)
        amounts.append(fragments.sum())
    return np.array(arrived, dtype=np.float64), np.array(used), np.array(amounts)


def _means(bins: NDArray[Any], values: NDArray[np.float64]) -> list[float]:
    """The means of each bin's values; an empty bin takes those of its neighbours. As in pandas, a
    mean is of the values that are not NaN."""
    means = []
    for number in range(BINS):
        chosen = values[bins == number]
        if not len(chosen):
            chosen = values[abs(bins - number) <= 1]
        chosen = chosen[~np.isnan(chosen)]
        means.append(float(chosen.mean()) if len(chosen) else float("nan"))
    return means


def _rounded(value: float) -> float:
    """As NumPy rounds, not as Python does."""
    return float(np.round(value, 2))
