"""The figures of a replay: the cluster over time, the cost of its nodes, waits, completion times.

They are exact: times are counted in microseconds, maxima are of all moments, nothing is sampled.
An attempt takes no time, so that a moment is what an instant ends with. Replay, compare, sweep,
tune and test take their figures from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import asdict, astuple
from numpy.typing import NDArray

from ksched_cli.answers import Count, Part
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import USAGE_DIGITS
from ksched_cli.engine.replay.records import PodOutcome, PodRecord, Waits, add_use
from ksched_cli.engine.replay.replay import NodeBill, Replay
from ksched_cli.kube.time import SECOND

DIGITS = 6

_Numbers: TypeAlias = NDArray[np.int64]
# Whole numbers, or parts of GPUs and the like.
_Amounts: TypeAlias = NDArray[Any]


class Extent(Struct, frozen=True, rename="camel"):
    """A quantity over a replay: its mean weighted by time, its maximum, and when it first had it,
    in seconds after the start."""

    mean: float
    max: float
    max_at: float


class UsageSample(Struct, frozen=True, rename="camel"):
    """The cluster at a moment.

    at:       seconds after the start
    nodes_used: nodes with pods on them
    pods:     on nodes
    pending:  without a node, and not gated
    utilization: resource → the share of the nodes' allocatable that pods use: what they request, or
              what plugins say
    stranded: resource → the share of what is free that lies on nodes without room for a pod of the
              mean use of those that run
    """

    at: float
    nodes: int
    nodes_used: int
    pods: int
    pending: int
    utilization: dict[str, float]
    stranded: dict[str, float]


class OverTime(Struct, frozen=True, rename="camel"):
    """Figures over all of the replay that samples have for single moments."""

    nodes: Extent
    nodes_used: Extent
    pods: Extent
    pending: Extent
    utilization: dict[str, Extent]


class UsageOverTime:
    """Arrays over the moments of a replay at which something changed. A moment lasts until the
    next one, the last until the end.

    times: of the moments, in microseconds; end: of the replay
    """

    def __init__(self, replay: Replay) -> None:
        self._history = history = replay.usage.history
        self.end = replay.clock.now
        self.times = _array(history.times)
        self.pending = _array(history.pending)
        self._upto = _array(history.upto)
        self._places = _array(history.nodes)
        requests = _array(history.requests)
        self._signs = np.where(requests < 0, -1, 1)
        self._requests = np.where(requests < 0, ~requests, requests)
        steps = np.array(replay.nodes.steps or [(0, 0)], dtype=np.int64)
        self.nodes = steps[np.searchsorted(steps[:, 0], self.times, side="right") - 1, 1]

    def __len__(self) -> int:
        return len(self.times)

    # -- at every moment ------------------------------------------------------------------------

    def _used(self, resource: str) -> _Amounts:
        """Return what all pods on nodes use."""
        changes = self._signs * self._amounts(resource)[self._requests]
        return _sums(changes)[self._upto].round(USAGE_DIGITS)

    def _amounts(self, resource: str) -> _Amounts:
        """Return the amounts, by index of what pods use."""
        amounts = [each.get(resource, 0) for each in self._history.amounts]
        is_whole = all(isinstance(amount, int) for amount in amounts)
        return np.array(amounts, dtype=np.int64 if is_whole else np.float64)

    @cached_property
    def pods(self) -> _Numbers:
        return self._used(PODS).astype(np.int64)

    @cached_property
    def nodes_used(self) -> _Numbers:
        """Return how many nodes have pods on them."""
        moments = np.searchsorted(self._upto, np.arange(len(self._places)), side="right")
        order = np.lexsort((moments, self._places))
        places, moments, changes = self._places[order], moments[order], self._signs[order]
        is_last = np.append((np.diff(places) != 0) | (np.diff(moments) != 0), True)[: len(order)]
        # Each node's pods after each of its moments: sums over all changes so far, without those
        # of the nodes before.
        begins = np.searchsorted(places, places)
        counts = (np.cumsum(changes) - _sums(changes)[begins])[is_last]
        places, moments = places[is_last], moments[is_last]
        is_used = (counts > 0).astype(np.int64)
        before = np.roll(is_used, 1)
        before[np.append(True, np.diff(places) != 0)[: len(before)]] = 0
        changes_by_moment = np.zeros(len(self), dtype=np.int64)
        np.add.at(changes_by_moment, moments, is_used - before)
        return np.cumsum(changes_by_moment)

    @cached_property
    def utilization(self) -> dict[str, NDArray[np.float64]]:
        """Return utilization by resource, of those that some node had; 0 while none has any."""
        shares = {}
        for resource in self._resources:
            allocatable = self._allocatable(resource)
            requested = self._used(resource)
            zeros = np.zeros(len(self))
            shares[resource] = np.divide(requested, allocatable, out=zeros, where=allocatable > 0)
        return shares

    @cached_property
    def _resources(self) -> list[str]:
        changes = self._history.node_changes
        return sorted({name for change in changes for name in change.allocatable or ()})

    def _allocatable(self, resource: str) -> _Numbers:
        """Return the allocatable amounts of all nodes."""
        current = dict.fromkeys(range(len(self._history.names)), 0)
        changes = np.zeros(len(self), dtype=np.int64)
        for change in self._history.node_changes:
            amount = (change.allocatable or {}).get(resource, 0)
            moment = np.searchsorted(self.times, change.at)
            changes[moment] += amount - current[change.node]
            current[change.node] = amount
        return np.cumsum(changes)

    # -- figures --------------------------------------------------------------------------------

    @cached_property
    def spans(self) -> _Numbers:
        """Return how long every moment lasts, in microseconds."""
        return np.diff(self.times, append=self.end)

    def time_of(self, values: _Numbers) -> int:
        """Return the sum over the moments of a value times how long it held."""
        parts = zip(values.tolist(), self.spans.tolist(), strict=True)
        return sum(value * span for value, span in parts)

    @property
    def pending_time(self) -> int:
        """Return the time that pods were pending, added up, in microseconds."""
        return self.time_of(self.pending)

    def over_time(self) -> OverTime:
        return OverTime(
            self.extent(self.nodes),
            self.extent(self.nodes_used),
            self.extent(self.pods),
            self.extent(self.pending),
            {resource: self.extent(shares) for resource, shares in self.utilization.items()},
        )

    def extent(self, values: NDArray[np.int64] | NDArray[np.float64]) -> Extent:
        """Return the least and the greatest of one of the arrays."""
        most = int(np.argmax(values))
        total = self.end - int(self.times[0])
        mean = float(np.dot(values, self.spans / total) if total else values[-1])
        highest = round(values[most].item(), DIGITS)
        return Extent(round(mean, DIGITS), highest, int(self.times[most]) / SECOND)

    @cached_property
    def capacity(self) -> dict[str, int]:
        """What the nodes had of each resource but pods, times microseconds; without those of which
        they had none."""
        totals = {
            name: self.time_of(self._allocatable(name)) for name in self._resources if name != PODS
        }
        return {name: total for name, total in totals.items() if total}

    # -- single moments -------------------------------------------------------------------------

    def moment_at(self, time: int) -> int:
        """Return the index of the moment that contains a time."""
        return max(int(np.searchsorted(self.times, time, side="right")) - 1, 0)

    def samples(self, moments: Sequence[int]) -> list[UsageSample]:
        """moments: indexes, ascending"""
        shares = {name: values.tolist() for name, values in self.utilization.items()}
        rows = zip(moments, self._stranded(moments), strict=True)
        return [
            UsageSample(
                int(self.times[moment]) / SECOND,
                int(self.nodes[moment]),
                int(self.nodes_used[moment]),
                int(self.pods[moment]),
                int(self.pending[moment]),
                {name: round(values[moment], DIGITS) for name, values in shares.items()},
                stranded,
            )
            for moment, stranded in rows
        ]

    def _stranded(self, moments: Sequence[int]) -> list[dict[str, float]]:
        """Go through the history, from one of the moments to the next."""
        names = self._resources
        rows = {name: row for row, name in enumerate(names)}
        amounts = np.array([self._amounts(name) for name in names])
        allocatable = np.zeros((len(names), len(self._history.names)), dtype=np.int64)
        requested = np.zeros(allocatable.shape, dtype=amounts.dtype)
        node_changes = iter(self._history.node_changes)
        change = next(node_changes, None)
        begin, answers = 0, []
        for moment in moments:
            while change is not None and change.at <= self.times[moment]:
                column = allocatable[:, change.node]
                column[:] = 0
                for name, amount in (change.allocatable or {}).items():
                    column[rows[name]] = amount
                change = next(node_changes, None)
            part = slice(begin, begin := int(self._upto[moment]))
            for row in range(len(names)):
                load = amounts[row, self._requests[part]] * self._signs[part]
                np.add.at(requested[row], self._places[part], load)
            answers.append(_stranded(rows, allocatable, requested.round(USAGE_DIGITS)))
        return answers


def _stranded(
    rows: Mapping[str, int], allocatable: _Numbers, requested: _Amounts
) -> dict[str, float]:
    """rows: of the resources in the two arrays, which have a column per node"""
    if PODS not in rows:
        return {}
    pods = int(requested[rows[PODS]].sum())
    free = np.maximum(allocatable - requested, 0)
    means = requested.sum(axis=1, keepdims=True) / max(pods, 1)
    exists = allocatable.any(axis=1, keepdims=True)
    lacks_room = ((free < means) & exists).any(axis=0)
    totals = free.sum(axis=1).tolist()
    shares = (free * lacks_room).sum(axis=1).tolist()
    return {
        name: round(shares[row] / totals[row], DIGITS) if totals[row] else 0.0
        for name, row in rows.items()
        if name != PODS and allocatable[row].any()
    }


def _array(values: Sequence[int]) -> _Numbers:
    return np.array(values, dtype=np.int64)


def _sums(values: _Amounts) -> _Amounts:
    """[n]: the sum of the first n."""
    return np.concatenate((np.zeros(1, dtype=values.dtype), np.cumsum(values)))


# -- a part of the moments ------------------------------------------------------------------------

_POINTS = 1_000  # of curves
_SHOWN_STEPS = 16  # beside those of extremes
# Seconds from one step of the calendar to the next.
_DAY = 86_400
_STEPS = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY, 91 * _DAY, 364 * _DAY),
)
# 1970 began on a Thursday: weeks begin with Mondays.
_FIRST_MONDAY = 4 * _DAY


def calendar_steps(start: int, end: int, count: int) -> list[int]:
    """Return up to this many times between the start and the end of a replay, at equal steps of the
    calendar: whole minutes, hours, days or weeks. In microseconds after the start.

    start: seconds since 1970, UTC; end: microseconds after the start
    """
    seconds = end // SECOND
    step = next((step for step in _STEPS if seconds < step * count), 0)
    if not step:
        step = -(-seconds // (count * _DAY)) * _DAY
    origin = _FIRST_MONDAY if step % (7 * _DAY) == 0 else 0
    first = (origin - start) % step or step
    return [time * SECOND for time in range(first, seconds + 1, step) if time * SECOND < end]


def points_of(replay: Replay, usage: UsageOverTime) -> list[int]:
    """Return the moments that curves are drawn from: all of them, or those at steps of the calendar
    and those of extremes."""
    if len(usage) <= _POINTS:
        return [*range(len(usage))]
    steps = calendar_steps(replay.clock.start, usage.end, _POINTS)
    moments = {0, *map(usage.moment_at, steps), len(usage) - 1, *extremes(usage)}
    return sorted(moments)


class ShownStep(NamedTuple):
    """A moment to show, and the time that it is shown for.

    at: microseconds after the start; highest: what is at its highest then for the first time
    """

    at: int
    moment: int
    highest: tuple[str, ...]


def steps_of(replay: Replay, usage: UsageOverTime) -> list[ShownStep]:
    """Return the extremes, and the times at a few steps of the calendar between them; all moments
    where there are no more."""
    times: list[int] = usage.times.tolist()
    highest = extremes(usage)
    moments = {times[moment]: moment for moment in highest}
    if len(times) <= _SHOWN_STEPS:
        moments |= {time: moment for moment, time in enumerate(times)}
    else:
        steps = calendar_steps(replay.clock.start, usage.end, _SHOWN_STEPS)
        moments |= {at: usage.moment_at(at) for at in (0, *steps)}
    moments[usage.end] = len(times) - 1
    return [
        ShownStep(at, moment, tuple(highest.get(moment, ()) if times[moment] == at else ()))
        for at, moment in sorted(moments.items())
    ]


def extremes(usage: UsageOverTime) -> dict[int, list[str]]:
    """Return, by moment, what was at its highest there for the first time."""
    quantities = {
        "nodes": usage.nodes,
        "pods": usage.pods,
        "pending": usage.pending,
        **{short(name): usage.utilization[name] for name in shown(resources(usage))},
    }
    extremes: dict[int, list[str]] = {}
    for name, values in quantities.items():
        if values.max() > values.min():
            extremes.setdefault(int(values.argmax()), []).append(name)
    return extremes


def short(resource: str) -> str:
    return resource.rpartition("/")[2]


def shown(resources: Sequence[str]) -> list[str]:
    """Return the resources that the table has room for."""
    return [name for name in resources if name != PODS][:3]


def resources(usage: UsageOverTime) -> list[str]:
    """Return the resources that are used at all; cpu and memory first."""
    used = [name for name, shares in usage.utilization.items() if shares.any()]
    first = [name for name in ("cpu", "memory") if name in used]
    return first + [name for name in used if name not in first]


# -- the cost of the nodes ------------------------------------------------------------------------
#
# Times are added up as whole microseconds before they are multiplied, so that the cost is exact to
# its six digits.

_HOUR = 3_600 * SECOND
Amount = Annotated[float, Meta(ge=0)]


class PriceCost(Part, frozen=True):
    """What the nodes of one price cost.

    name: of the node, the label or the node group that the price was given for
    nodes: that were billed
    hours: that were billed, added up
    """

    name: str
    per_hour: Amount
    nodes: Count
    hours: Amount
    cost: Amount


class ReplayCost(Part, frozen=True):
    """What the nodes of a replay cost, without currency.

    total: without the nodes that have no price
    unpriced: how many nodes have no price
    """

    total: Amount
    prices: tuple[PriceCost, ...]
    unpriced: Count

    @classmethod
    def of(cls, replay: Replay) -> ReplayCost | None:
        """Return the cost; None where no price was given."""
        if replay.biller is None:
            return None
        now, unpriced = replay.clock.now, 0
        by_price: dict[tuple[str, float], list[int]] = {}
        for bill in replay.biller.bills:
            if not bill.price:
                unpriced += 1
                continue
            by_price.setdefault((bill.price, bill.per_hour), []).append(bill.time_until(now))
        prices = tuple(
            PriceCost(
                name,
                per_hour,
                len(times),
                round(sum(times) / _HOUR, DIGITS),
                round(_cost(sum(times), per_hour), DIGITS),
            )
            for (name, per_hour), times in sorted(by_price.items())
        )
        total = sum(_cost(sum(times), price) for (_, price), times in sorted(by_price.items()))
        return cls(round(total, DIGITS), prices, unpriced)


def _cost(time: int, per_hour: float) -> float:
    return time * per_hour / _HOUR


def costs_at(bills: Sequence[NodeBill], times: Sequence[int]) -> list[float]:
    """Return the cost of the nodes up to each of the times, which ascend, in microseconds."""
    moments = np.array(times, dtype=np.int64)
    billed: dict[float, np.ndarray] = {}
    for bill in bills:
        first = int(np.searchsorted(moments, bill.since))
        end = moments[first:] if bill.until is None else np.minimum(moments[first:], bill.until)
        time = billed.setdefault(bill.per_hour, np.zeros(len(moments), dtype=np.int64))
        time[first:] += np.maximum(end - bill.since, bill.minimum)
    total = np.zeros(len(moments))
    for per_hour, time in sorted(billed.items()):
        total += time * (per_hour / _HOUR)
    rounded: list[float] = total.round(DIGITS).tolist()
    return rounded


def unpriced_warning(replay: Replay) -> str:
    """Return a warning that some nodes have no price, or ""."""
    cost = ReplayCost.of(replay)
    if cost is None or not cost.unpriced:
        return ""
    nodes = "1 node has" if cost.unpriced == 1 else f"{cost.unpriced:,} nodes have"
    return (
        f"{nodes} no price, and the cost leaves them out; --price '*=N' sets a price for all "
        "other nodes"
    )


# -- all figures of an ended replay ---------------------------------------------------------------

Finite = Annotated[float, Meta(ge=0, le=1e300)]
Seconds: TypeAlias = Finite


class Distribution(Struct, frozen=True):
    """p50, p90, p95, p99: what these shares of the values did not exceed"""

    mean: Finite
    p50: Finite
    p90: Finite
    p95: Finite
    p99: Finite
    max: Finite


class Durations(Distribution, frozen=True):
    """A distribution of times in seconds."""


class WaitingTimes(Durations, frozen=True, rename="camel"):
    """How long pods waited for a node; a pod that still waits at the end counts with the time so
    far.

    pods:          of which these are the times; without any all figures are 0
    still_waiting: how many of them have no node yet
    """

    pods: int
    still_waiting: int


class GroupWaits(Part, frozen=True):
    """The waiting times of a priority, a namespace or a controller, in seconds.

    still_waiting: how many of the pods have no node at the end
    """

    name: str
    mean: Amount
    p50: Amount
    p90: Amount
    p95: Amount
    p99: Amount
    max: Amount
    pods: Count
    still_waiting: Count


class ReplayWaits(Part, frozen=True):
    """Waiting times.

    owner: of pods with a controller, as namespace/Kind/name; "(others)" beyond a thousand
    """

    all: WaitingTimes
    priority: tuple[GroupWaits, ...]
    namespace: tuple[GroupWaits, ...]
    owner: tuple[GroupWaits, ...]


class JobFigures(Struct, frozen=True, rename="camel"):
    """Jobs: the pods of a pod group or a controller, else a pod alone.

    completed:  how many were placed and ended, with all of their pods. The figures are of these
    unfinished: how many have pods at the end
    completion_time: from the first pod's creation to the last one's end, in seconds
    waiting:    until the last of its pods got its first node, in seconds
    slowdown:   the completion time over the time that its longest pod runs for
    bounded_slowdown: the same, where a run below 10 s counts as 10 s; at least 1
    makespan:   from the creation of the first pod to the end of the last job, in seconds
    gpu_hours:  of all pods, by what they use of resources that end in /gpu, or that a plugin says
                are GPUs
    restarts:   how often a pod that was evicted got a node again
    lost_hours: how long evicted pods had run that begin anew or are gone, added up
    fairness:   Jain's index of the users' mean bounded slowdowns: 1 where all are equal, 1/n where
                one of n has all
    """

    completed: Count
    unfinished: Count
    completion_time: Durations
    waiting: Durations
    slowdown: Distribution
    bounded_slowdown: Distribution
    makespan: Seconds
    gpu_hours: Finite
    restarts: Count
    lost_hours: Finite
    fairness: Finite


class UserFigures(Part, frozen=True):
    """The jobs of a user: the value of a label, or a namespace.

    name:      "" for pods without the label; "(others)" beyond a thousand
    completed: how many were completed. The means are of these, null without any
    completion_time, waiting: in seconds
    gpu_hours: as those of all jobs
    dominant_share: the largest of the user's shares in what the nodes had over time
    dominant_resource: of this share; "" where the pods requested none
    """

    name: str
    completed: Count
    completion_time: float | None
    waiting: float | None
    bounded_slowdown: float | None
    gpu_hours: Finite
    dominant_share: Finite
    dominant_resource: str


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
    jobs:                None where none was completed
    cost:                of the nodes. None without prices
    """

    pending_hours: float
    node_hours: float
    used_node_hours: float
    nodes_used: int
    ended: int
    wait: Durations | None = None
    job_completion_time: Durations | None = None
    jobs: JobFigures | None = None
    cost: float | None = None


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
        jobs=job_figures(replay),
        cost=None if (cost := ReplayCost.of(replay)) is None else cost.total,
    )


def _hours(time: float) -> float:
    return round(time / _HOUR, DIGITS)


_BOUND = 10 * SECOND  # of the bounded slowdown; Feitelson's


class _JobTimes(NamedTuple):
    """The times of a completed job."""

    user: str
    span: int
    wait: int
    slowdown: float
    bounded: float


def _completed(replay: Replay) -> Iterator[_JobTimes]:
    for job in replay.log.jobs.values():
        if job.is_complete and job.started is not None and job.ended is not None:
            span = job.ended - job.arrived
            slowdown = span / job.runs_for if job.runs_for else 1.0
            bounded = max(1.0, span / max(job.runs_for, _BOUND))
            yield _JobTimes(job.user, span, job.started - job.arrived, slowdown, bounded)


def job_figures(replay: Replay) -> JobFigures | None:
    """Return the figures of the jobs that were completed; None without any."""
    jobs, times = replay.log.jobs.values(), [*_completed(replay)]
    if not times:
        return None
    done = [job for job in jobs if job.is_complete and job.ended is not None]
    last = max(job.ended or 0 for job in done)
    bounded = dict[str, list[float]]()
    for job in times:
        bounded.setdefault(job.user, []).append(job.bounded)
    means = [sum(own) / len(own) for own in bounded.values()]
    return JobFigures(
        len(times),
        sum(job.present > 0 for job in jobs),
        durations([job.span for job in times]),
        durations([job.wait for job in times]),
        Distribution(*_distribution([job.slowdown for job in times])),
        Distribution(*_distribution([job.bounded for job in times])),
        round((last - min(job.arrived for job in done)) / SECOND, DIGITS),
        _hours(sum(_gpus(replay, used) for used in _used(replay).values())),
        sum(job.restarts for job in jobs),
        _hours(sum(job.lost for job in jobs)),
        round(sum(means) ** 2 / (len(means) * sum(mean * mean for mean in means)), DIGITS),
    )


def user_figures(replay: Replay, usage: UsageOverTime) -> tuple[UserFigures, ...]:
    """Return the figures of each user, in the order of their first jobs."""
    times = dict[str, list[_JobTimes]]()
    for job in _completed(replay):
        times.setdefault(job.user, []).append(job)
    figures = []
    for user, used in _used(replay).items():
        own = times.get(user, ())
        capacity = usage.capacity.items()
        shares = {name: used[name] / total for name, total in capacity if name in used}
        dominant = max(shares, key=shares.__getitem__, default="")
        figures.append(
            UserFigures(
                user,
                len(own),
                _mean([job.span for job in own], SECOND),
                _mean([job.wait for job in own], SECOND),
                _mean([job.bounded for job in own]),
                _hours(_gpus(replay, used)),
                round(shares.get(dominant, 0.0), DIGITS),
                dominant,
            )
        )
    return tuple(figures)


def _mean(values: Sequence[float], unit: int = 1) -> float | None:
    return round(sum(values) / len(values) / unit, DIGITS) if values else None


def _used(replay: Replay) -> dict[str, dict[str, float]]:
    """By user and resource, what all pods used of nodes times how long they were there."""
    used = {user: dict(amounts) for user, amounts in replay.log.used.items()}
    for record in replay.log.live.values():
        user = replay.log.jobs[record.job].user
        add_use(used[user], record.use, record.ran_until(replay.clock.now))
    return used


def _gpus(replay: Replay, used: Mapping[str, float]) -> float:
    """Return the amount of all resources of which one is a GPU."""
    is_gpu = replay.cluster.snapshot.is_gpu
    return sum(amount for name, amount in used.items() if is_gpu(name))


def replay_waits(replay: Replay) -> ReplayWaits:
    """Group the pods that were placed, and those that still wait and are not gated."""
    placed, waiting = _waits(replay)

    def groups(name: str) -> tuple[GroupWaits, ...]:
        before, still = getattr(placed, name), getattr(waiting, name)
        times = {
            key: _waiting_times(
                (*before.get(key, ()), *still.get(key, ())), len(still.get(key, ()))
            )
            for key in before | still
        }
        return tuple(GroupWaits(key, *astuple(own)) for key, own in times.items())

    return ReplayWaits(
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
    return Durations(*_distribution(times, SECOND))


def _distribution(values: Sequence[float], unit: int = 1) -> Iterator[float]:
    """Yield the mean, the percentiles and the maximum of at least one value, in units."""
    ordered = sorted(values)
    shares = (ordered[max(ceil(share * len(ordered) / 100), 1) - 1] for share in (50, 90, 95, 99))
    mean = sum(ordered) / len(ordered)
    return (round(value / unit, DIGITS) for value in (mean, *shares, ordered[-1]))
