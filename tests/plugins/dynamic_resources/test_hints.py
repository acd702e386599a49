"""Which events may let a pod have its claims."""

from typing import Any

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.resource_claims import ClaimError
from ksched_cli.plugins.dynamic_resources.plugin import after_claim_change, after_pod_change
from ksched_cli.testing import cluster
from tests.plugins.event_objects import pod_info

POD = pod_info()


def claim(name: str, status: dict[str, Any] | None = None) -> ResourceClaim:
    metadata = {"name": name, "uid": name}
    manifest = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}
    state = cluster(manifest | {"spec": {"devices": {}}, "status": status or {}})
    (decoded,) = state.resource_claims.values()
    return decoded


ALLOCATED: dict[str, Any] = {"allocation": {"devices": {"results": []}}}


def owns_a(pod: PodInfo) -> list[ResourceClaim]:
    return [claim("a")]


def misses_claims(pod: PodInfo) -> list[ResourceClaim]:
    raise ClaimError("missing")


def test_the_pods_own_claims_matter_when_they_come_or_their_status_changes() -> None:
    assert after_claim_change(owns_a, POD, None, claim("a"))
    assert after_claim_change(owns_a, POD, claim("a"), claim("a", ALLOCATED))
    assert not after_claim_change(owns_a, POD, claim("a"), claim("a"))
    assert not after_claim_change(owns_a, POD, None, claim("b"))


def test_any_claim_matters_that_gives_its_devices_back() -> None:
    assert after_claim_change(owns_a, POD, claim("b", ALLOCATED), claim("b"))


def test_no_claim_matters_while_one_of_the_pods_is_missing() -> None:
    assert not after_claim_change(misses_claims, POD, None, claim("a"))


def test_the_pod_is_tried_when_all_its_claims_are_there() -> None:
    assert after_pod_change(owns_a, POD, None, POD)
    assert not after_pod_change(misses_claims, POD, None, POD)
    assert not after_pod_change(owns_a, POD, None, pod_info("other"))
