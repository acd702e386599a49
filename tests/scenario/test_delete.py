"""delete: the object, and what goes or comes back with it."""

from __future__ import annotations

from ksched_cli.testing import cluster, node, pod
from tests.scenario.build import changed, nodes_of, owned, web, workload


def test_deleting_a_workload_deletes_its_pods() -> None:
    state, did = changed(web(), "delete deployment web")
    assert (state.pods, dict(state.replica_sets), dict(state.deployments)) == ((), {}, {})
    assert len(did) == 3


def test_deleted_pods_come_back_if_somebody_makes_them() -> None:
    pods = (pod("alone", node="n1"), owned("web-1", node="n1"))
    state, did = changed(cluster(node("n1"), *pods), "delete pod alone web-1")
    assert nodes_of(state) == {"default/web-1": ""}
    assert did == [
        "default/alone: deleted (was on n1)",
        "default/web-1: pending again (was on n1)",
    ]


def test_a_deleted_node_takes_its_own_pods_with_it() -> None:
    pods = (owned("ds-1", "DaemonSet", "ds", node="n1"), owned("web-1", node="n1"))
    state, _ = changed(cluster(node("n1"), node("n2"), *pods), "delete node/n1")
    assert [node.name for node in state.nodes] == ["n2"]
    assert nodes_of(state) == {"default/web-1": ""}


def test_a_static_pod_stays_while_its_node_does() -> None:
    static = owned("p", "Node", "n1", node="n1")
    state, did = changed(cluster(node("n1"), static), "delete pod/p")
    assert did == ["default/p: stays (static pod)"]
    assert nodes_of(state) == {"default/p": "n1"}
    state, did = changed(state, "delete node n1")
    assert did == ["Node n1: deleted", "default/p: deleted (was on n1)"]


def test_a_pending_pod_is_gone_unless_a_controller_makes_it_anew() -> None:
    state, did = changed(cluster(node("n1"), pod("p")), "delete pod/p")
    assert (state.pods, did) == ((), ["default/p: deleted (was pending)"])
    state, did = changed(cluster(node("n1"), owned("p")), "delete pod/p")
    assert ([p.key for p in state.pods], did) == (
        ["default/p"],
        ["default/p: pending again (was pending)"],
    )


def test_the_jobs_of_a_cron_job_go_with_it_and_those_of_another_namespace_stay() -> None:
    job = workload("Job", name="web-1")
    job["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "web", "controller": True}]
    far = {**job, "metadata": {**job["metadata"], "namespace": "far"}}
    cron_job = workload("CronJob", jobTemplate={"spec": {}}, suspend=True)
    state, _ = changed(cluster(node("n1"), cron_job, job, far), "cordon n1")
    assert sorted(pod.namespace for pod in state.pods) == ["default", "far"]
    state, _ = changed(state, "delete cronjob/web")
    assert (list(state.cron_jobs), list(state.jobs)) == ([], [("far", "web-1")])
    assert [pod.namespace for pod in state.pods] == ["far"]


def test_a_deployment_known_by_its_pods_alone_goes_with_them() -> None:
    labels = {"pod-template-hash": "abc"}
    pods = [owned(f"web-abc-{i}", owner="web-abc", node="n1", labels=labels) for i in range(2)]
    state, did = changed(cluster(node("n1"), *pods, owned("other")), "delete deployment web")
    assert did[0] == "Deployment default/web: deleted"
    assert nodes_of(state) == {"default/other": ""}
