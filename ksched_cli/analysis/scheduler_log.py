"""The order of attempts, evictions and departures that kube-scheduler's log has, at -v=3 or more.

Upstream: pkg/scheduler/schedule_one.go (ScheduleOne, handleSchedulingFailure),
pkg/scheduler/eventhandlers.go (deletePodFromCache) and pkg/scheduler/framework/preemption
(Preempt, prepareCandidateAsync, NewEvaluator) write these lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ksched_cli.kube.selectors import parse_int64


class LogEvent(Enum):
    """What a line tells of a pod.

    ATTEMPT:    an attempt to place it began
    PREEMPTION: in this attempt a node was chosen, to evict others from
    REFUSAL:    no node was found in this attempt
    EVICTION:   the evictions for it began
    LEAVING:    it was chosen to be evicted in this attempt, and is leaving already
    VICTIM:     it was evicted, or had been already when it was to be
    DEPARTURE:  it left its node
    ADDITION:   it was noticed on its node
    UPDATE:     on its node something of it changed
    WRITING:    the status of a pod without a node is written
    NOTICE:     something of a pod without a node changed
    NODE:       a node was noticed, no pod

    UPDATE and NOTICE are written at -v=4.
    """

    ATTEMPT = "attempt"
    PREEMPTION = "preemption"
    REFUSAL = "refusal"
    EVICTION = "eviction"
    LEAVING = "leaving"
    VICTIM = "victim"
    DEPARTURE = "departure"
    ADDITION = "addition"
    UPDATE = "update"
    WRITING = "writing"
    NOTICE = "notice"
    NODE = "node"


_EVENTS = {
    "Attempting to schedule pod": LogEvent.ATTEMPT,
    "the target node for the preemption is determined": LogEvent.PREEMPTION,
    "Unable to schedule pod; no fit; waiting": LogEvent.REFUSAL,
    "Start the preemption asynchronously": LogEvent.EVICTION,
    "Preemptor Pod preempted victim Pod": LogEvent.VICTIM,
    "Victim Pod is already deleted": LogEvent.VICTIM,
    "Could not add DisruptionTarget condition due to preemption": LogEvent.VICTIM,
    "Victim Pod is already deleted, skipping the API call for it": LogEvent.LEAVING,
    "Delete event for scheduled pod": LogEvent.DEPARTURE,
    "Add event for scheduled pod": LogEvent.ADDITION,
    "Update event for scheduled pod": LogEvent.UPDATE,
    "Updating pod condition": LogEvent.WRITING,
    "Updating pod condition and nominated node name": LogEvent.WRITING,
    "Update event for unscheduled pod": LogEvent.NOTICE,
    "Add event for node": LogEvent.NODE,
}
# The field that names the pod, where it is not "pod".
_SUBJECTS = {LogEvent.EVICTION: "preemptor", LogEvent.LEAVING: "victim", LogEvent.VICTIM: "victim"}

# As text, then as JSON (--logging-format=json), whose fields come in no fixed order.
_EVENT = re.compile(r'(?:\] |"msg":)"(?P<event>[^"]+)"')
_FIELD = re.compile(
    r'\b(?P<field>pod|victim|preemptor|node|err|numVictims)"?[=:]'
    r'(?:"(?P<text>(?:[^"\\]|\\.)*)"'
    r'|\{"name":"(?P<name>[^"]+)","namespace":"(?P<namespace>[^"]+)"\}|(?P<number>\d+))'
)


@dataclass(frozen=True, slots=True)
class LogLine:
    """pod: its key; node: the one noticed, or that room is made on, where the line tells;
    preemptor: that the pod was evicted for; message: of the refusal; victim_count: of the
    evictions"""

    event: LogEvent
    pod: str
    node: str = ""
    preemptor: str = ""
    message: str = ""
    victim_count: int = 0


def read_log(lines: Iterable[str]) -> list[LogLine]:
    """In their order; other lines are passed over."""
    answer = []
    for line in lines:
        match = _EVENT.search(line)
        event = _EVENTS.get(match["event"]) if match else None
        if match is None or event is None:
            continue
        fields = _fields(line)
        pod = fields.get(_SUBJECTS.get(event, "pod")) or fields.get("pod", "")
        if pod or event is LogEvent.NODE:
            answer.append(
                LogLine(
                    event,
                    pod,
                    fields.get("node", ""),
                    fields.get("preemptor", "") if event is not LogEvent.EVICTION else "",
                    _message(fields) if event is LogEvent.REFUSAL else "",
                    parse_int64(fields.get("numVictims")) or 0,
                )
            )
    return answer


def _message(fields: Mapping[str, str]) -> str:
    return fields.get("err", "").replace('\\"', '"')


def _fields(line: str) -> dict[str, str]:
    """By name; of objects their keys."""
    return {
        match["field"]: f"{match['namespace']}/{match['name']}"
        if match["name"]
        else match["text"] or match["number"] or ""
        for match in _FIELD.finditer(line)
    }
