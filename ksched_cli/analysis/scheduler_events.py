"""A scheduler's events: when it bound, evicted and refused which pods.

Upstream: pkg/scheduler/schedule_one.go (finishBinding, handleSchedulingFailure),
pkg/scheduler/framework/preemption/preemption.go (PreemptPod) write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.time import unix_seconds

# Kinds to keep when a state is loaded, for this module to read.
EVENT_KINDS = ("Event", "Event.events.k8s.io")

_BOUND_TO = re.compile(r"^Successfully assigned \S+ to (?P<node>\S+)$")
_EVICTED_BY = re.compile(r"^Preempted by pod (?P<uid>\S+) on node (?P<node>\S+)$")


@dataclass(frozen=True, slots=True)
class BindingEvent:
    """time: in seconds since 1970"""

    pod: str
    node: str
    time: float


@dataclass(frozen=True, slots=True)
class EvictionEvent:
    """preemptor: its UID"""

    pod: str
    node: str
    preemptor: str
    time: float


@dataclass(frozen=True, slots=True)
class SchedulerEvents:
    """By the UID of the pod that was bound, evicted or refused. refusals: the time of the last"""

    bindings: Mapping[str, BindingEvent] = field(default_factory=dict)
    evictions: Mapping[str, EvictionEvent] = field(default_factory=dict)
    refusals: Mapping[str, float] = field(default_factory=dict)


def scheduler_events(state: ClusterState) -> SchedulerEvents:
    """Return those of a state that was loaded with EVENT_KINDS; the last of equal ones."""
    bindings: dict[str, BindingEvent] = {}
    evictions: dict[str, EvictionEvent] = {}
    refusals: dict[str, float] = {}
    for time, event in sorted(_events(state), key=lambda item: item[0]):
        subject = _object(event.get("regarding")) or _object(event.get("involvedObject"))
        uid, pod = str(subject.get("uid")), f"{subject.get('namespace')}/{subject.get('name')}"
        message = str(event.get("note") or event.get("message") or "")
        reason = event.get("reason")
        if reason == "Scheduled" and (bound := _BOUND_TO.match(message)):
            bindings[uid] = BindingEvent(pod, bound["node"], time)
        elif reason == "Preempted" and (evicted := _EVICTED_BY.match(message)):
            evictions[uid] = EvictionEvent(pod, evicted["node"], evicted["uid"], time)
        elif reason == "FailedScheduling":
            refusals[uid] = time
    return SchedulerEvents(bindings, evictions, refusals)


def _events(state: ClusterState) -> Iterator[tuple[float, Plain]]:
    """Return the events with the time of the last occurrence."""
    for kind in EVENT_KINDS:
        for event in state.others.get(kind, ()):
            last = (
                _object(event.get("series")).get("lastObservedTime")
                or event.get("eventTime")
                or event.get("lastTimestamp")
                or event.get("deprecatedLastTimestamp")
                or _object(event.get("metadata")).get("creationTimestamp")
            )
            yield seconds(last), event


def _object(value: object) -> Mapping[str, Any]:
    """A part of an event; nothing checks its type when events are read."""
    return value if isinstance(value, dict) else {}


def seconds(timestamp: object) -> float:
    """Since 1970, of an RFC 3339 time with or without fractions; 0 for anything else."""
    if not isinstance(timestamp, str):
        return 0.0
    try:
        return unix_seconds(timestamp)
    except ValueError:
        return 0.0


def newest(timestamps: Iterable[str]) -> float:
    """The latest of RFC 3339 times in UTC to the second, which sort as text; 0 without any."""
    return seconds(max(timestamps, default=""))
