"""Which plugins registered for which events, per profile, and what their hints say.

Upstream: pkg/scheduler/scheduler.go (buildQueueingHintMap) and
backend/queue/scheduling_queue.go (isPodWorthRequeuing, isEventOfInterest).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ksched_cli.engine.evaluation import EXTENDER
from ksched_cli.engine.replay.queued_pod import QueuedPodInfo
from ksched_cli.framework.cluster_events import (
    BY_DEFAULT,
    EVERYTHING,
    ClusterEvent,
    EventObject,
    QueueingHint,
    Registration,
    registrations_of,
)
from ksched_cli.framework.runtime import Framework


class Strategy(IntEnum):
    """What becomes of an unschedulable pod after an event."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class RegisteredHint(NamedTuple):
    """hint: None where every such event may let the pod fit."""

    plugin: str
    hint: QueueingHint | None


class HintTable:
    """Of all profiles."""

    def __init__(self, frameworks: Mapping[str, Framework]) -> None:
        self._registered: dict[str, dict[str, Sequence[Registration]]] = {}
        for name, framework in frameworks.items():
            registered = {plugin.name: registrations_of(plugin) for plugin in framework.plugins}
            self._registered[name] = {**registered, EXTENDER: BY_DEFAULT}
        self._matching: dict[tuple[str, ClusterEvent], tuple[RegisteredHint, ...]] = {}

    def events_of(self, scheduler_name: str, plugin: str) -> tuple[ClusterEvent, ...]:
        """What a plugin of a profile registered for."""
        return tuple(event for event, _ in self._registered[scheduler_name].get(plugin, ()))

    def _hints(self, scheduler_name: str, event: ClusterEvent) -> tuple[RegisteredHint, ...]:
        key = (scheduler_name, event)
        hints = self._matching.get(key)
        if hints is None:
            hints = self._matching[key] = tuple(
                RegisteredHint(plugin, hint)
                for plugin, registrations in self._registered[scheduler_name].items()
                for registered, hint in registrations
                if registered.matches(event)
            )
        return hints

    def strategy(
        self, queued: QueuedPodInfo, event: ClusterEvent, old: EventObject, new: EventObject
    ) -> Strategy:
        """What the plugins that rejected the pod say of an event. A hint that fails says yes."""
        rejectors = queued.rejectors
        if not rejectors or event == EVERYTHING:
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        pending = queued.pending_plugins
        for plugin, hint in self._hints(queued.pod.spec.scheduler_name, event):
            if plugin not in rejectors or not _says_queue(hint, queued, old, new):
                continue
            if plugin in pending:
                return Strategy.IMMEDIATELY
            strategy = Strategy.AFTER_BACKOFF
            if not pending:
                break
        return strategy


def _says_queue(
    hint: QueueingHint | None, queued: QueuedPodInfo, old: EventObject, new: EventObject
) -> bool:
    if hint is None:
        return True
    try:
        return hint(queued.pod, old, new)
    except Exception:
        # Upstream: a pod must not be stuck because a hint failed.
        return True
