"""The PWR paper's measures in the rows of a sweep.

Upstream: Fr4nz83/PWR-plugin-kubernetes, pkg/simulator/analysis.go (ClusterPowerConsumptionReport),
experiments/1 - Parse results.ipynb.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from ksched_fgd.gpu_columns import demand_of
from ksched_fgd.gpu_requests import MILLI
from ksched_fgd.typical_pods import Demand
from numpy.typing import NDArray

from ksched_cli.api import (
    CycleState,
    Handle,
    Measures,
    NodeInfo,
    Nodes,
    PluginError,
    PodInfo,
    PostBindPlugin,
)
from ksched_pwr.power_columns import Load, PowerColumns
from ksched_pwr.power_model import READS

# The loads at which the paper measures, in shares of the cluster's GPUs.
GRID = np.linspace(0, 1, 201)
PERCENTS = range(0, 101, 10)

Curve = NDArray[np.float64]


class PwrMeasures(PostBindPlugin, Measures):
    """Figures at 0, 10 … 100 per cent of the cluster's GPUs requested, as watts.50 and
    allocation.50; allocation is the share of the GPUs requested so far that pods got. It extends
    PostBind to be enabled somewhere, and does nothing there."""

    name = "PwrMeasures"
    reads = (READS,)

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._columns = handle.service(PowerColumns)

    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        return

    def metrics(self) -> Mapping[str, float]:
        """The pods that the state has pending count, in its order: nothing may leave in the run."""
        gpus = int(self._columns.shared.counts.sum())
        if not gpus:
            raise PluginError("no node has shared GPUs")
        requested, allocated, watts = (np.array(each) for each in zip(*self._follow(), strict=True))
        shares = requested / (gpus * MILLI)
        arrived, got, power = (on_grid(shares, each) for each in (requested, allocated, watts))
        figures: dict[str, float] = {}
        for percent in PERCENTS:
            point = 2 * percent
            figures[f"watts.{percent}"] = float(power[point])
            if arrived[point]:
                figures[f"allocation.{percent}"] = float(got[point] / arrived[point])
        return figures

    def _follow(self) -> Iterator[tuple[int, int, float]]:
        """Yield, after each pod, thousandths of GPUs requested so far, allocated, and watts."""
        snapshot, columns = self.handle.snapshot, self._columns
        left = np.where(columns.shared.present, MILLI, 0)
        cpu = np.zeros(len(snapshot), dtype=np.int64)
        every = Nodes(snapshot)
        watts = columns.watts(Load(cpu, np.zeros_like(cpu)), every)
        requested = allocated = 0
        for demand, row, devices in self._arrivals():
            requested += demand.gpus.total
            if row is not None:
                allocated += demand.gpus.milli * len(devices)
                cpu[row] += demand.cpu
                left[row, list(devices)] -= demand.gpus.milli
                in_use = columns.shared.counts[row] - (left[row] == MILLI).sum()
                load = Load(cpu[row : row + 1], np.array([in_use]))
                watts[row] = columns.watts(load, Nodes(snapshot, np.array([row])))[0]
            yield requested, allocated, float(watts.sum())

    def _arrivals(self) -> Iterator[tuple[Demand, int | None, tuple[int, ...]]]:
        """Yield what each pod requests, the row that it is on, and its GPUs there."""
        placed = {
            pod.key: (row, self._columns.shared.devices(pod, row))
            for row, pods in enumerate(self.handle.snapshot.pods)
            for pod in pods
        }
        for pod in self.handle.cluster.pods:
            if not pod.node_name:
                yield demand_of(pod), *placed.get(pod.key, (None, ()))


def on_grid(shares: Curve, values: Curve) -> Curve:
    """Return the values at the shares of GRID. Where several pods have the same share, the first
    counts; values between are interpolated by their place in the list, as by pandas's "linear"."""
    shares, first = np.unique(shares, return_index=True)
    merged = np.union1d(shares, GRID)
    curve = np.interp(np.arange(len(merged)), np.searchsorted(merged, shares), values[first])
    picked: Curve = curve[np.searchsorted(merged, GRID)]
    return picked
