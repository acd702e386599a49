"""A preemption policy: evict as few pods as possible, whatever their priority below the pod's."""

from collections.abc import Iterator
from itertools import combinations

from ksched_cli.api import (
    SUCCESS,
    CycleState,
    NodeStatuses,
    PodInfo,
    PostFilterPlugin,
    PostFilterResult,
    PreemptionTrial,
    Status,
)

MAX_VICTIMS = 3  # of which all combinations are tried


class FewestRestarts(PostFilterPlugin):
    name = "FewestRestarts"

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        trial = PreemptionTrial(self.handle, state, pod, filtered)
        if trial.ineligible:
            return None, Status.unschedulable(trial.ineligible)
        candidates = [
            (len(victims), len(trial.violated_budgets(victims)), node, victims)
            for node in trial.nodes
            if (victims := self._fewest(trial, node))
        ]
        if not candidates:
            return PostFilterResult(""), Status.unschedulable("no evictions help")
        _, _, node, victims = min(candidates, key=lambda candidate: candidate[:3])
        return PostFilterResult(node, victims), SUCCESS

    def _fewest(self, trial: PreemptionTrial, node: str) -> tuple[PodInfo, ...]:
        """The first of the smallest sets of pods without which the pod fits; () for none."""
        for victims in self._sets(trial.lower(node)):
            if trial.status(node, without=victims).is_success:
                return victims
        return ()

    def _sets(self, lower: tuple[PodInfo, ...]) -> Iterator[tuple[PodInfo, ...]]:
        """Small ones first, and of one size those of the lowest priorities; last, all pods."""
        ordered = sorted(lower, key=lambda pod: pod.priority)
        for size in range(1, min(MAX_VICTIMS, len(ordered)) + 1):
            yield from combinations(ordered, size)
        yield tuple(ordered)
