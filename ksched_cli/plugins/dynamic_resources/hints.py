"""Which events may let a pod fit that DynamicResources rejected.

Upstream: plugins/dynamicresources/dynamicresources.go (EventsToRegister, isSchedulableAfter…).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.framework.resource_claims import ClaimError

# Gives a pod's claims; raises ClaimError.
ClaimsOf = Callable[[PodInfo], Sequence[ResourceClaim]]


def registrations(claims_of: ClaimsOf) -> Iterable[Registration]:
    comes_or_changes = Action.ADD | Action.UPDATE
    node_actions = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
    yield ClusterEvent(NODE, node_actions), None
    claim_event = ClusterEvent(RESOURCE_CLAIM, comes_or_changes)
    yield claim_event, partial(after_claim_change, claims_of)
    pod_event = ClusterEvent(POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    yield pod_event, partial(after_pod_change, claims_of)
    yield ClusterEvent(DEVICE_CLASS, comes_or_changes), None
    yield ClusterEvent(RESOURCE_SLICE, comes_or_changes), None


def after_claim_change(
    claims_of: ClaimsOf, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim
) -> bool:
    """A claim was deallocated, or one of the pod's has come, or has another status."""
    try:
        claims = claims_of(pod)
    except ClaimError:
        return False
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return True
    if all(claim.metadata.uid != new.metadata.uid for claim in claims):
        return False
    return old is None or old.status != new.status


def after_pod_change(claims_of: ClaimsOf, pod: PodInfo, old: PodInfo | None, new: PodInfo) -> bool:
    """All of the pod's claims are there now."""
    if new.key != pod.key:
        return False
    try:
        claims_of(new)
    except ClaimError:
        return False
    return True
