"""What hints ask about pods and claims."""

from ksched_cli.plugins.helper import had_node, refers_to
from ksched_cli.testing import cluster
from tests.plugins.event_objects import pod_info
from tests.volumes import claim


def test_a_pod_had_a_node_once_it_is_bound_or_nominated() -> None:
    assert had_node(pod_info(node="n"))
    assert had_node(pod_info(status={"nominatedNodeName": "n"}))
    assert not had_node(pod_info())


def test_a_pod_refers_to_claims_of_its_namespace_by_name() -> None:
    state = cluster(claim("data"))
    (data,) = state.persistent_volume_claims.values()
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    assert refers_to(pod_info(spec={"volumes": [volume]}), data)
    assert not refers_to(pod_info(namespace="other", spec={"volumes": [volume]}), data)
    assert not refers_to(pod_info(), data)


def test_claims_that_are_made_for_the_pod_count_where_they_are_asked_for() -> None:
    state = cluster(claim("p-v"))
    (own,) = state.persistent_volume_claims.values()
    template = {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    }
    pod = pod_info(
        spec={"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]}
    )
    assert refers_to(pod, own, ephemeral=True)
    assert not refers_to(pod, own)
