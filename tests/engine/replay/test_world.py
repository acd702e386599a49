"""The cluster of a replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ksched_cli.framework.nominator import Nominator
from ksched_cli.scenario.objects import load_objects, with_objects
from tests.replays import node, pod, state_of, world_of


def test_pods_keep_their_order_where_it_is_made_anew(tmp_path: Path) -> None:
    pods = [pod(name, "100m", nodeName="a") for name in "vwx"]
    world = world_of(state_of(tmp_path, node("a"), *pods))
    world.remove("default/v")  # the last takes its place
    state = with_objects(world.current_state([]), load_objects(world.state, [node("b")], "test"))
    world.renew(state)
    assert world.snapshot.names == ("a", "b")
    assert [info.name for info in world.snapshot.pods[0]] == ["x", "w"]
    assert list(world.bound) == ["default/w", "default/x"]


def test_new_nodes_are_noticed_after_the_others_and_so_are_those_of_another_zone(
    tmp_path: Path,
) -> None:
    world = world_of(state_of(tmp_path, node("b"), node("d")))
    zone = {"topology.kubernetes.io/zone": "z"}
    added = load_objects(world.state, [node("b", labels=zone), node("a"), node("d", "2")], "test")
    world.renew(with_objects(world.state, added))
    assert world.state.noticed_nodes == ("d", "b", "a")


def test_a_victim_is_deleting_with_its_condition(tmp_path: Path) -> None:
    world = world_of(state_of(tmp_path, node("a"), pod("v", nodeName="a")))
    info = world.mark_deleting(world.bound["default/v"], "2026-01-01T00:00:00Z", is_victim=True)
    assert info.pod.deleting
    assert world.snapshot.pods[0] == [info]
    assert info.pod.status.conditions[0].reason == "PreemptionByScheduler"
    assert world.bound["default/v"] is info


def test_nominations_are_made_again_for_pods_that_are_there(tmp_path: Path) -> None:
    world = world_of(state_of(tmp_path, node("a"), pod("x"), pod("y")))
    before = Nominator()
    first, second = world.simulation.pending()
    before.nominate(first, "a")
    before.nominate(second, "a")
    world.renominate(before, {second.uid: second})
    assert world.simulation.nominator.on_node("a") == (second,)


def test_a_pod_on_no_node_of_the_cluster_is_nowhere(tmp_path: Path) -> None:
    world = world_of(state_of(tmp_path, node("a"), pod("x")))
    elsewhere = replace(world.state, pods=())
    assert elsewhere.pods == ()
    assert world.remove("default/x") is None


def test_pods_of_a_node_that_is_not_there_yet_are_on_it_once_it_comes(tmp_path: Path) -> None:
    world = world_of(state_of(tmp_path, node("a"), pod("x", nodeName="b")))
    assert "default/x" not in world.bound
    current = world.current_state([])
    assert [stray.name for stray in current.pods] == ["x"]
    world.renew(with_objects(current, load_objects(world.state, [node("b")], "test")))
    assert world.bound["default/x"].pod.node_name == "b"
    assert not world.strays


def test_a_port_that_two_pods_had_stays_free_where_it_is_made_anew(tmp_path: Path) -> None:
    ports = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    pods = [pod(name, nodeName="a", containers=ports) for name in "vw"]
    world = world_of(state_of(tmp_path, node("a"), *pods))
    world.remove("default/v")
    assert not world.snapshot.ports
    added = load_objects(world.state, [node("b")], "test")
    world.renew(with_objects(world.current_state([]), added))
    assert not world.snapshot.ports
