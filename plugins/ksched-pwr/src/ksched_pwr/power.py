"""Watts and energy as metrics of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.api import CycleState, Handle, Measures, NodeInfo, Nodes, PodInfo, PostBindPlugin
from ksched_pwr.power_columns import PowerColumns
from ksched_pwr.power_model import READS

JOULES_PER_KILOWATT_HOUR = 3_600_000


class Power(PostBindPlugin, Measures):
    """What the nodes consume at the end, and in a replay the energy since its start. It extends
    PostBind to be enabled somewhere, and does nothing there."""

    name = "Power"
    reads = (READS,)

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._columns = handle.service(PowerColumns)
        self._begun: float | None = None
        self._now = 0.0
        self._watts = 0.0
        self._joules = 0.0
        self._peak = 0.0

    def carry_over(self, previous: Power) -> None:
        self._begun, self._now = previous._begun, previous._now
        self._watts, self._joules, self._peak = previous._watts, previous._joules, previous._peak

    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        return

    def measure(self, now: float) -> None:
        """Add up the energy: what was measured last was true until now."""
        if self._begun is None:
            self._begun = now
        else:
            self._joules += self._watts * (now - self._now)
        self._now, self._watts = now, sum(self._consumed())
        self._peak = max(self._peak, self._watts)

    def metrics(self) -> Mapping[str, float]:
        """Return watts, cpuWatts and gpuWatts at the end; in a replay also the energy,
        kilowattHours, and the watts over time, meanWatts and peakWatts."""
        cpu, gpu = self._consumed()
        figures = {"watts": cpu + gpu, "cpuWatts": cpu, "gpuWatts": gpu}
        if self._begun is None:
            return figures
        seconds = self._now - self._begun
        mean = self._joules / seconds if seconds else self._watts
        return figures | {
            "kilowattHours": self._joules / JOULES_PER_KILOWATT_HOUR,
            "meanWatts": mean,
            "peakWatts": self._peak,
        }

    def _consumed(self) -> tuple[float, float]:
        """Return the watts of all nodes: without their GPUs, and of these."""
        nodes = Nodes(self.handle.snapshot)
        load = self._columns.load(nodes)
        cpu = self._columns.cpu_watts(load, nodes)
        return float(cpu.sum()), float(self._columns.gpu_watts(load, nodes).sum())
