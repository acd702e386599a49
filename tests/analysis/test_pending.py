"""Pending pods by owner and message."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from ksched_cli.analysis.diagnosis import PendingReport, pending_report
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin, Plugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.scenario.owned_pods import owner_of
from ksched_cli.testing import cluster, explanation, find, node, pod, simulate, simulation
from tests.clusters import crowded_states


def owned(
    kind: str, name: str, pod_name: str, labels: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    return pod(pod_name, labels=labels, metadata={"ownerReferences": [reference]}, **fields)


def report_of(*objects: dict[str, Any], plugins: Sequence[type[Plugin]] = ()) -> PendingReport:
    return pending_report(simulation(cluster(*objects), plugins=plugins))


def test_the_owner_is_the_controller_and_that_of_a_replica_set_its_deployment() -> None:
    hashed = {"pod-template-hash": "5d9f"}
    objects = {
        "a": (pod("a"), "Pod/a"),
        "b": (owned("StatefulSet", "db", "b"), "StatefulSet/db"),
        "c": (owned("ReplicaSet", "web-5d9f", "c", hashed), "Deployment/web"),
        "d": (owned("ReplicaSet", "plain", "d", hashed), "ReplicaSet/plain"),
        "e": (owned("ReplicaSet", "web-5d9f", "e"), "ReplicaSet/web-5d9f"),
    }
    run = simulation(cluster(*(manifest for manifest, _ in objects.values())))
    owners = {name: owner_of(find(run, name).pod) for name in objects}
    assert owners == {name: expected for name, (_, expected) in objects.items()}


def test_pods_of_one_owner_and_message_are_a_group() -> None:
    large = [owned("StatefulSet", "db", f"db-{i}", cpu=9) for i in range(3)]
    report = report_of(
        node("a"), pod("alone", cpu=9), *large, owned("StatefulSet", "db", "z", memory="99Gi")
    )
    groups = [(group.owner, group.namespace, group.pods) for group in report.groups]
    assert groups == [
        ("StatefulSet/db", "default", ("default/db-0", "default/db-1", "default/db-2")),
        ("Pod/alone", "default", ("default/alone",)),
        ("StatefulSet/db", "default", ("default/z",)),
    ]
    assert (report.summary.pending, report.summary.nodes) == (5, 1)
    assert report.groups[2].reasons[0].reason == "Insufficient memory"


def test_pods_that_look_the_same_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = simulation(cluster(node("a"), *(pod(f"p{i}", cpu=9) for i in range(9))))
    evaluated = []
    evaluate = type(run.pipeline).evaluate

    def counting(pipeline: Pipeline, framework: Framework, info: PodInfo, mode: Mode) -> Evaluation:
        evaluated.append(mode.value)
        return evaluate(pipeline, framework, info, mode)

    monkeypatch.setattr(type(run.pipeline), "evaluate", counting)
    assert len(pending_report(run).groups) == 9
    assert evaluated.count("reasons") == 1


def test_gated_and_ignored_pods_are_counted_and_in_no_group() -> None:
    report = report_of(
        node("a"), pod("held", gates=["example.com/g"]), pod("other", profile="mine"), pod("p")
    )
    assert report.groups == ()
    assert (report.summary.gated, report.summary.ignored) == (1, 1)


def test_gated_pods_and_those_of_another_scheduler_are_told_with_the_reason() -> None:
    """Finished pods are left out, and nobody waits for them."""
    report = report_of(
        node("a"),
        pod("held", gates=["example.com/g"]),
        pod("held-2", gates=["example.com/g"]),
        pod("mine", profile="vocalno"),
        pod("theirs", profile="volcano", node="a"),
        pod("done", status={"phase": "Succeeded"}),
    )
    gated, left_out = report.held
    assert (gated.pods, gated.state) == (("default/held", "default/held-2"), "gated")
    assert gated.reason == "waiting for scheduling gates: [example.com/g]"
    assert (left_out.pods, left_out.state) == (("default/mine",), "left out")
    assert 'the scheduler "vocalno"' in left_out.reason
    assert left_out.notes == ('did you mean "volcano"?',)


def gang(minimum: int, name: str = "train") -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
    }


@pytest.mark.parametrize(
    ("group", "note"),
    [
        (
            gang(4),
            "PodGroup default/train has 2 of the 4 pods that it needs: default/g-0 and default/g-1",
        ),
        (gang(2, "trian"), 'there is no PodGroup default/train; did you mean "trian"?'),
    ],
)
def test_a_gang_says_how_many_pods_it_waits_for(group: dict[str, Any], note: str) -> None:
    members = [pod(f"g-{i}", spec={"schedulingGroup": {"podGroupName": "train"}}) for i in range(2)]
    state = cluster(node("a"), group, *members)
    gates = "GenericWorkload=true,GangScheduling=true"
    run = simulation(state, kubernetes_version="1.36", feature_gates=gates)
    (held,) = pending_report(run).held
    assert held.pods == ("default/g-0", "default/g-1")
    assert held.notes == (note,)


def test_pods_that_wait_in_the_state_and_get_a_node_are_told_with_whom_they_evict() -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"conditions": [{**condition, "message": message}]}
    report = report_of(
        node("a"),
        pod("low", cpu=3, priority=1, node="a"),
        pod("high", cpu=3, priority=2, status=status),
    )
    (placed,) = report.placed
    assert (placed.pods, placed.nodes, placed.evicts) == (
        ("default/high",),
        ("a",),
        ("default/low",),
    )
    assert placed.recorded == f"the scheduler's message: {message}"


def test_pods_that_a_quota_forbids_are_told() -> None:
    message = 'pods "w-1" is forbidden: exceeded quota: q'
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"replicas": 5},
        "status": {"replicas": 3, "conditions": [{**condition, "message": message}]},
    }
    (absent,) = report_of(node("a"), replica_set).absent
    assert (absent.owner, absent.count) == ("ReplicaSet/w", 2)
    assert absent.reason == f"FailedCreate: {message}"


def test_a_daemon_set_without_a_pod_on_a_tainted_pool_is_told() -> None:
    """Control planes are not for everybody."""
    template = {"spec": {"containers": [{"name": "c", "image": "img"}]}}
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"template": template},
    }
    report = report_of(
        node("a"),
        node("c", taints=["node-role.kubernetes.io/control-plane:NoSchedule"]),
        node("gpu-1", taints=["gpu=x:NoSchedule"]),
        node("gpu-2", taints=["gpu=x:NoSchedule"]),
        daemon_set,
    )
    (absent,) = report.absent
    assert (absent.owner, absent.count) == ("DaemonSet/agent", 2)
    assert absent.reason == "it does not tolerate gpu=x:NoSchedule (gpu-1 and gpu-2)"


class Failing(FilterPlugin):
    name = "Failing"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if pod.name == "p":
            raise ValueError("odd")
        return SUCCESS


def test_a_pod_that_a_plugin_fails_on_is_undecided() -> None:
    (group,) = report_of(node("a"), pod("p"), pod("q"), plugins=[Failing]).groups
    assert (group.pods, group.undecided) == (("default/p",), True)
    assert "odd" in group.message


@given(crowded_states())
def test_the_groups_are_the_pending_pods_of_schedule_and_the_reasons_those_of_explain(
    state: ClusterState,
) -> None:
    record = simulate(state)
    report = pending_report(simulation(state))
    pods = [key for group in report.groups for key in group.pods]
    assert sorted(pods) == sorted(record.pending)
    for group in report.groups:
        assert group.message == record.last[group.pods[0]].why_not
        if group.pods[0] == record.attempts[-1].pod:
            # The last attempt of the run saw the cluster as it is at the end.
            assert group.reasons == explanation(state, pod=group.pods[0]).reasons
