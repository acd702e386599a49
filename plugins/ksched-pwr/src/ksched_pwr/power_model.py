"""What nodes consume: a power model by node label, a file of its own or the paper's.

The paper's model: Fr4nz83/PWR-plugin-kubernetes, pkg/type/open-gpu-share/utils/const.go
(MapCpuTypeEnergyConsumption, MapGpuTypeEnergyConsumption, MapGpuTypeModelEnergy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from ksched_fgd.gpu_requests import GPU_COUNT, GPU_MODEL
from msgspec import Meta, Struct

from ksched_cli.api import PluginError
from ksched_cli.cluster.objects import Node

API_VERSION = "power.ksched/v1"
KIND = "PowerModel"
# As a plugin names the kinds that it reads.
READS = f"{KIND}.{API_VERSION.partition('/')[0]}"
CPU_MODEL = "alibabacloud.com/cpu-model"
GPU = "nvidia.com/gpu"

Watts = Annotated[float, Meta(ge=0, le=1e9)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
T = TypeVar("T")


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of a PowerModel."""


class CpuPackage(_Part, frozen=True):
    """The processors of a node, each of which is idle, or consumes all that it can because a pod
    requests a core of it.

    cores: of one processor
    cpus_per_core: how many of the node's cpus are one core
    """

    cores: Count
    idle_watts: Watts
    full_watts: Watts
    cpus_per_core: Count = 2

    def __post_init__(self) -> None:
        _check(self.idle_watts, self.full_watts)


class Gpu(_Part, frozen=True):
    """A GPU of a node, which is idle, or consumes all that it can because a pod requests a part of
    it.

    resource: what pods request of nodes without shared GPUs
    """

    idle_watts: Watts
    full_watts: Watts
    resource: str = GPU

    def __post_init__(self) -> None:
        _check(self.idle_watts, self.full_watts)


def _check(idle_watts: float, full_watts: float) -> None:
    """Check the watts of a model. Raises ValueError."""
    if full_watts < idle_watts:
        raise ValueError(f"fullWatts {full_watts:g} is less than idleWatts {idle_watts:g}")


class NodePower(_Part, frozen=True):
    """What the nodes with some labels consume.

    labels: the node's labels; an empty value is that of a node without the label
    idle_watts: what a node consumes without pods
    watts_per_cpu: for each cpu that pods request
    """

    labels: Mapping[str, str] = {}
    idle_watts: Watts | None = None
    watts_per_cpu: Watts | None = None
    cpu_package: CpuPackage | None = None
    gpu: Gpu | None = None

    def matches(self, node: Node) -> bool:
        labels = node.metadata.labels
        return all(labels.get(key, "") == value for key, value in self.labels.items())


class PowerModel(_Part, frozen=True):
    """The power of nodes: of each field, the first entry that matches the node and has the field
    decides."""

    nodes: Sequence[NodePower]

    def of(self, node: Node) -> NodePower:
        """Return what the node consumes, with all fields that some entry has for it. Raises
        PluginError where no entry matches the node, or none says what its GPUs consume."""
        entries = [entry for entry in self.nodes if entry.matches(node)]
        power = NodePower(
            idle_watts=_first(entries, lambda entry: entry.idle_watts),
            watts_per_cpu=_first(entries, lambda entry: entry.watts_per_cpu),
            cpu_package=_first(entries, lambda entry: entry.cpu_package),
            gpu=_first(entries, lambda entry: entry.gpu),
        )
        if power == NodePower():
            raise PluginError(
                f"no entry of the {KIND} matches node {node.metadata.name}: add one for its"
                " labels, or one without labels"
            )
        amounts = {**node.status.allocatable, **node.status.capacity}
        for resource in (GPU_COUNT, GPU):
            if power.gpu is None and resource in amounts and amounts[resource].value():
                raise PluginError(
                    f"node {node.metadata.name} has {resource}, and no entry of the {KIND} that"
                    " matches it has gpu: add one for its labels"
                )
        return power


def _first(entries: Iterable[NodePower], field: Callable[[NodePower], T | None]) -> T | None:
    return next((value for value in map(field, entries) if value is not None), None)


def read_model(manifests: Sequence[Mapping[str, Any]]) -> PowerModel:
    """Return the PowerModel that a state has, else the paper's. Raises PluginError."""
    if len(manifests) > 1:
        raise PluginError(f"the state has {len(manifests)} {KIND}s; leave out all but one")
    if not manifests:
        return PAPERS_MODEL
    plain = manifests[0]
    name = (plain.get("metadata") or {}).get("name", "")
    ours = {key: value for key, value in plain.items() if key not in _OF_OBJECTS}
    try:
        return msgspec.convert(ours, PowerModel)
    except msgspec.ValidationError as error:
        raise PluginError(f"{KIND} {name}: {error}") from None


_OF_OBJECTS = ("apiVersion", "kind", "metadata")


# Watts idle and full, and cores.
_CPUS = {
    "": (15, 120, 16),  # a node without the label, as all of the trace: Intel-Xeon-ES-2682-V4
    "Intel-Xeon-8269CY": (20, 205, 26),
    "Intel-Xeon-8163": (20, 165, 24),
    "Intel-Xeon-ES-2682-V4": (15, 120, 16),
    "Intel-Xeon-6326": (20, 185, 16),
    "Intel-Xeon-8369B": (20, 270, 32),
}
# Watts idle and full. G2 and G3 are names for models that the trace does not disclose.
_GPUS = {
    "": (0, 0),
    "T4": (10, 70),
    "A10": (30, 150),
    "P100": (25, 250),
    "V100M16": (30, 300),
    "V100M32": (30, 300),
    "A100": (50, 400),
    "G2": (30, 150),
    "G3": (50, 400),
}
PAPERS_MODEL = PowerModel(
    nodes=[
        *(
            NodePower({CPU_MODEL: model}, cpu_package=CpuPackage(cores, idle, full))
            for model, (idle, full, cores) in _CPUS.items()
        ),
        *(
            NodePower({GPU_MODEL: model}, gpu=Gpu(idle, full))
            for model, (idle, full) in _GPUS.items()
        ),
    ]
)
