"""Which evictions would violate a PodDisruptionBudget.

Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.node_columns import Mask, Rows
from ksched_cli.cluster.objects import PodDisruptionBudget
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector
from ksched_cli.plugins.default_preemption.lower_pods import LowerPods, PodColumns


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


class Disruptions:
    """Tells which evictions violate budgets. Matching budgets are cached by pod signature.

    stops: see Rules.stops_at_violated_budget; upstream's order of budgets is a map's, ours is by
           name
    """

    def __init__(self, budgets: Sequence[Budget], *, stops: bool = False) -> None:
        self._budgets = sorted(budgets, key=lambda budget: budget.key) if stops else budgets
        self._stops = stops
        self._matching: dict[int, tuple[Budget, ...]] = {}

    def matching(self, pod: PodInfo) -> tuple[Budget, ...]:
        """The budgets that an eviction of the pod counts against."""
        budgets = self._of_signature(pod)
        return tuple(budget for budget in budgets if pod.name not in budget.disrupted)

    def _of_signature(self, pod: PodInfo) -> tuple[Budget, ...]:
        """The budgets that match the pod, and all that look like it."""
        budgets = self._matching.get(pod.signature)
        if budgets is None:
            # Upstream skips pods without labels, even where a selector would match them.
            budgets = tuple(b for b in self._budgets if pod.labels and b.matches(pod))
            self._matching[pod.signature] = budgets
        return budgets

    def violating(self, columns: PodColumns, lower: LowerPods) -> Mask:
        """Per pod, whether its eviction, after that of all before it on its node, violates a
        budget."""
        violating = np.zeros(len(lower.numbers), dtype=np.bool_)
        pairs = self._pairs(columns, lower.numbers) if self._budgets else []
        if not pairs:
            return violating
        entries, budgets = np.array(pairs, dtype=np.intp).T
        if self._stops and len(np.unique(entries)) < len(entries):
            nodes = lower.nodes[entries].tolist()
            violating[self._violating_in_order(entries.tolist(), budgets.tolist(), nodes)] = True
            return violating
        allowed = np.array([budget.allowed for budget in self._budgets], dtype=np.int64)
        # Pairs of one node and budget side by side, in the order of the pods.
        groups = lower.nodes[entries] * len(allowed) + budgets
        order = groups.argsort(kind="stable")
        _, first, sizes = np.unique(groups[order], return_index=True, return_counts=True)
        evictions = np.arange(1, len(order) + 1) - np.repeat(first, sizes)
        violating[entries[order][evictions > allowed[budgets[order]]]] = True
        return violating

    def _violating_in_order(
        self, entries: list[int], budgets: list[int], nodes: list[int]
    ) -> list[int]:
        """The violating entries, where a budget after the first that one violates does not count
        it."""
        evictions: Counter[tuple[int, int]] = Counter()
        violating: list[int] = []
        for entry, budget, node in zip(entries, budgets, nodes, strict=True):
            if violating and violating[-1] == entry:
                continue
            evictions[node, budget] += 1
            if evictions[node, budget] > self._budgets[budget].allowed:
                violating.append(entry)
        return violating

    def _pairs(self, columns: PodColumns, numbers: Rows) -> list[tuple[int, int]]:
        """The index of a pod in `numbers`, and that of a budget that its eviction counts against,
        in the order of the pods."""
        indices = {budget.key: index for index, budget in enumerate(self._budgets)}
        _, first, kinds = np.unique(
            columns.signature[numbers], return_index=True, return_inverse=True
        )
        matched = [bool(self._of_signature(columns.pods[n])) for n in numbers[first].tolist()]
        entries = np.array(matched, dtype=np.bool_)[kinds].nonzero()[0]
        return [
            (entry, indices[budget.key])
            for entry in entries.tolist()
            for budget in self.matching(columns.pods[numbers.item(entry)])
        ]

    def pdb_violated_by(self, pods: Sequence[PodInfo]) -> dict[str, tuple[str, ...]]:
        """By UID, the pods whose eviction, after that of all before them, violates budgets, and the
        keys of those budgets."""
        if not self._budgets:
            return {}
        allowed = {budget.key: budget.allowed for budget in self._budgets}
        violated_by_uid = {}
        for pod in pods:
            violated = []
            for budget in self.matching(pod):
                allowed[budget.key] -= 1
                if allowed[budget.key] < 0:
                    violated.append(budget.key)
                    if self._stops:
                        break
            if violated:
                violated_by_uid[pod.uid] = tuple(violated)
        return violated_by_uid
