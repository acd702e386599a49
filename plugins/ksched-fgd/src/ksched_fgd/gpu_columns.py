"""What is left of every GPU of every node, as columns; follows the pods as they come and go.

Upstream: pkg/type/open-gpu-share/cache (gpunodeinfo.go, deviceinfo.go), pkg/utils/utils.go
(GetNodeResourceViaNodeInfo, GetPodResource).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ksched_cli.api import Handle, NodeInfo, PluginError, PodInfo
from ksched_cli.cluster.objects import Pod
from ksched_fgd.gpu_requests import (
    GPU_COUNT,
    GPU_INDEX,
    GPU_MODEL,
    MILLI,
    NO_GPUS,
    GpuRequest,
    gpu_indices,
    gpu_request,
)
from ksched_fgd.typical_pods import Demand

Amounts: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
# By UID, a pod's row and its GPUs there.
Devices: TypeAlias = dict[str, tuple[int, tuple[int, ...]]]

# What a container that requests no cpu counts with. Upstream: util.DefaultMilliCPURequest.
DEFAULT_CPU = 100


class GpuColumns:
    """The GPUs of a run; `handle.service(GpuColumns)` is the one for all plugins.

    counts: per row, how many GPUs the node has
    left:   shape (rows, most GPUs of a node): thousandths left; 0 where the node has fewer GPUs
    models: the names of models; model_ids: per row, the index of the node's in it
    kinds:  kind of request (GpuRequest.kind) → per row, how many pods of it are there
    """

    def __init__(self, handle: Handle) -> None:
        self._snapshot = snapshot = handle.snapshot
        self.counts: Amounts = np.zeros(len(snapshot), dtype=np.int64)
        names: dict[str, int] = {}
        self.model_ids: Amounts = np.zeros(len(snapshot), dtype=np.int64)
        for row, node in enumerate(snapshot.nodes):
            amounts = {**node.status.allocatable, **node.status.capacity}
            if GPU_COUNT in amounts:
                self.counts[row] = amounts[GPU_COUNT].value()
            model = node.metadata.labels.get(GPU_MODEL, "")
            self.model_ids[row] = names.setdefault(model, len(names))
        self.models = list(names)
        most = int(self.counts.max()) if len(self.counts) else 0
        self.present: Mask = np.arange(most) < self.counts[:, None]
        self.left: Amounts = np.where(self.present, MILLI, 0)
        self.kinds: dict[str, Amounts] = {}
        self._demands: dict[int, Demand] = {}
        # Kept while the pod is away, as it may come back.
        self._devices: Devices = {}
        for row, pods in enumerate(snapshot.pods):
            for pod in pods:
                self._check(pod, row)
                self.pod_added(pod, row)
        snapshot.subscribe(self)

    def carry_over(self, previous: GpuColumns) -> None:
        """Give the pods that the run has placed the GPUs that they have: nodes have changed, and
        only the annotations of pods that ran from the start say which."""
        names = previous._snapshot.names
        for uid, (row, devices) in previous._devices.items():
            there = self._snapshot.row.get(names[row])
            if there is None or self._devices.get(uid, (there, ()))[1]:
                continue
            self._devices[uid] = there, devices
            for pod in self._snapshot.pods[there]:
                if pod.uid == uid:
                    self._take(pod, there, self.demand(pod).gpus.milli)

    # -- pods -----------------------------------------------------------------------------------

    def demand(self, pod: PodInfo) -> Demand:
        """As `demand_of`; the same for pods that look the same."""
        demand = self._demands.get(pod.signature)
        if demand is None:
            demand = self._demands[pod.signature] = demand_of(pod.pod)
        return demand

    def devices(self, pod: PodInfo, row: int) -> tuple[int, ...]:
        """The GPUs that the pod has on the node, or had when it was there last."""
        assigned_row, devices = self._devices.get(pod.uid, (row, ()))
        return devices if assigned_row == row else ()

    def _check(self, pod: PodInfo, row: int) -> None:
        """Check the GPUs that a pod on a node says it has. Raises PluginError where a pod on a node
        says what cannot be."""
        annotations = pod.pod.metadata.annotations
        try:
            gpu_request(annotations)
            indices = gpu_indices(annotations)
        except ValueError as error:
            raise PluginError(f"pod {pod.key}: {error}") from None
        if any(not 0 <= index < self.counts[row] for index in indices):
            raise PluginError(
                f"pod {pod.key}: {GPU_INDEX}: {annotations[GPU_INDEX]}: its node has"
                f" {self.counts[row]} GPUs"
            )

    def pod_added(self, pod: PodInfo, row: int) -> None:
        """One that the scheduler has just put there has no GPUs yet: Reserve chooses them."""
        gpus = self.demand(pod).gpus
        if not gpus.count:
            return
        self._kind(gpus.kind)[row] += 1
        if pod.pod.node_name and pod.uid not in self._devices:
            self._devices[pod.uid] = row, gpu_indices(pod.pod.metadata.annotations)
        self._take(pod, row, gpus.milli)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        gpus = self.demand(pod).gpus
        if gpus.count:
            self._kind(gpus.kind)[row] -= 1
            self._take(pod, row, -gpus.milli)

    def assign(self, pod: PodInfo, row: int, devices: Sequence[int]) -> None:
        """Give GPUs to a pod that is on the node."""
        self._devices[pod.uid] = row, tuple(devices)
        self._take(pod, row, self.demand(pod).gpus.milli)

    def release(self, pod: PodInfo, row: int) -> None:
        """Take the GPUs that it has from a pod that is on the node."""
        self._take(pod, row, -self.demand(pod).gpus.milli)
        self._devices.pop(pod.uid, None)

    def _take(self, pod: PodInfo, row: int, milli: int) -> None:
        devices = self.devices(pod, row)
        if devices:
            self.left[row, list(devices)] -= milli

    def _kind(self, kind: str) -> Amounts:
        if kind not in self.kinds:
            self.kinds[kind] = np.zeros(len(self.counts), dtype=np.int64)
        return self.kinds[kind]

    # -- nodes ----------------------------------------------------------------------------------

    def allowed(self, request: GpuRequest) -> Mask:
        """Per row, whether the model of its GPUs will do."""
        by_model = np.array([request.allows(model) for model in self.models], dtype=np.bool_)
        mask: Mask = by_model[self.model_ids]
        return mask


def cpu_left(node: NodeInfo, pod: PodInfo) -> int:
    """In thousandths, before the pod came, which is on the node."""
    own = pod.resources.requests.get("cpu", 0)
    return node.allocatable("cpu") - node.requested("cpu") + own


def demand_of(pod: Pod) -> Demand:
    """What the pod asks for; without GPUs where its annotations make no sense."""
    cpu = sum(
        container.resources.requests["cpu"].milli_value()
        if "cpu" in container.resources.requests
        else DEFAULT_CPU
        for container in pod.spec.containers
    )
    try:
        return Demand(cpu, gpu_request(pod.metadata.annotations))
    except ValueError:
        return Demand(cpu, NO_GPUS)


__all__ = ["Amounts", "Devices", "GpuColumns", "Mask", "cpu_left", "demand_of"]
