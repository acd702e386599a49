"""A pod in the scheduling queue, with its history.

Upstream: pkg/scheduler/framework/types.go (QueuedPodInfo).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import ClusterEvent

_NO_PLUGINS: frozenset[str] = frozenset()


class Place(Enum):
    """The place of a pod in the queue. NOWHERE: it is being tried, or is not queued."""

    NOWHERE = "nowhere"
    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"

    # Enum has one of its own that is much slower.
    __hash__ = object.__hash__


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """timestamp: when it came into the queue, or came back from an attempt; microseconds
    sequence:  orders pods of one timestamp
    unschedulable_plugins, pending_plugins: that rejected it in the last attempt
    gating_plugin: that holds it back, or ""; gating_events: what that plugin registered for
    message:   of the last attempt
    repeats:   the last attempt found that it fits nowhere, and would for equal pods
    is_member: of an EquivalenceClass, which represents it in the queue
    first_active: when it was to be tried for the first time
    flushed:   when it was last moved because it had waited for long
    tries:     attempts that failed at its timestamp, all at that one instant
    entry:     counts its moves; a heap's entries of earlier ones are void
    group:     the QueuedPodGroupInfo that it is in
    """

    pod: PodInfo
    timestamp: int
    sequence: int
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    unschedulable_plugins: frozenset[str] = _NO_PLUGINS
    pending_plugins: frozenset[str] = _NO_PLUGINS
    gating_plugin: str = ""
    gating_events: Sequence[ClusterEvent] = ()
    backoff_expiration: int | None = None
    message: str = ""
    repeats: bool = False
    is_member: bool = False
    first_active: int | None = None
    flushed: int = 0
    tries: int = 0
    place: Place = Place.NOWHERE
    entry: int = 0
    group: QueuedPodInfo | None = None

    @property
    def size(self) -> int:
        """The number of pods that it counts as in the queue's size."""
        return 1

    @property
    def gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> frozenset[str]:
        if not self.pending_plugins:
            return self.unschedulable_plugins
        return self.unschedulable_plugins | self.pending_plugins

    def forget_rejection(self) -> None:
        """A new attempt begins."""
        self.attempts += 1
        self.unschedulable_plugins = self.pending_plugins = _NO_PLUGINS
        self.gating_plugin = ""
        self.gating_events = ()
