"""Decisions in the order of kube-scheduler's log.

An attempt sees the cluster as it is when the attempt begins, and no later changes except
nominations. A decision is therefore ordered by the beginning of its attempt, and a departure by the
moment at which the scheduler noticed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ksched_cli.analysis.audit.decisions import (
    Decision,
    Placement,
    PodEvent,
    PreemptionDecision,
)
from ksched_cli.analysis.audit.scheduler_log import LogEvent, LogLine
from ksched_cli.cluster.objects import ObjectMeta, Pod
from ksched_cli.cluster.state import ClusterState

# What is followed beside decisions and departures.
CHANGES = frozenset(
    (LogEvent.ADDITION, LogEvent.UPDATE, LogEvent.EVICTION, LogEvent.WRITING, LogEvent.NOTICE)
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
    decisions: Sequence[Decision],
    waiting: Mapping[str, Pod],
    pods: Mapping[str, Pod],
    departed: Mapping[str, str],
    unseen: Mapping[str, str],
) -> list[Decision]:
    """Return the placements with the failed attempts, the preemptions and the changes of pods; none
    where the log lacks the attempt of a placement that is judged.

    decisions: placements, and preemptions that other records tell of; waiting: the pods that have
    no node at first, by key; pods: that the states have, by key; departed: key of a pod → the node
    that it left; unseen: key of a pod that came and went → the node that it was on
    """
    on_node = {key: pod.node_name for key, pod in pods.items()}
    on_node |= {each.pod.key: each.node for each in decisions if isinstance(each, Placement)}
    left = {**departed, **unseen}
    pods = {**pods, **{key: _named(key) for key in unseen}}
    attempts = logged_attempts(log, on_node)
    last = {attempt.pod: attempt.index for attempt in attempts}
    noticed_at = _first_additions(log)
    ranked: list[tuple[int, Decision]] = [
        (last[key], PodEvent(pods[key], node, 0.0, LogEvent.BINDING))
        for key, node in unseen.items()
        if key in last
    ]
    for each in decisions:
        key = each.pod.key
        if isinstance(each, PreemptionDecision):
            left.update(dict.fromkeys(each.victims, each.node))
        elif isinstance(each, Placement) and each.judged and key not in last:
            return []
        else:
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


def in_order_of_notices(state: ClusterState, log: Sequence[LogLine]) -> ClusterState:
    """With nodes, and pods on nodes, in the order in which the scheduler noticed them, as far as
    the log tells. The first node that has an image says how big it is; of equally important pods
    the last on a node is evicted first. From 1.36 on a scheduler that starts notices all in no
    order."""
    nodes = dict.fromkeys(line.node for line in log if line.event is LogEvent.NODE)
    additions = _first_additions(log)
    pods = sorted(state.pods, key=lambda pod: additions.get(pod.key, 0))
    return replace(state, pods=tuple(pods), noticed_nodes=tuple(nodes))
