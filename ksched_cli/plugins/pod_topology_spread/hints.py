"""Which events may let a pod fit that PodTopologySpread rejected.

Upstream: plugins/podtopologyspread/plugin.go (isSchedulableAfterPodChange,
isSchedulableAfterNodeChange).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent, Registration
from ksched_cli.plugins.pod_topology_spread.constraints import Constraint

# Gives the pod's constraints that a node must not violate; a plugin error means: ask again.
ConstraintsOf = Callable[[PodInfo], Sequence[Constraint]]
Labels = Mapping[str, str]


def registrations(constraints_of: ConstraintsOf) -> Iterable[Registration]:
    pod_actions = (
        Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
    )
    yield ClusterEvent(POD, pod_actions), partial(after_pod_change, constraints_of)
    node_actions = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
    yield ClusterEvent(NODE, node_actions), partial(after_node_change, constraints_of)


def after_pod_change(
    constraints_of: ConstraintsOf, pod: PodInfo, old: PodInfo | None, new: PodInfo | None
) -> bool:
    """A pod that the constraints count comes, goes, or counts differently than before."""
    for other in (old, new):
        if other is not None and not _is_involved(other, pod):
            return False
    constraints = constraints_of(pod)
    if old is None or new is None:
        other = old or new
        return other is not None and any(c.selector.matches(other.labels) for c in constraints)
    tolerates_more = new.key == pod.key and old.spec.tolerations != new.spec.tolerations
    if tolerates_more and any(constraint.honors_taints for constraint in constraints):
        return True
    return old.labels != new.labels and any(
        c.selector.matches(old.labels) != c.selector.matches(new.labels) for c in constraints
    )


def after_node_change(
    constraints_of: ConstraintsOf, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    """A node that counts comes or goes, begins or ceases to count, or changes its domain or its
    taints."""
    constraints = constraints_of(pod)
    had_keys = old is not None and _has_keys(old.metadata.labels, constraints)
    has_keys = new is not None and _has_keys(new.metadata.labels, constraints)
    if old is None or new is None or had_keys != has_keys:
        return had_keys or has_keys
    return has_keys and (
        old.spec.taints != new.spec.taints
        or any(
            old.metadata.labels.get(c.topology_key) != new.metadata.labels.get(c.topology_key)
            for c in constraints
        )
    )


def _is_involved(other: PodInfo, pod: PodInfo) -> bool:
    return other.key == pod.key or (bool(other.pod.node_name) and other.namespace == pod.namespace)


def _has_keys(labels: Labels, constraints: Sequence[Constraint]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)
