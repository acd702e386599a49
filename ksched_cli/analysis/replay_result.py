"""The result of a replay: its pods, its nodes, the cluster over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Literal, cast

from msgspec import UNSET, Meta, UnsetType, structs

from ksched_cli.analysis.replay_cost import ReplayCost, unpriced_warning
from ksched_cli.analysis.replay_curves import ReplayCurves
from ksched_cli.analysis.replay_figures import (
    Durations,
    WaitingTimes,
    replay_figures,
    waiting_groups,
)
from ksched_cli.analysis.usage_over_time import (
    OverTime,
    UsageOverTime,
    UsageSample,
    points_of,
)
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.engine.replay.autoscaler.state import Reason, ScaleAction
from ksched_cli.engine.replay.node_counts import NodeCounts
from ksched_cli.engine.replay.records import PodOutcome, PodRecord, ReplayAttempt
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.scheduling_cycle import first_by_name
from ksched_cli.kube.time import SECOND

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
    return [*replay.applier.warnings, *filter(None, about_answer)]


def tie_warning(replay: Replay) -> str:
    """Return a warning that ties decided much of it, or ""."""
    counts = replay.log.counts
    if counts.tied < _MANY_TIES or counts.tied < counts.placed * _MUCH:
        return ""
    is_drawn = replay.cluster.options.tie_break is not first_by_name
    how = "by one draw each" if is_drawn else "by the nodes' names"
    return (
        f"ties decided {counts.tied:,} of {counts.placed:,} placements "
        f"({counts.tied / counts.placed:.0%}), {how}: other draws may give other waiting "
        "times; --seeds 10 shows how much they differ"
    )


class GroupWaits(Part, frozen=True):
    """The waiting times of a priority, a namespace or a controller, in seconds.

    still_waiting: how many of the pods have no node at the end
    """

    name: str
    mean: Seconds
    p50: Seconds
    p90: Seconds
    p95: Seconds
    p99: Seconds
    max: Seconds
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

    @classmethod
    def of(cls, replay: Replay) -> ReplayWaits:
        groups = waiting_groups(replay)

        def named(by_name: Mapping[str, WaitingTimes]) -> tuple[GroupWaits, ...]:
            return tuple(GroupWaits(name, *structs.astuple(own)) for name, own in by_name.items())

        return cls(groups.all, named(groups.priority), named(groups.namespace), named(groups.owner))


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
    def of(cls, counts: NodeCounts, now: int) -> NodeRange:
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
    reason: Reason
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

    queued: null where it was on its node from the beginning
    ended: when it left its node
    message: of the last attempt, where it has no node
    """

    pod: str
    owner: str
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
    nodes: how many there were over time
    used_node_hours: the hours that nodes with pods were there, added up
    cost: of the nodes, where prices are given
    over_time: of all moments, not of samples
    usage: the cluster over time, for curves: a moment lasts until the next one; of a long replay
           those at steps of the calendar and those of extremes. overTime has what is true of all
           moments
    autoscaler: with --autoscaler
    pods: that came, ran or ended in the replay, in the order in which they came; not with --summary
    attempts: with --trace, in order
    queues: with --trace: where in the queue pods are at the end
    clock_start: of the timeline, seconds since 1970; None where it has none
    curves: of the page
    """

    COMMAND: ClassVar = "replay"
    ROWS: ClassVar = "pods"

    kind: Literal["ReplayResult"] = "ReplayResult"
    timeline: str
    start: str
    end: Seconds
    summary: ReplaySummary
    waiting: ReplayWaits
    pending_hours: Hours
    job_completion_time: Durations | None
    nodes: NodeRange
    used_node_hours: Hours
    over_time: OverTime
    usage: tuple[UsageSample, ...]
    cost: ReplayCost | UnsetType = UNSET
    autoscaler: ScalingResult | UnsetType = UNSET
    pods: tuple[PodResult, ...] | UnsetType = UNSET
    attempts: tuple[AttemptResult, ...] | UnsetType = UNSET
    queues: QueuePlaces | UnsetType = UNSET
    clock_start: Annotated[int | None, HIDDEN] = None
    curves: Annotated[ReplayCurves | None, HIDDEN] = None


def replay_result(
    replay: Replay, name: str, records: Iterable[PodRecord] | None, *, traces: bool = False
) -> ReplayResult:
    """records: of the pods; None leaves them out"""
    usage = UsageOverTime(replay)
    samples = usage.samples(points_of(replay, usage))
    figures = replay_figures(replay, usage)
    ordered = sorted(records or (), key=lambda record: (record.queued, record.pod))
    places = replay.places() if traces else {}
    return ReplayResult(
        timeline=name,
        start=datetime.fromtimestamp(replay.clock.start, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        end=seconds(replay.clock.now),
        summary=ReplaySummary.of(replay),
        waiting=ReplayWaits.of(replay),
        pending_hours=figures.pending_hours,
        job_completion_time=figures.job_completion_time,
        nodes=NodeRange.of(replay.nodes, replay.clock.now),
        used_node_hours=figures.used_node_hours,
        over_time=usage.over_time(),
        usage=tuple(samples),
        cost=ReplayCost.of(replay) or UNSET,
        autoscaler=scaling_of(replay) or UNSET,
        pods=UNSET if records is None else tuple(map(PodResult.of, ordered)),
        attempts=tuple(map(AttemptResult.of, replay.log.attempts)) if traces else UNSET,
        queues=QueuePlaces(*map(tuple, places.values())) if traces else UNSET,
        clock_start=replay.options.start,
        curves=ReplayCurves.of(replay, usage, samples),
    )


def seconds(time: int) -> int | float:
    """Microseconds in seconds; a whole number where it is one."""
    whole, rest = divmod(time, SECOND)
    return time / SECOND if rest else whole


def optional_seconds(time: int | None) -> int | float | None:
    return None if time is None else seconds(time)


def scaling_of(replay: Replay) -> ScalingResult | None:
    """The groups' sizes over time, and every decision; None if there was no autoscaler."""
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
