"""The report of pending pods, in both its shapes."""

from dataclasses import replace
from typing import Any

from hypothesis import given

from ksched_cli.analysis.diagnosis import pending_report
from ksched_cli.cluster.state import ClusterState
from ksched_cli.report.limit import EVERYTHING, TERMINAL
from ksched_cli.testing import cluster, node, pod, simulation
from tests.clusters import states
from tests.report.schemas import conforms, shown


def test_a_group_has_its_message_and_its_reasons_with_the_nearest_node() -> None:
    state = cluster(node("a"), node("b", cpu=8), pod("p", cpu=12), pod("q", gates=["x.io/g"]))
    lines = shown(pending_report(simulation(state)), EVERYTHING)
    assert lines[:2] == ["1 pod stays pending", "1 gated"]
    at = lines.index("pending: default/p")
    assert lines[at + 1 : at + 3] == [
        "requests cpu 12; the largest of the 2 nodes it may use has 8",
        "what helps: request cpu 8 instead of 12, which b has free",
    ]
    message = "kube-scheduler says: 0/2 nodes are available: 2 Insufficient cpu."
    assert lines[at + 3].startswith(message)
    assert lines[at + 4 : at + 6] == [
        "NODES WHY NOT NEAREST",
        "2 NodeResourcesFit: Insufficient cpu b: cpu: wants 12, 8 free of 8",
    ]
    assert lines[-1].startswith("ksched fix default/p")


def controller(name: str, kind: str = "Job") -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": "u", "controller": True}


def test_several_groups_have_a_line_each_and_many_are_cut_with_a_count() -> None:
    pods = [
        pod(f"p{i}", cpu=5, metadata={"ownerReferences": [controller(f"web-{i}", "ReplicaSet")]})
        for i in range(22)
    ]
    report = pending_report(simulation(cluster(node("a"), *pods)))
    text = "\n".join(shown(report))
    assert "… and 2 more groups of pods" in text
    assert text.count("1 default/ReplicaSet/web-") == 20
    assert "--all opens every group, --owner KIND/NAME one" in text
    assert "0/1 nodes are available" not in text
    whole = "\n".join(shown(report, replace(TERMINAL, rows=None)))
    assert whole.count("pending: 1 pod of default/ReplicaSet/web-") == 22


def test_pods_of_jobs_share_a_line_where_they_wait_for_one_thing() -> None:
    pods = [
        pod(f"p{i}", cpu=5, metadata={"ownerReferences": [controller(f"job-{i}")]})
        for i in range(22)
    ]
    lines = shown(pending_report(simulation(cluster(node("a"), *pods))))
    first = "pending: 22 pods of default/Job/job-0 and 21 more: default/p0, "
    assert f"{first}default/p1, default/p2 and 19 more" in lines
    assert any(line.startswith("ksched fix default/p0 ") for line in lines)


def test_pods_without_a_controller_share_a_block_where_they_wait_for_one_thing() -> None:
    pods = [pod(f"p{i}", cpu=5 + i) for i in range(11)]
    lines = shown(pending_report(simulation(cluster(node("a"), *pods))))
    first = "pending: 11 pods of no controller in default: default/p0, "
    at = lines.index(f"{first}default/p1, default/p2 and 8 more")
    cause = "default/p0: requests cpu 5; the only node it may use, a, has 4"
    assert lines[at + 1] == cause
    assert "1 NodeResourcesFit: Insufficient cpu a: cpu: wants 5, 4 free of 4" in lines
    assert lines[0] == "11 pods stay pending"


@given(states())
def test_reports_are_as_their_schema_says(state: ClusterState) -> None:
    conforms(pending_report(simulation(state)), "pending_report")
