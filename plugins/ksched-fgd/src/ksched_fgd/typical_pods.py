"""The typical pods of a workload: what its pods ask for, by how often they do.

Upstream: pkg/utils/frag.go (GetTypicalPods), pkg/type/resource.go (TargetPodList.Less).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ksched_fgd.gpu_requests import GpuRequest

API_VERSION = "fgd.ksched/v1"
KIND = "TypicalPods"
POPULARITY = 95


class Demand(NamedTuple):
    """What a pod asks for. cpu: in thousandths."""

    cpu: int
    gpus: GpuRequest


class TypicalPod(NamedTuple):
    """frequency: its share of the typical pods, from 0 to 1."""

    demand: Demand
    frequency: float


def typical_pods(demands: Iterable[Demand], popularity: int = POPULARITY) -> list[TypicalPod]:
    """The most frequent demands, until they are `popularity` percent of all; most frequent first,
    and the larger demand first among equally frequent ones."""
    counts = Counter(demands)
    total = float(counts.total())
    ordered = sorted(counts, key=lambda demand: (counts[demand], _size(demand)), reverse=True)
    chosen: list[Demand] = []
    covered = 0.0
    for demand in ordered:
        if covered >= popularity * total / 100.0:
            break
        chosen.append(demand)
        covered += counts[demand]
    shares = [counts[demand] / total for demand in chosen]
    if len(chosen) < len(ordered):
        shares = [share / (covered / total) for share in shares]
    return [TypicalPod(*pair) for pair in zip(chosen, shares, strict=True)]


def _size(demand: Demand) -> tuple[int, int, int, str]:
    return demand.cpu, demand.gpus.milli, demand.gpus.count, demand.gpus.models


def manifest(name: str, pods: Sequence[TypicalPod]) -> dict[str, Any]:
    """The object that a state file carries them in."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "pods": [
            {
                "cpuMilli": pod.demand.cpu,
                "gpuCount": pod.demand.gpus.count,
                "gpuMilli": pod.demand.gpus.milli,
                "gpuModels": pod.demand.gpus.models,
                "frequency": pod.frequency,
            }
            for pod in pods
        ],
    }


def of_manifest(plain: Mapping[str, Any]) -> list[TypicalPod]:
    """The reverse of `manifest`. Raises ValueError."""
    name = (plain.get("metadata") or {}).get("name", "")
    try:
        return [
            TypicalPod(
                Demand(
                    int(pod["cpuMilli"]),
                    GpuRequest(
                        int(pod["gpuCount"]), int(pod["gpuMilli"]), str(pod.get("gpuModels", ""))
                    ),
                ),
                float(pod["frequency"]),
            )
            for pod in plain["pods"]
        ]
    except KeyError as error:
        raise ValueError(f"{KIND} {name}: {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{KIND} {name}: {error}") from None
