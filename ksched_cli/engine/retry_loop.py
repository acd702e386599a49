"""Pass after pass over the queue, until nothing changes any more and nobody waits.

While pods are tried, time stands still. When none is left to try, it jumps to where the next plugin
loses its patience with a waiting pod, so that a run that waits ten minutes ends at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ksched_cli.engine.binding_cycle import Outcome
from ksched_cli.engine.queue import NEVER, Backlog, ClusterVersion, Entry
from ksched_cli.engine.records import Attempt

if TYPE_CHECKING:
    from ksched_cli.engine.simulation import Simulation


class RetryLoop:
    """A run under way. attempts: in order; last: by pod key."""

    def __init__(self, simulation: Simulation, backlog: Backlog) -> None:
        self.simulation = simulation
        self.backlog = backlog
        self.attempts: list[Attempt] = []
        self.last: dict[str, Attempt] = {}
        self._total = len(backlog.entries)
        # Where the attempts of waiting pods stand: how they end is written there.
        self._open: dict[str, int] = {}

    def run(self, most: int) -> None:
        """To the end: afterwards no pod waits. most: how many passes there may be."""
        for number in range(most):
            if number:
                self.backlog.renew(self._now())
            while not self._once():
                if not self._jump():
                    return
                self.backlog.renew(self._now())
        while self._jump():
            pass

    def _now(self) -> ClusterVersion:
        return ClusterVersion(self.simulation.changes, self.simulation.waiting_rejections)

    def _once(self) -> bool:
        """One pass; whether there was anything to try."""
        tried = False
        for entry in self.backlog:
            if entry.seen is NEVER or entry.is_due(self._now()):
                tried = True
                self._try(entry)
        return tried

    def _try(self, entry: Entry) -> None:
        pod = entry.queued.pod
        entry.activated = False
        outcomes = self.simulation.outcomes(pod)
        self.attempts += [outcome.attempt for outcome in outcomes]
        last = outcomes[-1]
        self.last[pod.key] = last.attempt
        if last.waits:
            entry.waits = True
            self._open[pod.key] = len(self.attempts) - 1
        else:
            self._end(pod.key, last)
        for outcome in outcomes:
            if outcome.activated:
                self.backlog.activate(outcome.activated)
        self._settle()
        if pod.key in self.backlog.entries:
            # What it set off itself is no reason to try it again.
            entry.seen = self._now()
        self._tell()

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
        self.simulation.settle()
        if not self.simulation.settled:
            return
        settled, self.simulation.settled = self.simulation.settled, []
        for pod, outcome in settled:
            key = pod.key
            self.attempts[self._open.pop(key)] = self.last[key] = outcome.attempt
            entry = self.backlog.entries[key]
            self._end(key, outcome)
            self.backlog.activate(outcome.activated)
            if not outcome.attempt.node:
                rejected.append(entry)
        if rejected:
            self.simulation.waiting_rejections += 1
            for entry in rejected:
                entry.seen = self._now()

    def _jump(self) -> bool:
        """To where the next pod has waited too long, or a plugin asked to be woken; False where
        there is no such time."""
        waiting = self.simulation.waiting
        times = (waiting.next_deadline, waiting.clock.next_alarm)
        ahead = [at for at in times if at is not None]
        if not ahead:
            return False
        alarm = waiting.clock.next_alarm
        waiting.clock.jump(min(ahead))
        if alarm is not None and alarm <= waiting.clock.now:
            self.simulation.waiting_rejections += 1
        self._settle()
        return True

    def _tell(self) -> None:
        on_progress = self.simulation.options.on_progress
        if on_progress:
            on_progress(self._total - len(self.backlog.entries), self._total)
