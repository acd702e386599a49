"""Which events may let a node take another volume."""

from typing import Any

from ksched_cli.cluster.objects import CSINode
from ksched_cli.plugins import node_volume_limits as plugin
from ksched_cli.testing import cluster
from tests.plugins.event_objects import pod_info

CLAIMING: dict[str, Any] = {
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
}
EBS: dict[str, Any] = {"volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}]}


def csi_node(**limits: int) -> CSINode:
    drivers = [
        {"name": name, "nodeID": "n", "allocatable": {"count": count}}
        for name, count in limits.items()
    ]
    manifest = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n"}}
    (decoded,) = cluster(manifest | {"spec": {"drivers": drivers}}).csi_nodes.values()
    return decoded


def test_a_higher_limit_and_a_new_driver_matter() -> None:
    pod = pod_info()
    assert plugin.after_csi_node_update(pod, csi_node(a=1), csi_node(a=2))
    assert plugin.after_csi_node_update(pod, csi_node(a=1), csi_node(a=1, b=1))
    assert not plugin.after_csi_node_update(pod, csi_node(a=2), csi_node(a=1))


def test_deleted_pods_matter_where_they_had_volumes_and_a_node() -> None:
    pod = pod_info(spec=CLAIMING)
    assert plugin.after_pod_deletion(pod, pod_info("o", node="n", spec=CLAIMING), None)
    assert not plugin.after_pod_deletion(pod, pod_info("o", spec=CLAIMING), None)
    assert not plugin.after_pod_deletion(pod, pod_info("o", node="n"), None)


def test_a_detached_volume_matters_to_claims_and_to_volumes_of_its_driver() -> None:
    manifest = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment"}
    spec = {"attacher": "ebs.csi.aws.com", "source": {"persistentVolumeName": "v"}, "nodeName": "n"}
    state = cluster(manifest | {"metadata": {"name": "a"}, "spec": spec})
    (attachment,) = state.volume_attachments.values()
    assert plugin.after_detachment(pod_info(spec=CLAIMING), attachment, None)
    assert plugin.after_detachment(pod_info(spec=EBS), attachment, None)
    assert not plugin.after_detachment(pod_info(), attachment, None)
