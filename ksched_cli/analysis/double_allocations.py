"""Devices that kube-scheduler gave to two claims, which it may do where pods come fast: the claim
that was allocated last leaves one goroutine's record before another's has it.

Upstream: https://github.com/kubernetes/kubernetes/pull/136269 mends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.shared_devices import DeviceID

# What a decision is put down to that no rule explains.
RACE = "a race of kube-scheduler (kubernetes/kubernetes#136269): "


def double_allocations(state: ClusterState) -> Mapping[str, str]:
    """Return the doubly allocated devices by the keys of their pods."""
    users: dict[DeviceID, list[ResourceClaim]] = {}
    for claim in state.resource_claims.values():
        for device in _exclusive_devices(claim):
            users.setdefault(device, []).append(claim)
    reasons = {}
    for (driver, pool, name), claims in users.items():
        if len(claims) > 1:
            listed = " and ".join(sorted(claim.name for claim in claims))
            reason = f"{RACE}it gave the device {driver}/{pool}/{name} to {listed}"
            for claim in claims:
                for consumer in claim.status.reserved_for:
                    reasons[f"{claim.namespace}/{consumer.name}"] = reason
    return reasons


def _exclusive_devices(claim: ResourceClaim) -> Iterator[DeviceID]:
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation is not None else ():
        if not (result.admin_access or result.share_id or result.consumed_capacity):
            yield result.driver, result.pool, result.device
