"""Which of two victims goes first: the more important one.

Upstream: pkg/scheduler/util/utils.go (MoreImportantPod).
"""

from __future__ import annotations

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.kube.sort import go_sort

# Sorts after every timestamp: a pod that has not started counts as starting now.
NOT_STARTED = "~"


def start_time(pod: PodInfo) -> str:
    """The pod's start as a sortable text; NOT_STARTED where it has none."""
    return pod.pod.status.start_time or NOT_STARTED


def sort_by_importance(pods: list[PodInfo]) -> None:
    """Highest priority first, then the longest running, in place."""
    if len({(pod.priority, pod.pod.status.start_time) for pod in pods}) == len(pods):
        pods.sort(key=lambda pod: (-pod.priority, start_time(pod)))
    else:
        go_sort(pods, _more_important)


def _more_important(first: PodInfo, second: PodInfo) -> bool:
    """Of two pods that have not started, each is more important than the other: upstream takes
    the current time for both, one after the other."""
    if first.priority != second.priority:
        return first.priority > second.priority
    second_start = start_time(second)
    return second_start == NOT_STARTED or start_time(first) < second_start
