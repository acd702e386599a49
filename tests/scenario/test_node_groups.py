"""Node groups, and states with more or fewer of their nodes."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.node_groups import NodeGroup, with_new_nodes, without_nodes
from tests.replays import Plain, node, state_of

HOST = "kubernetes.io/hostname"
CSI_NODE: Plain = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSINode",
    "metadata": {"name": "a"},
    "spec": {"drivers": [{"name": "d", "nodeID": "a"}]},
}


def state(folder: Path) -> ClusterState:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    labels = {HOST: "a", "pool": "x"}
    cordoned = {**node("a", labels=labels), "spec": {"unschedulable": True, "taints": [taint]}}
    daemons: Plain = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}},
    }
    return state_of(folder, cordoned, node("b"), CSI_NODE, daemons)


def group_of(state: ClusterState) -> NodeGroup:
    model = next(item for item in state.nodes if item.name == "a")
    return NodeGroup("g", model, state.csi_nodes["a"], {"pool": "x"})


def test_new_nodes_are_copies_with_their_csi_node_and_daemon_pods(tmp_path: Path) -> None:
    before = state(tmp_path)
    group = group_of(before)
    after = with_new_nodes(before, [(group, "g-1")], makes_pods=True, runs_pods=True)
    new = after.nodes[-1]
    assert (new.name, new.metadata.labels[HOST], new.spec.taints) == ("g-1", "g-1", ())
    assert after.csi_nodes["g-1"].name == "g-1"
    # The others lack theirs, which is not this change's business.
    assert [pod.node_name for pod in after.pods] == ["g-1"]
    waiting = with_new_nodes(before, [(group, "g-1")], makes_pods=True, runs_pods=False)
    assert [pod.node_name for pod in waiting.pods] == [""]
    assert with_new_nodes(before, [(group, "g")], makes_pods=False, runs_pods=True).pods == ()
    assert with_new_nodes(before, [], makes_pods=True, runs_pods=True) is before


def test_nodes_leave_with_their_csi_node(tmp_path: Path) -> None:
    before = state(tmp_path)
    after = without_nodes(before, frozenset({"a"}))
    assert ([item.name for item in after.nodes], dict(after.csi_nodes)) == (["b"], {})
    assert without_nodes(before, frozenset({"b"})).csi_nodes is before.csi_nodes


def test_a_group_selects_nodes_by_labels_where_it_has_any(tmp_path: Path) -> None:
    before = state(tmp_path)
    group = group_of(before)
    by_name = {item.name: item for item in before.nodes}
    assert group.selects(by_name["a"])
    assert not group.selects(by_name["b"])
    assert not NodeGroup("g", by_name["a"]).selects(by_name["a"])
