"""The records of a replay's pods: those that exist, and counts of those that left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ksched_cli.cluster.objects.message_pack import Integers
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.replay.history import Waits
from ksched_cli.engine.replay.records import (
    Count,
    LoggedChange,
    PodOutcome,
    PodRecord,
    ReplayAttempt,
)

# Takes the record of a pod that is let go.
OnRecord = Callable[[PodRecord], None]


@dataclass(slots=True)
class Counts:
    """events: of the timeline. The others are of pods; attempts of all of them; absent: those that
    were to be deleted and had gone before; tied: those placed where several nodes were equally
    good."""

    events: Count = 0
    attempts: Count = 0
    placed: Count = 0
    ended: Count = 0
    evicted: Count = 0
    deleted: Count = 0
    ignored: Count = 0
    absent: Count = 0
    tied: Count = 0


@dataclass(slots=True)
class PodLog:
    """live: by key, of existing pods that had to do with the replay.
    waits: of the pods that were placed
    completions: of pods that were placed and ended, microseconds from their creation to their end
    evictions: their times, ascending
    changes: of the timeline, in order
    attempts: all of them where they are traced, else none"""

    on_record: OnRecord | None = None
    traces: bool = False
    live: dict[str, PodRecord] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    waits: Waits = field(default_factory=Waits)
    completions: Integers = field(default_factory=Integers)
    evictions: Integers = field(default_factory=Integers)
    changes: list[LoggedChange] = field(default_factory=list)
    attempts: list[ReplayAttempt] = field(default_factory=list)

    def arrive(self, pod: PodInfo, at: int, runs_for: int | None = None) -> PodRecord:
        """A pod is there from now on."""
        record = PodRecord(pod.key, pod.namespace, pod.priority, owner_of(pod), at)
        record.runs_for = runs_for
        if pod.pod.node_name:
            record.was_bound, record.node = True, pod.pod.node_name
            record.outcome = PodOutcome.RUNNING
        self.live[pod.key] = record
        return record

    def record_of(self, pod: PodInfo) -> PodRecord:
        """The pod's record; a new one for a pod that ran from the beginning and has none yet."""
        return self.live.get(pod.key) or self.arrive(pod, 0)

    def try_pod(self, pod: PodInfo, at: int) -> PodRecord:
        """An attempt begins."""
        record = self.live[pod.key]
        record.attempts += 1
        self.counts.attempts += 1
        if record.first_tried is None:
            record.first_tried = at
        return record

    def note_rejections(self, key: str, count: int, message: str) -> None:
        """A pod was tried so often, and fits nowhere; `counts` has these attempts."""
        record = self.live[key]
        record.attempts += count
        record.message = message

    def place(self, record: PodRecord, node: str, at: int) -> None:
        record.placed, record.node, record.message = at, node, ""
        record.outcome = PodOutcome.RUNNING
        self.counts.placed += 1
        self.waits.add(record, at - record.queued)

    def evict(self, record: PodRecord, at: int) -> None:
        """The pod has to leave its node."""
        record.evicted = at
        self.counts.evicted += 1
        self.evictions.append(at)

    def leave(self, record: PodRecord, outcome: PodOutcome, at: int) -> None:
        """Drop the record of a pod that is gone."""
        record.ended, record.outcome = at, outcome
        if outcome is PodOutcome.ENDED:
            self.counts.ended += 1
            if record.placed is not None:
                self.completions.append(at - record.arrived)
        elif outcome is PodOutcome.DELETED:
            self.counts.deleted += 1
        del self.live[record.pod]
        if self.on_record is not None:
            self.on_record(record)


def owner_of(pod: PodInfo) -> str:
    """The controller as namespace/Kind/name, else the pod itself."""
    owner = pod.pod.metadata.controller
    return f"{pod.namespace}/{owner.kind}/{owner.name}" if owner is not None else pod.key
