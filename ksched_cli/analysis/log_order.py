"""Decisions in the order of kube-scheduler's log.

An attempt sees the cluster as it is when the attempt begins: what changes until it ends, it does
not see. So every decision stands where its attempt began, and departures where they were noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ksched_cli.analysis.decision_order import (
    Decision,
    Departure,
    FailedAttempt,
    Placement,
    PreemptionDecision,
)
from ksched_cli.analysis.scheduler_log import LogEvent, LogLine
from ksched_cli.cluster.objects import Pod


@dataclass(slots=True)
class LoggedAttempt:
    """index: of the line that it begins with; pod: its key; node: that room is made on, or "";
    victims: their keys; victim_count: how many they are, where the log tells; message: of a
    refusal"""

    index: int
    pod: str
    node: str = ""
    victims: set[str] = field(default_factory=set)
    victim_count: int = 0
    message: str = ""


def logged_attempts(log: Sequence[LogLine]) -> list[LoggedAttempt]:
    """In their order. Evictions go on while the next pods are attempted, and the preemptor again:
    those on a node belong to the first of its attempts there that lacks some."""
    attempts: list[LoggedAttempt] = []
    preemptions: dict[tuple[str, str], list[LoggedAttempt]] = {}
    for index, line in enumerate(log):
        attempt = attempts[-1] if attempts and attempts[-1].pod == line.pod else None
        if line.event is LogEvent.ATTEMPT:
            attempts.append(LoggedAttempt(index, line.pod))
        elif line.event is LogEvent.PREEMPTION and attempt is not None:
            attempt.node = line.node
            preemptions.setdefault((line.pod, line.node), []).append(attempt)
        elif line.event is LogEvent.REFUSAL and attempt is not None:
            attempt.message = line.message
        elif line.event is LogEvent.LEAVING and attempts:
            attempts[-1].victims.add(line.pod)
        elif line.event in (LogEvent.EVICTION, LogEvent.VICTIM):
            _evict(line, preemptions)
    return attempts


def _evict(line: LogLine, preemptions: dict[tuple[str, str], list[LoggedAttempt]]) -> None:
    """preemptions: by pod and node"""
    if line.event is LogEvent.EVICTION:
        for attempt in preemptions.get((line.pod, line.node), ())[-1:]:
            attempt.victim_count = line.victim_count
        return
    on_node = preemptions.get((line.preemptor, line.node), [])
    for attempt in on_node:
        if len(attempt.victims) < attempt.victim_count or attempt is on_node[-1]:
            attempt.victims.add(line.pod)
            return


def in_order_of_log(
    log: Sequence[LogLine],
    placements: Iterable[Placement],
    waiting: Mapping[str, Pod],
    departed: Mapping[str, str],
    pods: Mapping[str, Pod],
) -> list[Decision]:
    """With the failed attempts and the departures; none where the log lacks the attempt of a
    placement.

    waiting: the pods that have no node at first, by key; departed: key of a pod → the node that
    it left; pods: by key
    """
    attempts = logged_attempts(log)
    last = {attempt.pod: attempt.index for attempt in attempts}
    ranked: list[tuple[int, Decision]] = []
    for placement in placements:
        if placement.pod.key not in last:
            return []
        ranked.append((last[placement.pod.key], placement))
    left = dict(departed)
    for attempt in attempts:
        pod = waiting.get(attempt.pod)
        if pod is None:
            continue
        if attempt.node:
            left.update(dict.fromkeys(attempt.victims, attempt.node))
            victims = tuple(sorted(attempt.victims))
            ranked.append((attempt.index, PreemptionDecision(pod, attempt.node, victims, 0.0)))
        elif attempt.message:
            ranked.append((attempt.index, FailedAttempt(pod, "", 0.0, attempt.message)))
    for index, line in enumerate(log):
        node = left.get(line.pod)
        if line.event is LogEvent.DEPARTURE and node and line.pod in pods:
            ranked.append((index, Departure(pods[line.pod], node, 0.0)))
    return [decision for _, decision in sorted(ranked, key=lambda item: item[0])]
