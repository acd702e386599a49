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
        pass

    def key(self, queued: QueuedPod) -> tuple[float, ...]:
        return (-queued.pod.priority, queued.timestamp)
