"""Which events may let a pod fit that NodeResourcesFit rejected.

Upstream: plugins/noderesources/fit.go (isSchedulableAfterPodEvent, isSchedulableAfterNodeChange).
"""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS, node_allocatable
from ksched_cli.plugins.helper.hints import had_node


def after_pod_change(pod: PodInfo, old: PodInfo, new: PodInfo | None) -> bool:
    """A pod with a node is gone, or requests less of what the pod requests; or the pod itself
    requests less."""
    if new is None:
        return had_node(old)
    if new.key == pod.key:
        return True
    return bool(new.pod.node_name) and _has_more(
        pod, new.resources.requests, old.resources.requests
    )


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """The node, if it were empty, has room for the pod, and more than before."""
    allocatable = node_allocatable(new)
    if allocatable.get(PODS, 0) < 1 or any(
        amount > allocatable.get(name, 0) for name, amount in pod.resources.requests.items()
    ):
        return False
    if old is None:
        return True
    before = node_allocatable(old)
    return allocatable.get(PODS, 0) > before.get(PODS, 0) or _has_more(pod, before, allocatable)


def _has_more(pod: PodInfo, before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Whether there is more of something that the pod requests."""
    return any(
        amount > 0 and after.get(name, 0) > before.get(name, 0)
        for name, amount in pod.resources.requests.items()
    )
