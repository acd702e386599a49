"""Unneeded nodes: their pods request little, and may and can move.

The rules are the cluster-autoscaler's, but the pods' move is tried when a node's time is up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.resources import CPU, MEMORY
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.autoscaler.packing import Packing
from ksched_cli.engine.replay.mutable_cluster import MutableCluster
from ksched_cli.scenario.drain import (
    NO_CONTROLLER,
    SAFE_TO_EVICT,
    SCALE_DOWN_DISABLED,
    goes_with_node,
    local_volumes,
)
from ksched_cli.scenario.node_groups import AutoscalerSettings, without_nodes
from ksched_cli.scenario.pods import budget_matcher, pending_pod

_SYSTEM = "kube-system"


class DrainRules:
    """One state's rules, with its disruption budgets. Those of a replay keep their status."""

    def __init__(self, settings: AutoscalerSettings, state: ClusterState) -> None:
        self._settings = settings
        self._budgets = [
            (budget, budget_matcher(budget)) for budget in state.pod_disruption_budgets.values()
        ]

    def blocks(self, pods: Iterable[Pod]) -> str:
        """Return why the pods of a node keep it, or ""."""
        allowed = [budget.status.disruptions_allowed for budget, _ in self._budgets]
        for pod in pods:
            if goes_with_node(pod) or self.is_expendable(pod):
                continue
            reason = self._keeps(pod)
            for index, (budget, covers) in enumerate(self._budgets):
                if not reason and covers(pod):
                    allowed[index] -= 1
                    if allowed[index] < 0:
                        reason = f"disruption budget {budget.key} allows no more disruptions"
            if reason:
                return f"{pod.key}: {reason}"
        return ""

    def is_expendable(self, pod: Pod) -> bool:
        return (pod.spec.priority or 0) < self._settings.expendable_pods_priority_cutoff

    def _keeps(self, pod: Pod) -> str:
        """Return why this pod keeps its node whatever budgets allow, or ""."""
        safe = pod.metadata.annotations.get(SAFE_TO_EVICT)
        if pod.deleting:
            return "is being deleted"
        if safe == "true":
            return ""
        if safe == "false":
            return "annotated as not safe to evict"
        if pod.metadata.controller is None:
            return NO_CONTROLLER
        settings = self._settings
        if (
            settings.skip_nodes_with_system_pods
            and pod.namespace == _SYSTEM
            and not any(covers(pod) for _, covers in self._budgets)
        ):
            return "is in kube-system, and no disruption budget covers it"
        if settings.skip_nodes_with_local_storage and local_volumes(pod):
            return "has local storage"
        return ""


def utilization(snapshot: Snapshot) -> NDArray[np.float64]:
    """Per row, the largest of the shares that pods request: of cpu, memory and extended resources.
    The cluster-autoscaler looks at GPUs alone where a node has any."""
    shares = np.zeros(len(snapshot))
    for resource, allocatable in snapshot.node_columns.allocatable.items():
        if resource in (CPU, MEMORY) or "/" in resource:
            share = snapshot.requested(resource) / np.maximum(allocatable, 1)
            np.maximum(shares, np.where(allocatable > 0, share, 0.0), out=shares)
    return shares


@dataclass(slots=True)
class UnneededNodes:
    """One snapshot's unneeded nodes. A node is checked again when its pods have changed."""

    cluster: MutableCluster
    settings: AutoscalerSettings
    _rules: DrainRules = field(init=False)
    _snapshot: Snapshot | None = None
    _blocked: dict[int, tuple[int, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = DrainRules(self.settings, self.cluster.state)

    def rows(self, members: Rows) -> list[int]:
        """Return those of the rows whose pods request little, and may leave."""
        snapshot = self.cluster.snapshot
        if snapshot is not self._snapshot:
            self._snapshot, self._blocked = snapshot, {}
            self._rules = DrainRules(self.settings, self.cluster.state)
        threshold = self.settings.scale_down.utilization_threshold
        low = members[utilization(snapshot)[members] < threshold]
        return [row for row in low.tolist() if not self._is_blocked(snapshot, row)]

    def _is_blocked(self, snapshot: Snapshot, row: int) -> bool:
        touched = snapshot.touched.item(snapshot.rank.item(row))
        cached = self._blocked.get(row)
        if cached is not None and cached[0] == touched:
            return cached[1]
        annotations = snapshot.nodes[row].metadata.annotations
        is_blocked = annotations.get(SCALE_DOWN_DISABLED) == "true" or bool(
            self._rules.blocks(pod.pod for pod in snapshot.pods[row])
        )
        self._blocked[row] = (touched, is_blocked)
        return is_blocked

    def evicted_pods(self, row: int) -> list[Pod]:
        """The pods of a node that are evicted before it leaves."""
        pods = (pod.pod for pod in self.cluster.snapshot.pods[row])
        return [pod for pod in pods if not goes_with_node(pod)]

    def movable(self, row: int) -> bool:
        """Whether the node's pods fit on the other nodes."""
        moving = [pod for pod in self.evicted_pods(row) if not self._rules.is_expendable(pod)]
        if not moving:
            return True
        name = self.cluster.snapshot.names[row]
        state = without_nodes(self.cluster.current_state([]), frozenset((name,)))
        state = replace(state, pods=tuple(pod for pod in state.pods if pod.node_name != name))
        pods = [pending_pod(pod) for pod in moving]
        packing = Packing(self.cluster, state, pods)
        rows = packing.rows(node.name for node in state.nodes)
        fits = all(packing.place(pod.key, rows) is not None for pod in pods)
        packing.close()
        return fits
