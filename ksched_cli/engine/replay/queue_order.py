"""The sort order of the queue.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go takes the QueueSort plugin's Less.
"""

from __future__ import annotations

from typing import Any, Protocol

from ksched_cli.engine.replay.queued_pod import QueuedPodInfo
from ksched_cli.framework.interface import QueuedPod
from ksched_cli.framework.runtime import Framework
from ksched_cli.kube.time import SECOND

# What pods may share, and the sequence, which no two of them do.
Key = tuple[Any, int]


class Time(Protocol):
    """now: microseconds since the start. start: seconds since 1970."""

    now: int
    start: int


def sort_key(queued: QueuedPodInfo, framework: Framework, clock: Time) -> Key:
    """Return the key that sorts a pod in the queue."""
    seconds = clock.start + queued.timestamp / SECOND
    pod = QueuedPod(queued.pod, seconds, queued.sequence)
    if framework.sort_key is not None:
        return framework.sort_key(pod), queued.sequence
    return _Compared(pod, framework), queued.sequence


class _Compared:
    """A pod that a queue sort from outside compares."""

    __slots__ = ("_framework", "_pod")

    def __init__(self, pod: QueuedPod, framework: Framework) -> None:
        self._pod = pod
        self._framework = framework

    def __lt__(self, other: _Compared) -> bool:
        if self._framework.less(self._pod, other._pod):
            return True
        if self._framework.less(other._pod, self._pod):
            return False
        return self._pod.sequence < other._pod.sequence
