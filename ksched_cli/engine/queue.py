"""The pods that want a node: which are gated, and in what order the others come.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go; the rules of passes are the simulation's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cmp_to_key

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interface import QueuedPod, QueueSortPlugin
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import Status


@dataclass(frozen=True, slots=True)
class Queue:
    """active: in the order they are tried; gated: pod key → why it is held back."""

    active: tuple[PodInfo, ...]
    gated: Mapping[str, Status]


def fill(pods: Iterable[PodInfo], frameworks: Mapping[str, Framework]) -> Queue:
    """pods: pending, each of a known profile, in the order of the state."""
    gated: dict[str, Status] = {}
    queued: list[QueuedPod] = []
    for sequence, pod in enumerate(pods):
        status = frameworks[pod.spec.scheduler_name].pre_enqueue(pod)
        if status.is_success:
            created = seconds(pod.pod.metadata.creation_timestamp)
            queued.append(QueuedPod(pod, created, sequence))
        else:
            gated[pod.key] = status
    if queued:
        # All profiles have the same queue sort plugin: validation sees to it.
        queued = in_order(queued, next(iter(frameworks.values())).queue_sort)
    return Queue(tuple(one.pod for one in queued), gated)


def in_order(queued: list[QueuedPod], plugin: QueueSortPlugin) -> list[QueuedPod]:
    """As the plugin sorts; among equals the order of the state."""

    def compare(first: QueuedPod, second: QueuedPod) -> int:
        if plugin.less(first, second):
            return -1
        return 1 if plugin.less(second, first) else 0

    return sorted(queued, key=cmp_to_key(compare))


def seconds(timestamp: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; 0 where there is none."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0
