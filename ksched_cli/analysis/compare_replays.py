"""One timeline on several sides: what differs in how long pods wait, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay


@dataclass(frozen=True, slots=True)
class ReplaySide:
    """A replay that has ended. records: of all of its pods, by key"""

    name: str
    replay: Replay
    records: dict[str, PodRecord]

    @classmethod
    def of(cls, name: str, replay: Replay, departed: Sequence[PodRecord]) -> ReplaySide:
        """departed: the records of the pods that have left. Of pods of one name the last counts."""
        records = {record.pod: record for record in (*departed, *replay.log.live.values())}
        return cls(name, replay, records)


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """A pod that was placed elsewhere, at another time, or not on every side. records: per side;
    None where there was no such pod"""

    pod: str
    records: tuple[PodRecord | None, ...]

    @property
    def waited(self) -> tuple[int | None, ...]:
        """Per side, microseconds from its arrival to its placement; None without one."""
        return tuple(
            None if record is None or record.placed is None else record.placed - record.queued
            for record in self.records
        )

    @property
    def delay(self) -> int:
        """How much longer it waited on the last side than on the first; 0 where it has no node on
        one of them."""
        first, last = self.waited[0], self.waited[-1]
        return 0 if first is None or last is None else last - first


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """differences: by pod; pod_count: of all pods"""

    sides: tuple[ReplaySide, ...]
    differences: tuple[ReplayDifference, ...]
    pod_count: int


def compare_replays(sides: Sequence[ReplaySide]) -> ReplayComparison:
    """What differs between the sides."""
    pods = dict.fromkeys(pod for side in sides for pod in side.records)
    differences = []
    for pod in pods:
        records = tuple(side.records.get(pod) for side in sides)
        if len(set(map(_placement, records))) > 1:
            differences.append(ReplayDifference(pod, records))
    return ReplayComparison(tuple(sides), tuple(differences), len(pods))


def _placement(record: PodRecord | None) -> tuple[object, ...] | None:
    if record is None:
        return None
    is_evicted = record.outcome is PodOutcome.EVICTED
    return (record.node, record.placed, is_evicted)
