"""Pending pods by owner and message."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from ksched_cli.analysis.diagnosis import PendingReport, owner_of, pending_report
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin, Plugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Status
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
