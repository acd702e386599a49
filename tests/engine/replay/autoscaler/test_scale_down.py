"""Which nodes nobody needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ksched_cli.engine.replay.autoscaler.autoscaler import UnneededNodes, utilization
from tests.replays import Plain, autoscaler_of, cluster_of, node, pod, state_of

OWNER = {"apiVersion": "v1", "kind": "ReplicaSet", "name": "w", "uid": "u", "controller": True}


def owned(name: str, cpu: str, where: str) -> Plain:
    plain = pod(name, cpu, nodeName=where)
    plain["metadata"]["ownerReferences"] = [OWNER]
    return plain


def unneeded(folder: Path, *objects: Plain, **settings: Any) -> UnneededNodes:
    state = state_of(folder, *objects)
    group = {"name": "g", "like": "a", "maxSize": 1}
    return UnneededNodes(
        cluster_of(state), autoscaler_of(folder, state, {"nodeGroups": [group], **settings})
    )


def test_the_largest_share_of_what_is_requested_counts(tmp_path: Path) -> None:
    gpu = node("a", "4")
    gpu["status"]["capacity"]["example.com/gpu"] = "4"
    busy = pod("p", "1", nodeName="a")
    busy["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1", "example.com/gpu": "3"}
    state = state_of(tmp_path, gpu, node("b", "4"), busy, pod("q", "2", nodeName="b"))
    assert utilization(cluster_of(state).snapshot).tolist() == [0.75, 0.5]


def test_nodes_below_the_threshold_whose_pods_may_leave_are_unneeded(tmp_path: Path) -> None:
    nodes = unneeded(
        tmp_path,
        *(node(name, "4") for name in "abcd"),
        owned("low", "1", "a"),
        owned("high", "2", "b"),
        pod("naked", "1", nodeName="c"),
    )
    assert nodes.rows(np.array([0, 1, 2, 3])) == [0, 3]
    assert nodes.rows(np.array([0])) == [0]


def test_an_annotated_node_is_left_alone(tmp_path: Path) -> None:
    key = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
    nodes = unneeded(tmp_path, node("a", annotations={key: "true"}), node("b"))
    assert nodes.rows(np.array([0, 1])) == [1]


def test_a_pod_that_has_left_is_noticed(tmp_path: Path) -> None:
    nodes = unneeded(tmp_path, node("a", "4"), pod("naked", "1", nodeName="a"))
    assert nodes.rows(np.array([0])) == []
    nodes.cluster.remove("default/naked")
    assert nodes.rows(np.array([0])) == [0]


@pytest.mark.parametrize(("cpu", "fits"), [("3", True), ("4", False)])
def test_pods_move_where_all_of_them_have_room(tmp_path: Path, cpu: str, fits: bool) -> None:
    nodes = unneeded(
        tmp_path,
        *(node(name, "8") for name in "ab"),
        owned("p", "1", "a"),
        owned("q", cpu, "a"),
        owned("there", "4", "b"),
    )
    assert nodes.movable(0) is fits
    # The cluster is as it was.
    assert len(nodes.cluster.snapshot.pods[0]) == 2


def test_pods_of_daemon_sets_go_with_their_node(tmp_path: Path) -> None:
    daemon = owned("d", "1", "a")
    daemon["metadata"]["ownerReferences"] = [{**OWNER, "kind": "DaemonSet"}]
    nodes = unneeded(tmp_path, node("a", "4"), daemon)
    assert nodes.evicted_pods(0) == []
    assert nodes.movable(0)
