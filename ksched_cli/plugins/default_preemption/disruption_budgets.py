"""Evictions on many nodes that would violate a PodDisruptionBudget.

Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ksched_cli.cluster.node_columns import Mask, Rows
from ksched_cli.framework.disruption_budgets import EvictionBudgets
from ksched_cli.plugins.default_preemption.lower_pods import LowerPods, PodColumns


class Disruptions(EvictionBudgets):
    """Tells them in arrays."""

    def violating(self, columns: PodColumns, lower: LowerPods) -> Mask:
        """Per pod, whether its eviction, after that of all before it on its node, violates a
        budget."""
        violating = np.zeros(len(lower.numbers), dtype=np.bool_)
        pairs = self._pairs(columns, lower.numbers) if self.budgets else []
        if not pairs:
            return violating
        entries, budgets = np.array(pairs, dtype=np.intp).T
        if self.stops and len(np.unique(entries)) < len(entries):
            nodes = lower.nodes[entries].tolist()
            violating[self._violating_in_order(entries.tolist(), budgets.tolist(), nodes)] = True
            return violating
        allowed = np.array([budget.allowed for budget in self.budgets], dtype=np.int64)
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
            if evictions[node, budget] > self.budgets[budget].allowed:
                violating.append(entry)
        return violating

    def _pairs(self, columns: PodColumns, numbers: Rows) -> list[tuple[int, int]]:
        """The index of a pod in `numbers`, and that of a budget that its eviction counts against,
        in the order of the pods."""
        indices = {budget.key: index for index, budget in enumerate(self.budgets)}
        _, first, kinds = np.unique(
            columns.signature[numbers], return_index=True, return_inverse=True
        )
        matched = [bool(self.of_signature(columns.pods[n])) for n in numbers[first].tolist()]
        entries = np.array(matched, dtype=np.bool_)[kinds].nonzero()[0]
        return [
            (entry, indices[budget.key])
            for entry in entries.tolist()
            for budget in self.matching(columns.pods[numbers.item(entry)])
        ]
