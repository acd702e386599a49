"""The result of a replay: its pods, its nodes, the cluster over time; and a replay, or several
draws of it, as curves over time with the events that bend them.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from math import ceil, inf
from typing import Annotated, ClassVar, Literal, cast

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType, structs
from numpy.typing import NDArray

from ksched_cli.analysis.best_placement import (
    Regret,
    RegretMoment,
    RegretOverTime,
    check_solver,
)
from ksched_cli.analysis.metrics import MetricSource, load_metrics, own_figures
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.replay_figures import (
    DIGITS,
    Durations,
    Extent,
    JobFigures,
    OverTime,
    ReplayCost,
    ReplayWaits,
    UsageOverTime,
    UsageSample,
    UserFigures,
    costs_at,
    points_of,
    replay_figures,
    replay_waits,
    resources,
    steps_of,
    unpriced_warning,
    user_figures,
)
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.autoscaler.autoscaler import ScaleAction, ScalingReason
from ksched_cli.engine.replay.records import NodeCountSeries, PodOutcome, PodRecord, ReplayAttempt
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.scheduling_cycle import first_by_name
from ksched_cli.errors import ExitCode
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.kube.time import SECOND, unix_seconds
from ksched_cli.run.open import Opener, Watch, name_of
from ksched_cli.run.run import NEEDS_NO_TIMELINE, Run
from ksched_cli.scenario.pods import time_of
from ksched_cli.scenario.timelines.dump import RunTimes, history_owner

_DRAWN_POINTS = 500  # of a curve with a band


class Curve(Struct, frozen=True):
    """A quantity over time: a value holds until the next time.

    times: seconds after the start, ascending
    extent: of all moments, not only of these; None where nobody knows
    low, high: the lowest and the highest of several draws, of which the values are the mean; empty
               for a single replay
    """

    times: Sequence[float]
    values: Sequence[float]
    extent: Extent | None = None
    low: Sequence[float] = ()
    high: Sequence[float] = ()


class EventKind(StrEnum):
    """The kind of a mark on the time axis."""

    CHANGE = "changes"
    NODES = "nodes"
    SCALING = "scaling"
    EVICTION = "evictions"


class CurveEvent(Struct, frozen=True):
    """at: seconds after the start"""

    at: float
    kind: EventKind
    text: str


class ReplayCurves(Struct, frozen=True):
    """Curves by chart and name; shares are those of `utilization` and `stranded`.

    start: of the timeline, seconds since 1970; None where it has none
    end: seconds after the start
    draws: of how many replays
    """

    start: int | None
    end: float
    pods: Mapping[str, Curve]
    nodes: Mapping[str, Curve]
    utilization: Mapping[str, Curve]
    stranded: Mapping[str, Curve]
    events: Sequence[CurveEvent] = ()
    draws: int = 1

    @classmethod
    def of(
        cls, replay: Replay, usage: UsageOverTime, samples: Sequence[UsageSample] = ()
    ) -> ReplayCurves:
        """usage: of the replay; samples: at its points, where they are at hand"""
        samples = samples or usage.samples(points_of(replay, usage))
        times = [sample.at for sample in samples]
        extents = usage.over_time()

        def shares(key: str, own_extents: Mapping[str, Extent]) -> dict[str, Curve]:
            by_time = [getattr(sample, key) for sample in samples]
            names = dict.fromkeys(name for each in by_time for name in each)
            curves = {
                name: Curve(times, [each.get(name, 0.0) for each in by_time], own_extents.get(name))
                for name in names
            }
            return {name: curve for name, curve in curves.items() if any(curve.values)}

        # A node group's size is 0 before its first size.
        groups = {} if replay.autoscaler is None else replay.autoscaler.state.counts
        sizes, now = dict[str, Curve](), replay.clock.now
        for name, counts in groups.items():
            steps = dict([(0, 0), *counts.steps])
            most = max(steps.values())
            highest = next(at for at, count in steps.items() if count == most) / SECOND
            mean = counts.node_time_until(now) / now if now else counts.last
            extent = Extent(round(mean, DIGITS), most, highest)
            own_times = [at / SECOND for at in steps]
            sizes[f"nodes of {name}"] = Curve(own_times, [*steps.values()], extent)
        return cls(
            replay.options.start,
            replay.clock.now / SECOND,
            {
                "running": Curve(times, [each.pods for each in samples], extents.pods),
                "pending": Curve(times, [each.pending for each in samples], extents.pending),
            },
            {
                "nodes": Curve(times, [each.nodes for each in samples], extents.nodes),
                "nodes with pods": Curve(
                    times, [each.nodes_used for each in samples], extents.nodes_used
                ),
                **sizes,
            },
            shares("utilization", extents.utilization),
            shares("stranded", {}),
            tuple(_events(replay)),
        )

    @classmethod
    def of_draws(cls, draws: Sequence[ReplayCurves]) -> ReplayCurves:
        """Return the mean of draws of one replay, and the lowest and the highest of them; a draw
        that has ended keeps its last values. Events are those that all draws have."""
        first = draws[0]
        common = set(first.events).intersection(*(each.events for each in draws[1:]))

        def merged(key: str) -> dict[str, Curve]:
            parts: list[Mapping[str, Curve]] = [getattr(each, key) for each in draws]
            names = dict.fromkeys(name for part in parts for name in part)
            return {name: _merged([part.get(name, _NOTHING) for part in parts]) for name in names}

        return cls(
            first.start,
            max(each.end for each in draws),
            merged("pods"),
            merged("nodes"),
            merged("utilization"),
            merged("stranded"),
            [event for event in first.events if event in common],
            len(draws),
        )


_NOTHING = Curve((0.0,), (0.0,))


def _merged(curves: Sequence[Curve]) -> Curve:
    """Return one curve of several draws."""
    times = np.unique(np.concatenate([np.asarray(curve.times) for curve in curves]))
    if len(times) > _DRAWN_POINTS:
        times = times[np.linspace(0, len(times) - 1, _DRAWN_POINTS).astype(int)]
    values: list[NDArray[np.float64]] = []
    for curve in curves:
        indexes = np.searchsorted(np.asarray(curve.times), times, side="right") - 1
        values.append(np.asarray(curve.values, dtype=np.float64)[np.maximum(indexes, 0)])
    rows = np.array(values)

    def listed(values: NDArray[np.float64]) -> list[float]:
        return [round(value, DIGITS) for value in values.tolist()]

    return Curve(
        times.tolist(),
        listed(rows.mean(axis=0)),
        None,
        listed(rows.min(axis=0)),
        listed(rows.max(axis=0)),
    )


def _events(replay: Replay) -> list[CurveEvent]:
    """Return the events, ascending: changes of the timeline, nodes that came and went, decisions of
    the autoscaler, and evictions."""
    events = [
        CurveEvent(change.at / SECOND, EventKind.CHANGE, change.text)
        for change in replay.log.changes
    ]
    history = replay.usage.history
    present: set[int] = set()
    for change in history.node_changes:
        name = history.names[change.node]
        is_there = change.allocatable is not None
        if change.at and is_there != (change.node in present):
            text = f"{name} {'joins' if is_there else 'leaves'}"
            events.append(CurveEvent(change.at / SECOND, EventKind.NODES, text))
        (present.add if is_there else present.discard)(change.node)
    if replay.autoscaler is not None:
        for event in replay.autoscaler.state.events:
            text = f"{event.action} {event.group}: {', '.join(event.nodes)}"
            events.append(CurveEvent(event.at / SECOND, EventKind.SCALING, text))
    for at, count in Counter(replay.log.evictions).items():
        text = f"{count:,} pod{'s' * (count > 1)} evicted"
        events.append(CurveEvent(at / SECOND, EventKind.EVICTION, text))
    return sorted(events, key=lambda event: event.at)


# -- the result -----------------------------------------------------------------------------------

Seconds = Annotated[float, Meta(ge=0)]
Hours = Annotated[float, Meta(ge=0)]
AttemptEnd = Literal["scheduled", "unschedulable", "error", "waiting"]

HOUR = 3_600 * SECOND
# From so many ties on, and such a share of the placements, they decided much.
_MANY_TIES, _MUCH = 10, 0.2


class ReplaySummary(Part, frozen=True):
    """How many of what.

    events: of the timeline
    tied: of the placed ones those for which several nodes were equally good
    running: on nodes at the end
    ended: that ran for as long as they were to
    evicted: by preemption, which are not created again, and by the autoscaler and failed nodes, of
             which those with a controller are
    deleted: by the timeline, or with their node
    pending: at the end
    ignored: that the scheduler never looks at
    """

    events: Count
    attempts: Count
    placed: Count
    tied: Count
    running: Count
    ended: Count
    evicted: Count
    deleted: Count
    pending: Count
    gated: Count
    ignored: Count

    @classmethod
    def of(cls, replay: Replay) -> ReplaySummary:
        counts = replay.log.counts
        outcomes = Counter(record.outcome for record in replay.log.live.values())
        return cls(
            events=counts.events,
            attempts=counts.attempts,
            placed=counts.placed,
            tied=counts.tied,
            running=len(replay.cluster.bound),
            ended=counts.ended,
            evicted=counts.evicted,
            deleted=counts.deleted,
            pending=outcomes[PodOutcome.PENDING],
            gated=outcomes[PodOutcome.GATED],
            ignored=counts.ignored,
        )


def replay_warnings(replay: Replay) -> list[str]:
    """Return the warnings of an ended replay, line by line."""
    about_answer = (tie_warning(replay), unpriced_warning(replay))
    # Pods for which a label of their node had no run time.
    endless = [
        f"{count:,} {'pod does' if count == 1 else 'pods do'} not end: runsFor has no time for the"
        f" node's value of label {label}; the first is {pod} on {node} (add the value, or"
        " `otherwise`)"
        for label, (count, pod, node) in replay.log.endless.items()
    ]
    return [*replay.applier.warnings, *endless, *filter(None, about_answer)]


def tie_warning(replay: Replay) -> str:
    """Return a warning that ties decided much of it, or ""."""
    counts = replay.log.counts
    if counts.tied < _MANY_TIES or counts.tied < counts.placed * _MUCH:
        return ""
    is_drawn = replay.cluster.engine.options.tie_break is not first_by_name
    how = "by one draw each" if is_drawn else "by the nodes' names"
    return (
        f"ties decided {counts.tied:,} of {counts.placed:,} placements "
        f"({counts.tied / counts.placed:.0%}), {how}: other draws may give other waiting "
        "times; --seeds 10 shows how much they differ"
    )


class NodeRange(Part, frozen=True):
    """The number of nodes over time.

    start: at the beginning
    max: at most at a time
    end: at the end
    hours: the sum over nodes of the hours that each was there
    """

    start: Count
    max: Count
    end: Count
    hours: Hours

    @classmethod
    def of(cls, counts: NodeCountSeries, now: int) -> NodeRange:
        hours = round(counts.node_time_until(now) / HOUR, 6)
        return cls(counts.first, counts.most, counts.last, hours)


class GroupSize(Part, frozen=True):
    """How many nodes a group has from a time on."""

    at: Seconds
    nodes: Count


class GroupResult(Part, frozen=True):
    """A node group over time.

    start: at the beginning
    max: at most at a time
    end: at the end
    hours: the sum over nodes of the hours that each was there
    added: that were asked for
    sizes: times, and how many nodes there were from then on
    """

    name: str
    start: Count
    max: Count
    end: Count
    hours: Hours
    added: Count
    removed: Count
    sizes: tuple[GroupSize, ...]


class ScalingDecision(Part, frozen=True):
    """A decision of the autoscaler.

    at: of the decision; new nodes join provisioningDelay later
    pods: of ScaleUp the pending pods that the nodes are for, of ScaleDown those that are evicted
    """

    at: Seconds
    type: ScaleAction
    group: str
    reason: ScalingReason
    nodes: tuple[str, ...]
    pods: tuple[str, ...]


class ScalingResult(Part, frozen=True):
    """What the autoscaler did.

    events: in order
    """

    groups: tuple[GroupResult, ...]
    events: tuple[ScalingDecision, ...]


class PodResult(Part, frozen=True):
    """What became of a pod.

    job: that it is part of: its pod group, its controller, the value of a label, or itself
    queued: null where it was on its node from the beginning
    ended: when it left its node
    message: of the last attempt, where it has no node
    """

    pod: str
    owner: str
    job: str
    priority: int
    queued: Seconds | None
    first_tried: Seconds | None
    placed: Seconds | None
    node: str | None
    evicted: Seconds | None
    ended: Seconds | None
    attempts: Count
    outcome: PodOutcome
    message: str

    @classmethod
    def of(cls, record: PodRecord) -> PodResult:
        return cls(
            record.pod,
            record.owner,
            record.job,
            record.priority,
            None if record.was_bound else seconds(record.queued),
            optional_seconds(record.first_tried),
            optional_seconds(record.placed),
            record.node or None,
            optional_seconds(record.evicted),
            optional_seconds(record.ended),
            record.attempts,
            record.outcome,
            record.message,
        )


class AttemptResult(Part, frozen=True):
    """An attempt.

    rejected_by: plugins
    """

    at: Seconds
    pod: str
    result: AttemptEnd
    node: str | None
    nominated_node: str | None
    victims: tuple[str, ...]
    message: str
    rejected_by: tuple[str, ...]

    @classmethod
    def of(cls, attempt: ReplayAttempt) -> AttemptResult:
        return cls(
            seconds(attempt.at),
            attempt.pod,
            cast(AttemptEnd, attempt.result),
            attempt.node or None,
            attempt.nominated_node or None,
            attempt.victims,
            attempt.message,
            attempt.rejected_by,
        )


class QueuePlaces(Part, frozen=True):
    """Pods without a node, by where in the queue they are."""

    active: tuple[str, ...]
    backoff: tuple[str, ...]
    unschedulable: tuple[str, ...]
    gated: tuple[str, ...]


class UsageStep(Struct, frozen=True):
    """A row of the table of the cluster over time.

    at: microseconds after the start
    highest: what is at its highest here for the first time
    """

    at: int
    sample: UsageSample
    highest: tuple[str, ...]


class MomentRow(Struct, frozen=True):
    """A moment of all those at which something happened.

    at: seconds after the start
    cost: of the nodes until then; None without prices
    sizes: node group → how many nodes it has
    """

    at: float
    sample: UsageSample
    cost: float | None
    sizes: Mapping[str, int]


class PendingPods(Struct, frozen=True):
    """Pods that are pending at the end for one message; "" where they were not tried yet."""

    message: str
    pods: tuple[str, ...]


class ReplayResult(StateAnswer, frozen=True, kw_only=True):
    """A replay.

    timeline: the file
    start: what 0 seconds are, RFC 3339
    end: seconds after the start; so are all times
    waiting: for a node, in seconds; pods that still wait at the end count with the time so far;
             gated ones do not
    pending_hours: the hours that pods were without a node, added up; gated pods do not count
    job_completion_time: of pods that were placed and ended, from their creation to their end, in
                         seconds; null without any
    jobs: of pod groups, controllers and pods alone; null where none was completed
    users: of jobs: values of a label, or namespaces
    nodes: how many there were over time
    used_node_hours: the hours that nodes with pods were there, added up
    cost: of the nodes, where prices are given
    over_time: of all moments, not of samples
    usage: the cluster over time, for curves: a moment lasts until the next one; of a long replay
           those at steps of the calendar and those of extremes. overTime has what is true of all
           moments
    autoscaler: with --autoscaler
    regret: at the end, with --regret only
    regret_over_time: with --regret-at only: by moment, and by priority, the highest first
    metrics: those of plugins and of --metric, by name; missing where there are none
    pods: that came, ran or ended in the replay, in the order in which they came; not with --summary
    attempts: with --trace, in order
    queues: with --trace: where in the queue pods are at the end
    clock_start: of the timeline, seconds since 1970; None where it has none
    curves: of the page
    resources: that are used at all; cpu and memory first
    steps: the moments of extremes, and those at a few steps of the calendar between them
    moments: all of them, and the end; only where the question asks for them
    still_pending: most pods first
    left: indexes of `pods`, in the order in which they left, then those that are still there
    """

    COMMAND: ClassVar = "replay"
    VIEW: ClassVar = "replay:view"
    ROWS: ClassVar = "pods"

    kind: Literal["ReplayResult"] = "ReplayResult"
    timeline: str
    start: str
    end: Seconds
    summary: ReplaySummary
    waiting: ReplayWaits
    pending_hours: Hours
    job_completion_time: Durations | None
    jobs: JobFigures | None
    users: tuple[UserFigures, ...]
    nodes: NodeRange
    used_node_hours: Hours
    over_time: OverTime
    usage: tuple[UsageSample, ...]
    cost: ReplayCost | UnsetType = UNSET
    autoscaler: ScalingResult | UnsetType = UNSET
    regret: Regret | UnsetType = UNSET
    regret_over_time: tuple[RegretMoment, ...] | UnsetType = UNSET
    metrics: Mapping[str, float] | UnsetType = UNSET
    pods: tuple[PodResult, ...] | UnsetType = UNSET
    attempts: tuple[AttemptResult, ...] | UnsetType = UNSET
    queues: QueuePlaces | UnsetType = UNSET
    clock_start: Annotated[int | None, HIDDEN] = None
    curves: Annotated[ReplayCurves | None, HIDDEN] = None
    resources: Annotated[tuple[str, ...], HIDDEN] = ()
    steps: Annotated[tuple[UsageStep, ...], HIDDEN] = ()
    moments: Annotated[tuple[MomentRow, ...], HIDDEN] = ()
    user_label: Annotated[str, HIDDEN] = ""
    still_pending: Annotated[tuple[PendingPods, ...], HIDDEN] = ()
    left: Annotated[tuple[int, ...], HIDDEN] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.still_pending, self.undecided)


def replay_result(
    replay: Replay, name: str, *, traces: bool = False, all_moments: bool = False
) -> ReplayResult:
    """The pods are listed where their records are kept. name: of the timeline"""
    usage = UsageOverTime(replay)
    points, steps = points_of(replay, usage), steps_of(replay, usage)
    # Once through the history for both.
    moments = sorted({*points, *(step.moment for step in steps)})
    sample_of = dict(zip(moments, usage.samples(moments), strict=True))
    samples = [sample_of[point] for point in points]
    figures = replay_figures(replay, usage)
    records = replay.log.records
    order = sorted(range(len(records)), key=lambda at: (records[at].queued, records[at].pod))
    lists_pods = replay.log.departed is not None
    places = replay.places() if traces else {}
    # Each moment at which something happened, and the end.
    rows: list[MomentRow] = []
    if all_moments:
        all_samples = usage.samples(range(len(usage)))
        times: list[int] = usage.times.tolist()
        if times[-1] != usage.end:
            times.append(usage.end)
            all_samples.append(all_samples[-1])
        biller = replay.biller
        costs = [None] * len(times) if biller is None else costs_at(biller.bills, times)
        counts = {} if replay.autoscaler is None else replay.autoscaler.state.counts
        groups = {name: sizes_at(own, times) for name, own in counts.items()}
        for at, (time, sample, cost) in enumerate(zip(times, all_samples, costs, strict=True)):
            sizes = {name: own[at] for name, own in groups.items()}
            rows.append(MomentRow(seconds(time), sample, cost, sizes))
    # Those that still wait, by their message; the most pods first.
    waiting: dict[str, list[str]] = {}
    for record in replay.log.live.values():
        if record.outcome is PodOutcome.PENDING:
            waiting.setdefault(record.message, []).append(record.pod)
    pending = (PendingPods(message, tuple(pods)) for message, pods in waiting.items())
    return ReplayResult(
        timeline=name,
        start=datetime.fromtimestamp(replay.clock.start, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        end=seconds(replay.clock.now),
        summary=ReplaySummary.of(replay),
        waiting=replay_waits(replay),
        pending_hours=figures.pending_hours,
        job_completion_time=figures.job_completion_time,
        jobs=figures.jobs,
        users=user_figures(replay, usage),
        user_label=replay.options.user_label,
        nodes=NodeRange.of(replay.nodes, replay.clock.now),
        used_node_hours=figures.used_node_hours,
        over_time=usage.over_time(),
        usage=tuple(samples),
        cost=ReplayCost.of(replay) or UNSET,
        autoscaler=scaling_of(replay) or UNSET,
        pods=tuple(PodResult.of(records[at]) for at in order) if lists_pods else UNSET,
        attempts=tuple(map(AttemptResult.of, replay.log.attempts)) if traces else UNSET,
        queues=QueuePlaces(*map(tuple, places.values())) if traces else UNSET,
        clock_start=replay.options.start,
        curves=ReplayCurves.of(replay, usage, samples),
        resources=tuple(resources(usage)),
        steps=tuple(UsageStep(step.at, sample_of[step.moment], step.highest) for step in steps),
        moments=tuple(rows),
        still_pending=tuple(sorted(pending, key=lambda group: -len(group.pods))),
        left=tuple(sorted(range(len(order)), key=order.__getitem__)) if lists_pods else (),
        undecided=bool(replay.scheduler.failed),
    )


def sizes_at(counts: NodeCountSeries, times: Sequence[int]) -> list[int]:
    """Return the number of nodes at these times; 0 before the first step."""
    starts = [at for at, _ in counts.steps]
    indexes = (bisect_right(starts, time) - 1 for time in times)
    return [counts.steps[index][1] if index >= 0 else 0 for index in indexes]


def seconds(time: int) -> int | float:
    """Return microseconds in seconds; a whole number where it is one."""
    whole, rest = divmod(time, SECOND)
    return time / SECOND if rest else whole


def optional_seconds(time: int | None) -> int | float | None:
    return None if time is None else seconds(time)


def scaling_of(replay: Replay) -> ScalingResult | None:
    """Return the groups' sizes over time, and every decision; None if there was no autoscaler."""
    autoscaler = replay.autoscaler
    if autoscaler is None:
        return None
    changes: Counter[tuple[str, ScaleAction]] = Counter()
    for event in autoscaler.state.events:
        changes[event.group, event.action] += len(event.nodes)

    def group(name: str) -> GroupResult:
        counts = autoscaler.state.counts[name]
        return GroupResult(
            name=name,
            **structs.asdict(NodeRange.of(counts, replay.clock.now)),
            added=changes[name, ScaleAction.SCALE_UP],
            removed=changes[name, ScaleAction.SCALE_DOWN],
            sizes=tuple(GroupSize(seconds(at), count) for at, count in counts.steps),
        )

    return ScalingResult(
        tuple(group(settings.name) for settings in autoscaler.settings.groups),
        tuple(
            ScalingDecision(
                seconds(event.at),
                event.action,
                event.group,
                event.reason,
                event.nodes,
                event.pods,
            )
            for event in autoscaler.state.events
        ),
    )


# -- when the pending pods of a state start (`--from-now`) ----------------------------------------
#
# A draw is a replay of the state. Running pods end as their owner's finished pods did, at their
# deadline at the latest; where neither is known they stay.

Share = Annotated[float, Meta(ge=0, le=1)]
Basis = Literal["history", "deadline", "none"]


class PodForecast(Part, frozen=True):
    """When a pending pod starts.

    p50: seconds from now by which it has a node in half of the draws; null where it has none in
         more than half
    p90: the same of nine draws in ten
    started: the share of the draws in which it gets a node
    message: of the last attempt in the first draw in which it gets none
    """

    pod: str
    owner: str
    priority: int
    p50: Seconds | None
    p90: Seconds | None
    started: Share
    gated: bool
    message: str


class Assumption(Part, frozen=True):
    """What was assumed of pods of an owner.

    owner: as namespace/Kind/name, a CronJob's Jobs as one; "" for pods without a controller
    pods: how many
    running: whether these run, or are pending
    basis: history: they end as the owner's finished pods did; deadline: at activeDeadlineSeconds;
           none: nothing is known, they stay
    samples: how many finished pods of the owner are known
    """

    owner: str
    pods: Count
    running: bool
    basis: Basis
    samples: Count


class ForwardLook(StateAnswer, frozen=True, kw_only=True):
    """When the pending pods start.

    now: of the state: the latest heartbeat of a node or creation of a pod, RFC 3339; "" where it
         has none, and ages are unknown
    draws: how many replays
    pods: in the order in which they start
    assumptions: of what is not in the state
    """

    COMMAND: ClassVar = "replay"
    VIEW: ClassVar = "replay:forecast"
    ROWS: ClassVar = "pods"

    kind: Literal["ForwardLook"] = "ForwardLook"
    now: str
    draws: Count
    pods: tuple[PodForecast, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def is_certain(self) -> bool:
        """Return whether every pod that is not gated starts in nine draws of ten."""
        return all(pod.p90 is not None for pod in self.pods if not pod.gated)

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.is_certain)


class _Spec(Struct, rename="camel"):
    active_deadline_seconds: int | None = None


class _WithDeadline(Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


@dataclass(frozen=True, slots=True)
class _PodTimes:
    """The known times of a pod. age: seconds; deadline: seconds after its start"""

    key: str
    owner: str
    runs: bool
    age: float
    deadline: float

    def basis(self, history: RunTimes) -> Basis:
        if history.longer_than(self.owner, self.age):
            return "history"
        return "none" if self.deadline == inf else "deadline"

    def draw(self, history: RunTimes, draw: random.Random) -> int | None:
        """Return the microseconds until it ends: from now on, or from its placement."""
        left = history.draw(self.owner, self.age, draw)
        rest = min(inf if left is None else left, max(0.0, self.deadline - self.age))
        return None if rest == inf else round(rest * SECOND)


def forward_look(
    run: Run,
    opener: Opener,
    history: RunTimes,
    seeds: Sequence[int],
    *,
    until: str = "",
    on_progress: Callable[[int, int], None] | None = None,
) -> ForwardLook:
    """Return a replay for each seed, of the ties and of the times of pods. until: where it stops.
    Raises KschedError."""
    state = opener.state(run)
    now = time_of(state)
    pod_times = [
        _pod_times(pod, state, now) for pod in state.pods if not pod.finished and not pod.deleting
    ]
    pod_times.sort(key=lambda each: each.key)
    pending = {each.key for each in pod_times if not each.runs}
    start = int(unix_seconds(now)) if now else 0
    starts: dict[str, list[PodRecord]] = {}
    for count, seed in enumerate(seeds, start=1):
        draw = random.Random(seed)  # nosec B311  # the same times for the same seed
        drawn = ((each.key, each.draw(history, draw)) for each in pod_times)
        times = {key: time for key, time in drawn if time is not None}
        watch = Watch(keeps_records=True, start=start, run_times=times, until=until)
        replay: Replay = opener.replay(structs.replace(run, tie_break="random", seed=seed), watch)
        replay.run()
        replay.cluster.engine.close()
        # The first wait of each pod that is pending now counts.
        first: dict[str, PodRecord] = {}
        for record in replay.log.records:
            if record.pod in pending:
                first.setdefault(record.pod, record)
        for key, record in first.items():
            starts.setdefault(key, []).append(record)
        if on_progress is not None:
            on_progress(count, len(seeds))
    pods = []
    for records in starts.values():
        # The forecast of a pod, from its draws.
        placed = sorted(inf if each.placed is None else each.placed for each in records)
        waiting = next((each for each in records if each.placed is None), None)
        quantiles = (placed[ceil(share * len(placed)) - 1] for share in (0.5, 0.9))
        p50, p90 = (None if each == inf else seconds(int(each)) for each in quantiles)
        pods.append(
            PodForecast(
                pod=records[0].pod,
                owner=records[0].owner,
                priority=records[0].priority,
                p50=p50,
                p90=p90,
                started=round(sum(time < inf for time in placed) / len(placed), 6),
                gated=records[0].outcome is PodOutcome.GATED,
                message="" if waiting is None else waiting.message,
            )
        )
    pods.sort(key=lambda pod: (*(inf if p is None else p for p in (pod.p50, pod.p90)), pod.pod))
    counts = Counter((each.owner, each.runs, each.basis(history)) for each in pod_times)
    assumptions = (
        Assumption(owner, count, runs, basis, len(history.by_owner.get(owner, ())))
        for (owner, runs, basis), count in sorted(counts.items())
    )
    return ForwardLook(
        now=now,
        draws=len(seeds),
        pods=tuple(pods),
        assumptions=tuple(assumptions),
    )


def _pod_times(pod: Pod, state: ClusterState, now: str) -> _PodTimes:
    runs = bool(pod.node_name)
    age = 0.0
    if runs and now and pod.status.start_time:
        age = max(0.0, unix_seconds(now) - unix_seconds(pod.status.start_time))
    own = typed_json(pod.raw, _WithDeadline).spec if bytes(pod.raw) else _Spec()
    deadline = inf if own.active_deadline_seconds is None else float(own.active_deadline_seconds)
    owner = pod.metadata.controller
    job = None if owner is None else state.jobs.get((pod.namespace, owner.name))
    if owner is not None and owner.kind == "Job" and job is not None:
        of_job = job.spec.active_deadline_seconds
        since = job.status.start_time
        if of_job is not None:
            # A Job's time runs from its own start.
            earlier = unix_seconds(now) - unix_seconds(since) - age if runs and now and since else 0
            deadline = min(deadline, of_job - max(0.0, earlier))
    return _PodTimes(pod.key, history_owner(pod), runs, age, deadline)


# -- the questions --------------------------------------------------------------------------------


class ReplayTimeline(Question[ReplayResult], frozen=True, kw_only=True):
    """Replay the Run over its timeline.

    trace: keep every attempt; lists_pods: keep every pod's record
    all_moments: keep the cluster at every moment at which something happened
    metrics: functions, or texts as --metric takes them
    """

    trace: bool = False
    lists_pods: bool = True
    all_moments: bool = False
    metrics: tuple[MetricSource, ...] = ()

    def answer(self, opened: Opened) -> ReplayResult:
        metrics = load_metrics(self.metrics)
        name = name_of(opened.run.timeline)
        if opened.run.regret:
            check_solver()
        regret = RegretOverTime(opened.opener, opened.run, metrics)
        keeps_records = self.lists_pods or bool(metrics)
        watch = Watch(traces=self.trace, keeps_records=keeps_records, on_look=regret.on_look)
        replay = opened.replay(watch=watch)
        opened.warn(*replay_warnings(replay))
        if replay.is_interrupted:
            opened.warn(
                f"interrupted at {replay.clock.text}: the result covers the time until then"
            )
        result = replay_result(replay, name, traces=self.trace, all_moments=self.all_moments)
        figures = own_figures(replay.cluster.engine, metrics, lambda: result)
        if not self.lists_pods:
            result = structs.replace(result, pods=UNSET, left=())
        return structs.replace(result, metrics=figures or UNSET, **regret.of(replay))


class LookForward(Question[ForwardLook], frozen=True, kw_only=True):
    """Predict when pending pods start. The Run draws from its seed on.

    history: dumps and timelines that give run times, besides the state's own
    draws:   how many replays; until: where they stop
    """

    USES: ClassVar = NEEDS_NO_TIMELINE

    history: tuple[str, ...] = ()
    draws: int = 20
    until: str = ""

    def answer(self, opened: Opened) -> ForwardLook:
        run, first = opened.run, opened.run.seed or 0
        history = RunTimes(opened.warn)
        history.add_dump([path for path in run.states if path != "-"])
        for path in self.history:
            history.add(path)
        seeds = range(first, first + self.draws)
        opened.follow(opened.opener.release(run), opened.opener.state(run))
        with opened.observer.progress("draws") as on_progress:
            return forward_look(
                run, opened.opener, history, seeds, until=self.until, on_progress=on_progress
            )
