"""What the scorers of the paper's baselines have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ksched_cli.api import (
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
from ksched_fgd.gpu_columns import GpuColumns
from ksched_fgd.node_states import NodeStates
from ksched_fgd.scorer_args import DotProductArgs, ScorerArgs
from ksched_fgd.typical_pods import Demand

# The largest node of the trace: upstream's MaxSpecCpu and MaxSpecGpu.
MAX_CPU = 128_000
MAX_GPU = 8_000


class NodeScorer(ScorePlugin, Explains):
    """Scores a node by what is left of its cpu and GPUs."""

    scope = Scope.ROW
    args: ClassVar[type[ScorerArgs | DotProductArgs]] = ScorerArgs

    def __init__(self, args: ScorerArgs | DotProductArgs, handle: Handle) -> None:
        self.columns = handle.service(GpuColumns)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        return self.scores(self.columns.demand(pod), NodeStates.of(self.columns, nodes))

    @abstractmethod
    def scores(self, demand: Demand, nodes: NodeStates) -> Scores:
        """One per node."""

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        nodes = NodeStates.of(self.columns, Nodes.of(node))
        count = int(nodes.counts[0])
        amounts = ", ".join(str(amount) for amount in nodes.left[0, :count].tolist())
        gpus = f"; of its GPUs {amounts}" if count else "; it has no GPU"
        return (f"left of its cpu {nodes.cpu[0]}m{gpus}",)


def whole(numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Scores:
    """Round towards zero, as Go's int64()."""
    scores: Scores = numbers.astype(np.int64)
    return scores
