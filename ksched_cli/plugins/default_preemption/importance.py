"""The order of victims: the more important one comes first.

Upstream: pkg/scheduler/util/utils.go (MoreImportantPod).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.kube.sort import go_sort

# Sorts after every timestamp: a pod that has not started counts as starting now.
NOT_STARTED = "~"


def start_time(pod: PodInfo) -> str:
    """The pod's start as a sortable text; NOT_STARTED where it has none."""
    return pod.pod.status.start_time or NOT_STARTED


def sort_by_importance(pods: list[PodInfo], ages_once: Sequence[PodInfo] | None = None) -> None:
    """Highest priority first, then the longest running, in place.

    ages_once: all pods of the node in the order in which upstream takes their ages, once each: of
    those that have not started, the first is the oldest. None: it takes them at each comparison
    """
    if ages_once is None:
        ranks = {}
    else:
        ranks = {
            pod.uid: rank for rank, pod in enumerate(ages_once) if not pod.pod.status.start_time
        }

    def age(pod: PodInfo) -> tuple[int, str, int]:
        return -pod.priority, start_time(pod), ranks.get(pod.uid, 0)

    if len({age(pod) for pod in pods}) == len(pods):
        pods.sort(key=age)
    elif ages_once is None:
        go_sort(pods, _more_important)
    else:
        go_sort(pods, lambda first, second: age(first) < age(second))


def _more_important(first: PodInfo, second: PodInfo) -> bool:
    """Two pods that have not started are each more important than the other: upstream takes the
    current time for both, one after the other."""
    if first.priority != second.priority:
        return first.priority > second.priority
    second_start = start_time(second)
    return second_start == NOT_STARTED or start_time(first) < second_start
