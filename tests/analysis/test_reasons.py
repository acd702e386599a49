"""Reasons counted over nodes, and the nearest node of each."""

from ksched_cli.analysis.reasons import NearestNode, Reason
from ksched_cli.testing import cluster, explanation, node, pod

CPU = ("NodeResourcesFit", "Insufficient cpu")
TAINTED = ["k=v:NoSchedule"]


def reasons_for(*objects):
    return explanation(cluster(*objects), pod="p").reasons


def test_nodes_are_counted_by_plugin_and_reason_those_with_several_under_each():
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


def test_the_nearest_node_lacks_the_least_of_the_request():
    (reason,) = reasons_for(
        node("a", cpu=4),
        node("b", cpu=8),
        node("c", cpu=8),
        pod("there", node="b", cpu="700m"),
        pod("p", cpu=12),
    )
    nearest = NearestNode("c", "cpu: wants 12, 8 free of 8")
    assert reason == Reason(*CPU, 3, nearest)


def test_a_node_with_fewer_reasons_is_nearer_than_one_that_lacks_less():
    counted = reasons_for(
        node("a", cpu=8, taints=TAINTED, unschedulable=True), node("b", cpu=1), pod("p", cpu=12)
    )
    assert [(reason.plugin, reason.nearest.node) for reason in counted] == [
        ("NodeResourcesFit", "b"),
        ("NodeUnschedulable", "a"),
        ("TaintToleration", "a"),
    ]
    assert counted[0].nodes == 2


def test_reasons_in_the_way_of_the_nearest_nodes_come_first_then_those_of_the_most():
    counted = reasons_for(
        *(node(name, cpu=9, taints=TAINTED) for name in "ab"), node("c", cpu=1), pod("p", cpu=2)
    )
    assert [reason.nodes for reason in counted] == [2, 1]


def test_prefilter_rejects_all_nodes_at_once():
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab"]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    (reason,) = reasons_for(node("a"), node("b"), pod("p", affinity=rules))
    assert reason == Reason("NodeAffinity", "pod affinity terms conflict", 2)


def test_where_all_nodes_fit_there_is_no_reason():
    assert reasons_for(node("a"), pod("p")) == ()
