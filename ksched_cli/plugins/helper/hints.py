"""Common questions of queueing hints about the objects of an event."""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.cluster.objects import PersistentVolumeClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import (
    ASSIGNED_POD,
    POD,
    TARGET_POD,
    Action,
    ClusterEvent,
    QueueingHint,
    Registration,
)
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.volumes.pod_claims import claim_uses


def had_node(pod: PodInfo) -> bool:
    """Whether a pod that is gone had a node, or was nominated for one."""
    return bool(pod.pod.node_name or pod.pod.status.nominated_node_name)


def pod_registrations(actions: Action, hint: QueueingHint, rules: Rules) -> Iterator[Registration]:
    """Register for events of other pods and of the rejected one. Upstream: EventsToRegister of
    PodTopologySpread and InterPodAffinity."""
    for resource in (POD,) if rules.hears_of_unscheduled_pods else (ASSIGNED_POD, TARGET_POD):
        yield ClusterEvent(resource, actions), hint


def refers_to(pod: PodInfo, claim: PersistentVolumeClaim, ephemeral: bool = False) -> bool:
    """Whether one of the pod's volumes is the claim's. ephemeral: those made for the pod count."""
    return pod.namespace == claim.namespace and any(
        use.claim == claim.name for use in claim_uses(pod.pod) if ephemeral or not use.ephemeral
    )
