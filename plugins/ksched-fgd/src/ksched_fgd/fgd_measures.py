"""The paper's measures in the rows of a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ksched_cli.api import (
    CycleState,
    Handle,
    Measures,
    NodeInfo,
    PluginError,
    PodInfo,
    PostBindPlugin,
)
from ksched_fgd.fragmentation import READS, Fragmentation
from ksched_fgd.gpu_columns import GpuColumns, demand_of
from ksched_fgd.measure import Arrival, measures
from ksched_fgd.traces import TraceNode


class FgdMeasures(PostBindPlugin, Measures):
    """Figures by name, as allocated.130; `gpus` is how many the cluster has. It extends PostBind to
    be enabled somewhere, and does nothing there."""

    name = "FgdMeasures"
    reads = (READS,)

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._columns = handle.service(GpuColumns)

    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        return

    def metrics(self) -> Mapping[str, float]:
        """The pods that the state has pending count, in its order: nothing may leave in the run."""
        if not self._columns.counts.any():
            raise PluginError("no node has GPUs")
        typical = self.handle.service(Fragmentation.of).pods
        measured = measures(self._nodes(), typical, self._arrivals())
        figures: dict[str, float] = {"gpus": measured.gpus}
        for field in fields(measured):
            if field.name != "gpus":
                for number, value in enumerate(getattr(measured, field.name)):
                    if not math.isnan(value):
                        figures[f"{field.name}.{number}"] = value
        return figures

    def _nodes(self) -> list[TraceNode]:
        snapshot, columns = self.handle.snapshot, self._columns
        cpu = snapshot.allocatable("cpu").tolist()
        return [
            TraceNode(name, cpu[row], 0, columns.counts.item(row), self._model(row))
            for row, name in enumerate(snapshot.names)
        ]

    def _model(self, row: int) -> str:
        return self._columns.models[self._columns.model_ids.item(row)]

    def _arrivals(self) -> list[Arrival]:
        placed = {
            pod.key: (name, self._columns.devices(pod, row))
            for row, name in enumerate(self.handle.snapshot.names)
            for pod in self.handle.snapshot.pods[row]
        }
        return [
            Arrival(demand_of(pod), *placed.get(pod.key, ("", ())))
            for pod in self.handle.cluster.pods
            if not pod.node_name
        ]
