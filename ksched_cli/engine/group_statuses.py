"""What a group's attempt says of the group, of the groups in it and of its pods.

Upstream: pkg/scheduler/schedule_one_podgroup.go and, since 1.38, algorithm_podgroup.go, types.go
(podGroupFitError) and schedule_one.go (handleSchedulingFailure).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.pod_group_cycle import NO_PLACEMENT, UNSCHEDULABLE, PodTrial
from ksched_cli.framework.pod_groups import PodGroup
from ksched_cli.framework.runtime import NO_PLACEMENTS
from ksched_cli.framework.status import Code, Status
from ksched_cli.kube.formatting import quote

NOT_ASSUMED = "failed to assume the subtree: {}"
CHILD_FAILED = "composite pod group evaluation failed due to child error: {}"
NO_PODS = Status.unschedulable("no pods were schedulable")
NOBODY_NEW = "nominated placement is feasible but no pending pod was scheduled"


class GroupTrial(Struct, frozen=True, eq=False):
    """The result of trying a group on one set of nodes.

    trials: of the first pods, in their order; the others were not tried
    status: success where enough have a node; else its first reason is UNSCHEDULABLE where
            upstream's error is
    """

    status: Status
    trials: Sequence[PodTrial] = ()


class GroupStatuses:
    """The statuses of minors in which pods hear the reasons of their group.

    nobody_placed: of an outermost group that fits, but none of whose pods is placed
    keeps_failed_parts: where a group fails with an error, the groups in it keep their trials
    """

    keeps_failed_parts = False
    nobody_placed = Status.unschedulable(UNSCHEDULABLE)

    def hopeless(self, status: Status) -> Status:
        """Return the status where too few pods are left before any is tried."""
        return Status.unschedulable(UNSCHEDULABLE, *status.reasons)

    def ended(self, status: Status) -> Status:
        """Return the status where no other pod or group is left that the plugin could wait for."""
        return self.hopeless(status) if status.is_wait else status

    def not_evaluated(self, status: Status) -> Status:
        """Return the status where a plugin ends the trial of a group of groups."""
        return status

    def fits_nowhere(self, count: int, first: GroupTrial) -> Status:
        """Return the status of a group that fits in none of `count` placements.

        first: its trial in the first placement
        """
        reasons = first.status.reasons
        is_error = reasons[:1] == (UNSCHEDULABLE,)
        error = UNSCHEDULABLE if is_error else first.status.message
        return Status.unschedulable(UNSCHEDULABLE, NO_PLACEMENT.format(count, error))

    def child_failed(self, group: PodGroup, child: PodGroup, status: Status) -> Status:
        return Status.error(CHILD_FAILED.format(status.message))

    def not_assumed(self, child: PodGroup, error: str) -> Status:
        """Return the status where the pods of a group cannot be where its trial placed them."""
        return Status.error(NOT_ASSUMED.format(error))

    def overrides(self, around: Status, trial: GroupTrial) -> bool:
        """Return whether a group that does not fit has the verdict of the one around it."""
        return False

    def within(self, group: PodGroup, status: Status, trial: GroupTrial | None) -> GroupTrial:
        """Return the verdict on a group in one that does not fit, where its own does not count."""
        return GroupTrial(status)

    def part(self, status: Status, room: Status | None) -> str:
        """Return why a group does not fit, or "". room: the status of the search for victims"""
        return status.message

    def error(self, pod: PodInfo, status: Status) -> str:
        """Return the error of a pod that has none of its own."""
        return status.message

    def not_tried(self, pod: PodInfo, status: Status) -> str:
        return status.message

    def waits(self, pod: PodInfo, status: Status) -> str:
        """Return the message of a pod that would have a node, and waits for its group's victims."""
        return status.message

    def not_placed(self, pod: PodInfo, status: Status) -> str:
        """Return the message of a pod that would have a node, but whose group is not placed."""
        return f"{UNSCHEDULABLE}, {status.message}"


class NamingStatuses(GroupStatuses):
    """The statuses of minors in which pods hear that their group does not fit, by its name."""

    keeps_failed_parts = True
    nobody_placed = NO_PODS

    def hopeless(self, status: Status) -> Status:
        return Status.unschedulable(*status.reasons)

    def not_evaluated(self, status: Status) -> Status:
        if status.code == Code.ERROR:
            return Status.error(f"failed to evaluate placement feasibility: {status.message}")
        return status

    def fits_nowhere(self, count: int, first: GroupTrial) -> Status:
        message = NOBODY_NEW if first.status.is_success else first.status.message
        return Status.unschedulable(NO_PLACEMENT.format(count, message))

    def child_failed(self, group: PodGroup, child: PodGroup, status: Status) -> Status:
        names = quote(group.name), quote(child.name)
        what = "composite pod group {} evaluation failed due to child {} error".format(*names)
        return Status.error(f"{what}: {status.message}")

    def not_assumed(self, child: PodGroup, error: str) -> Status:
        name = f"{child.namespace}/{child.name}"
        return Status.error(f"failed to assume child {name} subtree in snapshot: {error}")

    def overrides(self, around: Status, trial: GroupTrial) -> bool:
        return around.code == Code.ERROR and trial.status.code != Code.ERROR

    def within(self, group: PodGroup, status: Status, trial: GroupTrial | None) -> GroupTrial:
        ancestor = f"ancestor composite pod group {quote(group.name)}"
        own = Status.unschedulable(f"{ancestor} is unschedulable")
        if status.code == Code.ERROR:
            own = Status.error(f"{ancestor} encountered an error")
        return GroupTrial(own) if trial is None else replace(trial, status=own)

    def part(self, status: Status, room: Status | None) -> str:
        if room is None or not room.message:
            return status.message
        return room.message if room.code == Code.ERROR else f"{status.message}, {room.message}"

    def error(self, pod: PodInfo, status: Status) -> str:
        return f"parent pod group {_group_of(pod)} encountered an error"

    def not_tried(self, pod: PodInfo, status: Status) -> str:
        if status is NO_PLACEMENTS:  # Upstream: no podGroupFitError.
            return status.message
        return f"parent pod group {_group_of(pod)} is unschedulable"

    waits = not_placed = not_tried


def _group_of(pod: PodInfo) -> str:
    group = pod.spec.scheduling_group
    return quote(group.pod_group_name if group is not None else "")
