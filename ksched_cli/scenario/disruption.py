"""The status of disruption budgets, as the disruption controller writes it.

Upstream: pkg/controller/disruption (trySync, getExpectedPodCount, updatePdbStatus).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from ksched_cli.cluster.objects import Pod, PodDisruptionBudget
from ksched_cli.cluster.objects.pod import PodCondition, PodStatus
from ksched_cli.cluster.objects.workloads import PodDisruptionBudgetStatus
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.scenario.owned_pods import OwnedPods, deployment_of
from ksched_cli.scenario.pods import budget_matcher, is_ready, replace_pods

_READY = PodStatus(phase="Running", conditions=(PodCondition("Ready", "True"),))
# The kinds whose scale the controller knows without asking for a scale subresource.
_SCALED = {
    "ReplicationController": "replication_controllers",
    "Deployment": "deployments",
    "ReplicaSet": "replica_sets",
    "StatefulSet": "stateful_sets",
}
# Their objects have no scale, so the controller fails, and the budget allows nothing.
_UNSCALED = ("Job", "DaemonSet", "Node")


def with_statuses(state: ClusterState) -> ClusterState:
    """Return the state with a status for each budget that has none, as in a file by hand. Its pods
    there whose status is not written, too, are ready."""
    untold = {
        key: budget
        for key, budget in state.pod_disruption_budgets.items()
        if budget.status == PodDisruptionBudgetStatus()
    }
    if not untold:
        return state
    matchers = [*map(budget_matcher, untold.values())]
    ready = {
        id(pod): structs.replace(pod, status=_READY)
        for pod in state.pods
        if pod.node_name and not pod.status.conditions and not pod.finished
        if any(matches(pod) for matches in matchers)
    }
    state = replace(state, pods=replace_pods(state.pods, ready)) if ready else state
    budgets = {key: synced(budget, state) for key, budget in untold.items()}
    return replace(state, pod_disruption_budgets={**state.pod_disruption_budgets, **budgets})


def synced(budget: PodDisruptionBudget, state: ClusterState) -> PodDisruptionBudget:
    """Return the budget with the status that its controller would write now."""
    pods = [*filter(budget_matcher(budget), state.pods)]
    disrupted = budget.status.disrupted_pods
    healthy = sum(is_ready(p) and not p.deleting and p.name not in disrupted for p in pods)
    most, least = budget.spec.max_unavailable, budget.spec.min_available
    expected: int | None
    needed: int | None = 0
    if most is not None:
        expected = _expected_scale(pods, state)
        unavailable = scaled(most, expected)
        needed = None if expected is None or unavailable is None else expected - unavailable
    elif isinstance(least, str):
        expected = _expected_scale(pods, state)
        needed = scaled(least, expected)
    else:
        expected, needed = len(pods), least or 0
    # Where the controller fails, it allows no disruption, and leaves the counts as they are.
    fails = expected is None or needed is None
    desired = max(0, needed or 0)
    allowed = 0 if fails or not expected else max(0, healthy - desired)
    status = structs.replace(
        budget.status,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected or 0,
    )
    return structs.replace(budget, status=status)


def scaled(
    value: int | str, of: int | None, *, rounds: Callable[[float], int] = math.ceil
) -> int | None:
    """Return a number, or a share of another, rounded up by default; None if it is neither.
    Upstream: intstr.GetScaledValueFromIntOrPercent."""
    if isinstance(value, int):
        return value
    percent = parse_int64(value.removesuffix("%")) if value.endswith("%") else None
    return None if percent is None or of is None else rounds(percent * of / 100)


def _expected_scale(pods: Sequence[Pod], state: ClusterState) -> int | None:
    """Return the sum of the replicas of the pods' controllers; pods without one do not count. None
    if one has no scale. A controller that the state lacks has as many as it has pods there."""
    scales: dict[tuple[str, str], int] = {}
    owned = OwnedPods.of(state.pods).active
    for pod in pods:
        kind, name = pod.owner
        if not kind or (kind, name) in scales:
            continue
        if kind in _UNSCALED:
            return None
        if deployment := deployment_of(pod):
            kind, name = "Deployment", deployment
        objects: Mapping[tuple[str, str], Any] = getattr(state, _SCALED.get(kind, ""), {})
        workload = objects.get((pod.namespace, name))
        replicas = workload.spec.replicas if workload is not None else None
        if replicas is None:
            replicas = len(owned.get((pod.namespace, kind, name), ()))
        scales[kind, name] = replicas
    return sum(scales.values())
