"""CPU usage of nodes: as measured, and as predicted for the pods placed since.

Upstream: kubernetes-sigs/scheduler-plugins, pkg/trimaran (collector.go, handler.go) and
paypal/load-watcher's client of the metrics server. All amounts are thousandths of a core.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ksched_cli.api import ClusterState, PluginError, PodInfo, Quantity, QuantityError, Snapshot

KIND = "NodeMetrics.metrics.k8s.io"

Amounts = NDArray[np.float64]


def capacity(snapshot: Snapshot) -> Amounts:
    """CPU capacity per row; allocatable where the node has no capacity."""
    column = snapshot.allocatable("cpu").astype(np.float64)
    for row, node in enumerate(snapshot.nodes):
        if "cpu" in node.status.capacity:
            column[row] = node.status.capacity["cpu"].milli_value()
    return column


def measured(cluster: ClusterState, snapshot: Snapshot) -> Amounts:
    """Measured usage per row; NaN for a node without NodeMetrics."""
    usage_column = np.full(len(snapshot), np.nan)
    for plain in cluster.others.get(KIND, ()):
        name = (plain.get("metadata") or {}).get("name", "")
        row = snapshot.row.get(name)
        usage = (plain.get("usage") or {}).get("cpu")
        if row is None or usage is None:
            continue
        try:
            usage_column[row] = Quantity.parse(str(usage)).milli_value()
        except QuantityError as error:
            raise PluginError(f"NodeMetrics {name}: usage.cpu: {error}") from None
    return usage_column


class PredictedUsage:
    """Per row, the predicted usage of pods placed in the run, which no measurement includes yet."""

    def __init__(self, snapshot: Snapshot, predict: Callable[[PodInfo], int]) -> None:
        self.amounts: Amounts = np.zeros(len(snapshot))
        self._predict = predict
        snapshot.subscribe(self)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self._change(pod, row, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self._change(pod, row, -1)

    def _change(self, pod: PodInfo, row: int, sign: int) -> None:
        """Pods that are on a node in the state are part of its measurement."""
        if not pod.pod.node_name:
            self.amounts[row] += sign * self._predict(pod)


def predicted(pod: PodInfo, default: int, multiplier: float) -> int:
    """The predicted usage of the pod: per container its limit, else its request times `multiplier`,
    else `default`; and the overhead. Upstream: PredictUtilisation."""
    total = 0
    for container in pod.spec.containers:
        resources = container.resources
        if "cpu" in resources.limits:
            total += resources.limits["cpu"].milli_value()
        elif "cpu" in resources.requests:
            total += _rounded(resources.requests["cpu"].milli_value() * multiplier)
        else:
            total += default
    overhead = pod.spec.overhead.get("cpu")
    return total + (overhead.milli_value() if overhead is not None else 0)


def _rounded(amount: float) -> int:
    """Round halves up, as Go's math.Round; Python rounds them to even."""
    return math.floor(amount + 0.5)
