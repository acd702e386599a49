"""Places the pods of a PodGroup together or not at all.

Upstream: kubernetes-sigs/scheduler-plugins, pkg/coscheduling (coscheduling.go, core/core.go).
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ksched_cli.api import (
    SUCCESS,
    Code,
    CycleState,
    GroupsPods,
    Handle,
    NodeInfo,
    Nodes,
    NodeStatuses,
    PermitPlugin,
    PodInfo,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    Snapshot,
    Status,
)
from ksched_coscheduling.groups import KIND, Groups, PodGroup, group_of

# Upstream: util.DefaultWaitTime, for a permitWaitingTimeSeconds of 0.
DEFAULT_WAIT = 60.0
WAIT = Status(Code.WAIT)


class CoschedulingArgs(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """As upstream's CoschedulingArgs, with its defaults.

    pod_group_reject_percentage: the group is not given up while at most so many percent of
                                 minMember are still without a node
    """

    permit_waiting_time_seconds: int = 60
    pod_group_backoff_seconds: int = 0
    pod_group_reject_percentage: int = 10

    def __post_init__(self) -> None:
        if self.permit_waiting_time_seconds < 0:
            raise ValueError("permitWaitingTimeSeconds must be greater than 0")
        if self.pod_group_backoff_seconds < 0:
            raise ValueError("podGroupBackoffSeconds must be greater than 0")
        if not 0 <= self.pod_group_reject_percentage <= 100:
            raise ValueError("podGroupRejectPercentage must be between 0 and 100")


class Coscheduling(
    QueueSortPlugin, PreFilterPlugin, PostFilterPlugin, ReservePlugin, PermitPlugin, GroupsPods
):
    name = "Coscheduling"
    args = CoschedulingArgs
    reads = (KIND,)

    def __init__(self, args: CoschedulingArgs, handle: Handle) -> None:
        self._args = args
        self._handle = handle
        self._groups = handle.service(Groups.of)

    def carry_over(self, previous: Coscheduling) -> None:
        """The times stay when nodes or other objects change."""
        self._groups.times = previous._groups.times

    # -- queue ------------------------------------------------------------------------------------

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        return self._key(first) < self._key(second)

    def _key(self, queued: QueuedPod) -> tuple[int, float, str]:
        """Upstream compares the pods' names, not the groups': groups created at the same time mix
        where their pods' names do."""
        pod = queued.pod
        return (-pod.priority, self._since(pod, queued.timestamp), pod.key)

    def _since(self, pod: PodInfo, default: float) -> float:
        """A group that failed goes behind those that came before it failed."""
        name = group_of(pod.labels, pod.namespace)
        if name in self._groups.times.failed:
            return self._groups.times.failed[name]
        group = self._groups.by_name.get(name)
        return group.created if group else default

    def group_of(self, pod: PodInfo) -> str:
        return group_of(pod.labels, pod.namespace)

    # -- the group as a whole ---------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        """Unresolvable, because evicting others does not make a group whole."""
        group = self._group(pod)
        problem = self._problem(pod, group, nodes.snapshot) if group else ""
        return None, Status.unresolvable(problem) if problem else SUCCESS

    def _problem(self, pod: PodInfo, group: PodGroup, snapshot: Snapshot) -> str:
        """Why the group cannot become whole just now, or ""."""
        paused = self._groups.times.paused.get(group.name, 0.0)
        if paused > self._handle.clock.now:
            self._handle.clock.wake(paused)
            return f"podGroup {group.name} failed recently"
        members = self._groups.members.get(group.name, {})
        if len(members) < group.min_member:
            return (
                f"pre-filter pod {pod.name} cannot find enough sibling pods, current pods number: "
                f"{len(members)}, minMember of group: {group.min_member}"
            )
        if len(members) - sum(members.values()) < group.min_member:
            return (
                f"pre-filter pod {pod.name} cannot proceed due to gated pods in the same PodGroup"
            )
        if not group.min_resources:
            return ""
        if self._groups.times.permitted.get(group.name, 0.0) > self._handle.clock.now:
            return ""
        gap = _resource_gap(group, snapshot)
        if not gap:
            until = self._handle.clock.now + self._args.permit_waiting_time_seconds
            self._groups.times.permitted[group.name] = until
        return gap

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """One pod without a node is reason enough to give up a group that is not almost whole."""
        group = self._group(pod)
        if group is None:
            return PostFilterResult(), Status.unschedulable("can not find pod group")
        missing = group.min_member - self._groups.assigned.count[group.name]
        reject_share = self._args.pod_group_reject_percentage / 100
        if missing <= 0 or missing / group.min_member <= reject_share:
            return PostFilterResult(), Status.unschedulable()
        self._reject_waiting(group.name, "optimistic rejection in PostFilter")
        if self._args.pod_group_backoff_seconds:
            now = self._handle.clock.now
            # One that is paused already stays so no longer than it was to.
            if self._groups.times.paused.get(group.name, 0.0) <= now:
                self._groups.times.paused[group.name] = now + self._args.pod_group_backoff_seconds
        self._give_up(group.name)
        return PostFilterResult(), Status.unschedulable(
            f"PodGroup {group.name} gets rejected due to Pod {pod.name} is unschedulable "
            "even after PostFilter"
        )

    # -- node by node -----------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """One that loses its node takes the others along."""
        group = self._group(pod)
        if group is not None:
            self._reject_waiting(group.name, "rejection in Unreserve")
            self._give_up(group.name)

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        """The pod is on its node already and counts."""
        name = group_of(pod.labels, pod.namespace)
        if not name:
            return SUCCESS, 0
        group = self._groups.by_name.get(name)
        if group is None:
            return Status.unschedulable("PodGroup not found"), 0
        assigned = self._groups.assigned.count[name]
        if assigned >= group.min_member:
            self._groups.times.failed.pop(name, None)
            for waiting in self._handle.waiting:
                if group_of(waiting.pod.labels, waiting.pod.namespace) == name:
                    waiting.allow(self.name)
            return SUCCESS, 0
        if assigned == 1:
            self._activate_siblings(state, pod)
        return WAIT, float(group.timeout or self._args.permit_waiting_time_seconds or DEFAULT_WAIT)

    # -- helpers ----------------------------------------------------------------------------------

    def _group(self, pod: PodInfo) -> PodGroup | None:
        return self._groups.by_name.get(group_of(pod.labels, pod.namespace))

    def _reject_waiting(self, name: str, message: str) -> None:
        for waiting in self._handle.waiting:
            if group_of(waiting.pod.labels, waiting.pod.namespace) == name:
                waiting.reject(self.name, message)

    def _give_up(self, name: str) -> None:
        self._groups.times.permitted.pop(name, None)
        self._groups.times.failed[name] = self._handle.clock.now

    def _activate_siblings(self, state: CycleState, pod: PodInfo) -> None:
        """The first of a group calls those back that failed before."""
        for key in self._groups.members.get(group_of(pod.labels, pod.namespace), {}):
            if key != pod.key:
                state.activate(key)


def _resource_gap(group: PodGroup, snapshot: Snapshot) -> str:
    """The part of minResources that the cluster lacks, or "". Upstream stops at the node with which
    there is enough, so that an overcommitted node further on subtracts nothing."""
    requested: dict[str, Any] = {**group.min_resources, "pods": group.min_member}
    own = _own_requests(group.name, snapshot)
    gaps = []
    for resource, amount in requested.items():
        if resource == "pods":
            left = snapshot.allocatable("pods") - snapshot.pod_count
        else:
            left = snapshot.allocatable(resource) - snapshot.requested(resource)
        if resource in own:
            left = left + own[resource]
        sums = np.cumsum(left[snapshot.order])
        enough = bool(len(sums)) and int(sums.max()) >= amount
        if not enough and amount > 0:
            gaps.append(f"{resource}: {amount - (int(sums[-1]) if len(sums) else 0)}")
    return f"resource gap: {', '.join(gaps)}" if gaps else ""


def _own_requests(name: str, snapshot: Snapshot) -> dict[str, Any]:
    """Per resource, what the group's own pods take of each node already."""
    own: dict[str, Any] = {}
    for row, pods in enumerate(snapshot.pods):
        for pod in pods:
            if group_of(pod.labels, pod.namespace) == name:
                for resource, amount in (*pod.resources.requests.items(), ("pods", 1)):
                    column = own.setdefault(resource, np.zeros(len(snapshot), dtype=np.int64))
                    column[row] += amount
    return own


__all__ = ["Coscheduling", "CoschedulingArgs"]
