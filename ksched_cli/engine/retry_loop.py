"""Pass after pass over the queue, until nothing changes any more and no pod waits.

While pods are tried, time stands still. When none is left to try, it jumps to the earliest Permit
timeout or alarm, so that a run that waits ten minutes ends at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.binding_cycle import Outcome
from ksched_cli.engine.queue import NEVER, Backlog, ClusterVersion, Entry
from ksched_cli.engine.records import Attempt
from ksched_cli.framework.pod_groups import GroupKey, PodGroups, group_key
from ksched_cli.framework.waiting_pods import WaitingPods

# Takes how many pods have a node, and of how many.
Progress = Callable[[int, int], None]


class PodScheduler(Protocol):
    """What the loop asks to try pods; Simulation is one.

    changes, waiting_rejections: see ClusterVersion
    waiting: the pods that Permit told to wait, and the clock
    pod_groups: see Simulation
    """

    changes: int
    waiting_rejections: int
    waiting: WaitingPods
    pod_groups: PodGroups | None

    def outcomes(self, pod: PodInfo) -> list[Outcome]:
        """Tries the pod, and tries it again where the first attempt made room."""
        ...

    def group_outcomes(self, pods: Sequence[PodInfo]) -> list[list[Outcome]]:
        """Tries the pods of a group together; per attempt, the outcome of each pod."""
        ...

    def settle(self) -> None:
        """Binds or undoes the waiting pods that are decided."""
        ...

    def take_settled(self) -> list[tuple[PodInfo, Outcome]]:
        """What `settle` has done since this was called last."""
        ...


class RetryLoop:
    """A run under way. attempts: in order; last: by pod key."""

    def __init__(
        self, scheduler: PodScheduler, backlog: Backlog, on_progress: Progress | None = None
    ) -> None:
        self.backlog = backlog
        self.attempts: list[Attempt] = []
        self.last: dict[str, Attempt] = {}
        self._scheduler = scheduler
        self._on_progress = on_progress
        self._total = len(backlog.entries)
        # By pod key, the index in `attempts` of a waiting pod's attempt: how it ends goes there.
        self._waiting_attempts: dict[str, int] = {}
        self._has_groups = scheduler.pod_groups is not None
        self._tried_groups: set[GroupKey | None] = set()

    def run(self, max_passes: int) -> None:
        """To the end: afterwards no pod waits."""
        for number in range(max_passes):
            if number:
                self.backlog.renew(self._now())
            while not self._run_pass():
                if not self._jump():
                    return
                self.backlog.renew(self._now())
        while self._jump():
            pass

    def _now(self) -> ClusterVersion:
        return ClusterVersion(self._scheduler.changes, self._scheduler.waiting_rejections)

    def _run_pass(self) -> bool:
        """One pass; whether there was anything to try."""
        tried = False
        self._tried_groups.clear()
        for entry in self.backlog:
            if entry.seen is NEVER or entry.is_due(self._now()):
                tried = True
                if self._has_groups and entry.queued.pod.spec.scheduling_group is not None:
                    self._try_group(entry)
                else:
                    self._try(entry)
        return tried

    def _try(self, entry: Entry) -> None:
        outcomes = self._scheduler.outcomes(entry.queued.pod)
        self.attempts += [outcome.attempt for outcome in outcomes]
        self._take(entry, outcomes, len(self.attempts) - 1)
        self._finish((entry,))

    def _try_group(self, entry: Entry) -> None:
        """The pod with the others of its group, once in a pass."""
        group = group_key(entry.queued.pod.pod)
        if group in self._tried_groups:
            return
        self._tried_groups.add(group)
        entries = [
            other
            for other in self.backlog
            if not other.waits and group_key(other.queued.pod.pod) == group
        ]
        entries.sort(key=lambda member: -member.queued.pod.priority)
        attempts = self._scheduler.group_outcomes([member.queued.pod for member in entries])
        for outcomes in attempts:
            self.attempts += [outcome.attempt for outcome in outcomes]
        last = len(self.attempts) - len(entries)
        for index, (member, *outcomes) in enumerate(zip(entries, *attempts, strict=True)):
            self._take(member, outcomes, last + index)
        self._finish(entries)

    def _take(self, entry: Entry, outcomes: Sequence[Outcome], index: int) -> None:
        """Notes what became of a pod. index: of its last attempt in `attempts`"""
        key, last = entry.queued.pod.key, outcomes[-1]
        entry.activated = False
        self.last[key] = last.attempt
        if last.waits:
            entry.waits = True
            self._waiting_attempts[key] = index
        else:
            self._end(key, last)
        for outcome in outcomes:
            if outcome.activated:
                self.backlog.activate(outcome.activated)

    def _finish(self, entries: Iterable[Entry]) -> None:
        """After an attempt of these."""
        self._settle()
        for entry in entries:
            if entry.queued.pod.key in self.backlog.entries:
                # What it set off itself is no reason to try it again.
                entry.seen = self._now()
        if self._on_progress:
            self._on_progress(self._total - len(self.backlog.entries), self._total)

    def _end(self, key: str, outcome: Outcome) -> None:
        """The pod is bound, or back in the queue."""
        entry = self.backlog.entries[key]
        if outcome.attempt.node:
            del self.backlog.entries[key]
            return
        attempt = outcome.attempt
        entry.waits = False
        entry.refused = any((attempt.reserve, attempt.permit, attempt.bind))

    def _settle(self) -> None:
        """Goes on with the pods that were allowed or rejected while they waited, and with what that
        leads to."""
        rejected: list[Entry] = []
        self._scheduler.settle()
        settled = self._scheduler.take_settled()
        if not settled:
            return
        for pod, outcome in settled:
            key = pod.key
            self.attempts[self._waiting_attempts.pop(key)] = self.last[key] = outcome.attempt
            entry = self.backlog.entries[key]
            self._end(key, outcome)
            self.backlog.activate(outcome.activated)
            if not outcome.attempt.node:
                rejected.append(entry)
        if rejected:
            self._scheduler.waiting_rejections += 1
            for entry in rejected:
                entry.seen = self._now()

    def _jump(self) -> bool:
        """To the earliest Permit timeout or alarm; False where there is none."""
        waiting = self._scheduler.waiting
        alarm = waiting.clock.next_alarm
        times = [time for time in (waiting.next_deadline, alarm) if time is not None]
        if not times:
            return False
        waiting.clock.jump(min(times))
        if alarm is not None and alarm <= waiting.clock.now:
            self._scheduler.waiting_rejections += 1
        self._settle()
        return True
