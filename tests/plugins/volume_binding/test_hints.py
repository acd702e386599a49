"""Which events may let a claim find a volume."""

from typing import Any

from ksched_cli.cluster.objects import CSINode, CSIStorageCapacity, StorageClass
from ksched_cli.plugins.volume_binding import plugin
from ksched_cli.plugins.volumes import MIGRATED_PLUGINS
from ksched_cli.testing import cluster
from tests.plugins.event_objects import pod_info
from tests.volumes import storage_class

POD = pod_info()
STORAGE = {"apiVersion": "storage.k8s.io/v1"}


def class_of(*zones: str) -> StorageClass:
    expression = {"key": "zone", "values": list(zones)}
    topologies = [{"matchLabelExpressions": [expression]}]
    state = cluster(storage_class("fast", allowedTopologies=topologies))
    return state.storage_classes["fast"]


def csi_node(migrated: str) -> CSINode:
    metadata = {"name": "n", "annotations": {MIGRATED_PLUGINS: migrated}}
    manifest = STORAGE | {"kind": "CSINode", "metadata": metadata, "spec": {"drivers": []}}
    return cluster(manifest).csi_nodes["n"]


def capacity(**sizes: str) -> CSIStorageCapacity:
    manifest: dict[str, Any] = {"kind": "CSIStorageCapacity", "metadata": {"name": "c"}}
    state = cluster(STORAGE | manifest | {"storageClassName": "fast"} | sizes)
    (decoded,) = state.csi_storage_capacities.values()
    return decoded


def test_a_class_matters_when_it_comes_or_is_allowed_elsewhere() -> None:
    assert plugin.after_class_change(POD, None, class_of("a"))
    assert plugin.after_class_change(POD, class_of("a"), class_of("a", "b"))
    assert not plugin.after_class_change(POD, class_of("a"), class_of("a"))


def test_a_nodes_drivers_matter_when_it_comes_or_other_plugins_are_migrated() -> None:
    assert plugin.after_csi_node_change(POD, None, csi_node(""))
    assert plugin.after_csi_node_change(POD, csi_node(""), csi_node("kubernetes.io/aws-ebs"))
    assert not plugin.after_csi_node_change(POD, csi_node(""), csi_node(""))


def test_capacity_matters_where_it_grows_the_maximum_size_before_the_whole() -> None:
    assert plugin.after_capacity_change(POD, None, capacity(capacity="1Gi"))
    assert plugin.after_capacity_change(POD, capacity(capacity="1Gi"), capacity(capacity="2Gi"))
    assert not plugin.after_capacity_change(POD, capacity(capacity="2Gi"), capacity(capacity="1Gi"))
    limited = capacity(capacity="9Gi", maximumVolumeSize="1Gi")
    assert not plugin.after_capacity_change(POD, capacity(capacity="2Gi"), limited)
