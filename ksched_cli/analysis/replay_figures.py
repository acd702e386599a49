"""The figures of a replay that has ended: waits, completion times, node-hours.

They are exact: times are counted in microseconds, maxima are of all moments, nothing is sampled.
Replay, compare, sweep, tune and test take theirs from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from ksched_cli.analysis.replay_cost import ReplayCost
from ksched_cli.analysis.usage_over_time import DIGITS, UsageOverTime
from ksched_cli.engine.replay.history import Waits
from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND

_HOUR = 3_600 * SECOND

Seconds = Annotated[float, Meta(ge=0, le=1e300)]


class Durations(Struct, frozen=True):
    """p50, p90, p95, p99: the times that these shares of the pods did not exceed"""

    mean: Seconds
    p50: Seconds
    p90: Seconds
    p95: Seconds
    p99: Seconds
    max: Seconds


class WaitingTimes(Durations, frozen=True, rename="camel"):
    """How long pods waited for a node; a pod that still waits at the end counts with the time so
    far.

    pods:          of which these are the times; without any all figures are 0
    still_waiting: how many of them have no node yet
    """

    pods: int
    still_waiting: int


class WaitingGroups(Struct, frozen=True):
    """Waiting times of all pods, and of those of one priority, namespace or controller."""

    all: WaitingTimes
    priority: dict[str, WaitingTimes]
    namespace: dict[str, WaitingTimes]
    owner: dict[str, WaitingTimes]


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
    cost:                of the nodes. None without prices
    """

    pending_hours: float
    node_hours: float
    used_node_hours: float
    nodes_used: int
    ended: int
    wait: Durations | None = None
    job_completion_time: Durations | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A replay that has ended. pods: the records of all that it had to do with"""

    replay: Replay
    pods: Sequence[PodRecord]

    @classmethod
    def of(cls, replay: Replay, departed: Iterable[PodRecord]) -> ReplayRecord:
        """departed: the records of the pods that have left"""
        return cls(replay, (*departed, *replay.log.live.values()))


def replay_figures(replay: Replay, usage: UsageOverTime | None = None) -> ReplayFigures:
    """Return the figures of a replay. usage: of it, where it is at hand"""
    usage = usage or UsageOverTime(replay)
    completions = replay.log.completions
    return ReplayFigures(
        pending_hours=_hours(usage.pending_time),
        node_hours=_hours(replay.nodes.node_time_until(replay.clock.now)),
        used_node_hours=_hours(usage.time_of(usage.nodes_used)),
        nodes_used=int(usage.nodes_used.max()),
        ended=replay.log.counts.ended,
        wait=durations(waits) if (waits := _all(*_waits(replay))) else None,
        job_completion_time=durations(completions) if completions else None,
        cost=None if (cost := ReplayCost.of(replay)) is None else cost.total,
    )


def _hours(time: int) -> float:
    return round(time / _HOUR, DIGITS)


def waiting_groups(replay: Replay) -> WaitingGroups:
    """Groups the pods that were placed, and those that still wait and are not gated."""
    placed, waiting = _waits(replay)

    def groups(name: str) -> dict[str, WaitingTimes]:
        before, still = getattr(placed, name), getattr(waiting, name)
        return {
            key: _waiting_times(
                (*before.get(key, ()), *still.get(key, ())), len(still.get(key, ()))
            )
            for key in before | still
        }

    return WaitingGroups(
        _waiting_times(_all(placed, waiting), len(_all(waiting))),
        *(groups(name) for name in ("priority", "namespace", "owner")),
    )


def _waits(replay: Replay) -> tuple[Waits, Waits]:
    """The waits of placed pods, and those so far of pods that still wait."""
    waiting = Waits()
    for record in replay.log.live.values():
        if record.outcome is PodOutcome.PENDING:
            waiting.add(record, replay.clock.now - record.queued)
    return replay.log.waits, waiting


def _all(*waits: Waits) -> list[int]:
    """The waits of all pods: each has a namespace."""
    return [time for each in waits for times in each.namespace.values() for time in times]


def _waiting_times(times: Sequence[int], waiting: int) -> WaitingTimes:
    figures = durations(times) if times else Durations(0, 0, 0, 0, 0, 0)
    return WaitingTimes(**asdict(figures), pods=len(times), still_waiting=waiting)


def wait_of(record: PodRecord, now: int) -> int | None:
    """Return how long a pod waited for its node, or waits at the end of the replay, now; None where
    it came with a node, left without one, or is gated. Microseconds."""
    if record.was_bound or (record.placed is None and record.outcome is not PodOutcome.PENDING):
        return None
    return (now if record.placed is None else record.placed) - record.queued


def durations(times: Sequence[int]) -> Durations:
    """times: at least one, in microseconds"""
    ordered = sorted(times)
    shares = (ordered[max(ceil(share * len(ordered) / 100), 1) - 1] for share in (50, 90, 95, 99))
    mean = sum(ordered) / len(ordered)
    seconds = (round(time / SECOND, DIGITS) for time in (mean, *shares, ordered[-1]))
    return Durations(*seconds)
