"""What served.py serves: plugins of distributions in plugins/, which need not be installed."""

from __future__ import annotations

import sys
from pathlib import Path

_SOURCES = Path(__file__).parents[3] / "plugins"
sys.path += [str(_SOURCES / name / "src") for name in ("ksched-coscheduling", "ksched-fgd")]

from ksched_coscheduling import Coscheduling  # noqa: E402
from ksched_fgd.fgd_score import FgdScore  # noqa: E402

from ksched_cli.api import CycleState, Nodes, PodInfo, Scores  # noqa: E402

__all__ = ["Coscheduling", "FgdInTens"]


class FgdInTens(FgdScore):
    """FGD's scores in steps of ten, which are all that an extender can say."""

    name = "FgdInTens"

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        return (super().score_nodes(state, pod, nodes) + 5) // 10 * 10
