"""Prefers placements where more pods of a group have a node.

Upstream: plugins/podgrouppodscount/podgroup_pods_count.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import PlacementScorePlugin
from ksched_cli.framework.interface import MAX_NODE_SCORE
from ksched_cli.framework.pod_groups import GroupKey, Placement
from ksched_cli.framework.status import PluginError


class PodGroupPodsCount(PlacementScorePlugin):
    name = "PodGroupPodsCount"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._groups = handle.pod_groups

    def score_placement(self, key: GroupKey, placement: Placement, pods: Sequence[PodInfo]) -> int:
        scheduled = self._groups.scheduled_count(key) if self._groups is not None else 0
        return scheduled + len(pods)

    def normalize_placement_scores(self, scores: list[int]) -> list[int]:
        highest = max(scores, default=0)
        if not highest:
            raise PluginError(
                "no pods from pod group are assigned to any of the candidate placements"
            )
        return [score * MAX_NODE_SCORE // highest for score in scores]
