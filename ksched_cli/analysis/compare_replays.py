"""One timeline on several sides: what differs in how long pods wait, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksched_cli.analysis.replay_figures import wait_of
from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.run.differences import NamedRun


@dataclass(frozen=True, slots=True)
class ReplaySide:
    """A replay that has ended. records: of all of its pods, by key"""

    named: NamedRun
    replay: Replay
    records: dict[str, PodRecord]

    @classmethod
    def of(cls, named: NamedRun, replay: Replay, departed: Sequence[PodRecord]) -> ReplaySide:
        """departed: the records of the pods that have left. Of pods of one name the last counts."""
        records = {record.pod: record for record in (*departed, *replay.log.live.values())}
        return cls(named, replay, records)


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """A pod that was placed elsewhere, at another time, or not on every side.

    records: per side; None where there was no such pod
    waited:  per side, microseconds from its arrival to its placement, or so far where it still
             waits; None where it did neither
    """

    pod: str
    records: tuple[PodRecord | None, ...]
    waited: tuple[int | None, ...]

    def delay(self, side: int) -> int:
        """How much longer it waited on a side than on the first; 0 where it did not wait on one of
        them."""
        first, other = self.waited[0], self.waited[side]
        return 0 if first is None or other is None else other - first


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """What differs between replays.

    differing:   per side, how many pods fared otherwise than on the first side
    differences: by pod; pod_count: of all pods
    """

    sides: tuple[ReplaySide, ...]
    differing: tuple[int, ...]
    differences: tuple[ReplayDifference, ...]
    pod_count: int


def compare_replays(sides: Sequence[ReplaySide]) -> ReplayComparison:
    """What differs between the sides, of which the first is what the others are compared with."""
    pods = dict.fromkeys(pod for side in sides for pod in side.records)
    differing = [0] * len(sides)
    differences = []
    for pod in pods:
        records = tuple(side.records.get(pod) for side in sides)
        first, *others = map(_placement, records)
        differs = [False, *(other != first for other in others)]
        if any(differs):
            waited = tuple(map(_waited, records, sides))
            differences.append(ReplayDifference(pod, records, waited))
        differing = [count + each for count, each in zip(differing, differs, strict=True)]
    return ReplayComparison(tuple(sides), tuple(differing), tuple(differences), len(pods))


def _waited(record: PodRecord | None, side: ReplaySide) -> int | None:
    return None if record is None else wait_of(record, side.replay.clock.now)


def _placement(record: PodRecord | None) -> tuple[object, ...] | None:
    if record is None:
        return None
    is_evicted = record.outcome is PodOutcome.EVICTED
    return (record.node, record.placed, is_evicted)
