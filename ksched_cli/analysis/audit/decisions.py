"""Decisions of a real scheduler, what happened between them, and verdicts on them; and their order
in kube-scheduler's log, at -v=3 or more.

Upstream: pkg/scheduler/schedule_one.go (ScheduleOne, handleSchedulingFailure),
pkg/scheduler/eventhandlers.go (deletePodFromCache) and pkg/scheduler/framework/preemption
(Preempt, prepareCandidateAsync, NewEvaluator) write the lines of the log.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import accumulate
from typing import Any, TypeGuard, TypeVar

import msgspec

from ksched_cli.answers import Part
from ksched_cli.cluster.objects import ObjectMeta, Pod, ResourceClaim
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.errors import UsageError
from ksched_cli.framework.preemption import Preemption
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.stored_bytes import unpacked
from ksched_cli.scenario.timeline import Removal, Replacement

K = TypeVar("K")
V = TypeVar("V")


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
    REMOVAL:    a pod without a node is one no more: it was bound, or is gone
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
    REMOVAL = "removal"
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
    "Delete event for unscheduled pod": LogEvent.REMOVAL,
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
    rounds: tuple[int, ...] = ()


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
    """Sort as the files do that begin so; "" where no line has one."""
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
    """Return the message and the fields that matter, by name."""
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


# -- decisions and verdicts -----------------------------------------------------------------------


class OrderSource(Enum):
    """What the order of the decisions is taken from. LOG: the scheduler's, which is exact;
    RECORDING: what was recorded while they were made"""

    LOG = "log"
    RECORDING = "recording"


@dataclass(frozen=True, slots=True)
class RecordedPlacement:
    """A pod that was bound. pod: as it was before; time: of the binding; judged: whether a profile
    of the configuration placed it; since: when the pod came, or failed for the last time, as a
    recording tells; is_first: it came in the recording, and had not failed"""

    pod: Pod
    node: str
    time: float
    judged: bool = True
    since: float = 0.0
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """Room that was made. pod: that it was made for; victims: keys, in the order in which they left
    if a recording tells, those of later evictions on the node last; message: of the refusal, where
    a log tells; noticed_meanwhile: pods of which the scheduler noticed an update while it decided,
    in order; since, is_first: as of a placement; shared: keys of pods on the node that were evicted
    for others, and may have been chosen for this pod, too; victim_count: how many were chosen, 0
    where that is not told; rounds: after how many victims all were gone before the next one left,
    which may have been chosen later"""

    pod: Pod
    node: str
    victims: tuple[str, ...]
    time: float
    message: str = ""
    noticed_meanwhile: tuple[Pod, ...] = ()
    since: float = 0.0
    is_first: bool = False
    shared: frozenset[str] = frozenset()
    victim_count: int = 0
    rounds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PodEvent:
    """Something else that happened to a pod, as a log or a recording tells. pod: after an UPDATE
    with the new manifest, as a recording tells; node: of the pod, or that the evictions for it are
    on; message: of a REFUSAL"""

    pod: Pod
    node: str
    time: float
    event: LogEvent
    message: str = ""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """Nodes or other objects came, changed or went; only a recording tells when. pod, node: of
    none"""

    actions: tuple[Replacement | Removal, ...]
    time: float
    pod: Pod = field(default_factory=Pod)
    node: str = ""


NodeChoice = RecordedPlacement | PreemptionDecision
"""A decision that is judged: it takes a node."""

Decision = NodeChoice | PodEvent | ObjectChange


def is_choice(decision: Decision) -> TypeGuard[NodeChoice]:
    """Return whether the decision takes a node."""
    return isinstance(decision, RecordedPlacement | PreemptionDecision)


def has_left(decision: Decision) -> TypeGuard[PodEvent]:
    """Return whether a pod left its node."""
    return isinstance(decision, PodEvent) and decision.event is LogEvent.DEPARTURE


def is_refusal(decision: Decision) -> TypeGuard[PodEvent]:
    """Return whether an attempt ended without a node, and without room being made."""
    return isinstance(decision, PodEvent) and decision.event is LogEvent.REFUSAL


class Unexplained(Part, frozen=True):
    """A decision that cannot be judged, and the reason."""

    pod: str
    reason: str


@dataclass(frozen=True, slots=True)
class LastRefusal:
    """A pod without a node in the end. message: of the last attempt, or "". current: nothing has
    happened since that attempt"""

    pod: Pod
    message: str
    current: bool


@dataclass(frozen=True, slots=True)
class UnseenPod:
    """A pod that came to a node and left it between the states, which hold nothing of it. since: in
    seconds since 1970; 0 where only the log tells"""

    key: str
    node: str
    since: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLog:
    """state:     to begin with; pods that come later are pending in it
    decisions: in their order, as well as `order` tells it
    refused:   the pods that have no node in the end
    allocated: the claims as they are in the end
    newcomers: pods of the name of another one of the state
    departed:  pod key → node, of pods that left it nobody knows when
    changed_nodes: name → what of it changed in between
    unseen:    pods that neither state has; what they held is not known
    chosen_volumes: claim → the volume that it got when its pod was placed
    changed_budgets: names of those that allowed other evictions in the end, nobody knows since when
    """

    state: ClusterState
    decisions: tuple[Decision, ...]
    order: OrderSource
    refused: tuple[LastRefusal, ...]
    unexplained: tuple[Unexplained, ...]
    allocated: Mapping[Key, ResourceClaim]
    newcomers: tuple[Pod, ...] = ()
    departed: Mapping[str, str] = field(default_factory=dict)
    changed_nodes: Mapping[str, str] = field(default_factory=dict)
    unseen: tuple[UnseenPod, ...] = ()
    chosen_volumes: Mapping[Key, str] = field(default_factory=dict)
    changed_budgets: tuple[str, ...] = ()


class Grade(Enum):
    """How the real choice compares with ksched's.

    BEST: the one best node, or the only one that fits
    TIED: one of several that are equally good
    NOMINATED: the node that the pod was nominated to
    SAMPLED: worse than the best of all, but the best of nodes that may have been looked at
    BATCHED: the next best node of the ranking for the pod before, which looks the same
    REORDERED: as ksched's at another moment that the recording allows
    PREEMPTS: room is made where ksched would make it, by evicting the same pods
    REFUSED: the pod has no node, and fits on none
    """

    BEST = "best"
    TIED = "tied"
    NOMINATED = "nominated"
    SAMPLED = "sampled"
    BATCHED = "batched"
    REORDERED = "reordered"
    PREEMPTS = "preempts"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DecisionVerdict:
    """grade: None where ksched would not have decided so. expected: the nodes it might have taken,
    by name. reason: why the real choice cannot be its, where that is not a matter of scores."""

    grade: Grade | None
    evaluation: Evaluation
    expected: tuple[str, ...] = ()
    reason: str = ""
    preemption: Preemption | None = None


# -- the order of the log -------------------------------------------------------------------------
#
# An attempt sees the cluster as it is when the attempt begins, and no later changes except
# nominations. A decision is therefore ordered by the beginning of its attempt, and a departure by
# the moment at which the scheduler noticed it.

# What is followed beside decisions and departures.
CHANGES = frozenset(
    (
        LogEvent.ADDITION,
        LogEvent.UPDATE,
        LogEvent.EVICTION,
        LogEvent.WRITING,
        LogEvent.NOTICE,
        LogEvent.REMOVAL,
    )
)


@dataclass(slots=True)
class LoggedAttempt:
    """index: of the line that it begins with; pod: its key; node: that room is made on, or "";
    victims: their keys; victim_count: how many they are, where the log tells; message: of a
    refusal; noticed: keys of pods of which an update was noticed until that node was determined"""

    index: int
    pod: str
    node: str = ""
    victims: set[str] = field(default_factory=set)
    victim_count: int = 0
    rounds: tuple[int, ...] = ()
    message: str = ""
    noticed: list[str] = field(default_factory=list)


def logged_attempts(log: Sequence[LogLine], homes: Mapping[str, str]) -> list[LoggedAttempt]:
    """Return the attempts in their order. Evictions continue while the next pods are attempted, and
    the preemptor again: those on a node belong to the first of its attempts there that lacks some.

    homes: key of a pod → the node that it was on
    """
    attempts: list[LoggedAttempt] = []
    preemptions: dict[tuple[str, str], deque[LoggedAttempt]] = {}
    for index, line in enumerate(log):
        attempt = attempts[-1] if attempts and attempts[-1].pod == line.pod else None
        if line.event is LogEvent.ATTEMPT:
            attempts.append(LoggedAttempt(index, line.pod))
        elif line.event is LogEvent.PREEMPTION and attempt is not None:
            attempt.node = line.node
            preemptions.setdefault((line.pod, line.node), deque()).append(attempt)
        elif line.event is LogEvent.REFUSAL and attempt is not None:
            attempt.message = line.message
        elif line.event is LogEvent.NOTICE and attempts and not attempts[-1].node:
            attempts[-1].noticed.append(line.pod)
        elif line.event is LogEvent.LEAVING and attempts:
            attempts[-1].victims.add(line.pod)
        elif line.event in (LogEvent.EVICTION, LogEvent.VICTIM):
            _evict(line, line.node or homes.get(line.pod, ""), preemptions)
    return attempts


def _evict(
    line: LogLine, node: str, preemptions: Mapping[tuple[str, str], deque[LoggedAttempt]]
) -> None:
    """preemptions: by pod and node, in their order, of which those that lack no victim go"""
    on_node = preemptions.get((line.preemptor or line.pod, node))
    if not on_node:
        return
    if line.event is LogEvent.EVICTION:
        on_node[-1].victim_count = line.victim_count
        return
    while len(on_node) > 1 and len(on_node[0].victims) >= on_node[0].victim_count:
        on_node.popleft()
    on_node[0].victims.add(line.pod)


def in_order_of_log(
    log: Sequence[LogLine],
    placements: Sequence[RecordedPlacement],
    waiting: Mapping[str, Pod],
    pods: Mapping[str, Pod],
    left: Mapping[str, str],
    unseen: Mapping[str, str],
) -> list[Decision]:
    """Return the placements with the failed attempts, the preemptions and the changes of pods.
    Raises UsageError where the log lacks the attempt of a placement that is judged.

    waiting: the pods that have no node at first, by key; pods: that the states have, by key; left:
    key of a pod → the node that it left; unseen: key of a pod that came and went → the node that it
    was on
    """
    on_node = {key: pod.node_name for key, pod in pods.items()}
    on_node |= {each.pod.key: each.node for each in placements}
    left = dict(left)
    pods = {**pods, **{key: _named(key) for key in unseen}}
    attempts = logged_attempts(log, on_node)
    last = {attempt.pod: attempt.index for attempt in attempts}
    noticed_at = _first_additions(log)
    ranked: list[tuple[int, Decision]] = [
        (last[key], PodEvent(pods[key], node, 0.0, LogEvent.BINDING))
        for key, node in unseen.items()
        if key in last
    ]
    for each in placements:
        key = each.pod.key
        if each.judged and key not in last:
            raise UsageError(
                f"the scheduler's log has no attempt to schedule {key}, which was placed: give "
                "every file of a rotated log of that time, at -v=3 or more"
            )
        ranked.append((last.get(key, noticed_at.get(key, -1)), each))
    for attempt in attempts:
        if attempt.pod in waiting and (attempt.node or attempt.message):
            left.update(dict.fromkeys(attempt.victims, attempt.node))
            pod, message = waiting[attempt.pod], attempt.message
            failed: Decision = PodEvent(pod, "", 0.0, LogEvent.REFUSAL, message)
            if attempt.node:
                victims = tuple(sorted(attempt.victims))
                noticed = tuple(pods[key] for key in attempt.noticed if key in pods)
                failed = PreemptionDecision(pod, attempt.node, victims, 0.0, message, noticed)
            ranked.append((attempt.index, failed))
    for index, line in enumerate(log):
        key = line.pod
        if line.event is LogEvent.DEPARTURE and key in left and key in pods:
            ranked.append((index, PodEvent(pods[key], left[key], 0.0, line.event)))
        elif line.event in CHANGES and key in pods and key not in unseen:
            change = PodEvent(pods[key], line.node or on_node[key], 0.0, line.event)
            ranked.append((index, change))
    return [decision for _, decision in sorted(ranked, key=lambda item: item[0])]


def in_order_of_attempts(
    decisions: Sequence[Decision], log: Sequence[LogLine]
) -> tuple[Decision, ...]:
    """Return decisions that were recorded by their consequences, each a little late, in order: one
    was made before all whose attempts the log has later, and so before any consequence of those,
    and before the departures that were noticed after its outcome."""
    begun, departures = _lines_of(decisions, log)
    noticed = sorted((line, place) for place, line in departures.items())
    # The first place of the departures from each of these on.
    first = [*accumulate((place for _, place in reversed(noticed)), min, initial=len(decisions))]
    places: dict[int, tuple[int, int]] = {}
    earliest = len(decisions)
    for (line, outcome), place in sorted(
        ((lines, at) for at, lines in begun.items()), reverse=True
    ):
        later = len(noticed) - bisect(noticed, (outcome, len(decisions)))
        earliest = min(earliest, place, first[later])
        places[place] = earliest, line
    order = sorted(range(len(decisions)), key=lambda place: places.get(place, (place, len(log))))
    return tuple(decisions[place] for place in order)


def _lines_of(
    decisions: Sequence[Decision], log: Sequence[LogLine]
) -> tuple[dict[int, tuple[int, int]], dict[int, int]]:
    """Return the lines with which the attempt of a decision begins, and its outcome is told, by the
    decision's place; and the line that tells of a departure, by its place. Only where the log has
    as many of them as there are."""
    attempts: dict[str, int] = {}
    begun: dict[tuple[str, str, LogEvent], list[tuple[int, int]]] = {}
    left: dict[str, list[int]] = {}
    for index, line in enumerate(log):
        if line.event is LogEvent.ATTEMPT:
            attempts[line.pod] = index
        elif line.event is LogEvent.DEPARTURE:
            left.setdefault(line.pod, []).append(index)
        elif line.event in (LogEvent.BINDING, LogEvent.PREEMPTION) and line.pod in attempts:
            lines = begun.setdefault((line.pod, line.node, line.event), [])
            lines.append((attempts[line.pod], index))
    places: dict[tuple[str, str, LogEvent], list[int]] = {}
    departures: dict[str, list[int]] = {}
    for place, each in enumerate(decisions):
        if isinstance(each, RecordedPlacement):
            places.setdefault((each.pod.key, each.node, LogEvent.BINDING), []).append(place)
        elif isinstance(each, PreemptionDecision):
            places.setdefault((each.pod.key, each.node, LogEvent.PREEMPTION), []).append(place)
        elif isinstance(each, PodEvent) and each.event is LogEvent.DEPARTURE:
            departures.setdefault(each.pod.key, []).append(place)
    return _paired(places, begun), _paired(departures, left)


def _paired(places: Mapping[K, Sequence[int]], lines: Mapping[K, Sequence[V]]) -> dict[int, V]:
    """Return the lines by place, where there are as many of one kind as of the other."""
    return {
        place: line
        for key, own in places.items()
        if len(own) == len(lines.get(key, ()))
        for place, line in zip(own, lines[key], strict=True)
    }


def _first_additions(log: Sequence[LogLine]) -> dict[str, int]:
    """Return, by the key of a pod, the line that tells that it was noticed on a node."""
    additions: dict[str, int] = {}
    for index, line in enumerate(log):
        if line.event is LogEvent.ADDITION:
            additions.setdefault(line.pod, index)
    return additions


def _named(key: str) -> Pod:
    """Return a pod that is known by its name alone."""
    namespace, _, name = key.partition("/")
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=key))


def in_order_of_notices(state: ClusterState, log: Sequence[LogLine]) -> ClusterState:
    """Return the state with nodes, and pods on nodes, in the order in which the scheduler noticed
    them, as far as the log tells. The first node that has an image says how big it is; of equally
    important pods the last on a node is evicted first. From 1.36 on a scheduler that starts notices
    all in no order."""
    nodes = dict.fromkeys(line.node for line in log if line.event is LogEvent.NODE)
    additions = _first_additions(log)
    pods = sorted(state.pods, key=lambda pod: additions.get(pod.key, 0))
    return replace(state, pods=tuple(pods), noticed_nodes=tuple(nodes))
