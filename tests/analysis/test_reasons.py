"""Reasons counted over nodes, and the nearest node of each."""

from typing import Any

from ksched_cli.analysis.explain import explain
from ksched_cli.analysis.reasons import NearestNode, Reason
from ksched_cli.testing import cluster, explanation, find, node, pod, simulation
from tests.narrowing import present

CPU = ("NodeResourcesFit", "Insufficient cpu")
TAINTED = ["k=v:NoSchedule"]


def reasons_for(*objects: dict[str, Any]) -> Any:
    return explanation(cluster(*objects), pod="p", kubernetes_version="1.34").reasons


def test_nodes_are_counted_by_plugin_and_reason_those_with_several_under_each() -> None:
    counted = reasons_for(
        node("a", cpu=1),
        node("b", cpu=1, memory="1Gi"),
        node("c", cpu=9, taints=TAINTED),
        node("d"),
        pod("p", cpu=3, memory="2Gi"),
    )
    assert {(reason.plugin, reason.reason): reason.nodes for reason in counted} == {
        CPU: 2,
        ("NodeResourcesFit", "Insufficient memory"): 1,
        ("TaintToleration", "node(s) had untolerated taint {k: v}"): 1,
    }


def test_the_nearest_node_lacks_the_least_of_the_request() -> None:
    (reason,) = reasons_for(
        node("a", cpu=4),
        node("b", cpu=8),
        node("c", cpu=8),
        pod("there", node="b", cpu="700m"),
        pod("p", cpu=12),
    )
    nearest = NearestNode("c", "cpu: wants 12, 8 free of 8")
    assert reason == Reason(*CPU, 3, 3, nearest)


def test_a_node_with_fewer_reasons_is_nearer_than_one_that_lacks_less() -> None:
    counted = reasons_for(
        node("a", cpu=8, taints=TAINTED, unschedulable=True), node("b", cpu=1), pod("p", cpu=12)
    )
    assert [(reason.plugin, reason.nearest.node) for reason in counted] == [
        ("NodeResourcesFit", "b"),
        ("NodeUnschedulable", "a"),
        ("TaintToleration", "a"),
    ]
    assert counted[0].nodes == 2


def test_reasons_in_the_way_of_the_nearest_nodes_come_first_then_those_of_the_most() -> None:
    counted = reasons_for(
        *(node(name, cpu=9, taints=TAINTED) for name in "ab"), node("c", cpu=1), pod("p", cpu=2)
    )
    assert [reason.nodes for reason in counted] == [2, 1]


def test_what_an_eviction_may_lift_is_nearer_than_what_none_can() -> None:
    counted = reasons_for(
        *(node(name, cpu=9, taints=TAINTED) for name in "ab"),
        node("c", cpu=9),
        pod("there", node="c", cpu=8),
        pod("p", cpu=2),
    )
    assert [(reason.nearest.node, reason.nearest.tied_nodes) for reason in counted] == [
        ("c", ()),
        ("a", ("b",)),
    ]


def test_the_detail_is_that_of_the_reason_where_a_plugin_has_several() -> None:
    counted = reasons_for(node("a", cpu=1, memory="1Gi"), pod("p", cpu=3, memory="2Gi"))
    assert {reason.reason: (reason.nearest.detail, reason.alone) for reason in counted} == {
        "Insufficient cpu": ("cpu: wants 3, 1 free of 1", 0),
        "Insufficient memory": ("memory: wants 2Gi, 1Gi free of 1Gi", 0),
    }


def test_nominated_pods_add_reasons_to_a_node_that_is_rejected_without_them_too() -> None:
    """kube-scheduler looks at a node with its nominated pods first, and gives those reasons."""
    nominated = {"nominatedNodeName": "a"}
    state = cluster(
        node("a", cpu=2, memory="4Gi"),
        pod("rival", priority=9, memory="3Gi", cpu=1, status=nominated),
        pod("p", priority=5, cpu=3, memory="2Gi"),
    )
    alone = simulation(state)
    schedules = alone.run(only=find(alone, "p"))
    assert " 1 Insufficient cpu, 1 Insufficient memory." in schedules.last["default/p"].why_not
    run = simulation(state)
    answer = explain(run, find(run, "p"), alone=True)
    assert answer.message == schedules.last["default/p"].why_not
    assert {reason.reason: present(reason.nearest).detail for reason in answer.reasons} == {
        "Insufficient cpu": "cpu: wants 3, 2 free of 2",
        "Insufficient memory": "with the nominated pods counted: default/rival",
    }
    assert [rejection.reasons for rejection in answer.nodes[0].rejections] == [
        ("Insufficient cpu",),
        ("Insufficient memory",),
    ]


def test_prefilter_rejects_all_nodes_at_once() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab"]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    (reason,) = reasons_for(node("a"), node("b"), pod("p", affinity=rules))
    assert reason == Reason("NodeAffinity", "pod affinity terms conflict", 2)


def test_where_all_nodes_fit_there_is_no_reason() -> None:
    assert reasons_for(node("a"), pod("p")) == ()


def test_a_cordon_and_its_taint_are_one_reason() -> None:
    """The node lifecycle controller sets the taint, with the time."""
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "x"}
    (cordon,) = reasons_for(node("a", unschedulable=True, taints=[taint]), pod("p"))
    assert (cordon.plugin, cordon.nodes, cordon.alone) == ("NodeUnschedulable", 1, 1)
    counted = reasons_for(node("a", unschedulable=True, taints=[taint, *TAINTED]), pod("p"))
    assert [reason.alone for reason in counted] == [0, 0]
