"""The figures of a replay that has ended: waits, completion times, node-hours.

They are exact: times are counted in microseconds, maxima are of all moments, nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, inf
from typing import Annotated

from msgspec import Meta, Struct

from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND

_HOUR = 3_600 * SECOND
DIGITS = 6


Seconds = Annotated[float, Meta(ge=0, le=1e300)]


class Durations(Struct, frozen=True):
    """p50, p90, p99: the times that these shares of the pods did not exceed"""

    mean: Seconds
    p50: Seconds
    p90: Seconds
    p99: Seconds
    max: Seconds


class ReplayFigures(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What became of the pods of a replay, and what that took.

    wait:                of pods from their creation to their node; pods that still wait at the end
                         count with the time so far. None without pods
    job_completion_time: of pods that were placed and ended, from their creation to their end. None
                         without any
    pending_hours:       the hours that pods were without a node, added up; gated pods do not count
    node_hours:          the hours that nodes were there, added up
    used_node_hours:     those in which pods were on them
    nodes_used:          the most nodes with pods at one moment
    ended:               how many pods ended
    """

    pending_hours: float
    node_hours: float
    used_node_hours: float
    nodes_used: int
    ended: int
    wait: Durations | None = None
    job_completion_time: Durations | None = None


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A replay that has ended. pods: the records of all that it had to do with"""

    replay: Replay
    pods: Sequence[PodRecord]

    @classmethod
    def of(cls, replay: Replay, departed: Iterable[PodRecord]) -> ReplayRecord:
        """departed: the records of the pods that have left"""
        return cls(replay, (*departed, *replay.log.live.values()))


def replay_figures(record: ReplayRecord) -> ReplayFigures:
    """The figures of a replay."""
    replay, records = record.replay, record.pods
    now = replay.clock.now
    waits = [wait for record in records if (wait := wait_of(record, now)) is not None]
    unplaced = [
        record.ended - record.queued
        for record in records
        if record.placed is None and record.ended is not None and record.attempts
    ]
    completions = [
        record.ended - record.queued
        for record in records
        if record.placed is not None
        and record.ended is not None
        and record.outcome is PodOutcome.ENDED
    ]
    nodes_used, used = _node_use(chain(_stays(records), _undisturbed(replay)), now)
    return ReplayFigures(
        round((sum(waits) + sum(unplaced)) / _HOUR, DIGITS),
        round(replay.nodes.node_time_until(now) / _HOUR, DIGITS),
        round(used / _HOUR, DIGITS),
        nodes_used,
        replay.log.counts.ended,
        durations(waits) if waits else None,
        durations(completions) if completions else None,
    )


def wait_of(record: PodRecord, now: int) -> int | None:
    """How long a pod waited for its node, or waits at the end of the replay, now; None where it
    came with a node, left without one, or is gated. Microseconds."""
    if record.was_bound or (record.placed is None and record.outcome is not PodOutcome.PENDING):
        return None
    return (now if record.placed is None else record.placed) - record.queued


def durations(times: Sequence[int]) -> Durations:
    """times: at least one, in microseconds"""
    ordered = sorted(times)
    shares = (ordered[max(ceil(share * len(ordered) / 100), 1) - 1] for share in (50, 90, 99))
    mean = sum(ordered) / len(ordered)
    seconds = (round(time / SECOND, DIGITS) for time in (mean, *shares, ordered[-1]))
    return Durations(*seconds)


# -- nodes in use ---------------------------------------------------------------------------------

# A pod's stay on a node: the node, its begin, and its end; None where the pod is still there.
Stay = tuple[str, int, int | None]


def _stays(records: Iterable[PodRecord]) -> Iterator[Stay]:
    for record in records:
        begin = record.queued if record.was_bound else record.placed
        if begin is not None:
            yield record.node, begin, record.ended


def _undisturbed(replay: Replay) -> Iterator[Stay]:
    """Pods that ran all the time have no record."""
    for key, pod in replay.cluster.bound.items():
        if key not in replay.log.live:
            yield pod.pod.node_name, 0, None


def _node_use(stays: Iterable[Stay], now: int) -> tuple[int, int]:
    """The most nodes with pods at one moment, and the time that nodes had pods, added up."""
    by_node: dict[str, list[tuple[int, float]]] = {}
    for node, begin, end in stays:
        if end is None or end > begin:
            by_node.setdefault(node, []).append((begin, inf if end is None else end))
    changes: list[tuple[float, int]] = []
    time = 0
    for spans in by_node.values():
        for begin, until in _united(spans):
            changes += ((begin, 1), (until, -1))
            time += int(min(until, now)) - begin
    most = count = 0
    for _, change in sorted(changes):  # what ends at a moment ends before anything begins
        count += change
        most = max(most, count)
    return most, time


def _united(spans: list[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    """Spans of time without those between which there is no gap."""
    spans.sort()
    begin, end = spans[0]
    for other_begin, other_end in spans[1:]:
        if other_begin > end:
            yield begin, end
            begin = other_begin
            end = other_end
        end = max(end, other_end)
    yield begin, end
