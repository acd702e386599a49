"""In-tree volumes as volumes of their CSI drivers: handles, topology, what cannot be translated."""

from typing import Any

import pytest

from ksched_cli.cluster.objects.storage import PersistentVolume, VolumeNodeAffinity
from ksched_cli.plugins.volumes import (
    TranslationError,
    ebs_volume_id,
    inline_handle,
    plugin_of,
    translated_affinity,
    volume_handle,
)
from ksched_cli.testing import cluster, pod
from tests.narrowing import present
from tests.volumes import volume

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
EBS: dict[str, Any] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
GCE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "d"}}


def loaded(
    labels: dict[str, str] | None = None,
    terms: list[dict[str, Any]] | None = None,
    **source: Any,
) -> PersistentVolume:
    fields: dict[str, Any] = {}
    if terms is not None:
        fields["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    state = cluster(volume("v", labels=labels, **fields, **source))
    return state.persistent_volumes["v"]


def term(**requirements: Any) -> dict[str, Any]:
    """Keys with __ for /; values with , between them; "" for Exists."""
    return {
        "matchExpressions": [
            {"key": key, "operator": "In", "values": values}
            if values
            else {"key": key, "operator": "Exists"}
            for key, values in requirements.items()
        ]
    }


def keys(affinity: VolumeNodeAffinity | None) -> list[list[tuple[str, tuple[str, ...]]]]:
    return [
        [(requirement.key, requirement.values) for requirement in term.match_expressions]
        for term in present(present(affinity).required).node_selector_terms
    ]


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("vol-1", "vol-1"),
        ("anything", "anything"),
        ("aws://us-east-1a/vol-1", "vol-1"),
        ("aws:///vol-1", "vol-1"),
    ],
)
def test_an_aws_volume_is_known_by_its_id_alone(text: str, handle: str) -> None:
    assert ebs_volume_id(text) == handle


@pytest.mark.parametrize("text", ["aws://us-east-1a/disk-1", "aws://", "aws://zone/vol-1/part"])
def test_an_aws_volume_with_a_strange_id_cannot_be_translated(text: str) -> None:
    with pytest.raises(TranslationError, match="Invalid format for AWS volume"):
        ebs_volume_id(text)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({}, "zones/UNSPECIFIED"),
        ({ZONE: "us-east1-b"}, "zones/us-east1-b"),
        ({ZONE: "us-east1-b", BETA_ZONE: "us-east1-c"}, "zones/us-east1-c"),
        ({ZONE: "us-east1-b__us-east1-c"}, "regions/us-east1"),
    ],
)
def test_a_gce_disk_is_known_by_its_place_as_its_labels_tell_it(
    labels: dict[str, str], place: str
) -> None:
    assert volume_handle(loaded(labels, **GCE)) == f"projects/UNSPECIFIED/{place}/disks/d"


@pytest.mark.parametrize(
    ("zones", "message"),
    [("us-east1-b__somewhere", "unexpected format"), ("us-east1-b__us-west1-b", "multiple or no")],
)
def test_a_gce_disk_of_no_single_region_cannot_be_translated(zones: str, message: str) -> None:
    with pytest.raises(TranslationError, match=message):
        volume_handle(loaded({ZONE: zones}, **GCE))


@pytest.mark.parametrize(
    ("source", "handle"),
    [
        (GCE, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        (EBS, "vol-1"),
        ({"cinder": {"volumeID": "c"}}, "c"),
        ({"portworxVolume": {"volumeID": "p"}}, "p"),
        ({"azureDisk": {"diskName": "d", "diskURI": "u", "kind": "Managed"}}, "u"),
    ],
)
def test_a_pods_own_volumes_have_handles_too(
    source: dict[str, dict[str, str]], handle: str
) -> None:
    state = cluster(pod("p", spec={"volumes": [{"name": "v", **source}]}))
    assert inline_handle(state.pods[0].spec.volumes[0]) == handle


@pytest.mark.parametrize(("given", "kind"), [({}, "Shared"), ({"kind": "Dedicated"}, "Dedicated")])
def test_only_managed_azure_disks_can_be_translated(given: dict[str, str], kind: str) -> None:
    disk = loaded(azureDisk={"diskName": "d", "diskURI": "u", **given})
    with pytest.raises(TranslationError, match=f"kind\\({kind}\\) is not supported"):
        volume_handle(disk)


def test_a_csi_volume_has_no_in_tree_plugin() -> None:
    assert plugin_of(loaded(csi={"driver": "d", "volumeHandle": "h"}).spec) is None


def test_zones_of_the_affinity_become_the_drivers() -> None:
    translated = translated_affinity(loaded(None, [term(**{ZONE: ["a"], "k": ["v"]})], **EBS))
    assert keys(translated) == [[("topology.ebs.csi.aws.com/zone", ("a",)), ("k", ("v",))]]


def test_old_labels_of_the_affinity_are_replaced_by_new_ones() -> None:
    old = term(**{BETA_ZONE: ["a"], BETA_REGION: ["r"]})
    translated = translated_affinity(loaded(None, [old], **GCE))
    assert keys(translated) == [[("topology.gke.io/zone", ("a",)), (REGION, ("r",))]]


def test_old_region_labels_stay_where_the_zone_is_a_new_one() -> None:
    mixed = term(**{ZONE: ["a"], BETA_REGION: ["r"]})
    translated = translated_affinity(loaded(None, [mixed], **GCE))
    assert keys(translated) == [[("topology.gke.io/zone", ("a",)), (BETA_REGION, ("r",))]]


def test_without_zones_in_the_affinity_the_volumes_label_counts_for_every_term() -> None:
    terms = [term(k=["v"]), term(l=["w"])]
    translated = translated_affinity(loaded({BETA_ZONE: "b__ a__"}, terms, **EBS))
    zone = ("topology.ebs.csi.aws.com/zone", ("a", "b"))
    assert keys(translated) == [[("k", ("v",)), zone], [("l", ("w",)), zone]]


def test_a_label_makes_an_affinity_where_there_is_none() -> None:
    translated = translated_affinity(loaded({ZONE: "a"}, cinder={"volumeID": "c"}))
    assert keys(translated) == [[("topology.cinder.csi.openstack.org/zone", ("a",))]]


@pytest.mark.parametrize("labels", [{}, {ZONE: "__"}])
def test_without_any_zone_the_affinity_stays(labels: dict[str, str]) -> None:
    persistent = loaded(labels, [term(**{ZONE: []})], **EBS)
    assert translated_affinity(persistent) is persistent.spec.node_affinity


@pytest.mark.parametrize(
    "source",
    [{"portworxVolume": {"volumeID": "p"}}, {"azureDisk": {"diskURI": "u", "kind": "managed"}}],
)
def test_drivers_without_a_zone_label_leave_the_affinity_as_it_is(
    source: dict[str, dict[str, str]],
) -> None:
    persistent = loaded({ZONE: "a"}, [term(**{ZONE: ["a"]})], **source)
    assert translated_affinity(persistent) is persistent.spec.node_affinity
