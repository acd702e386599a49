"""Prefers nodes whose processors would be as busy as wanted, and none that would be much busier.

Upstream: kubernetes-sigs/scheduler-plugins, pkg/trimaran/targetloadpacking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ksched_cli.api import (
    CycleState,
    Explains,
    Handle,
    NodeInfo,
    Nodes,
    PodInfo,
    Quantity,
    QuantityError,
    Scope,
    ScorePlugin,
    Scores,
)
from ksched_trimaran.load import KIND, Amounts, PredictedUsage, capacity, measured, predicted


class TargetLoadPackingArgs(msgspec.Struct, rename="camel", frozen=True):
    """As upstream's TargetLoadPackingArgs, with its defaults.

    target_utilization:          per cent of a node's cpu
    default_requests:            of a container with neither cpu requests nor limits
    default_requests_multiplier: what a container without cpu limits uses of its requests
    metric_provider, watcher_address: may stand here, but the state has the measurements
    """

    target_utilization: int = 40
    default_requests: dict[str, str] = msgspec.field(default_factory=lambda: {"cpu": "1000m"})
    default_requests_multiplier: str = "1.5"
    metric_provider: Any = None
    watcher_address: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.target_utilization < 100:
            raise ValueError("targetUtilization must be between 1 and 99")
        float(self.default_requests_multiplier)
        try:
            Quantity.parse(self.default_requests.get("cpu", "0"))
        except QuantityError as error:
            raise ValueError(f"defaultRequests.cpu: {error}") from None

    @property
    def default_milli(self) -> int:
        return Quantity.parse(self.default_requests.get("cpu", "0")).milli_value()


class TargetLoadPacking(ScorePlugin, Explains):
    name = "TargetLoadPacking"
    scope = Scope.ROW
    args = TargetLoadPackingArgs
    reads = (KIND,)

    def __init__(self, args: TargetLoadPackingArgs, handle: Handle) -> None:
        self._target = float(args.target_utilization)
        self._default = args.default_milli
        self._multiplier = float(args.default_requests_multiplier)
        self._capacity = capacity(handle.snapshot)
        self._measured = measured(handle.cluster, handle.snapshot)
        self._placed = PredictedUsage(handle.snapshot, self._predict)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """0 for a node without metrics, and for one that would be overcommitted."""
        share = self._share(pod, nodes)
        target = self._target
        packing = (100 - target) * share / target + target
        penalty = target * (100 - share) / (100 - target)
        scores = np.floor(np.where(share > target, penalty, packing) + 0.5)
        return np.where(np.isnan(share) | (share > 100), 0, scores).astype(np.int64)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        row = node.row
        if np.isnan(self._measured[row]):
            return (f"the state has no NodeMetrics of {node.name}",)
        share = self._share(pod, Nodes(node.snapshot, np.array([row])))[0]
        return (
            f"cpu {self._measured[row]:.0f}m measured + {self._placed.amounts[row]:.0f}m placed "
            f"since + {self._predict(pod)}m for this pod, of {self._capacity[row]:.0f}m: "
            f"{share:.1f}%, wanted {self._target:.0f}%",
        )

    def _share(self, pod: PodInfo, nodes: Nodes) -> Amounts:
        """The utilization of each node with the pod, in percent; NaN without metrics."""
        used = (
            nodes.gather(self._measured) + nodes.gather(self._placed.amounts) + self._predict(pod)
        )
        node_capacity = nodes.gather(self._capacity)
        # Upstream treats a node without cpu as idle.
        divisor = np.where(node_capacity == 0, 1, node_capacity)
        return np.where(node_capacity == 0, 0 * used, 100 * used / divisor)

    def _predict(self, pod: PodInfo) -> int:
        return predicted(pod, self._default, self._multiplier)
