"""Holds the pods of a gang back until all that it needs are there, and again until all have a node.
A CompositePodGroup may be a gang of groups; the pods of the whole tree are held back together.

Pods of a group are tried together (engine/pod_group_cycle.py); Permit tells there whether enough of
them fit, or PlacementFeasible, where groups are entities of the queue. Without the feature gates of
pod groups, pods belong to no group.

Upstream: plugins/gangscheduling/gangscheduling.go, hierarchy_tracker.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import MISSING
from ksched_cli.framework.cluster_events import POD, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementProgress,
    PlacementScorePlugin,
    PreEnqueuePlugin,
    Proposal,
    Proposes,
    ReservePlugin,
)
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.pod_groups import (
    GroupKey,
    Placement,
    PodGroup,
    composite_key,
    group_key,
    key_of,
    min_count_of,
)
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.gates import COMPOSITE_POD_GROUP, POD_GROUP
from ksched_cli.plugins.helper import applied

PERMIT_SECONDS = 300.0
NO_GROUP = 'waiting for pods\'s pod group "{}" to appear in scheduling queue'
PODS_MISSING = Status.unresolvable(
    "waiting for minCount pods from a gang to appear in scheduling queue"
)
TREE_MISSING = (
    "failed to build hierarchy snapshot: composite pod group object not found in state for"
    " compositepodgroup/{}/{}"
)
TREE_NOT_READY = 'waiting for composite pod group "{}" tree to meet quorum'
NOT_YET = "minCount ({}) is not yet satisfied: {} scheduled, {} remaining"
NEVER = "minCount ({}) cannot be satisfied: {} scheduled, {} remaining"
NOT_CREATED = 'pod group "{}" or one of its composite pod group ancestors has not been created yet'
NO_CHILD_READY = "waiting for {} tree to have at least one ready child group"
NO_QUORUM = "waiting for {} to meet its quorum"
PROGRESS = "({}) {}: {} scheduled, {} unschedulable, {} not-evaluated"
NODES_MISSING = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))


class GangScheduling(
    PreEnqueuePlugin, ReservePlugin, PermitPlugin, PlacementFeasiblePlugin, Proposes
):
    name = "GangScheduling"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._groups = handle.pod_groups
        self._waiting = handle.waiting

    def events_to_register(self) -> Iterable[Registration]:
        """Yield the events that may complete a gang: a new pod, the gang's object, or a lower
        minCount."""
        yield ClusterEvent(POD, Action.ADD), self._is_of_same_tree
        yield ClusterEvent(POD_GROUP, Action.ADD), self._is_in_its_tree
        if self._groups is not None and self._groups.are_entities:
            yield ClusterEvent(POD_GROUP, Action.UPDATE), self._needs_fewer_pods
        if self._groups is not None and self._groups.compose:
            yield ClusterEvent(COMPOSITE_POD_GROUP, Action.ADD), self._is_in_its_tree

    def pre_enqueue(self, pod: PodInfo) -> Status:
        key = group_key(pod.pod)
        if self._groups is None or key is None:
            return SUCCESS
        group = self._groups.get(pod)
        if group is None:
            return Status.unresolvable(NO_GROUP.format(key[1]))
        if group.parent_key is not None:
            return self._tree_status(group, Status.unresolvable, self._groups.pod_count)
        if group.min_count is not None and self._groups.pod_count(key) < group.min_count:
            return PODS_MISSING
        return SUCCESS

    def _tree_status(
        self, group: PodGroup, refuse: Callable[[str], Status], count: Callable[[GroupKey], int]
    ) -> Status:
        """Return whether enough pods count in the tree that the group is in. refuse: where objects
        of it are missing, or it is too deep. Upstream: checkCPGHierarchyReadiness."""
        assert self._groups is not None
        *_, outermost = self._groups.ancestors(group)
        if outermost.parent_key is not None:
            return refuse(TREE_MISSING.format(outermost.namespace, outermost.parent))
        if not self._groups.is_ready(outermost, count):
            return Status.unresolvable(TREE_NOT_READY.format(outermost.name))
        return SUCCESS

    def propose_for_pod(self, pod: PodInfo) -> Iterator[Proposal]:
        """Yield the proposal to create the gang's object, or to adapt it to the pods that exist:
        upstream, minCount may change, in the versions of the API after v1alpha2."""
        key = group_key(pod.pod)
        if self._groups is None or key is None:
            return
        namespace, name = key
        group, count = self._groups.groups.get(key), self._groups.pod_count(key)
        if group is None:
            text = f"create PodGroup {namespace}/{name}, a gang of {count}"
            yield Proposal("object", text, (self._gang(key, count),))
        elif self._groups.are_entities and group.min_count is not None and count < group.min_count:
            text = (
                f"lower minCount of PodGroup {namespace}/{name} from {group.min_count} to {count}"
            )
            yield Proposal("gang", text, (self._gang(key, count),), amount=group.min_count - count)

    def _gang(self, key: GroupKey, count: int) -> str:
        """Return the change after which the group has this minCount."""
        assert self._groups is not None
        spec = self._groups.spec_of(key) | {"schedulingPolicy": {"gang": {"minCount": count}}}
        version, metadata = self._groups.api_version, {"name": key[1], "namespace": key[0]}
        return applied(version, "PodGroup", metadata, {"spec": spec})

    def placement_feasible(self, group: PodGroup, progress: PlacementProgress) -> Status:
        least = 1 if group.min_count is None else group.min_count
        if progress.scheduled >= least:
            return SUCCESS
        if progress.scheduled + progress.remaining < least:
            return Status.unschedulable(self._shortfall(least, progress, is_final=True))
        return Status(Code.WAIT, (self._shortfall(least, progress, is_final=False),))

    def _shortfall(self, least: int, progress: PlacementProgress, *, is_final: bool) -> str:
        """Return the reason in the status of a group that has too few pods or groups."""
        text = NEVER if is_final else NOT_YET
        return text.format(least, progress.scheduled, progress.remaining)

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Do nothing, because `reserve` reserves nothing."""

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        key = group_key(pod.pod)
        if self._groups is None or key is None:
            return SUCCESS, 0.0
        group = self._groups.get(pod)
        if group is None:
            namespace, name = key
            missing = f'podgroup.scheduling.k8s.io "{name}" not found'
            message = f"failed to get podGroup {namespace}/{name}: {missing}"
            return Status.error(message), 0.0
        if group.parent_key is not None:
            status = self._tree_status(group, Status.error, self._groups.scheduled_count)
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return Status(Code.WAIT, status.reasons), PERMIT_SECONDS
            if not status.is_success:
                return status, 0.0
        elif group.min_count is None:
            return SUCCESS, 0.0
        elif self._groups.scheduled_count(key) < group.min_count:
            return NODES_MISSING, PERMIT_SECONDS
        for waiting in self._waiting:
            other = group_key(waiting.pod.pod)
            if other is not None and self._groups.are_related(key, other):
                waiting.allow(self.name)
        return SUCCESS, 0.0

    # -- hints ----------------------------------------------------------------------------------

    def _is_related(self, pod: PodInfo, other: GroupKey | None) -> bool:
        key = group_key(pod.pod)
        if self._groups is None or key is None or other is None:
            return False
        return self._groups.are_related(key, other)

    def _is_of_same_tree(self, pod: PodInfo, old: PodInfo | None, new: PodInfo) -> bool:
        """Return whether the new pod is in the pod's tree of groups. Upstream:
        isSchedulableAfterPodAdded."""
        return self._is_related(pod, group_key(new.pod))

    def _is_in_its_tree(self, pod: PodInfo, old: Plain | None, new: Plain) -> bool:
        """Return whether the group is in the pod's tree. Upstream: isSchedulableAfterPodGroupAdded,
        isSchedulableAfterCompositePodGroupAdded."""
        is_composite = new.get("kind") == "CompositePodGroup"
        key = composite_key(*key_of(new)) if is_composite else key_of(new)
        return self._is_related(pod, key)

    def _needs_fewer_pods(self, pod: PodInfo, old: Plain, new: Plain) -> bool:
        """Return whether a group of the pod's tree has a lower minimum now. Upstream:
        isSchedulableAfterPodGroupUpdated, isSchedulableAfterCompositePodGroupUpdated."""
        before, after = min_count_of(old), min_count_of(new)
        is_less = before is not None and after is not None and after < before
        return is_less and self._is_in_its_tree(pod, old, new)


class TrackingGangScheduling(GangScheduling):
    """GangScheduling where it knows how many pods and groups each group of a tree has."""

    def events_to_register(self) -> Iterable[Registration]:
        """Yield the events that may complete a gang, to which a lower minGroupCount belongs,
        too."""
        yield from super().events_to_register()
        if self._groups is not None and self._groups.compose:
            yield ClusterEvent(COMPOSITE_POD_GROUP, Action.UPDATE), self._needs_fewer_pods

    def pre_enqueue(self, pod: PodInfo) -> Status:
        key = group_key(pod.pod)
        if self._groups is None or key is None:
            return SUCCESS
        root = self._groups.root_of(key)
        if root is None:
            return Status.unresolvable(NOT_CREATED.format(key[1]))
        if self._groups.is_ready(root, self._groups.pod_count):
            return SUCCESS
        text = NO_CHILD_READY if root.is_basic else NO_QUORUM
        return Status.unresolvable(text.format(root.entity))

    def _shortfall(self, least: int, progress: PlacementProgress, *, is_final: bool) -> str:
        verdict = "cannot be satisfied" if is_final else "is not yet satisfied"
        counts = progress.scheduled, progress.unschedulable, progress.remaining
        return f"scheduling policy's minimum threshold {PROGRESS.format(least, verdict, *counts)}"


# -- TopologyPlacementGenerator --------------------------------------------------------------------
#
# Divides the nodes by the topology key that a pod group asks for: it goes to one domain.
#
# Upstream: plugins/topologyaware/topology_placement.go.


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    name = "TopologyPlacementGenerator"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._groups = handle.pod_groups
        self._skips_empty = handle.release.rules.skips_empty_domains

    def generate_placements(
        self, key: GroupKey, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        """Generate placements. Where pods of the group have nodes already, only their domain is
        one."""
        group = self._groups.groups.get(key) if self._groups is not None else None
        if group is None:
            return (), Status.error(f'podgroup.scheduling.k8s.io "{key[1]}" not found')
        if not group.topology_key:
            return (parent,), SUCCESS
        column = self._snapshot.labels[group.topology_key]
        codes = column.codes[parent.rows]
        try:
            # The one domain that the group's pods are in; None where none has a node.
            domain: str | None = None
            for pod, row in self._groups.placed_pods(key) if self._groups is not None else ():
                code = column.codes.item(row)
                if code == MISSING:
                    raise PluginError(f"no topology domain found for pod {pod.key}")
                name = column.values[code]
                if not name and self._skips_empty:
                    raise PluginError(f"empty topology domain found for pod {pod.key}")
                if domain is not None and name != domain:
                    both = f"{domain}, {name}"
                    if self._skips_empty:
                        both = f"{quote(domain)}, {quote(name)}"
                    raise PluginError(f"more than 1 domain found for pod group: {both}")
                domain = name
        except PluginError as error:
            message = f"cannot determine domain for already scheduled pods: {error}"
            return (), Status.error(message)
        values = {
            code: column.values[code] for code in np.unique(codes).tolist() if code != MISSING
        }
        placements = [
            Placement(name, parent.rows[codes == code])
            for code, name in values.items()
            if (name == domain if domain is not None else name or not self._skips_empty)
        ]
        return sorted(placements, key=lambda placement: placement.name), SUCCESS


# -- PodGroupPodsCount -----------------------------------------------------------------------------
#
# Prefers placements where more pods of a group have a node.
#
# Upstream: plugins/podgrouppodscount/podgroup_pods_count.go.


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
