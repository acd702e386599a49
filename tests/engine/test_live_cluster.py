"""A cluster that changes, and takes back what was only tried."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.live_cluster import LiveCluster
from ksched_cli.engine.records import Attempt
from ksched_cli.testing import cluster as objects_of
from ksched_cli.testing import node, pod, simulate, simulation
from tests.clusters import nodes, pods
from tests.scenario.build import owned
from tests.volumes import claim, storage_class, volume


def live(state: ClusterState, **options: Any) -> LiveCluster:
    return LiveCluster(simulation(state, **options), state)


def answers(cluster: LiveCluster) -> list[Any]:
    """What a run of the cluster as it is decides, and the columns that it decides by."""
    ports = {row: set(each) for row, each in cluster.snapshot.ports.items()}
    columns = [cluster.snapshot.usage.tolist(), ports]
    there = [[each.key for each in row] for row in cluster.snapshot.pods]
    with cluster.trial():
        attempts = cluster.run()
        placed = [[each.key for each in row] for row in cluster.snapshot.pods]
    return [columns, there, placed, attempts, [*cluster.waiting]]


def place(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    if cluster.waiting and len(cluster.snapshot):
        waiting = [*cluster.waiting.values()]
        chosen = waiting[draw(len(waiting))]
        name = cluster.snapshot.names[draw(len(cluster.snapshot))]
        cluster.place(structs.replace(chosen, node_name=name))


def evict(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    running = [each.pod for row in cluster.snapshot.pods for each in row]
    if running:
        cluster.evict([running[draw(len(running))]])


def remove(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    running = [each.pod for row in cluster.snapshot.pods for each in row]
    if running:
        cluster.remove([running[draw(len(running))]])


def relabel(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    running = [each.pod for row in cluster.snapshot.pods for each in row]
    if running:
        chosen = running[draw(len(running))]
        metadata = structs.replace(chosen.metadata, labels={"app": "other"})
        cluster.replace(chosen, structs.replace(chosen, metadata=metadata))


def remove_node(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    if len(cluster.snapshot):
        cluster.remove_nodes([cluster.snapshot.names[draw(len(cluster.snapshot))]])


def add_node(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    name = f"new-{len(cluster.snapshot)}"
    if name not in cluster.snapshot.row:
        cluster.add_nodes(objects_of(node(name, cpu=draw(8) + 1)).nodes)


def cordon(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    if len(cluster.snapshot):
        chosen = cluster.snapshot.nodes[draw(len(cluster.snapshot))]
        spec = structs.replace(chosen.spec, unschedulable=True)
        cluster.replace_nodes({chosen.name: structs.replace(chosen, spec=spec)})


def renew(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    cluster.renew(cluster.state())


def run(cluster: LiveCluster, draw: Callable[[int], int]) -> None:
    cluster.run(preempts=bool(draw(2)))


CHANGES = (place, evict, remove, relabel, remove_node, add_node, cordon, renew, run)


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    """Nodes, pods that run, and pods that wait."""
    count = draw(st.integers(1, 5))
    objects = [draw(nodes(f"n{i}")) for i in range(count)]
    waiting = [draw(pods(f"p{i}")) for i in range(draw(st.integers(0, 8)))]
    placements = simulate(objects_of(*objects, *waiting)).placements
    for each in waiting[::2]:
        key = f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        if key in placements:
            each["spec"]["nodeName"] = placements[key]
    return objects_of(*objects, *waiting)


@given(st.data(), states())
def test_a_trial_that_is_taken_back_leaves_every_answer(
    data: st.DataObject, state: ClusterState
) -> None:
    cluster = live(state)

    def draw(count: int) -> int:
        return data.draw(st.integers(0, count - 1))

    for change in data.draw(st.lists(st.sampled_from(CHANGES), max_size=3)):
        change(cluster, draw)
    before = answers(cluster)
    with cluster.trial():
        for change in data.draw(st.lists(st.sampled_from(CHANGES), max_size=5)):
            change(cluster, draw)
            with cluster.trial():
                data.draw(st.sampled_from(CHANGES))(cluster, draw)
    for now, then in zip(answers(cluster), before, strict=True):
        assert now == then


@given(st.data(), states())
def test_a_changed_cluster_decides_as_a_simulation_of_its_objects(
    data: st.DataObject, state: ClusterState
) -> None:
    cluster = live(state)

    def draw(count: int) -> int:
        return data.draw(st.integers(0, count - 1))

    for change in data.draw(st.lists(st.sampled_from(CHANGES), max_size=5)):
        change(cluster, draw)
    other = simulation(cluster.state())
    other.options = replace(other.options, preempt=False)
    assert {key: each.node for key, each in cluster.run().items()} == {
        key: each.node for key, each in other.run().last.items()
    }


def test_a_pod_of_a_node_that_comes_is_on_it() -> None:
    cluster = live(objects_of(node("a", cpu=4), owned("p", cpu=3, node="b")))
    assert cluster.strays
    cluster.add_nodes(objects_of(node("b", cpu=4)).nodes)
    assert cluster.pod("default/p", "b") is not None
    assert not cluster.strays


@pytest.mark.parametrize("stays", [False, True])
def test_what_was_claimed_in_a_trial_is_free_again(stays: bool) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "first"}}]
    first = owned("p", cpu=1, spec={"volumes": volumes})
    state = objects_of(
        node("a", cpu=4), storage_class("local"), volume("only"), claim("first"), first
    )
    objects = live(state)
    with objects.trial() as trial:
        objects.run()
        assert not objects.waiting
        if stays:
            trial.keep()
    assert bool(objects.waiting) is not stays


def test_a_run_ends_after_the_attempt_without_a_node_that_it_should_end_at() -> None:
    cpus = {"first": 1, "large": 9, "largest": 10, "last": 1}
    waiting = [pod(name, cpu=cpu, priority=9 - at) for at, (name, cpu) in enumerate(cpus.items())]
    objects = live(objects_of(node("a", cpu=4), *waiting))
    refusals: list[str] = []

    def is_largest(attempt: Attempt) -> bool:
        refusals.append(attempt.pod)
        return attempt.pod == "default/largest"

    assert [*objects.run(stops_at=is_largest)] == [f"default/{name}" for name in [*cpus][:3]]
    assert refusals == ["default/large", "default/largest"]
    assert {*objects.waiting} == {f"default/{name}" for name in [*cpus][1:]}


def test_a_closed_node_takes_no_pod_in_a_run() -> None:
    objects = live(objects_of(node("a", cpu=8), node("b", cpu=4), pod("p", cpu=1), pod("q", cpu=4)))
    with objects.trial():
        assert {each.node for each in objects.run(closed=["a"]).values()} == {"b", ""}
    assert [each.node for each in objects.run().values()] == ["a", "a"]


def test_a_waiting_pod_that_is_replaced_waits_in_its_place() -> None:
    state = [node("a", cpu=4), pod("p", cpu=1), pod("q", cpu=9), pod("r", cpu=1)]
    objects = live(objects_of(*state))
    (large,) = objects_of(pod("q", cpu=9)).pods
    (small,) = objects_of(pod("q", cpu=2)).pods
    objects.replace(large, small)
    assert [*objects.waiting] == ["default/p", "default/q", "default/r"]
    assert all(each.node == "a" for each in objects.run().values())


def test_a_nomination_that_a_run_takes_back_is_in_no_status() -> None:
    huge = pod("p", cpu=9, status={"nominatedNodeName": "a"})
    objects = live(objects_of(node("a", cpu=4), huge))
    assert not objects.run(preempts=True)["default/p"].node
    assert objects.waiting["default/p"].status.nominated_node_name == ""


def test_nominations_of_a_trial_are_taken_back() -> None:
    state = objects_of(
        node("a", cpu=1), pod("low", cpu=1, node="a", priority=1), pod("p", cpu=1, priority=9)
    )
    objects = live(state)
    with objects.trial():
        assert objects.run(preempts=True)["default/p"].node == "a"
    assert objects.snapshot.pods[0][0].key == "default/low"
    assert not objects.run()["default/p"].node
