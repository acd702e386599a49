"""Rejects nodes without room for the pod; ranks the others by one of three strategies.

Upstream: plugins/noderesources/fit.go.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import COUNTABLE
from ksched_cli.config.types import NodeResourcesFitArgs, ScoringStrategy
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores, Verdicts
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status
from ksched_cli.kube.field_errors import is_extended_resource_name
from ksched_cli.kube.format_quantity import amount_text
from ksched_cli.plugins.node_resources.scoring import (
    ScoredRequests,
    Strategy,
    amounts,
    broken_linear,
    least_allocated,
    most_allocated,
    only_principal,
    principal_amounts,
    principal_numbers,
    requests,
    used_lines,
    weighted_mean,
)

PRE_FILTER_KEY = "PreFilterNodeResourcesFit"
PRE_SCORE_KEY = "PreScoreNodeResourcesFit"
RATIO = "RequestedToCapacityRatio"

# Reason, the nodes that are short, and those where even an empty node would be.
Shortage: TypeAlias = tuple[str, Mask, Mask | None]


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, Explains):
    name = "NodeResourcesFit"
    scope = Scope.ROW

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        strategy = args.scoring_strategy or ScoringStrategy()
        self._ignored = frozenset(args.ignored_resources or ())
        self._ignored_groups = frozenset(args.ignored_resource_groups or ())
        self._resources = strategy.resources or ()
        self._weights = [spec.weight for spec in self._resources]
        is_least = strategy.type == "LeastAllocated"
        self._strategy: Strategy = least_allocated if is_least else most_allocated
        self._ratio = None
        if strategy.type == RATIO and strategy.requested_to_capacity_ratio is not None:
            self._ratio = broken_linear(strategy.requested_to_capacity_ratio.shape or ())

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        state.write(PRE_FILTER_KEY, pod.resources.requests)
        return None, SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        snapshot, row = node.snapshot, node.row
        # Huge amounts overflow, as in Go, only in arrays.
        if not (pod.resources.others or snapshot.huge) and PRE_FILTER_KEY in state.data:
            usage, capacity = snapshot.usage, snapshot.capacity
            cpu, memory, *_ = pod.resources.usage.tolist()
            if (
                capacity.item(0, row) - usage.item(0, row) >= cpu
                and capacity.item(1, row) - usage.item(1, row) >= memory
                and capacity.item(2, row) > usage.item(2, row)
            ):
                return SUCCESS
        verdicts = self.filter_nodes(state, pod, Nodes.of(node))
        return verdicts.statuses[verdicts.ids.item(0)]

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        try:
            wanted: dict[str, int] = state.read(PRE_FILTER_KEY)
        except PluginError as missing:
            raise PluginError(f"error {missing}") from None
        snapshot = nodes.snapshot
        if not pod.resources.others:
            countable = pod.resources.usage[: len(COUNTABLE), None]
            used = nodes.gather_columns(snapshot.usage[: len(COUNTABLE)])
            # Where it is not so, a node may still do: what nobody asks for may be lacking.
            if not np.count_nonzero(nodes.gather_columns(snapshot.capacity) - used < countable):
                return Verdicts.passing(len(nodes))
        full = nodes.gather(snapshot.pod_count) >= nodes.gather(snapshot.allocatable("pods"))
        shortages: list[Shortage] = [("Too many pods", full, None)]
        for resource, amount in sorted(wanted.items()):
            if amount > 0 and not self._ignores(resource):
                capacity = nodes.gather(snapshot.allocatable(resource))
                short = amount > capacity - nodes.gather(snapshot.requested(resource))
                shortages.append((f"Insufficient {resource}", short, amount > capacity))
        return _verdicts(shortages, len(nodes))

    def _ignores(self, resource: str) -> bool:
        return is_extended_resource_name(resource) and (
            resource in self._ignored or resource.split("/")[0] in self._ignored_groups
        )

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        state.write(PRE_SCORE_KEY, requests(self._resources, pod, nonzero=True))
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        asked: ScoredRequests | None = state.data.get(PRE_SCORE_KEY)
        if asked is None or self._ratio is not None or not only_principal(asked, node.snapshot):
            return self.score_nodes(state, pod, Nodes.of(node)).item(0)
        cpu, whole_cpu, memory, whole_memory = principal_numbers(asked, node, nonzero=True)
        first, second = self._weights
        points = self._strategy(cpu, whole_cpu, True) * first
        return (points + self._strategy(memory, whole_memory, True) * second) // (first + second)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        asked: ScoredRequests | None = state.data.get(PRE_SCORE_KEY)
        if asked is None:
            asked = requests(self._resources, pod, nonzero=True)
        if not self._resources:
            raise PluginError("resources not found")
        if self._ratio is None and only_principal(asked, nodes.snapshot):
            used, capacity = principal_amounts(asked, nodes, nonzero=True)
            first, second = self._weights
            points = self._strategy(used, capacity, True)
            return (points[0] * first + points[1] * second) // (first + second)
        found = amounts(self._resources, asked.amounts, nodes, nonzero=True)
        score = self._ratio or self._strategy
        return weighted_mean(found, self._weights, score, skip_zero=self._ratio is not None)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        lines = []
        if len(node.pods) + 1 > node.allocatable("pods"):
            lines.append(f"pods: {len(node.pods)} of {node.allocatable('pods')} are there")
        for resource, amount in sorted(pod.resources.requests.items()):
            capacity, used = node.allocatable(resource), node.requested(resource)
            if amount > 0 and not self._ignores(resource) and amount > capacity - used:
                wants, free, whole = (
                    amount_text(resource, value) for value in (amount, capacity - used, capacity)
                )
                lines.append(f"{resource}: wants {wants}, {free} free of {whole}")
        return lines

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        asked = requests(self._resources, pod, nonzero=True)
        return used_lines([spec.name for spec in self._resources], asked, node, nonzero=True)


def _verdicts(shortages: list[Shortage], count: int) -> Verdicts:
    """One status per set of shortages; unresolvable where even an empty node would be too small."""
    shortages = [shortage for shortage in shortages if shortage[1].any()]
    if not shortages:
        return Verdicts.passing(count)
    # Bit 0: unresolvable; the next bits: the shortages, in order.
    wide = np.int64 if len(shortages) < 62 else object
    marks = np.zeros(count, dtype=wide)
    for bit, (_, short, hopeless) in enumerate(shortages, start=1):
        marks |= short.astype(wide) << bit
        if hopeless is not None:
            marks |= (short & hopeless).astype(wide)
    kinds, ids = np.unique(marks, return_inverse=True)
    if kinds[0] != 0:
        kinds, ids = np.concatenate(([0], kinds)), ids + 1
    statuses = [SUCCESS]
    for mark in kinds[1:]:
        reasons = [s[0] for bit, s in enumerate(shortages, start=1) if int(mark) >> bit & 1]
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if int(mark) & 1 else Code.UNSCHEDULABLE
        statuses.append(Status(code, tuple(reasons)))
    return Verdicts(ids.astype(np.int32), statuses)
