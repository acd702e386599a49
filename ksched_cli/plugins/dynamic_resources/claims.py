"""A pod's resource claims: which they are, who uses them, and their new versions.

Upstream: plugins/dynamicresources (dynamicresources.go), dynamic-resource-allocation/resourceclaim
(resourceclaim.go, pod.go).
"""

from __future__ import annotations

from msgspec.structs import replace

from ksched_cli.cluster.objects import (
    AllocatedDeviceStatus,
    AllocationResult,
    ConsumerReference,
    ResourceClaim,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.resource_claims import (
    ClaimError,
    ClaimStore,
    claim_name,
    exclusive_devices,
)
from ksched_cli.framework.shared_devices import DeviceID
from ksched_cli.kube.formatting import quote
from ksched_cli.plugins.node_affinity.plugin import terms_text


def claims_of(pod: PodInfo, store: ClaimStore, pod_kind: str = "pod") -> list[ResourceClaim]:
    """A pod's claims, in its order. Raises ClaimError. Upstream: foreachPodResourceClaim.

    pod_kind: what messages call a pod
    """
    claims = []
    for reference in pod.spec.resource_claims:
        name, must_own = claim_name(pod, reference)
        if name is None:
            continue
        claim = store.get(pod.namespace, name)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        owner = claim.metadata.controller
        if must_own and (owner is None or owner.uid != pod.uid):
            raise ClaimError(
                f"ResourceClaim {claim.key} was not created for {pod_kind} {pod.key} "
                f"({pod_kind} is not owner)"
            )
        claims.append(claim)
    return claims


def is_reserved_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)


def allocated(claim: ResourceClaim, allocation: AllocationResult | None) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=allocation))


def reserved(claim: ResourceClaim, pod: PodInfo) -> ResourceClaim:
    """Return the claim with the pod added to reservedFor."""
    consumer = ConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
    users = (*claim.status.reserved_for, consumer)
    return replace(claim, status=replace(claim.status, reserved_for=users))


def unreserved(claim: ResourceClaim, pod: PodInfo) -> ResourceClaim:
    """Return the claim without the pod in reservedFor."""
    users = tuple(consumer for consumer in claim.status.reserved_for if consumer.uid != pod.uid)
    return replace(claim, status=replace(claim.status, reserved_for=users))


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    status = replace(claim.status, allocation=None, reserved_for=(), devices=())
    return replace(claim, status=status)


def binding_failure(claim: ResourceClaim) -> str:
    """Return why a device of the claim cannot be prepared, as its driver reports; "" where none has
    failed.

    Upstream: isClaimReadyForBinding.
    """
    allocation, statuses = claim.status.allocation, claim.status.devices
    if allocation is None or not statuses:
        return ""
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        device = (result.driver, result.pool, result.device)
        conditions = next((s.conditions for s in statuses if _device_of(s) == device), ())
        for name in result.binding_failure_conditions:
            failed = next((c for c in conditions if c.type == name), None)
            if failed is not None and failed.status == "True":
                return (
                    f"device binding failed: claim={claim.name}, reason={failed.reason}, "
                    f"message={quote(failed.message)}"
                )
    return ""


def _device_of(status: AllocatedDeviceStatus) -> DeviceID:
    return status.driver, status.pool, status.device


def describe_allocation(claim: ResourceClaim) -> str:
    """The explanation of an allocated claim: its devices, and the nodes that can use it."""
    allocation = claim.status.allocation
    assert allocation is not None
    devices = ", ".join("/".join(device) for device in exclusive_devices(claim)) or "no device"
    selector = allocation.node_selector
    terms = selector.node_selector_terms if selector else ()
    nodes = terms_text(terms) or "nowhere"
    return f"claim {claim.key} is allocated already: {devices}, to be used on nodes with {nodes}"
