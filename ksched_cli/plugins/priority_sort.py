"""Orders the queue by priority, then by the time of queueing.

Upstream: plugins/queuesort/priority_sort.go.
"""

from __future__ import annotations

from typing import Any

from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import QueuedPod, QueueSortPlugin


class PrioritySort(QueueSortPlugin):
    name = "PrioritySort"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        return self.key(first) < self.key(second)

    def key(self, queued: QueuedPod) -> tuple[int, float]:
        return (-queued.pod.priority, queued.timestamp)
