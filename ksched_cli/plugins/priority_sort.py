"""Orders the queue by priority, then by the time of queueing.

Upstream: plugins/queuesort/priority_sort.go.
"""

from __future__ import annotations

from typing import Any

from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import QueuedPod, SortsByKey


class PrioritySort(SortsByKey):
    name = "PrioritySort"

    def __init__(self, args: Any, handle: Handle) -> None:
        groups = handle.pod_groups
        self._groups = groups if groups is not None and groups.are_entities else None

    def key(self, queued: QueuedPod) -> tuple[float, ...]:
        pod = queued.pod
        priority = pod.priority if self._groups is None else self._groups.priority_of(pod)
        return (-priority, queued.timestamp)
