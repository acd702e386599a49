"""The order of attempts and departures that kube-scheduler's log has, at -v=3 or more.

Upstream: pkg/scheduler/schedule_one.go (ScheduleOne), pkg/scheduler/eventhandlers.go
(deletePodFromCache) and pkg/scheduler/framework/preemption/preemption.go (Preempt) write these
lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

# As text, then as JSON (--logging-format=json), whose fields come in no fixed order.
_TEXT = re.compile(r'\] "(?P<event>[^"]+)" (?:\S+ )*?pod="(?P<pod>[^"]+)"')
_JSON = re.compile(
    r'"msg":"(?P<event>[^"]+)".*"pod":\{"name":"(?P<name>[^"]+)","namespace":"(?P<namespace>[^"]+)"'
)
_NODE = re.compile(r'\bnode"?[=:]"(?P<node>[^"]+)"')


class LogEvent(Enum):
    """What a line tells of a pod: an attempt to place it began, it is to be placed by evicting
    others, or it left its node."""

    ATTEMPT = "Attempting to schedule pod"
    PREEMPTION = "the target node for the preemption is determined"
    DEPARTURE = "Delete event for scheduled pod"


_EVENTS = {event.value: event for event in LogEvent}


@dataclass(frozen=True, slots=True)
class LogLine:
    """pod: its key; node: that room is made on"""

    event: LogEvent
    pod: str
    node: str = ""


def read_log(lines: Iterable[str]) -> list[LogLine]:
    """In their order; other lines are passed over."""
    answer = []
    for line in lines:
        match = _TEXT.search(line) or _JSON.search(line)
        event = _EVENTS.get(match["event"]) if match else None
        if match is not None and event is not None:
            groups = match.groupdict()
            pod = groups.get("pod") or f"{groups['namespace']}/{groups['name']}"
            node = _NODE.search(line) if event is LogEvent.PREEMPTION else None
            answer.append(LogLine(event, pod, node["node"] if node else ""))
    return answer
