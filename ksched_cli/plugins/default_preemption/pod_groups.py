"""Evicts pods anywhere in the cluster for a group of pods that does not fit.

All pods and groups of lower priority leave; where the group fits then, they come back one by one,
the most important first, and stay where it still fits.

These are the rules of minors whose queue has no groups; group_victims.py has the others.

Upstream: pkg/scheduler/framework/preemption (podgrouppreemption.go, types.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.disruption_budgets import Budget
from ksched_cli.framework.pod_groups import PlacedPod, PodGroup, PodGroups
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.default_preemption.disruption_budgets import Disruptions
from ksched_cli.plugins.default_preemption.importance import start_time

NEVER = Status.unschedulable("not eligible due to preemptionPolicy=Never.")
NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming preemptor")


class _Victim(Struct):
    """Pods that are evicted together: a pod, or the pods of a group. start: of the first pod; a pod
    of any group counts as one of a group, as upstream counts it"""

    pods: list[PlacedPod]
    priority: int

    @property
    def is_group(self) -> bool:
        return self.pods[0][0].spec.scheduling_group is not None

    @property
    def importance(self) -> tuple[int, bool, int, str]:
        """The sort key: the most important first."""
        count = len(self.pods) if self.is_group else 0
        return -self.priority, not self.is_group, -count, start_time(self.pods[0][0])


class GroupPreemption(Struct, frozen=True):
    """Finds the victims of groups."""

    snapshot: Snapshot
    groups: PodGroups
    budgets: Sequence[Budget]

    def find(
        self, group: PodGroup, pods: Iterable[PodInfo], try_group: Callable[[], Status]
    ) -> tuple[Status, tuple[PlacedPod, ...]]:
        """Find the victims; see GroupPreemptionPlugin. Upstream: selectVictimsOnDomain."""
        # 1. Some victim must be less important than the group.
        if any(pod.spec.preemption_policy == "Never" for pod in pods):
            return NEVER, ()
        lower = [victim for victim in self._victims() if victim.priority < group.priority]
        if not lower:
            return NO_VICTIMS, ()
        placed = [pair for victim in lower for pair in victim.pods]
        with restored(self.snapshot, placed, lambda pod: self.groups.count(pod, -1)):
            # 2. The group must fit without any of them.
            for victim in lower:
                self._remove(victim)
            status = try_group()
            if not status.is_success:
                return status, ()
            # 3. They return one by one, those that violate budgets first, and stay if it still
            # fits.
            lower.sort(key=lambda victim: victim.importance)
            evicted = [v for v in self._in_order_of_budgets(lower) if not self._fits(v, try_group)]
        evicted.sort(key=lambda victim: victim.importance)
        return SUCCESS, tuple(placed for victim in evicted for placed in victim.pods)

    def _victims(self) -> list[_Victim]:
        """Return all pods as victims, in the order of visits. Upstream:
        newDomainForWorkloadPreemption."""
        victims: list[_Victim] = []
        by_group: dict[PodGroup, _Victim] = {}
        for row in self.snapshot.order.tolist():
            for pod in self.snapshot.pods[row]:
                group = self.groups.get(pod)
                if group is None or not group.is_indivisible:
                    victims.append(_Victim([(pod, row)], pod.priority))
                elif group in by_group:
                    by_group[group].pods.append((pod, row))
                else:
                    by_group[group] = _Victim([(pod, row)], group.priority)
                    victims.append(by_group[group])
        return victims

    def _fits(self, victim: _Victim, try_group: Callable[[], Status]) -> bool:
        """Whether the group fits with the victim there; it stays then."""
        for pod, row in victim.pods:
            self.snapshot.add(pod, row)
            self.groups.count(pod, -1)
        fits = try_group().is_success
        if not fits:
            self._remove(victim)
        return fits

    def _remove(self, victim: _Victim) -> None:
        """Remove the victim. The count of its group's pods with a node stays, as upstream's
        does."""
        for pod, row in victim.pods:
            self.snapshot.remove(pod, row)
            self.groups.count(pod, 1)

    def _in_order_of_budgets(self, victims: Sequence[_Victim]) -> list[_Victim]:
        """Return those first that violate disruption budgets. Upstream:
        filterVictimsWithPDBViolation, which counts no further for a victim once one of its pods
        violates one."""
        disruptions = Disruptions(self.budgets)
        allowed = {budget.key: budget.allowed for budget in self.budgets}

        def violates(victim: _Victim) -> bool:
            for pod, _ in victim.pods:
                for budget in disruptions.matching(pod):
                    allowed[budget.key] -= 1
                    if allowed[budget.key] < 0:
                        return True
            return False

        violating = [violates(victim) for victim in victims]
        pairs = list(zip(victims, violating, strict=True))
        return [v for v, breaks in pairs if breaks] + [v for v, breaks in pairs if not breaks]


@contextmanager
def restored(
    snapshot: Snapshot, placed: Sequence[PlacedPod], back: Callable[[PodInfo], None] | None = None
) -> Iterator[None]:
    """Put all of these pods back on their nodes afterwards, in their former order. A port that two
    of them have counts as in use as it did before. back: called with each that is put back"""
    before = {row: list(snapshot.pods[row]) for _, row in placed}
    ports = {row: set(snapshot.ports.get(row, ())) for row in before}
    try:
        yield
    finally:
        for pod, row in placed:
            if all(other.uid != pod.uid for other in snapshot.pods[row]):
                snapshot.add(pod, row)
                if back is not None:
                    back(pod)
        # Additions have changed the order and the ports, which decide about what follows.
        for row, pods in before.items():
            snapshot.pods[row][:] = pods
            if ports[row]:
                snapshot.ports[row] = ports[row]
            else:
                snapshot.ports.pop(row, None)
