"""Packing: GPUs in use first, then free GPUs of nodes in use, then nodes whose GPUs are all free.

Upstream: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/gpu_packing_score.go.
"""

from __future__ import annotations

import numpy as np

from ksched_cli.api import MAX_NODE_SCORE, Scores
from ksched_fgd.gpu_requests import MILLI
from ksched_fgd.node_scorer import NodeScorer
from ksched_fgd.node_states import NodeStates
from ksched_fgd.typical_pods import Demand


class GpuPackingScore(NodeScorer):
    name = "GpuPackingScore"

    def scores(self, demand: Demand, nodes: NodeStates) -> Scores:
        """0 for a pod without GPUs. The pod takes the GPUs with the least left that suffice."""
        if not demand.gpus.count:
            return np.zeros(len(nodes.cpu), dtype=np.int64)
        free = np.count_nonzero(nodes.left == MILLI, axis=1)
        ascending = np.sort(nodes.left, axis=1)
        fitting = ascending >= demand.gpus.milli
        taken = fitting & (fitting.cumsum(axis=1) <= demand.gpus.count)
        free_taken = np.count_nonzero(taken & (ascending == MILLI), axis=1)
        left_over = (taken * (ascending * 100 // MILLI)).sum(axis=1)
        shared = np.maximum(MAX_NODE_SCORE - left_over // 10, MAX_NODE_SCORE // 2)
        on_used_node = np.maximum(MAX_NODE_SCORE // 2 - free_taken, MAX_NODE_SCORE // 3)
        on_free_node = np.maximum(MAX_NODE_SCORE // 3 - free, free)
        scores: Scores = np.where(
            free == nodes.counts, on_free_node, np.where(free_taken > 0, on_used_node, shared)
        )
        return scores
