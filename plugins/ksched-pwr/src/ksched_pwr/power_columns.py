"""What every node consumes, as columns over nodes.

Upstream: Fr4nz83/PWR-plugin-kubernetes, pkg/type/resource.go (GetEnergyConsumptionNode).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ksched_fgd.gpu_columns import Amounts, GpuColumns
from ksched_fgd.gpu_requests import MILLI
from numpy.typing import NDArray

from ksched_cli.api import Handle, Nodes, PodInfo
from ksched_pwr.power_model import READS, CpuPackage, Gpu, read_model

# Per node.
Watts = NDArray[np.float64]

NO_PACKAGE = CpuPackage(cores=1, idle_watts=0, full_watts=0)


@dataclass(frozen=True, slots=True)
class Load:
    """What pods take of nodes. cpu: requested, in thousandths; gpus: how many have a pod."""

    cpu: Amounts
    gpus: Amounts


class PowerColumns:
    """The power model of a run; `handle.service(PowerColumns)` is the one for all plugins.

    Per row: what the node consumes idle and per cpu, its processors and its GPUs.
    """

    def __init__(self, handle: Handle) -> None:
        """Find the power model of every node. Raises PluginError for a model that cannot be read,
        or lacks a node."""
        snapshot = handle.snapshot
        self.shared = handle.service(GpuColumns)
        model = read_model(handle.cluster.others.get(READS, ()))
        powers = [model.of(node) for node in snapshot.nodes]
        packages = [power.cpu_package or NO_PACKAGE for power in powers]
        gpus = [power.gpu or Gpu(0, 0) for power in powers]
        self._cpu = snapshot.allocatable("cpu")
        self._idle = np.array([power.idle_watts or 0.0 for power in powers])
        self._per_cpu = np.array([power.watts_per_cpu or 0.0 for power in powers])
        self._package_cores = np.array([package.cores for package in packages], dtype=np.int64)
        self._package_idle = np.array([package.idle_watts for package in packages])
        self._package_full = np.array([package.full_watts for package in packages])
        self._core = np.array([MILLI * each.cpus_per_core for each in packages], dtype=np.int64)
        self._gpu_idle = np.array([gpu.idle_watts for gpu in gpus])
        self._gpu_full = np.array([gpu.full_watts for gpu in gpus])
        # The rows whose pods request whole GPUs as a resource, by resource.
        self._resources: dict[str, NDArray[np.bool_]] = {}
        self._count = self.shared.counts.copy()
        for resource in sorted({gpu.resource for gpu in gpus}):
            allocatable = snapshot.allocatable(resource)
            has_any = np.array([gpu.resource == resource for gpu in gpus]) & (allocatable > 0)
            if has_any.any():
                self._resources[resource] = has_any
                self._count = np.maximum(self._count, np.where(has_any, allocatable, 0))

    def load(self, nodes: Nodes) -> Load:
        """Return what the pods that are there take."""
        gather = nodes.gather
        free = (gather(self.shared.left) == MILLI).sum(axis=1)
        gpus = gather(self.shared.counts) - free
        for resource, has_any in self._resources.items():
            requested = gather(np.where(has_any, nodes.snapshot.requested(resource), 0))
            gpus = np.maximum(gpus, requested)
        return Load(gather(nodes.snapshot.requested("cpu")), gpus)

    def load_with(self, load: Load, pod: PodInfo, nodes: Nodes) -> Load:
        """Return what the pods and one more take of nodes where it fits. A part of a GPU goes to a
        GPU in use, where one has enough left."""
        demand = self.shared.demand(pod)
        if demand.gpus.is_shared:
            left = nodes.gather(self.shared.left)
            more = ~((left < MILLI) & (left >= demand.gpus.milli)).any(axis=1)
        else:
            more = np.full(len(nodes), demand.gpus.count)
        if not demand.gpus.count:
            for resource, has_any in self._resources.items():
                requested = pod.resources.requests.get(resource, 0)
                more = more + np.where(nodes.gather(has_any), requested, 0)
        return Load(load.cpu + demand.cpu, load.gpus + more)

    def cpu_watts(self, load: Load, nodes: Nodes) -> Watts:
        """Return the watts of each node without its GPUs."""
        gather = nodes.gather
        allocatable, core = gather(self._cpu), gather(self._core)
        package_cores = gather(self._package_cores)
        # A processor works for any part of a core that is taken, as upstream rounds.
        cores = -(-allocatable // core)
        working = cores - (allocatable - load.cpu) // core
        packages = -(-cores // package_cores)
        active = -(-working // package_cores)
        watts: Watts = gather(self._package_idle) * (packages - active)
        watts = watts + gather(self._package_full) * active
        return watts + gather(self._idle) + gather(self._per_cpu) * load.cpu / MILLI

    def gpu_watts(self, load: Load, nodes: Nodes) -> Watts:
        """Return the watts of the GPUs of each node."""
        idle = nodes.gather(self._count) - load.gpus
        watts: Watts = nodes.gather(self._gpu_idle) * idle
        return watts + nodes.gather(self._gpu_full) * load.gpus

    def watts(self, load: Load, nodes: Nodes) -> Watts:
        """Return the watts of each node."""
        return self.cpu_watts(load, nodes) + self.gpu_watts(load, nodes)
