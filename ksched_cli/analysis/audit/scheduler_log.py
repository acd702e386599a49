"""The order of attempts, evictions and departures that kube-scheduler's log has, at -v=3 or more.

Upstream: pkg/scheduler/schedule_one.go (ScheduleOne, handleSchedulingFailure),
pkg/scheduler/eventhandlers.go (deletePodFromCache) and pkg/scheduler/framework/preemption
(Preempt, prepareCandidateAsync, NewEvaluator) write these lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from ksched_cli.kube.selectors import parse_int64
from ksched_cli.kube.stored_bytes import unpacked


class LogEvent(Enum):
    """The kinds of lines about a pod.

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
    BINDING:    it was bound to a node
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
    BINDING = "binding"
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
    "Successfully bound pod to node": LogEvent.BINDING,
    "Add event for node": LogEvent.NODE,
}
# The field that names the pod, where it is not "pod".
_SUBJECTS = {LogEvent.EVICTION: "preemptor", LogEvent.LEAVING: "victim", LogEvent.VICTIM: "victim"}

_EVENT = re.compile(r'\] "(?P<event>[^"]+)"')
_FIELD = re.compile(
    r"\b(?P<field>pod|victim|preemptor|node|err|numVictims)="
    r'(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>\d+))'
)
# What a container runtime, or kubectl logs --timestamps, writes before a line. P: the line goes on
# in the next one.
_PREFIX = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) (?P<tag>[PF])(?::\w+)* )?"
)
_DOCKER = '{"log":'
_JSON = "{"
# The month, day and time of a line; in January a file of December is the older one.
_TIME = re.compile(r"[IWEF](?P<time>\d{4} \d\d:\d\d:\d\d\.\d+)")
_DECEMBER, _JANUARY = "12", "01"


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


def read_logs(files: Iterable[tuple[bytes, str]]) -> list[LogLine]:
    """Read the files that a log was rotated into, in any order, gzipped or not: bytes and name.
    Raises InputError for incomplete gzip."""
    logs = []
    for data, name in files:
        text = unpacked(data, name).decode(errors="replace")
        lines = list(_payloads(text.splitlines()))
        logs.append((_first_time(lines), lines))
    turns_year = {_DECEMBER, _JANUARY} <= {time[:2] for time, _ in logs}
    logs.sort(key=lambda log: (turns_year and log[0].startswith(_JANUARY), log[0]))
    return read_log(line for _, lines in logs for line in lines)


def _payloads(lines: Iterable[str]) -> Iterator[str]:
    """Yield the scheduler's own lines, without the wrapping of a container runtime."""
    part = ""
    for line in lines:
        if line.startswith(_DOCKER):
            line = str(_json_object(line).get("log", "")).rstrip("\n")
        prefix = _PREFIX.match(line)
        part += line[prefix.end() :] if prefix else line
        if prefix is None or prefix["tag"] != "P":
            yield part
            part = ""
    if part:
        yield part


_FAR = 1e15  # seconds; JSON may have integers that no float holds


def _first_time(lines: Iterable[str]) -> str:
    """Sorts as the files do that begin so; "" where no line has one."""
    for line in lines:
        if line.startswith(_JSON) and isinstance(ts := _json_object(line).get("ts"), int | float):
            return f"{max(-_FAR, min(ts, _FAR)):024.6f}"
        if match := _TIME.match(line):
            return match["time"]
    return ""


def read_log(lines: Iterable[str]) -> list[LogLine]:
    """Read the events in their order, written as text or as JSON (--logging-format=json); skip
    other lines."""
    answer = []
    for line in lines:
        name, fields = _json_line(line) if line.startswith(_JSON) else _text_line(line)
        event = _EVENTS.get(name)
        if event is None:
            continue
        pod = fields.get(_SUBJECTS.get(event, "pod")) or fields.get("pod", "")
        if pod or event is LogEvent.NODE:
            preemptor = fields.get("preemptor", "") if event is not LogEvent.EVICTION else ""
            message = fields.get("err", "") if event is LogEvent.REFUSAL else ""
            count = parse_int64(fields.get("numVictims")) or 0
            answer.append(LogLine(event, pod, fields.get("node", ""), preemptor, message, count))
    return answer


def _text_line(line: str) -> tuple[str, dict[str, str]]:
    """The message and the fields that matter, by name."""
    match = _EVENT.search(line)
    if match is None or match["event"] not in _EVENTS:
        return "", {}
    return match["event"], {
        field["field"]: (field["text"] or field["number"] or "").replace('\\"', '"')
        for field in _FIELD.finditer(line)
    }


def _json_line(line: str) -> tuple[str, dict[str, str]]:
    """Parse a line as _text_line does; objects become their keys."""
    values = _json_object(line)
    return str(values.get("msg", "")), {name: _shown(value) for name, value in values.items()}


def _json_object(line: str) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "/".join(str(value[part]) for part in ("namespace", "name") if part in value)
    return str(value)
