"""Which evictions would violate a PodDisruptionBudget.

Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ksched_cli.cluster.objects import PodDisruptionBudget
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget that can match pods. disrupted: the names in its disruptedPods."""

    key: str
    namespace: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]

    def matches(self, pod: PodInfo) -> bool:
        return self.namespace == pod.namespace and self.selector.matches(pod.labels)


def budgets_of(objects: Iterable[PodDisruptionBudget]) -> tuple[Budget, ...]:
    """The budgets, without those that match no pod: with an invalid or an empty selector."""
    budgets = []
    for pdb in objects:
        try:
            selector = label_selector(pdb.spec.selector)
        except SelectorError:
            continue
        if selector.selectable and selector.requirements:
            status = pdb.status
            disrupted = frozenset(status.disrupted_pods)
            budgets.append(
                Budget(pdb.key, pdb.namespace, selector, status.disruptions_allowed, disrupted)
            )
    return tuple(budgets)


class Disruptions:
    """Tells which evictions violate budgets. Matching budgets are cached by pod signature."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets
        self._matching: dict[int, tuple[Budget, ...]] = {}

    def matching(self, pod: PodInfo) -> tuple[Budget, ...]:
        """The budgets that an eviction of the pod counts against."""
        budgets = self._matching.get(pod.signature)
        if budgets is None:
            # Upstream skips pods without labels, even where a selector would match them.
            budgets = tuple(b for b in self._budgets if pod.labels and b.matches(pod))
            self._matching[pod.signature] = budgets
        return tuple(budget for budget in budgets if pod.name not in budget.disrupted)

    def pdb_violated_by(self, pods: Sequence[PodInfo]) -> dict[str, tuple[str, ...]]:
        """By UID, the pods whose eviction, after that of all before them, violates budgets, and the
        keys of those budgets."""
        if not self._budgets:
            return {}
        allowed = {budget.key: budget.allowed for budget in self._budgets}
        violated_by_uid = {}
        for pod in pods:
            matching = self.matching(pod)
            for budget in matching:
                allowed[budget.key] -= 1
            violated = tuple(budget.key for budget in matching if allowed[budget.key] < 0)
            if violated:
                violated_by_uid[pod.uid] = violated
        return violated_by_uid
