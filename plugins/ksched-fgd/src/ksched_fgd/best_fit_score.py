"""Best fit: the node with the least left of cpu and GPUs together once the pod is there.

Upstream: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/best_fit_score.go,
plugin_utils.go (NormalizeScore).
"""

from __future__ import annotations

import numpy as np

from ksched_cli.api import MAX_NODE_SCORE, CycleState, Nodes, NormalizeScore, PodInfo, Scores
from ksched_fgd.node_scorer import MAX_CPU, MAX_GPU, NodeScorer, whole
from ksched_fgd.node_states import NodeStates
from ksched_fgd.typical_pods import Demand


class BestFitScore(NodeScorer, NormalizeScore):
    name = "BestFitScore"
    normalizes_by_min_max = True

    def scores(self, demand: Demand, nodes: NodeStates) -> Scores:
        cpu = (nodes.cpu - demand.cpu) / MAX_CPU * 0.5
        gpus = (nodes.left.sum(axis=1) - demand.gpus.total) / MAX_GPU * 0.5
        return whole((1.0 - (cpu + gpus)) * MAX_NODE_SCORE)

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        """From 0, the lowest, to 100, the highest; all 0 where they are equal."""
        lowest, highest = int(scores.min()), int(scores.max())
        if lowest == highest:
            return np.zeros_like(scores)
        return (scores - lowest) * MAX_NODE_SCORE // (highest - lowest)
