"""Objects get what the API server and the priority admission would have filled in."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.cluster.objects import Pod
from ksched_cli.errors import InputError
from tests.cluster.build import container, manifest, pod, state


def test_requests_follow_limits() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    loaded = pod(
        containers=[{"name": "c", "resources": resources}],
        initContainers=[{"name": "i", "resources": {"limits": {"cpu": "3"}}}],
    ).spec
    assert {k: str(v) for k, v in loaded.containers[0].resources.requests.items()} == {
        "cpu": "1",
        "memory": "1Gi",
    }
    assert str(loaded.init_containers[0].resources.requests["cpu"]) == "3"


def pod_level(resources: dict[str, Any], *containers: dict[str, Any]) -> dict[str, str]:
    loaded = pod(resources=resources, containers=list(containers)).spec.resources
    assert loaded is not None
    return {name: str(amount) for name, amount in loaded.requests.items()}


def test_pod_level_requests_follow_the_containers_then_the_limits() -> None:
    limits = {"limits": {"cpu": "4", "memory": "4Gi"}}
    assert pod_level(limits, container(cpu="1"), container(cpu="500m")) == {
        "cpu": "1500m",
        "memory": "4Gi",
    }


def test_without_pod_level_limits_pod_level_requests_stay_as_they_are() -> None:
    assert pod_level({"requests": {"cpu": "1"}}, container(memory="1Gi")) == {"cpu": "1"}


def test_huge_page_limits_of_containers_become_the_pods() -> None:
    huge = {"name": "c", "resources": {"limits": {"hugepages-2Mi": "4Mi"}}}
    assert pod_level({"requests": {"cpu": "1"}}, huge) == {"cpu": "1", "hugepages-2Mi": "4Mi"}


def test_on_the_hosts_network_container_ports_are_host_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 9}]
    containers = [{"name": "c", "ports": ports}]
    on_host = pod(hostNetwork=True, containers=containers).spec.containers[0].ports
    assert [(port.host_port, port.protocol) for port in on_host] == [(80, "TCP"), (9, "TCP")]
    assert pod(containers=containers).spec.containers[0].ports[0].host_port == 0


def test_a_pod_without_more_has_scheduler_namespace_uid_and_phase() -> None:
    loaded = pod()
    assert loaded.spec.scheduler_name == "default-scheduler"
    assert (loaded.namespace, loaded.uid, loaded.key) == ("default", "default/p", "default/p")
    assert loaded.status.phase == "Pending"
    assert pod(schedulerName="").spec.scheduler_name == "default-scheduler"


def test_what_a_node_can_give_is_its_capacity_unless_it_says_otherwise() -> None:
    capacity = {"cpu": "4"}
    nodes = state(
        {"kind": "Node", "metadata": {"name": "a"}, "status": {"capacity": capacity}},
        {
            "kind": "Node",
            "metadata": {"name": "b"},
            "status": {"capacity": capacity, "allocatable": {}},
        },
    ).nodes
    assert [len(node.status.allocatable) for node in nodes] == [1, 0]


def test_a_namespace_is_labelled_with_its_name() -> None:
    namespace = {"kind": "Namespace", "metadata": {"name": "web", "labels": {"a": "b"}}}
    labels = state(namespace).namespaces["web"].metadata.labels
    assert labels == {"a": "b", "kubernetes.io/metadata.name": "web"}


def test_a_replication_controller_selects_by_its_template() -> None:
    template = {"metadata": {"labels": {"a": "b"}}}
    loaded = state(
        {
            "kind": "ReplicationController",
            "metadata": {"name": "r"},
            "spec": {"template": template},
        }
    )
    assert loaded.replication_controllers["default", "r"].spec.selector == {"a": "b"}


def test_a_device_request_is_for_one_device_unless_it_says_otherwise() -> None:
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "gpu"}},
        {"name": "b", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
        {"name": "c", "firstAvailable": [{"name": "d", "deviceClassName": "gpu", "count": 2}]},
    ]
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": requests}},
    }
    exact, everything, listed = state(claim).resource_claims["default", "c"].spec.devices.requests
    assert exact.exactly is not None
    assert (exact.exactly.allocation_mode, exact.exactly.count) == ("ExactCount", 1)
    assert everything.exactly is not None
    assert everything.exactly.count == 0
    assert listed.first_available[0].count == 2


def test_storage_objects_have_their_constants() -> None:
    loaded = state(
        {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "p"},
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": {}},
        {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {}},
    )
    assert loaded.storage_classes["s"].volume_binding_mode == "Immediate"
    claim = loaded.persistent_volume_claims["default", "c"]
    assert (claim.spec.volume_mode, claim.status.phase) == ("Filesystem", "Pending")
    assert loaded.persistent_volumes["v"].spec.volume_mode == "Filesystem"


GOLD = {
    "kind": "PriorityClass",
    "metadata": {"name": "gold"},
    "value": 1000,
    "preemptionPolicy": "Never",
}
USUAL = {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 7, "globalDefault": True}


def admitted(*classes: dict[str, Any], **spec: Any) -> Pod:
    return state(manifest(**spec), *classes).pods[0]


def test_a_class_gives_priority_and_preemption_policy() -> None:
    spec = admitted(GOLD, priorityClassName="gold").spec
    assert (spec.priority, spec.preemption_policy) == (1000, "Never")


def test_without_a_class_the_global_default_counts_else_zero() -> None:
    spec = admitted(GOLD, USUAL).spec
    assert (spec.priority, spec.priority_class_name) == (7, "usual")
    assert admitted(GOLD).spec.priority == 0


def test_a_priority_that_is_filled_in_stays() -> None:
    assert admitted(GOLD, USUAL, priority=3).spec.priority == 3
    spec = admitted(GOLD, priorityClassName="gold", priority=3, preemptionPolicy="X").spec
    assert (spec.priority, spec.preemption_policy) == (3, "X")
    assert admitted(priorityClassName="gone", priority=3).spec.priority == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)],
)
def test_the_system_classes_exist_everywhere(name: str, value: int) -> None:
    assert admitted(priorityClassName=name).spec.priority == value


def test_an_unknown_class_is_an_error_that_names_pod_and_class() -> None:
    with pytest.raises(InputError) as caught:
        admitted(GOLD, priorityClassName="silver")
    assert caught.value.subject == "Pod p: spec.priorityClassName"
    assert 'no PriorityClass "silver"' in caught.value.problem


def test_pods_of_one_template_still_share_their_spec_after_admission() -> None:
    first, second = state(manifest("a"), manifest("b"), USUAL).pods
    assert first.spec is second.spec
