"""The time that a pod waits after a failure before it is tried again.

Upstream: pkg/scheduler/backend/queue/backoff_queue.go.
"""

from __future__ import annotations

from math import sqrt

from msgspec import Struct

from ksched_cli.engine.replay.queued_pod import QueuedPodInfo
from ksched_cli.kube.time import SECOND

# The backoff of a pod that need not wait; upstream's zero time.
NO_BACKOFF = -1
# With the gate on, expirations are cut to it, so that pods of one second are ordered by priority.
# A shift beyond this exceeds every maximum.
_MAX_SHIFT = 62


class Backoff(Struct, frozen=True):
    """initial, maximum: microseconds. by_window: SchedulerPopFromBackoffQ."""

    initial: int
    maximum: int
    by_window: bool

    def expiration(self, queued: QueuedPodInfo) -> int:
        """Return when the backoff ends, or NO_BACKOFF; computed once for an attempt."""
        count = queued.consecutive_errors or queued.unschedulable_count
        if not self.maximum or not count:
            return NO_BACKOFF
        if queued.backoff_expiration is None:
            duration = self._duration(count, queued.size)
            queued.backoff_expiration = self.align(queued.timestamp + duration)
        return queued.backoff_expiration

    def _duration(self, count: int, size: int = 1) -> int:
        """size: of a group, which waits longer in the end"""
        shift = min(count - 1, _MAX_SHIFT)
        maximum = self.maximum if size == 1 else int(self.maximum * sqrt(size))
        if self.initial > maximum >> shift:
            return maximum
        return self.initial << shift

    def longest_after(self) -> int:
        """The number of rejections after which the backoff does not grow any more."""
        counts = range(1, _MAX_SHIFT + 1)
        lengths = (count for count in counts if self._duration(count) >= self.maximum)
        return next(lengths, _MAX_SHIFT + 1)

    def align(self, at: int) -> int:
        return at - at % SECOND if self.by_window else at

    def is_backing_off(self, queued: QueuedPodInfo, now: int) -> bool:
        """Whether the pod backs off; it still does in the very second in which the backoff ends."""
        return self.expiration(queued) >= self.align(now)
