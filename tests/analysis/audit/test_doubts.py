"""Devices that two claims have, and those that they may share."""

from typing import Any

from ksched_cli.analysis.audit.audit import RACE, double_allocations
from ksched_cli.testing import cluster


def claim(name: str, device: str, pod: str, **fields: Any) -> dict[str, Any]:
    result = {"request": "r", "driver": "d", "pool": "n", "device": device, **fields}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": pod, "uid": pod}],
        },
    }


def test_a_device_of_two_claims_is_named_for_both_pods() -> None:
    state = cluster(claim("a", "gpu", "p"), claim("b", "gpu", "q"), claim("c", "other", "r"))
    reason = f"{RACE}it gave the device d/n/gpu to a and b"
    assert double_allocations(state.resource_claims) == {"default/p": reason, "default/q": reason}


def test_what_is_shared_or_seen_by_an_administrator_is_no_race() -> None:
    shared = [claim(name, "gpu", name, shareID=name) for name in "ab"]
    assert not double_allocations(cluster(*shared).resource_claims)
    seen = claim("b", "gpu", "q", adminAccess=True)
    assert not double_allocations(cluster(claim("a", "gpu", "p"), seen).resource_claims)
