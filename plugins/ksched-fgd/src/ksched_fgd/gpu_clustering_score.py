"""Clustering: pods that want as many GPUs go to the same nodes.

Upstream: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/gpu_clustering_score.go.
"""

from __future__ import annotations

import numpy as np

from ksched_cli.api import MAX_NODE_SCORE, CycleState, Nodes, PodInfo, Scores
from ksched_fgd.node_scorer import MAX_GPU, NodeScorer, whole
from ksched_fgd.node_states import NodeStates
from ksched_fgd.typical_pods import Demand

QUARTER = MAX_NODE_SCORE // 4


class GpuClusteringScore(NodeScorer):
    name = "GpuClusteringScore"

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """A quarter by how full the GPUs are, above three quarters for the pods there already:
        only of the pod's kind, of it among others, none, only of others."""
        demand = self.columns.demand(pod)
        kind = demand.gpus.kind
        if not kind:
            return np.zeros(len(nodes), dtype=np.int64)
        counts = self.columns.kinds
        none = np.zeros(len(nodes), dtype=np.int64)
        present = sum((nodes.gather(count) > 0 for count in counts.values()), start=none)
        has_kind = nodes.gather(counts[kind]) > 0 if kind in counts else none > 0
        alone = np.where(has_kind, 3, 1)
        quarters = np.where(
            has_kind & (present > 1), 2, np.where(~has_kind & (present > 0), 0, alone)
        )
        return self.scores(demand, NodeStates.of(self.columns, nodes)) + QUARTER * quarters

    def scores(self, demand: Demand, nodes: NodeStates) -> Scores:
        """How full the GPUs are, up to a quarter."""
        return whole(QUARTER * (MAX_GPU - nodes.left.sum(axis=1)) / MAX_GPU)
