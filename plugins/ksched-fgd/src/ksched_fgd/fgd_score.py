"""Fragmentation gradient descent: the node where the pod makes the fewest fragments.

Upstream: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/fgd_score.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ksched_cli.api import (
    MAX_NODE_SCORE,
    CycleState,
    Explains,
    Handle,
    NodeInfo,
    Nodes,
    PodInfo,
    Scope,
    ScorePlugin,
    Scores,
)
from ksched_fgd.fragmentation import READS, Fragmentation, Fragments
from ksched_fgd.gpu_columns import GpuColumns
from ksched_fgd.gpu_requests import MILLI
from ksched_fgd.node_states import NodeStates
from ksched_fgd.scorer_args import ScorerArgs
from ksched_fgd.typical_pods import Demand


class FgdChoice:
    """Scores nodes, and GPUs of a node, by what a pod on them makes of the fragments."""

    def __init__(self, handle: Handle) -> None:
        self.columns = handle.service(GpuColumns)
        self.fragmentation = handle.service(Fragmentation.of)

    def scores(self, demand: Demand, nodes: NodeStates) -> Scores:
        if demand.gpus.is_shared:
            best: Scores = self.device_scores(demand, nodes).max(axis=1, initial=0)
            return best
        left = nodes.left
        if demand.gpus.count:
            fitting = left >= demand.gpus.milli
            taken = fitting & (fitting.cumsum(axis=1) <= demand.gpus.count)
            left = left - taken * demand.gpus.milli
        after = self.fragmentation.amounts(nodes.cpu - demand.cpu, left, nodes.model_ids)
        return _scores(self.before(nodes), after)

    def before(self, nodes: NodeStates) -> Fragments:
        """The fragments of the nodes as they are."""
        return self.fragmentation.amounts(nodes.cpu, nodes.left, nodes.model_ids)

    def device_scores(self, demand: Demand, nodes: NodeStates) -> Scores:
        """Return the scores for a pod that wants a part of one GPU: shape (nodes, GPUs). -1 where
        the pod does not fit on the GPU, and where one before it has as much left, which scores the
        same."""
        left, milli = nodes.left, demand.gpus.milli
        is_option = left >= milli
        for device in range(1, left.shape[1]):
            is_option[:, device] &= (left[:, :device] != left[:, device, None]).all(axis=1)
        places, devices = is_option.nonzero()
        after = left[places]
        after[np.arange(len(places)), devices] -= milli
        amounts = self.fragmentation.amounts(
            nodes.cpu[places] - demand.cpu, after, nodes.model_ids[places]
        )
        scores = np.full(left.shape, -1, dtype=np.int64)
        scores[places, devices] = _scores(self.before(nodes)[places], amounts)
        return scores

    def device(self, demand: Demand, row_index: int, cpu: int) -> int:
        """The GPU of a node for a part of one; the first of those that score best. cpu: left"""
        columns, row = self.columns, slice(row_index, row_index + 1)
        states = NodeStates(
            np.array([cpu]), columns.left[row], columns.counts[row], columns.model_ids[row]
        )
        return int(self.device_scores(demand, states)[0].argmax())


def _scores(before: Fragments, after: Fragments) -> Scores:
    gain = (before - after) / MILLI
    scores: Scores = (1.0 / (1.0 + np.exp(-gain)) * MAX_NODE_SCORE).astype(np.int64)
    return scores


class FgdScore(ScorePlugin, Explains):
    name = "FGDScore"
    scope = Scope.ROW
    args = ScorerArgs
    reads = (READS,)

    def __init__(self, args: ScorerArgs, handle: Handle) -> None:
        self._columns = handle.service(GpuColumns)
        self._choice = FgdChoice(handle)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """A pod that requests nothing scores the most everywhere."""
        if not pod.resources.requests:
            return np.full(len(nodes), MAX_NODE_SCORE, dtype=np.int64)
        demand = self._columns.demand(pod)
        return self._choice.scores(demand, NodeStates.of(self._columns, nodes))

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        demand = self._columns.demand(pod)
        nodes = NodeStates.of(self._columns, Nodes.of(node))
        before = float(self._choice.before(nodes)[0])
        lines = [f"{before:.1f} thousandths of its idle GPUs are fragments for the typical pods"]
        if demand.gpus.is_shared:
            scores = self._choice.device_scores(demand, nodes)[0].tolist()
            listed = ", ".join(f"{gpu}: {score}" for gpu, score in enumerate(scores) if score >= 0)
            lines.append(f"score by GPU, the first of GPUs with as much left: {listed}")
        return lines
