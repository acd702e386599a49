"""Which evictions would violate a PodDisruptionBudget.

Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ksched_cli.cluster.objects import PodDisruptionBudget
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.selectors import Selector, SelectorError, label_selector


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget that can match pods. disrupted: names of pods already evicted."""

    key: str
    namespace: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]

    def matches(self, pod: PodInfo) -> bool:
        return self.namespace == pod.namespace and self.selector.matches(pod.labels)


def budgets_of(found: Iterable[PodDisruptionBudget]) -> tuple[Budget, ...]:
    """Those without a valid selector, or with an empty one, match nothing and are left out."""
    budgets = []
    for one in found:
        try:
            selector = label_selector(one.spec.selector)
        except SelectorError:
            continue
        if selector.selectable and selector.requirements:
            status = one.status
            disrupted = frozenset(status.disrupted_pods)
            budgets.append(
                Budget(one.key, one.namespace, selector, status.disruptions_allowed, disrupted)
            )
    return tuple(budgets)


class Disruptions:
    """Answers for the pods of many nodes; which budgets match is found once per look of a pod."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets
        self._matching: dict[int, tuple[Budget, ...]] = {}

    def matching(self, pod: PodInfo) -> tuple[Budget, ...]:
        """The budgets that an eviction of the pod uses up."""
        found = self._matching.get(pod.signature)
        if found is None:
            # Upstream passes over pods without labels, even where a selector would match them.
            found = tuple(b for b in self._budgets if pod.labels and b.matches(pod))
            self._matching[pod.signature] = found
        return tuple(budget for budget in found if pod.name not in budget.disrupted)

    def pdb_violated_by(self, pods: Sequence[PodInfo]) -> dict[str, tuple[str, ...]]:
        """By UID, the pods whose eviction, after that of all before them, overdraws budgets, and
        the keys of those."""
        if not self._budgets:
            return {}
        left = {budget.key: budget.allowed for budget in self._budgets}
        found = {}
        for pod in pods:
            matching = self.matching(pod)
            for budget in matching:
                left[budget.key] -= 1
            pdb_violated_by = tuple(budget.key for budget in matching if left[budget.key] < 0)
            if pdb_violated_by:
                found[pod.uid] = pdb_violated_by
        return found
