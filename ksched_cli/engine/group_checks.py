"""What makes a group, or a tree of groups, fail before it is tried.

Upstream: pkg/scheduler/schedule_one_podgroup.go (validatePodGroupHierarchy).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ksched_cli.cluster.objects import Pod
from ksched_cli.framework.pod_groups import MAX_DEPTH, PodGroup, PodGroups, group_key
from ksched_cli.kube.formatting import quote


def tree_error(groups: PodGroups, root: PodGroup, pods: Sequence[Pod]) -> str:
    """Return what is wrong with the root's tree, or "".

    pods: those without a node, the first ones first; upstream takes the first from a map
    """
    first = pods[0]
    policy = root.preemption_policy or _policy(first)
    return next(_errors(groups, root, None, 1, root, first, policy, pods), "")


def _errors(
    groups: PodGroups,
    group: PodGroup,
    parent: PodGroup | None,
    depth: int,
    root: PodGroup,
    first: Pod,
    policy: str,
    pods: Iterable[Pod],
) -> Iterator[str]:
    """Yield the errors of a group, then of those in it and of its pods."""
    name = quote(group.entity)
    if group.is_composite and depth == MAX_DEPTH:
        yield f"hierarchy depth exceeds maximum allowed depth {MAX_DEPTH} at {name}"
    if parent is not None:
        yield from _group_errors(group, parent, root, policy)
    for child in groups.children(group):
        yield from _errors(groups, child, group, depth + 1, root, first, policy, pods)
    if group.is_composite:
        return
    own = [pod for pod in pods if group_key(pod) == group.key]
    for pod in (*own, *groups.scheduled_pods(group.key)):
        yield from _pod_errors(pod, root, first, policy)


def _group_errors(group: PodGroup, parent: PodGroup, root: PodGroup, policy: str) -> Iterator[str]:
    name, around, outermost = (quote(each.entity) for each in (group, parent, root))
    if group.workload != root.workload:
        workloads = f"{quote(group.workload)} ({name}) and {quote(root.workload)} ({outermost})"
        yield f"pod group workload does not match root workload, got: {workloads}"
    if group.priority != root.priority:
        yield (
            "all pod groups in a hierarchy should have the same priority as the root pod group's"
            f" priority, got {group.priority} ({name}) and {root.priority} ({outermost})"
        )
    if group.preemption_policy and group.preemption_policy != policy:
        yield (
            "all pod groups in a hierarchy should have the same preemption policy, got"
            f" {group.preemption_policy} ({name}) and {policy}"
        )
    if parent.min_count is not None and group.is_basic:
        yield f"gang parent {around} cannot have basic child {name}"
    if parent.is_indivisible and not group.is_indivisible:
        modes = f"parent {around} with All disruption mode cannot have child {name}"
        yield f"{modes} with Single disruption mode"


def _pod_errors(pod: Pod, root: PodGroup, first: Pod, policy: str) -> Iterator[str]:
    name, scheduler = quote(pod.metadata.name), pod.spec.scheduler_name
    expected = first.spec.scheduler_name
    if scheduler != expected:
        names = f"{quote(scheduler)} ({name}) and {quote(expected)} ({quote(first.metadata.name)})"
        yield (
            "all pods in a pod group hierarchy should have the same .spec.schedulerName set,"
            f" got: {names}"
        )
    priority = pod.spec.priority or 0
    if priority != root.priority:
        yield (
            "all pods in a pod group hierarchy should have the same priority as the root pod"
            f" group's priority, got {priority} ({name}) and {root.priority}"
            f" ({quote(root.entity)})"
        )
    if _policy(pod) != policy:
        yield (
            "all pods in a pod group hierarchy should have the same preemption policy, got"
            f" {_policy(pod)} ({name}) and {policy}"
        )


def _policy(pod: Pod) -> str:
    return pod.spec.preemption_policy or "PreemptLowerPriority"
