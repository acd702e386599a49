"""Random: any of the nodes that fit.

Upstream: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/random_score.go.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ksched_cli.api import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    SUCCESS,
    CycleState,
    Handle,
    NodeInfo,
    Nodes,
    PodInfo,
    PreScorePlugin,
    ScorePlugin,
    Status,
)
from ksched_fgd.random_numbers import RandomNumbers

KEY = "PreScore-RandomScorePlugin"


class RandomScoreArgs(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """seed: of the draws; the other two are accepted as upstream gives them to every scorer."""

    seed: int = 42
    dim_ext_method: Literal["merge", "share"] = "share"
    norm_method: Literal["max"] = "max"


class RandomScore(PreScorePlugin, ScorePlugin):
    """Every attempt draws anew, so nothing is cached: its scope stays CLUSTER."""

    name = "RandomScore"
    args = RandomScoreArgs

    def __init__(self, args: RandomScoreArgs, handle: Handle) -> None:
        self._numbers = handle.service(RandomNumbers).of(args.seed)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        state.write(KEY, int(nodes.indices()[self._numbers.intn(len(nodes))]))
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return MAX_NODE_SCORE if node.row == state.read(KEY) else MIN_NODE_SCORE
