"""Runs a profile's plugins of pod groups.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPlacementGeneratePlugins,
RunPlacementScorePlugins, PodGroupPostFilterPlugins).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.effective import Profile
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.in_tree_interface import (
    GroupPreemptionPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodGroupPostFilterPlugin,
)
from ksched_cli.framework.interface import MAX_NODE_SCORE, MIN_NODE_SCORE, Plugin
from ksched_cli.framework.pod_groups import (
    GroupKey,
    GroupRoom,
    Placement,
    PodGroup,
    RejectedGroup,
)
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status

NO_PLACEMENTS = Status.unschedulable("no feasible placements found")


class PodGroupPlugins:
    """preemption: the plugin that makes room in minors whose queue has no groups, at whatever
    point it is enabled, or None"""

    def __init__(
        self, profile: Profile, plugin: Callable[[str], Plugin | None], caller: PluginCaller
    ) -> None:
        """plugin: the profile's plugin of a name"""
        self._caller = caller
        by_point = {
            point: [plugin(ref.name) for ref in refs] for point, refs in profile.plugins.items()
        }
        generators = by_point.get("placementGenerate", ())
        self._generators = [p for p in generators if isinstance(p, PlacementGeneratePlugin)]
        self._scorers = [
            (ref.name, scorer)
            for ref in profile.plugins.get("placementScore", ())
            if isinstance(scorer := plugin(ref.name), PlacementScorePlugin)
        ]
        self._weights = profile.placement_weights
        enabled = [p for plugins in by_point.values() for p in plugins]
        self.preemption = next((p for p in enabled if isinstance(p, GroupPreemptionPlugin)), None)
        self._feasible = next((p for p in enabled if isinstance(p, PlacementFeasiblePlugin)), None)
        post_filters = by_point.get("podGroupPostFilter", ())
        self._post_filters = [p for p in post_filters if isinstance(p, PodGroupPostFilterPlugin)]

    def generate(self, key: GroupKey, parent: Placement) -> tuple[Sequence[Placement], Status]:
        """The placements to try; all nodes where no plugin divides them."""
        if not self._generators:
            return (parent,), SUCCESS
        placements, status = self._caller.generate_placements(self._generators[0], key, parent)
        if status.is_success and not placements:
            return (), NO_PLACEMENTS
        return placements, status

    def feasible(self, group: PodGroup, scheduled: int, remaining: int) -> Status:
        """Whether enough pods have a node. Upstream: RunPlacementFeasiblePlugins."""
        if self._feasible is None:
            return SUCCESS
        status = self._caller.placement_feasible(self._feasible, group, scheduled, remaining)
        if status.code == Code.ERROR:
            return Status.error(f"running PlacementFeasible plugin: {status.message}")
        return status

    def post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        """Until a plugin helps, fails or says that nothing can help. Upstream:
        RunPodGroupPostFilterPlugins."""
        reasons: list[str] = []
        afterwards: tuple[Callable[[], None], ...] = ()
        for plugin in self._post_filters:
            status, room = self._caller.pod_group_post_filter(plugin, rejected)
            afterwards += room.afterwards
            if status.is_success or status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return status, replace(room, afterwards=afterwards)
            if status.code != Code.UNSCHEDULABLE:
                what = f'error in "{plugin.name}" PodGroupPostFilter plugins: {status.message}'
                return Status.error(what), GroupRoom(afterwards=afterwards)
            reasons += status.reasons
        return Status(Code.UNSCHEDULABLE, tuple(reasons)), GroupRoom(afterwards=afterwards)

    def best(self, key: GroupKey, candidates: Sequence[tuple[Placement, Sequence[PodInfo]]]) -> int:
        """The index of the placement with the highest total, of several the first. Raises
        PluginError."""
        totals = [0] * len(candidates)
        for name, plugin in self._scorers:
            scores = self._caller.score_placements(plugin, key, candidates)
            for index, score in enumerate(scores):
                if not MIN_NODE_SCORE <= score <= MAX_NODE_SCORE:
                    bounds = f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}]"
                    raise PluginError(
                        "applying score defaultWeights on PlacementScore plugins: plugin"
                        f' "{name}" returns an invalid score {score}, it should in the range of'
                        f" {bounds} after normalizing"
                    )
                totals[index] += score * self._weights[name]
        return totals.index(max(totals))
