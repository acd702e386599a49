"""The claims that a pod's volumes refer to."""

from ksched_cli.plugins.volumes import (
    ClaimUse,
    claim_class,
    claim_uses,
    not_found_message,
    ownership_error,
)
from ksched_cli.testing import cluster, find, pod, simulation
from tests.volumes import claim, uses

EPHEMERAL = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


def test_claims_come_in_the_order_of_the_volumes_and_as_often() -> None:
    state = cluster(pod("p", spec={"volumes": [*uses("a"), EPHEMERAL, *uses("a")]}))
    assert list(claim_uses(find(simulation(state)).pod)) == [
        ClaimUse("a", False),
        ClaimUse("p-tmp", True),
        ClaimUse("a", False),
    ]


def test_an_ephemeral_claim_must_be_the_pods_own() -> None:
    state = cluster(pod("p"), claim("mine", owner="p"), claim("other", owner="q"))
    pod_object = find(simulation(state)).pod
    claims = state.persistent_volume_claims
    assert ownership_error(pod_object, claims["default", "mine"]) == ""
    assert ownership_error(pod_object, claims["default", "other"]) == (
        "PVC default/other was not created for pod default/p (pod is not owner)"
    )


def test_the_beta_annotation_takes_precedence_over_the_class() -> None:
    annotations = {"volume.beta.kubernetes.io/storage-class": "old"}
    state = cluster(
        claim("a", metadata={"name": "a", "annotations": annotations}),
        claim("b"),
        claim("c", "1", None),
    )
    claims = state.persistent_volume_claims.values()
    assert {each.name: claim_class(each) for each in claims} == {"a": "old", "b": "local", "c": ""}


def test_a_message_is_the_api_servers() -> None:
    assert not_found_message("persistentvolume", "v") == 'persistentvolume "v" not found'
