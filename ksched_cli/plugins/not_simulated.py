"""In-tree plugins that may be configured but do nothing yet, and which pods miss them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    FilterPlugin,
    PreBindPlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.nodes import Node, Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import SKIP, SUCCESS, Status


class _Passes(PreFilterPlugin, FilterPlugin):
    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        return None, SKIP


class _Ranks(_Passes, PreScorePlugin, ScorePlugin):
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        return SKIP


class _Follows(PreFilterExtensions):
    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: Node) -> Status:
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: Node) -> Status:
        return SUCCESS


class InterPodAffinity(_Ranks, _Follows):
    name = "InterPodAffinity"


class PodTopologySpread(_Ranks, _Follows):
    name = "PodTopologySpread"


class VolumeRestrictions(_Passes, _Follows):
    name = "VolumeRestrictions"


class VolumeZone(_Passes):
    name = "VolumeZone"


class NodeVolumeLimits(_Passes):
    name = "NodeVolumeLimits"


class VolumeBinding(_Ranks, ReservePlugin, PreBindPlugin):
    name = "VolumeBinding"

    def reserve(self, state: CycleState, pod: PodInfo, node: Node) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: Node) -> None:
        pass

    def pre_bind(self, state: CycleState, pod: PodInfo, node: Node) -> Status:
        return SUCCESS


def missed_by(pods: Iterable[PodInfo]) -> dict[str, int]:
    """Plugin name → how many of the pods would need it."""
    missed: dict[str, int] = {}
    for pod in pods:
        for plugin in needed_by(pod):
            missed[plugin] = missed.get(plugin, 0) + 1
    return missed


def needed_by(pod: PodInfo) -> list[str]:
    """The plugins without simulation that would have a say about the pod."""
    spec = pod.spec
    needed = []
    if spec.affinity and (spec.affinity.pod_affinity or spec.affinity.pod_anti_affinity):
        needed.append("InterPodAffinity")
    if spec.topology_spread_constraints:
        needed.append("PodTopologySpread")
    if any(volume.persistent_volume_claim or volume.ephemeral for volume in spec.volumes):
        needed.append("VolumeBinding")
    if spec.resource_claims:
        needed.append("DynamicResources")
    return needed
