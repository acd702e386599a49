"""The events that happen while pods are being tried: they may have missed them.

Upstream: pkg/scheduler/backend/queue/active_queue.go (inFlightPods, inFlightEvents).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ksched_cli.framework.cluster_events import ClusterEvent, EventObject


class InFlightEvent(NamedTuple):
    """An event with its object before and after."""

    event: ClusterEvent
    old: EventObject
    new: EventObject


class InFlight:
    """The pods that are being tried, by uid, and the events since the first of them was begun
    with."""

    def __init__(self) -> None:
        # By uid, how many events there were when the attempt began.
        self._begins: dict[str, int] = {}
        self._events: list[InFlightEvent] = []

    def __contains__(self, uid: str) -> bool:
        return uid in self._begins

    def begin(self, uid: str) -> None:
        self._begins[uid] = len(self._events)

    def end(self, uid: str) -> None:
        """The attempt is over, or what comes after it needs no events any more."""
        self._begins.pop(uid, None)
        if not self._begins:
            self._events.clear()

    def note(self, event: ClusterEvent, old: EventObject, new: EventObject) -> None:
        if self._begins:
            self._events.append(InFlightEvent(event, old, new))

    def since(self, uid: str) -> Iterable[InFlightEvent]:
        """The events since the pod's attempt began."""
        return self._events[self._begins.get(uid, 0) :]
