"""Plugins that answer from a table, for tests of what runs them."""

from collections.abc import Callable
from typing import Any, cast

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    FilterPlugin,
    NormalizeScore,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SUCCESS, Status

NO_HANDLE = cast(Handle, None)  # for plugins that are called by hand and never use it


class Toy(Plugin):
    """Plugins are made with args and a handle; toys need neither."""

    def __init__(self, args: Any, handle: Handle) -> None:
        pass


def filtering(name: str, answers: dict[str, Status], queried: list[str] | None = None) -> type[Toy]:
    """answers: node name → Status, success where there is none. queried: collects names."""

    class Filtering(Toy, FilterPlugin):
        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            if queried is not None:
                queried.append(node.name)
            return answers.get(node.name, SUCCESS)

    Filtering.name = name
    return Filtering


def scoring(name: str, answers: dict[str, int]) -> type[Toy]:
    """answers: node name → raw score, 0 where there is none."""

    class Scoring(Toy, ScorePlugin):
        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return answers.get(node.name, 0)

    Scoring.name = name
    return Scoring


def normalizing(
    name: str, answers: dict[str, int], normalize: Callable[[Scores], Scores]
) -> type[Toy]:
    """normalize: the raw scores as an array → those that count."""

    class Normalizing(Toy, ScorePlugin, NormalizeScore):
        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return answers.get(node.name, 0)

        def normalize_scores(
            self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
        ) -> Scores:
            return normalize(scores)

    Normalizing.name = name
    return Normalizing


def preparing(name: str, status: Status) -> type[Toy]:
    """Its PreScore says `status`; its Score would be 100 everywhere."""

    class Preparing(Toy, PreScorePlugin, ScorePlugin):
        def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
            return status

        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return 100

    Preparing.name = name
    return Preparing


def narrowing(name: str, names: list[str] | None, status: Status = SUCCESS) -> type[Toy]:
    """Its PreFilter leaves these nodes only; None leaves all."""

    class Narrowing(Toy, PreFilterPlugin):
        def pre_filter(
            self, state: CycleState, pod: PodInfo, nodes: Nodes
        ) -> tuple[PreFilterResult | None, Status]:
            result = None if names is None else PreFilterResult(frozenset(names))
            return result, status

    Narrowing.name = name
    return Narrowing


def profile(*plugins: type[Plugin], **points: Any) -> dict[str, Any]:
    """A configuration of these plugins alone, and the two that every profile needs."""
    names = ["PrioritySort", *(plugin.name for plugin in plugins), "DefaultBinder"]
    enabled = [{"name": name} for name in names]
    multi_point = {"disabled": [{"name": "*"}], "enabled": enabled}
    return {"profiles": [{"plugins": {"multiPoint": multi_point, **points}}]}
