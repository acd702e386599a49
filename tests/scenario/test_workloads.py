"""Workloads made into pods, as their controllers would."""

import msgspec
import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.scenario.workloads import make_pods, with_workloads
from ksched_cli.testing import Manifest, cluster, node, pod, simulate
from tests.scenario.build import owned, template, workload


def with_pods(*objects: Manifest) -> ClusterState:
    state, effects = make_pods(cluster(*objects))
    again, more = make_pods(state)
    assert (again, more) == (state, [])
    assert [effect.subject for effect in effects] == [p.key for p in state.pods[-len(effects) :]][
        : len(effects)
    ]
    return state


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        ([workload("ReplicaSet", replicas=2)], ["web-bbbbb", "web-bbbbc"]),
        ([workload("ReplicaSet")], []),
        ([workload("ReplicaSet", replicas=0)], []),
        ([workload("ReplicationController", replicas=1)], ["web-bbbbb"]),
        ([workload("StatefulSet", replicas=2)], ["web-0", "web-1"]),
        ([workload("StatefulSet", replicas=1, ordinals={"start": 5})], ["web-5"]),
        ([workload("StatefulSet")], []),
        ([workload("Job")], ["web-bbbbb"]),
        ([workload("Job", parallelism=3, completions=2)], ["web-bbbbb", "web-bbbbc"]),
        ([workload("Job", parallelism=2)], ["web-bbbbb", "web-bbbbc"]),
        ([workload("Job", suspend=True)], []),
        ([workload("Job", parallelism=2, completions=4, status={"succeeded": 3})], ["web-bbbbb"]),
        ([workload("Job", parallelism=2, status={"succeeded": 1})], []),
        (
            [workload("Job", status={"conditions": [{"type": "Complete", "status": "True"}]})],
            [],
        ),
        ([workload("CronJob", jobTemplate={"spec": {"template": template()}})], []),
    ],
)
def test_missing_pods_are_made(objects: list[Manifest], names: list[str]) -> None:
    assert [pod.name for pod in with_pods(node("n1"), *objects).pods] == names


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "ReplicaSet", "replicas": 2**31 - 1},
        {"kind": "ReplicationController", "replicas": 2**31 - 1},
        {"kind": "Deployment", "replicas": 2**31 - 1},
        {"kind": "StatefulSet", "replicas": 2**31 - 1},
        {"kind": "Job", "parallelism": 2**31 - 1, "completions": 2**31 - 1},
    ],
    ids=lambda spec: spec["kind"],
)
def test_more_pods_than_a_cluster_has_are_refused(spec: Manifest) -> None:
    with pytest.raises(InputError, match=r"default/web: 2147483647 pods to create; .* at most"):
        make_pods(cluster(workload(**spec)))


def test_the_ordinals_of_a_stateful_set_begin_with_a_whole_number() -> None:
    with pytest.raises(InputError, match=r"spec\.ordinals\.start: expected a whole number"):
        cluster(workload("StatefulSet", replicas=1, ordinals={"start": "a"}))


@pytest.mark.parametrize(
    ("there", "count"),
    [
        (owned("web-x", node="n1"), 2),
        (owned("web-x", status={"phase": "Failed"}), 3),
        (owned("web-x", "StatefulSet"), 3),
        (pod("web-x", labels={"app": "web"}), 2),
        (pod("web-x", labels={"app": "other"}), 3),
    ],
)
def test_what_is_there_already_is_not_made_again(there: Manifest, count: int) -> None:
    state = with_pods(node("n1"), there, workload("ReplicaSet", replicas=3))
    assert len(state.pods) == 1 + count


def test_a_deployment_makes_a_replica_set_and_its_pods() -> None:
    state = with_pods(node("n1"), workload("Deployment", replicas=2))
    (replica_set,) = state.replica_sets.values()
    template_hash = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.name == f"web-{template_hash}"
    for created in state.pods:
        assert created.metadata.labels == {"app": "web", "pod-template-hash": template_hash}
        owner = created.metadata.controller
        assert owner is not None
        assert (owner.kind, owner.name) == ("ReplicaSet", replica_set.name)
    assert state.pods[0].spec is state.pods[1].spec
    assert msgspec.json.decode(bytes(state.pods[0].raw))["metadata"]["name"] == state.pods[0].name
    assert len(simulate(state).placements) == 2


def test_a_deployment_whose_replica_set_is_there_leaves_pods_to_it() -> None:
    replica_set = workload("ReplicaSet", name="web-abc", replicas=1)
    replica_set["metadata"]["ownerReferences"] = [
        {"kind": "Deployment", "name": "web", "controller": True}
    ]
    labels = {"app": "web", "pod-template-hash": "abc"}
    running = owned("web-abc-x", owner="web-abc", node="n1", labels=labels)
    deployment = workload("Deployment", replicas=3)
    assert len(with_pods(node("n1"), deployment, replica_set, running).pods) == 1
    # Without the ReplicaSet the deployment counts the pods, and makes the others like them.
    state = with_pods(node("n1"), deployment, running)
    assert len(state.pods) == 3
    owners = [p.metadata.controller for p in state.pods]
    assert {owner and owner.name for owner in owners} == {"web-abc"}


def test_a_stateful_pod_has_its_names_and_claims() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}]
    state = with_pods(node("n1"), workload("StatefulSet", replicas=1, volumeClaimTemplates=claims))
    (stateful,) = state.pods
    assert stateful.metadata.labels["apps.kubernetes.io/pod-index"] == "0"
    assert stateful.metadata.labels["statefulset.kubernetes.io/pod-name"] == "web-0"
    source = stateful.spec.volumes[0].persistent_volume_claim
    assert source is not None
    assert source.claim_name == "data-web-0"
    claim = state.persistent_volume_claims["default", "data-web-0"]
    assert claim.spec.storage_class_name == "fast"


def test_a_job_labels_its_pods() -> None:
    labels = with_pods(node("n1"), workload("Job")).pods[0].metadata.labels
    assert labels["job-name"] == labels["batch.kubernetes.io/job-name"] == "web"


@pytest.mark.parametrize(
    ("fields", "spec", "runs"),
    [
        ({}, {}, True),
        (
            {"unschedulable": True, "taints": ["node.kubernetes.io/unschedulable:NoSchedule"]},
            {},
            True,
        ),
        ({"taints": ["node.kubernetes.io/disk-pressure:NoSchedule"]}, {}, True),
        ({"taints": ["node.kubernetes.io/network-unavailable:NoSchedule"]}, {}, False),
        (
            {"taints": ["node.kubernetes.io/network-unavailable:NoSchedule"]},
            {"hostNetwork": True},
            True,
        ),
        ({"taints": ["x:NoSchedule"]}, {}, False),
        ({"taints": ["x:PreferNoSchedule"]}, {}, True),
        ({"taints": ["x:NoExecute"]}, {"tolerations": [{"operator": "Exists"}]}, True),
        ({"labels": {"a": "b"}}, {"nodeSelector": {"a": "b"}}, True),
        ({"labels": {"a": "c"}}, {"nodeSelector": {"a": "b"}}, False),
        ({}, {"nodeName": "n1"}, True),
        ({}, {"nodeName": "n2"}, False),
    ],
)
def test_a_daemon_set_runs_where_its_controller_says(
    fields: Manifest, spec: Manifest, runs: bool
) -> None:
    state = with_pods(node("n1", **fields), workload("DaemonSet", template=template(**spec)))
    assert len(state.pods) == runs


def test_each_daemon_pod_is_for_its_node_and_none_is_made_twice() -> None:
    daemons = workload("DaemonSet")
    there = owned("web-x", "DaemonSet", node="n1")
    state = with_pods(node("n1"), node("n2"), node("n3"), daemons, there)
    assert simulate(state).placements == {"default/web-bbbbb": "n2", "default/web-bbbbc": "n3"}


def test_pods_made_for_workloads_are_warned_of() -> None:
    state = with_workloads(cluster(node("n1"), workload("Deployment")))
    assert state.warnings == (
        "1 missing pod of a workload is added as pending: 1 for Deployment default/web "
        "(--no-workloads leaves them out)",
    )
