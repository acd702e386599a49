"""The number of nodes over time, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

from ksched_cli.engine.replay.records import Count, Moment


@dataclass(slots=True)
class NodeCounts:
    """The node counts of a cluster or of a node group over time. Times are microseconds.

    steps: times, ascending, and how many nodes there were from then on
    node_time: the sum over nodes of the time that each was there, up to the last step
    """

    steps: list[tuple[Moment, Count]] = field(default_factory=list)
    node_time: Count = 0

    def note(self, at: int, count: int) -> None:
        """Note the number of nodes from now on."""
        if self.steps:
            before, previous = self.steps[-1]
            if count == previous:
                return
            self.node_time += previous * (at - before)
            if before == at:
                self.steps[-1] = (at, count)
                return
        self.steps.append((at, count))

    def node_time_until(self, at: int) -> int:
        """Return the node time up to a moment that is not before the last step."""
        if not self.steps:
            return 0
        before, count = self.steps[-1]
        return self.node_time + count * (at - before)

    @property
    def first(self) -> int:
        return self.steps[0][1] if self.steps else 0

    @property
    def most(self) -> int:
        return max((count for _, count in self.steps), default=0)

    @property
    def last(self) -> int:
        return self.steps[-1][1] if self.steps else 0
