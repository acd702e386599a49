"""Pods put on nodes one after the other, in a copy of the cluster."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.engine.replay.autoscaler.scale_up import Packing
from tests.replays import cluster_of, node, pod, state_of


def packing_of(folder: Path, *cpus: str) -> Packing:
    """Pods p0, p1, … that request so much cpu, and nodes a and b with 2 each."""
    pods = [pod(f"p{index}", cpu) for index, cpu in enumerate(cpus)]
    state = state_of(folder, node("a", "2"), node("b", "2"), *pods)
    return Packing(cluster_of(state), state, state.pods)


def test_a_pod_goes_to_the_first_node_with_room(tmp_path: Path) -> None:
    packing = packing_of(tmp_path, "1", "2", "1", "1")
    rows = packing.rows(["b", "a"])
    places = [packing.place(f"default/p{index}", rows) for index in range(4)]
    assert places == ["b", "a", "b", None]


def test_only_the_rows_that_are_given_count(tmp_path: Path) -> None:
    packing = packing_of(tmp_path, "2", "1")
    assert packing.place("default/p0", packing.rows(["a"])) == "a"
    assert packing.place("default/p1", packing.rows(["a"])) is None


def test_of_several_the_largest_comes_first(tmp_path: Path) -> None:
    packing = packing_of(tmp_path, "500m", "1500m", "1500m", "500m", "1")
    keys = [f"default/p{index}" for index in range(5)]
    rows = packing.rows(["a", "b"])
    ordered = packing.largest_first(keys, int(rows[0]))
    assert ordered == [f"default/p{index}" for index in (1, 2, 4, 0, 3)]
    placed = packing.place_each(ordered, rows)
    assert placed == {
        "default/p1": "a",
        "default/p2": "b",
        "default/p0": "a",
        "default/p3": "b",
    }


def test_nominated_pods_keep_their_room_and_the_cluster_is_left_as_it_is(tmp_path: Path) -> None:
    state = state_of(tmp_path, node("a", "2"), pod("p", "1"), pod("nominee", "2", priority=9))
    cluster = cluster_of(state)
    nominee = cluster.info(state.pods[1])
    cluster.engine.nominator.nominate(nominee, "a")
    packing = Packing(cluster, state, state.pods[:1])
    assert packing.place("default/p", packing.rows(["a"])) is None
    cluster.engine.nominator.clear(nominee)
    packing = Packing(cluster, state, state.pods[:1])
    assert packing.place("default/p", packing.rows(["a"])) == "a"
    assert not cluster.snapshot.pods[0]
