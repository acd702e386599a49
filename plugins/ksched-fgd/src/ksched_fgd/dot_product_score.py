"""Dot product: the node whose leftovers and the pod's requests have the smallest product.

Upstream: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/dot_product_score.go,
pkg/utils/utils.go (GenerateSchedulingMatchGroups, CalculateVectorDotProduct).
"""

from __future__ import annotations

from ksched_cli.api import MAX_NODE_SCORE, Scores
from ksched_fgd.node_scorer import MAX_CPU, MAX_GPU, NodeScorer, whole
from ksched_fgd.node_states import NodeStates
from ksched_fgd.scorer_args import DotProductArgs
from ksched_fgd.typical_pods import Demand


class DotProductScore(NodeScorer):
    name = "DotProductScore"
    args = DotProductArgs

    def scores(self, demand: Demand, nodes: NodeStates) -> Scores:
        cpu = (nodes.cpu / MAX_CPU) * (demand.cpu / MAX_CPU)
        gpus = (nodes.left.sum(axis=1) / MAX_GPU) * (demand.gpus.total / MAX_GPU)
        return whole((1.0 - (cpu + gpus) / 2.0) * MAX_NODE_SCORE)
