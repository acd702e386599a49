"""Holds the pods of a gang back until all that it needs are there, and again until all have a node.

Pods of a group are tried together (engine/pod_group_cycle.py); Permit tells there whether enough of
them fit, or PlacementFeasible, where groups are entities of the queue. Without the feature gates of
pod groups, pods belong to no group.

Upstream: plugins/gangscheduling/gangscheduling.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import (
    POD,
    POD_GROUP,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import PlacementFeasiblePlugin
from ksched_cli.framework.interface import (
    PermitPlugin,
    PreEnqueuePlugin,
    Proposal,
    Proposes,
    ReservePlugin,
)
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.pod_groups import GroupKey, PodGroup, group_key, key_of, min_count_of
from ksched_cli.framework.status import SUCCESS, Code, Status

PERMIT_SECONDS = 300.0
NO_GROUP = 'waiting for pods\'s pod group "{}" to appear in scheduling queue'
PODS_MISSING = Status.unresolvable(
    "waiting for minCount pods from a gang to appear in scheduling queue"
)
NOT_YET = "minCount ({}) is not yet satisfied: {} scheduled, {} remaining"
NEVER = "minCount ({}) cannot be satisfied: {} scheduled, {} remaining"
NODES_MISSING = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))


class GangScheduling(
    PreEnqueuePlugin, ReservePlugin, PermitPlugin, PlacementFeasiblePlugin, Proposes
):
    name = "GangScheduling"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._groups = handle.pod_groups
        self._waiting = handle.waiting

    def events_to_register(self) -> Iterable[Registration]:
        """A new pod may complete a gang, and so may its object, or a lower minCount."""
        yield ClusterEvent(POD, Action.ADD), is_of_same_group
        yield ClusterEvent(POD_GROUP, Action.ADD), is_its_group
        if self._groups is not None and self._groups.are_entities:
            yield ClusterEvent(POD_GROUP, Action.UPDATE), needs_fewer_pods

    def pre_enqueue(self, pod: PodInfo) -> Status:
        key = group_key(pod.pod)
        if self._groups is None or key is None:
            return SUCCESS
        group = self._groups.get(pod)
        if group is None:
            return Status.unresolvable(NO_GROUP.format(key[1]))
        if group.min_count is not None and self._groups.pod_count(key) < group.min_count:
            return PODS_MISSING
        return SUCCESS

    def propose_for_pod(self, pod: PodInfo) -> Iterator[Proposal]:
        """A gang's object, or one for the pods that there are: upstream, minCount may change."""
        key = group_key(pod.pod)
        if self._groups is None or key is None:
            return
        namespace, name = key
        group, count = self._groups.groups.get(key), self._groups.pod_count(key)
        if group is None:
            text = f"create PodGroup {namespace}/{name}, a gang of {count}"
            yield Proposal("object", text, (self._gang(key, count),))
        elif group.min_count is not None and count < group.min_count:
            text = (
                f"lower minCount of PodGroup {namespace}/{name} from {group.min_count} to {count}"
            )
            yield Proposal("gang", text, (self._gang(key, count),), amount=group.min_count - count)

    def _gang(self, key: GroupKey, count: int) -> str:
        """The change after which the group has this minCount."""
        assert self._groups is not None
        spec = self._groups.spec_of(key) | {"schedulingPolicy": {"gang": {"minCount": count}}}
        manifest = {
            "apiVersion": self._groups.api_version,
            "kind": "PodGroup",
            "metadata": {"name": key[1], "namespace": key[0]},
            "spec": spec,
        }
        return f"apply -f '{json.dumps(manifest, separators=(',', ':'))}'"

    def placement_feasible(self, group: PodGroup, scheduled: int, remaining: int) -> Status:
        least = 1 if group.min_count is None else group.min_count
        counts = least, scheduled, remaining
        if scheduled + remaining < least:
            return Status.unschedulable(NEVER.format(*counts))
        return Status(Code.WAIT, (NOT_YET.format(*counts),)) if scheduled < least else SUCCESS

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Nothing was reserved."""

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
        if group.min_count is None:
            return SUCCESS, 0.0
        if self._groups.scheduled_count(key) < group.min_count:
            return NODES_MISSING, PERMIT_SECONDS
        for waiting in self._waiting:
            if group_key(waiting.pod.pod) == key:
                waiting.allow(self.name)
        return SUCCESS, 0.0


def is_of_same_group(pod: PodInfo, old: PodInfo | None, new: PodInfo) -> bool:
    """Upstream: isSchedulableAfterPodAdded."""
    return group_key(new.pod) == group_key(pod.pod)


def is_its_group(pod: PodInfo, old: Plain | None, new: Plain) -> bool:
    """Upstream: isSchedulableAfterPodGroupAdded."""
    return group_key(pod.pod) == key_of(new)


def needs_fewer_pods(pod: PodInfo, old: Plain, new: Plain) -> bool:
    """Upstream: isSchedulableAfterPodGroupUpdated."""
    before, after = min_count_of(old), min_count_of(new)
    is_less = before is not None and after is not None and after < before
    return is_less and is_its_group(pod, old, new)
