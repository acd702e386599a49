"""Which events may let a pod have its claims."""

from typing import Any

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import RESOURCE_CLAIM, Action, ClusterEvent
from ksched_cli.framework.resource_claims import ClaimError
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.dynamic_resources.plugin import (
    after_claim_change,
    after_pod_change,
    registrations,
)
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


def test_a_claim_that_goes_with_its_devices_makes_room_for_any_pod() -> None:
    assert after_claim_change(misses_claims, POD, claim("b", ALLOCATED), None)
    assert not after_claim_change(owns_a, POD, claim("a"), None)


def test_only_from_1_37_on_is_the_plugin_told_of_claims_that_go() -> None:
    for minor, hears in (("1.36", False), ("1.37", True)):
        hears_of = release_of(minor).rules.hears_of_deleted_claims
        events = [event for event, _ in registrations(owns_a, hears_of)]
        deleted = ClusterEvent(RESOURCE_CLAIM, Action.DELETE)
        assert any(event.matches(deleted) for event in events) is hears


def test_the_pod_is_tried_when_all_its_claims_are_there() -> None:
    assert after_pod_change(owns_a, POD, None, POD)
    assert not after_pod_change(misses_claims, POD, None, POD)
    assert not after_pod_change(owns_a, POD, None, pod_info("other"))
