"""How long a pod of a timeline runs: on any node, or by a label of its node, as with a throughput
per type of GPU; and how much of it is done when the pod moves to another node.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from msgspec import Struct, structs

_NOTHING, _ALL = Fraction(0), Fraction(1)


class PodWork(Struct, frozen=True, dict=True):
    """Times are microseconds.

    runs_for: from the pod's placement to its end; None: it stays
    label:    a label of nodes whose values say how long the pod runs there instead
    by_value: these times; `runs_for` applies to other nodes
    restart_overhead: how much longer each run takes after the first
    done:     the share that earlier runs have done
    has_run:  whether there were earlier runs
    """

    runs_for: int | None = None
    label: str = ""
    by_value: Mapping[str, int] = {}
    restart_overhead: int = 0
    done: Fraction = _NOTHING
    has_run: bool = False

    @cached_property
    def shortest(self) -> int | None:
        """Return its time on the node that suits it best; None: it stays on every node."""
        times = [*self.by_value.values()]
        if self.runs_for is not None:
            times.append(self.runs_for)
        return min(times, default=None)

    @property
    def overhead(self) -> int:
        """Return what the next run takes besides the work."""
        return self.restart_overhead if self.has_run else 0

    def on(self, labels: Mapping[str, str]) -> int | None:
        """Return how long the whole work takes on a node with these labels; None: it stays."""
        if not self.label:
            return self.runs_for
        return self.by_value.get(labels.get(self.label, ""), self.runs_for)

    def rest(self, whole: int) -> int:
        """Return how long the next run takes where the whole work takes so long."""
        left = round(whole * (1 - self.done)) if self.done else whole
        return left + self.overhead

    def useful(self, ran: int) -> int:
        """Return how much of a run was work."""
        return max(0, ran - self.overhead)

    def restarted(self) -> PodWork:
        """Return the work of a pod that begins its run again."""
        return structs.replace(self, has_run=True)

    def after(self, ran: int, whole: int | None, *, resumes: bool) -> PodWork:
        """Return the work after a run was cut off. whole: how long all of it takes on that node"""
        done = self.done
        if resumes and whole is not None:
            done = min(_ALL, done + Fraction(self.useful(ran), whole)) if whole else _ALL
        return structs.replace(self, done=done if resumes else _NOTHING, has_run=True)


STAYS = PodWork()
