"""Simulated time: it does not advance while pods are tried, and jumps when nothing is left to
do."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Clock:
    """now: seconds since 1970; a run begins when its youngest pending pod was created."""

    now: float = 0.0
    _alarms: set[float] = field(default_factory=set)

    def wake(self, at: float) -> None:
        """Asks that the pods without a node get another chance at that time, should the run come to
        rest before. For what lapses by itself, as a group's pause after a failure does."""
        if at > self.now:
            self._alarms.add(at)

    @property
    def next_alarm(self) -> float | None:
        """The earliest time asked for that is still to come."""
        return min(self._alarms) if self._alarms else None

    @property
    def alarms(self) -> tuple[float, ...]:
        """All times asked for that are still to come."""
        return tuple(sorted(self._alarms))

    def jump(self, to: float) -> None:
        """Jump to a later time. The alarms up to then have rung."""
        self.now = max(self.now, to)
        if self._alarms:
            self._alarms = {at for at in self._alarms if at > self.now}
