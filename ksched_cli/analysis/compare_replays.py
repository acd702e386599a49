"""One timeline on several sides: what differs in how long pods wait, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, UnsetType, structs

from ksched_cli.analysis.replay_cost import ReplayCost
from ksched_cli.analysis.replay_curves import ReplayCurves
from ksched_cli.analysis.replay_figures import (
    WaitingTimes,
    replay_figures,
    wait_of,
    waiting_groups,
)
from ksched_cli.analysis.replay_result import (
    Hours,
    NodeRange,
    ReplaySummary,
    ScalingResult,
    Seconds,
    optional_seconds,
    scaling_of,
    seconds,
)
from ksched_cli.analysis.usage_over_time import UsageOverTime
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.run.differences import NamedRun
from ksched_cli.run.run import Run


@dataclass(frozen=True, slots=True)
class ReplaySide:
    """A replay that has ended. records: of all of its pods, by key"""

    named: NamedRun
    replay: Replay
    records: dict[str, PodRecord]

    @classmethod
    def of(cls, named: NamedRun, replay: Replay, departed: Sequence[PodRecord]) -> ReplaySide:
        """departed: the records of the pods that have left; the last counts for each name."""
        records = {record.pod: record for record in (*departed, *replay.log.live.values())}
        return cls(named, replay, records)


class ReplayDifference(Part, frozen=True):
    """A pod that was placed elsewhere, at another time, or not on every side: a value per side,
    null if there is none; times in seconds.

    waited: from its arrival to its placement, or so far where it still waits
    records: None if there was no such pod
    waits: as `waited`, in microseconds
    """

    pod: str
    nodes: tuple[str | None, ...]
    placed: tuple[Seconds | None, ...]
    waited: tuple[Seconds | None, ...]
    outcomes: tuple[PodOutcome | None, ...]
    records: Annotated[tuple[PodRecord | None, ...], HIDDEN]
    waits: Annotated[tuple[int | None, ...], HIDDEN]

    @classmethod
    def of(
        cls, pod: str, records: Sequence[PodRecord | None], waits: Sequence[int | None]
    ) -> ReplayDifference:
        return cls(
            pod,
            tuple((record.node or None) if record else None for record in records),
            tuple(optional_seconds(record.placed) if record else None for record in records),
            tuple(map(optional_seconds, waits)),
            tuple(record.outcome if record else None for record in records),
            tuple(records),
            tuple(waits),
        )

    def delay(self, side: int) -> int:
        """Return how much longer it waited on a side than on the first; 0 where it did not wait on
        one of them. Microseconds."""
        first, other = self.waits[0], self.waits[side]
        return 0 if first is None or other is None else other - first


class ReplaySideResult(Part, frozen=True):
    """A replay that is compared.

    name: what differs between this side's run and the others'
    run: what the side was made of: every option that decides, as a Run
    differs_in: the axes in which this side's run differs from the first side's, files compared by
                content
    differing: how many pods fared otherwise than on the first side
    kubernetes_version: whose rules decided
    end: seconds after the start; so are all times
    waiting: for a node; pods that still wait at the end count with the time so far
    pending_hours: the hours that pods were without a node, added up; gated pods do not count
    nodes: how many there were over time
    cost: of the nodes, where prices are given
    autoscaler: with --autoscaler
    most_pending: at one moment
    """

    name: str
    run: Run
    differs_in: tuple[str, ...]
    differing: Count
    kubernetes_version: str
    end: Seconds
    summary: ReplaySummary
    waiting: WaitingTimes
    pending_hours: Hours
    nodes: NodeRange
    cost: ReplayCost | UnsetType = UNSET
    autoscaler: ScalingResult | UnsetType = UNSET
    most_pending: Annotated[int, HIDDEN] = 0

    @classmethod
    def of(cls, side: ReplaySide, differing: int) -> ReplaySideResult:
        replay, usage = side.replay, UsageOverTime(side.replay)
        return cls(
            side.named.name,
            side.named.run,
            side.named.differs_in,
            differing,
            replay.cluster.configuration.release.version,
            seconds(replay.clock.now),
            ReplaySummary.of(replay),
            waiting_groups(replay).all,
            replay_figures(replay, usage).pending_hours,
            NodeRange.of(replay.nodes, replay.clock.now),
            ReplayCost.of(replay) or UNSET,
            scaling_of(replay) or UNSET,
            int(usage.pending.max()),
        )


class ReplayComparison(StateAnswer, frozen=True, kw_only=True):
    """Runs with a timeline, side by side.

    pods: that were placed elsewhere, at another time or not on every side
    pod_count: of all pods
    curves: of the page, one per side
    """

    COMMAND: ClassVar = "compare"
    ROWS: ClassVar = "pods"

    kind: Literal["Comparison"] = "Comparison"
    sides: tuple[ReplaySideResult, ...]
    pods: tuple[ReplayDifference, ...]
    pod_count: Annotated[int, HIDDEN]
    curves: Annotated[tuple[ReplayCurves, ...], HIDDEN] = ()


def compare_replays(sides: Sequence[ReplaySide]) -> ReplayComparison:
    """Return the differences between the sides; the others are compared with the first."""
    pods = dict.fromkeys(pod for side in sides for pod in side.records)
    differing = [0] * len(sides)
    differences = []
    for pod in pods:
        records = tuple(side.records.get(pod) for side in sides)
        first, *others = map(_placement, records)
        differs = [False, *(other != first for other in others)]
        if any(differs):
            waits = tuple(map(_waited, records, sides))
            differences.append(ReplayDifference.of(pod, records, waits))
        differing = [count + each for count, each in zip(differing, differs, strict=True)]
    return ReplayComparison(
        sides=tuple(map(ReplaySideResult.of, sides, differing)),
        pods=tuple(differences),
        pod_count=len(pods),
    )


def with_curves(answer: ReplayComparison, sides: Sequence[ReplaySide]) -> ReplayComparison:
    """Return the answer with the curves that its page draws over time."""
    replays = (side.replay for side in sides)
    curves = (ReplayCurves.of(replay, UsageOverTime(replay)) for replay in replays)
    return structs.replace(answer, curves=tuple(curves))


def _waited(record: PodRecord | None, side: ReplaySide) -> int | None:
    return None if record is None else wait_of(record, side.replay.clock.now)


def _placement(record: PodRecord | None) -> tuple[object, ...] | None:
    if record is None:
        return None
    is_evicted = record.outcome is PodOutcome.EVICTED
    return (record.node, record.placed, is_evicted)
