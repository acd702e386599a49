"""Evictions that would violate a PodDisruptionBudget, one after the other.

Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from msgspec import Struct

from ksched_cli.cluster.objects import PodDisruptionBudget
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector


class Budget(Struct, frozen=True):
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


class EvictionBudgets:
    """Decides which evictions violate budgets. Matching budgets are cached by pod signature.

    stops: see Rules.stops_at_violated_budget; upstream's order of budgets is a map's, ours is by
           name
    """

    def __init__(self, budgets: Sequence[Budget], *, stops: bool = False) -> None:
        self.budgets = sorted(budgets, key=lambda budget: budget.key) if stops else budgets
        self.stops = stops
        self._matching: dict[int, tuple[Budget, ...]] = {}

    @classmethod
    def of(cls, handle: Handle) -> Self:
        """Return the budgets of the cluster, by the rules of the release."""
        budgets = budgets_of(handle.cluster.pod_disruption_budgets.values())
        return cls(budgets, stops=handle.release.rules.stops_at_violated_budget)

    def matching(self, pod: PodInfo) -> tuple[Budget, ...]:
        """The budgets that an eviction of the pod counts against."""
        budgets = self.of_signature(pod)
        return tuple(budget for budget in budgets if pod.name not in budget.disrupted)

    def of_signature(self, pod: PodInfo) -> tuple[Budget, ...]:
        """The budgets that match the pod, and all that look like it."""
        budgets = self._matching.get(pod.signature)
        if budgets is None:
            # Upstream skips pods without labels, even where a selector would match them.
            budgets = tuple(b for b in self.budgets if pod.labels and b.matches(pod))
            self._matching[pod.signature] = budgets
        return budgets

    def pdb_violated_by(self, pods: Sequence[PodInfo]) -> dict[str, tuple[str, ...]]:
        """By UID, the pods whose eviction, after that of all before them, violates budgets, and the
        keys of those budgets."""
        if not self.budgets:
            return {}
        allowed = {budget.key: budget.allowed for budget in self.budgets}
        violated_by_uid = {}
        for pod in pods:
            violated = []
            for budget in self.matching(pod):
                allowed[budget.key] -= 1
                if allowed[budget.key] < 0:
                    violated.append(budget.key)
                    if self.stops:
                        break
            if violated:
                violated_by_uid[pod.uid] = tuple(violated)
        return violated_by_uid
