"""Power-aware scheduling: the node whose power rises the least with the pod.

Upstream: Fr4nz83/PWR-plugin-kubernetes, pkg/simulator/plugin/pwr_score.go
(calculatePWRShareExtendScore, NormalizeScore, allocateGpuIdBasedOnPWRScore).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ksched_fgd.gpu_choice import Left, register_choice
from ksched_fgd.gpu_requests import MILLI
from ksched_fgd.scorer_args import ScorerArgs

from ksched_cli.api import (
    MAX_NODE_SCORE,
    CycleState,
    Explains,
    Handle,
    NodeInfo,
    Nodes,
    NormalizeScore,
    PodInfo,
    Scope,
    ScorePlugin,
    Scores,
)
from ksched_pwr.power_columns import PowerColumns
from ksched_pwr.power_model import READS

NAME = "PWRScore"


@register_choice(NAME)
def least_power(left: Left, milli: int) -> int:
    """The first GPU in use with enough left, whose power does not rise; else the first of the free
    ones."""
    fitting = [index for index, amount in enumerate(left) if amount >= milli]
    return next((index for index in fitting if left[index] < MILLI), fitting[0])


class PwrScore(ScorePlugin, NormalizeScore, Explains):
    name = NAME
    scope = Scope.ROW
    args = ScorerArgs
    reads = (READS,)
    normalizes_by_min_max = True

    def __init__(self, args: ScorerArgs, handle: Handle) -> None:
        self._columns = handle.service(PowerColumns)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Return minus the watts by which the node's power rises, without their fraction. A pod
        that requests nothing scores the most everywhere."""
        if not pod.resources.requests:
            return np.full(len(nodes), MAX_NODE_SCORE, dtype=np.int64)
        columns, load = self._columns, self._columns.load(nodes)
        after = columns.watts(columns.load_with(load, pod, nodes), nodes)
        scores: Scores = (columns.watts(load, nodes) - after).astype(np.int64)
        return scores

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        """From 0, the lowest, to 100, the highest; all 100 where they are equal."""
        lowest, highest = int(scores.min()), int(scores.max())
        if lowest == highest:
            return np.full(len(nodes), MAX_NODE_SCORE, dtype=np.int64)
        return (scores - lowest) * MAX_NODE_SCORE // (highest - lowest)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        nodes = Nodes.of(node)
        load = self._columns.load(nodes)
        after = self._columns.load_with(load, pod, nodes)
        now, then = (self._columns.watts(each, nodes)[0] for each in (load, after))
        return (f"it consumes {now:.1f} W, and {then:.1f} W with the pod",)
