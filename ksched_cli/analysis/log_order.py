"""Decisions in the order of kube-scheduler's log.

An attempt sees the cluster as it is when the attempt begins, and no later changes except
nominations. A decision is therefore ordered by the beginning of its attempt, and a departure by the
moment at which the scheduler noticed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ksched_cli.analysis.decision_order import (
    Decision,
    Departure,
    FailedAttempt,
    LoggedChange,
    Placement,
    PreemptionDecision,
)
from ksched_cli.analysis.scheduler_log import LogEvent, LogLine
from ksched_cli.cluster.objects import ObjectMeta, Pod
from ksched_cli.cluster.state import ClusterState

# What is followed beside decisions and departures.
CHANGES = frozenset(
    (
        LogEvent.ADDITION,
        LogEvent.UPDATE,
        LogEvent.EVICTION,
        LogEvent.WRITING,
        LogEvent.NOTICE,
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
    placements: Sequence[Placement],
    waiting: Mapping[str, Pod],
    departed: Mapping[str, str],
    pods: Mapping[str, Pod],
    unseen: Mapping[str, str] = MappingProxyType({}),
) -> list[Decision]:
    """Return the decisions with the failed attempts and the departures; none where the log lacks
    the attempt of a placement that is judged.

    waiting: the pods that have no node at first, by key; departed: key of a pod → the node that
    it left; pods: by key; unseen: key of a pod that came and went → the node that it was on
    """
    on_node = {key: pod.node_name for key, pod in pods.items()}
    on_node |= {placement.pod.key: placement.node for placement in placements}
    attempts = logged_attempts(log, on_node)
    last = {attempt.pod: attempt.index for attempt in attempts}
    noticed_at = _first_additions(log)
    ranked: list[tuple[int, Decision]] = []
    for placement in placements:
        key = placement.pod.key
        if key in last:
            ranked.append((last[key], placement))
        elif placement.judged:
            return []
        else:
            ranked.append((noticed_at.get(key, -1), placement))
    left = {**departed, **unseen}
    pods = {**pods, **{key: _named(key) for key in unseen}}
    ranked += [
        (last[key], LoggedChange(pods[key], node, 0.0, LogEvent.BINDING))
        for key, node in unseen.items()
        if key in last
    ]
    for attempt in attempts:
        if attempt.pod in waiting and (attempt.node or attempt.message):
            left.update(dict.fromkeys(attempt.victims, attempt.node))
            noticed = tuple(pods[key] for key in attempt.noticed if key in pods)
            ranked.append((attempt.index, _failed(waiting[attempt.pod], attempt, noticed)))
    for index, line in enumerate(log):
        pod = pods.get(line.pod)
        if pod is None:
            continue
        if line.event is LogEvent.DEPARTURE and line.pod in left:
            ranked.append((index, Departure(pod, left[line.pod], 0.0)))
        elif line.event in CHANGES and line.pod not in unseen:
            node = line.node or on_node[line.pod]
            ranked.append((index, LoggedChange(pod, node, 0.0, line.event)))
    return [decision for _, decision in sorted(ranked, key=lambda item: item[0])]


def in_order_of_attempts(
    decisions: Sequence[Decision], log: Sequence[LogLine]
) -> tuple[Decision, ...]:
    """Return decisions that were recorded by their consequences, each a little late, in order: one
    was made before all that the log has later, and so before any consequence of those."""
    begun = _begun_at(decisions, log)
    places: dict[int, tuple[int, int]] = {}
    earliest = len(decisions)
    for line, place in sorted(((line, place) for place, line in begun.items()), reverse=True):
        earliest = min(earliest, place)
        places[place] = earliest, line
    order = sorted(range(len(decisions)), key=lambda place: places.get(place, (place, len(log))))
    return tuple(decisions[place] for place in order)


def _begun_at(decisions: Sequence[Decision], log: Sequence[LogLine]) -> dict[int, int]:
    """Place of a decision → the line that its attempt begins with, where the log has as many
    attempts of that outcome as there are such decisions."""
    lines: dict[tuple[str, str, bool], list[int]] = {}
    attempts: dict[str, int] = {}
    for index, line in enumerate(log):
        if line.event is LogEvent.ATTEMPT:
            attempts[line.pod] = index
        elif line.event in (LogEvent.BINDING, LogEvent.PREEMPTION) and line.pod in attempts:
            outcome = (line.pod, line.node, line.event is LogEvent.BINDING)
            lines.setdefault(outcome, []).append(attempts[line.pod])
    places: dict[tuple[str, str, bool], list[int]] = {}
    for place, each in enumerate(decisions):
        if isinstance(each, Placement | PreemptionDecision):
            outcome = (each.pod.key, each.node, isinstance(each, Placement))
            places.setdefault(outcome, []).append(place)
    return {
        place: line
        for outcome, own in places.items()
        if len(own) == len(lines.get(outcome, ()))
        for place, line in zip(own, lines[outcome], strict=True)
    }


def _first_additions(log: Sequence[LogLine]) -> dict[str, int]:
    """Key of a pod → the line that tells that it was noticed on a node."""
    additions: dict[str, int] = {}
    for index, line in enumerate(log):
        if line.event is LogEvent.ADDITION:
            additions.setdefault(line.pod, index)
    return additions


def _named(key: str) -> Pod:
    """Return a pod that is known by its name alone."""
    namespace, _, name = key.partition("/")
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=key))


def _failed(
    pod: Pod, attempt: LoggedAttempt, noticed: tuple[Pod, ...]
) -> PreemptionDecision | FailedAttempt:
    """The attempt did not place the pod."""
    if not attempt.node:
        return FailedAttempt(pod, "", 0.0, attempt.message)
    victims = tuple(sorted(attempt.victims))
    return PreemptionDecision(pod, attempt.node, victims, 0.0, attempt.message, noticed)


def in_order_of_notices(state: ClusterState, log: Iterable[LogLine]) -> ClusterState:
    """With nodes, and pods on nodes, in the order in which the scheduler noticed them, as far as
    the log tells. The first node that has an image says how big it is; of equally important pods
    the last on a node is evicted first. From 1.36 on a scheduler that starts notices all in no
    order."""
    nodes: dict[str, None] = {}
    pods: dict[str, int] = {}
    for index, line in enumerate(log):
        if line.event is LogEvent.NODE:
            nodes.setdefault(line.node)
        elif line.event is LogEvent.ADDITION:
            pods.setdefault(line.pod, index)
    return replace(
        state,
        pods=tuple(sorted(state.pods, key=lambda pod: pods.get(pod.key, 0))),
        noticed_nodes=tuple(nodes),
    )
