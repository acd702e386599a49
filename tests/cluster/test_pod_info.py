"""What scheduling derives from a pod, and what pods share."""

from __future__ import annotations

import pytest
from hypothesis import given

from ksched_cli.cluster.objects import Pod, PodSpec, Volume
from ksched_cli.cluster.objects.volumes import PersistentVolumeClaimSource
from ksched_cli.cluster.pod_info import HostPort, PodCatalog, has_volume_claims, host_ports
from ksched_cli.cluster.state import ClusterState
from tests.cluster.build import pod, state
from tests.clusters import states


def port(**fields: object) -> dict[str, object]:
    return {"name": "c", "ports": [fields]}


def test_ports_on_the_host_are_those_of_containers_that_keep_running() -> None:
    spec = pod(
        containers=[port(containerPort=80, hostPort=8080), port(containerPort=81)],
        initContainers=[
            {**port(hostPort=1, hostIP="10.0.0.1", protocol="UDP"), "restartPolicy": "Always"},
            port(hostPort=2),
        ],
    ).spec
    assert host_ports(spec) == (
        HostPort("10.0.0.1", "UDP", 1),
        HostPort("0.0.0.0", "TCP", 8080),
    )


@given(states())
def test_pods_of_one_signature_differ_by_name_alone(drawn: ClusterState) -> None:
    def look(each: Pod) -> object:
        meta = each.metadata
        return each.spec, meta.namespace, meta.labels, meta.annotations, each.deleting

    catalog = PodCatalog()
    infos = [catalog.info(each) for each in drawn.pods]
    for first in infos:
        for second in infos:
            assert (first.signature == second.signature) == (look(first.pod) == look(second.pod))
            if first.spec is second.spec:
                assert first.template is second.template


def test_a_successor_makes_the_infos_of_other_pods_only() -> None:
    stays, goes, comes = (pod(nodeName=name) for name in "abc")
    catalog = PodCatalog().successor()
    before = [catalog.info(each) for each in (stays, goes)]
    successor = catalog.successor()
    assert successor.info(stays) is before[0]
    assert successor.info(comes).pod is comes
    assert successor.info(comes).signature not in {info.signature for info in before}
    # What only the first was asked about is made again for the next but one.
    again = successor.successor().info(goes)
    assert again is not before[1]
    assert again.signature == before[1].signature


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"namespace": "other"},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "controller": True}]},
    ],
    ids=lambda metadata: next(iter(metadata)),
)
def test_what_plugins_can_tell_apart_has_another_signature(metadata: dict[str, object]) -> None:
    plain = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
    other = {**plain, "metadata": {"name": "b", **metadata}}
    same = {**plain, "metadata": {"name": "c", "uid": "7"}}
    catalog = PodCatalog()
    first, second, third = (catalog.info(each).signature for each in state(plain, other, same).pods)
    assert first == third != second


def with_claim(name: str, volume: str = "data", **spec: object) -> dict[str, object]:
    source = {"claimName": name}
    volumes = [{"name": volume, "persistentVolumeClaim": source}]
    return {"containers": [{"name": "c"}], "volumes": volumes, **spec}


def test_pods_that_differ_in_the_names_of_their_claims_have_one_shape() -> None:
    catalog = PodCatalog()
    plain, first, same, other, moved, bigger = (
        catalog.info(pod(**spec))
        for spec in (
            {"containers": [{"name": "c"}]},
            with_claim("a"),
            with_claim("a"),
            with_claim("b"),
            with_claim("a", volume="elsewhere"),
            with_claim("a", priority=5),
        )
    )
    assert first.shape == same.shape == other.shape
    assert len({info.shape for info in (plain, first, moved, bigger)}) == 4
    assert first.signature != other.signature
    assert plain.shape == plain.signature
    assert first.shape not in (first.signature, other.signature, plain.signature)


def test_a_pod_without_a_priority_has_zero() -> None:
    assert PodCatalog().info(Pod()).priority == 0
    info = PodCatalog().info(pod(priority=7))
    assert (info.priority, info.key, info.uid) == (7, "default/p", "default/p")
    assert repr(info) == "PodInfo(default/p)"


def test_claims_of_volumes_are_named_or_the_pods_own() -> None:
    claimed = Volume(name="v", persistent_volume_claim=PersistentVolumeClaimSource("c"))
    assert has_volume_claims(PodSpec(volumes=(claimed,)))
    assert not has_volume_claims(PodSpec(volumes=(Volume(name="v"),)))
