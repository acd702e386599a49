"""The snapshot: nodes in columns, pods that come and go, the order of visits."""

import copy
import pickle
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import PodUsageColumns, SealedError, Snapshot, SnapshotFork
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.clusters import states

RESOURCES = ("cpu", "memory", "example.com/gpu")


def look(snapshot: Snapshot | SnapshotFork) -> dict[str, Any]:
    """All that adding and removing pods may change, as plain data."""
    columns = {name: snapshot.requested(name).tolist() for name in RESOURCES}
    return columns | {
        "cpu, counted": snapshot.nonzero_cpu.tolist(),
        "memory, counted": snapshot.nonzero_memory.tolist(),
        "count": snapshot.pod_count.tolist(),
        "pods": [[info.key for info in pods] for pods in snapshot.pods],
        "ports": {row: set(ports) for row, ports in snapshot.ports.items()},
    }


def can_go(snapshot: Snapshot, info: PodInfo, row: int) -> bool:
    """Ports are a set upstream: of two pods with one port, the first to leave frees it."""
    return not set(info.template.host_ports) & snapshot.ports.get(row, set())


@given(states(), st.data())
def test_pods_that_come_and_go_leave_everything_as_it_was(
    state: ClusterState, data: st.DataObject
) -> None:
    run = simulation(state)
    snapshot = run.snapshot
    before = look(snapshot)
    there = []
    for info in run.pending():
        row = data.draw(st.integers(0, len(snapshot) - 1))
        if can_go(snapshot, info, row):
            snapshot.add(info, row)
            there.append((info, row))
    for info, row in reversed(there):
        snapshot.remove(info, row)
    assert look(snapshot) == before
    assert snapshot.log[-len(there) :] == [row for _, row in reversed(there)] if there else True


@given(states(), st.data())
def test_columns_are_what_adding_up_the_pods_gives(
    state: ClusterState, data: st.DataObject
) -> None:
    run = simulation(state)
    run.run()
    snapshot = run.snapshot
    for row, pods in enumerate(snapshot.pods):
        for name in RESOURCES:
            expected = sum(info.resources.requests.get(name, 0) for info in pods)
            assert snapshot.requested(name)[row] == expected
        assert snapshot.nonzero_cpu[row] == sum(info.resources.nonzero_cpu for info in pods)
        assert snapshot.nonzero_memory[row] == sum(info.resources.nonzero_memory for info in pods)
        assert snapshot.pod_count[row] == len(pods)


@given(states(), st.data())
def test_a_fork_changes_nothing_but_itself(state: ClusterState, data: st.DataObject) -> None:
    run = simulation(state)
    snapshot = run.snapshot
    before, end = look(snapshot), len(snapshot.log)
    fork = snapshot.fork(range(len(snapshot)))
    assert look(fork) == before
    for info in run.pending():
        fork.add(info, data.draw(st.integers(0, len(snapshot) - 1)))
    for row, pods in enumerate(snapshot.pods):
        for info in pods:
            fork.remove(info, row)
    assert look(snapshot) == before
    assert len(snapshot.log) == end


@given(states(), st.data())
def test_many_pods_at_once_are_as_many_one_after_another(
    state: ClusterState, data: st.DataObject
) -> None:
    run = simulation(state)
    rows = range(len(run.snapshot))
    single, many = run.snapshot.fork(rows), run.snapshot.fork(rows)
    pods = [info for pods in run.snapshot.pods for info in pods]
    places = [row for row, pods in enumerate(run.snapshot.pods) for _ in pods]
    for info, row in zip(pods, places, strict=True):
        single.remove(info, row)
    load, targets = PodUsageColumns.of(pods), np.array(places, dtype=np.intp)
    many.remove_each(pods, targets, load)
    assert look(single) == look(many)
    many.add_each(pods, targets, load)
    assert look(many) == look(run.snapshot)


def test_a_pod_that_leaves_has_its_place_taken_by_the_last_one() -> None:
    pods = [pod(f"p{i}", node="a") for i in range(4)]
    run = simulation(cluster(node("a"), *pods))
    run.snapshot.remove(find(run, "p1"), 0)
    assert [info.name for info in run.snapshot.pods[0]] == ["p0", "p3", "p2"]


def test_a_port_is_free_once_one_of_the_pods_that_have_it_leaves() -> None:
    pods = [pod(name, node="a", ports=[80]) for name in ("one", "other")]
    run = simulation(cluster(node("a"), *pods))
    run.snapshot.remove(find(run, "one"), 0)
    assert run.snapshot.ports == {}


def test_watchers_are_told_of_every_pod() -> None:
    calls = []

    class Watcher:
        def pod_added(self, pod: PodInfo, row: int) -> None:
            calls.append(("+", pod.name, row))

        def pod_removed(self, pod: PodInfo, row: int) -> None:
            calls.append(("-", pod.name, row))

    run = simulation(cluster(node("a"), node("b"), pod("p")))
    run.snapshot.subscribe(Watcher())
    run.snapshot.add(find(run), 1)
    run.snapshot.remove(find(run), 1)
    assert calls == [("+", "p", 1), ("-", "p", 1)]


def test_no_node_has_any_of_an_unknown_resource() -> None:
    snapshot = Snapshot(cluster(node("a"), node("b")).nodes)
    assert snapshot.allocatable("x.y/none").tolist() == [0, 0]


def test_what_nobody_asked_for_is_zero_and_cannot_be_written_to() -> None:
    snapshot = Snapshot(cluster(node("a")).nodes)
    with pytest.raises(ValueError, match="read-only"):
        snapshot.requested("x.y/z")[0] = 1


def test_the_fork_of_a_fork_is_one_too() -> None:
    base = simulation(cluster(node("a"), pod("there", node="a", cpu=1, ports=[80]))).snapshot
    first = base.fork([0])
    (there,) = first.pods[0]
    second = first.fork([0])
    second.remove(there, 0)
    assert (second.pods[0], second.ports, second.requested("cpu")[0]) == ([], {}, 0)
    assert look(first) == look(base)


class Listener:
    calls = 0

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self.calls += 1

    pod_removed = pod_added


def test_nobody_is_told_of_what_happens_in_a_fork() -> None:
    base = simulation(cluster(node("a"), pod("there", node="a"))).snapshot
    listener = Listener()
    base.subscribe(listener)
    fork = base.fork([0])
    fork.remove(base.pods[0][0], 0)
    assert listener.calls == 0
    assert fork.labels is base.labels


def test_a_fork_for_one_node_lets_no_other_node_change() -> None:
    base = simulation(cluster(node("a"), node("b"), pod("p", node="b"))).snapshot
    fork = base.fork([0])
    (there,) = base.pods[1]
    for change in (fork.add, fork.remove):
        with pytest.raises(SealedError, match="node b is not among"):
            change(there, 1)
    assert look(fork) == look(base)


def test_what_a_fork_shares_is_read_only() -> None:
    base = simulation(cluster(node("a"), pod("p", node="a"))).snapshot
    fork = base.fork([0])
    for name in ("usage", "pods", "ports", "log"):
        assert getattr(fork, name) is not getattr(base, name)
    for column in (fork.capacity, fork.allocatable("cpu"), fork.allocatable("memory")):
        with pytest.raises(ValueError, match="read-only"):
            column[...] = 0


S = TypeVar("S", Snapshot, SnapshotFork)


def copies(snapshot: S) -> tuple[S, S, S]:
    """By every way of copying: protocol 5 of pickle keeps an array read-only, and 4 does not."""
    old, new = (pickle.loads(pickle.dumps(snapshot, protocol)) for protocol in (4, 5))
    return copy.deepcopy(snapshot), old, new


@given(states(), st.data())
def test_copies_go_on_as_the_original_does_and_apart_from_it(
    state: ClusterState, data: st.DataObject
) -> None:
    """Deep copies and pickles: columns that are views of one array stay views."""
    run = simulation(state)
    pending = run.pending()
    rows = [data.draw(st.integers(0, len(run.snapshot) - 1)) for _ in pending]
    copied = (*copies(run.snapshot), *copies(run.snapshot.fork([0])))
    before = look(run.snapshot)
    for snapshot in copied:
        assert look(snapshot) == before
        for info, row in zip(pending, rows, strict=True):
            snapshot.add(info, row)
    assert look(run.snapshot) == before
    for info, row in zip(pending, rows, strict=True):
        run.snapshot.add(info, row)
    for snapshot in copied:
        assert look(snapshot) == look(run.snapshot)
        assert snapshot.usage.tolist() == run.snapshot.usage.tolist()
        for resource in RESOURCES:
            left, right = snapshot.allocatable(resource), run.snapshot.allocatable(resource)
            assert left.tolist() == right.tolist()


def test_a_copy_has_no_subscribers_and_is_open() -> None:
    state = cluster(node("a"), pod("p", requests={"example.com/foo": 1}))
    base = Snapshot(state.nodes)
    base.subscribe(Listener())
    base.seal(True)
    (info,) = simulation(state).pending()
    for snapshot in copies(base):
        snapshot.add(info, 0)
        assert snapshot.pod_count.tolist() == [1]
        assert snapshot.requested("example.com/foo").tolist() == [1]


class Names:
    """An index that has no way to be another snapshot's."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.names = snapshot.names


def test_with_other_nodes_an_index_that_cannot_move_is_made_anew() -> None:
    before = Snapshot(cluster(node("a"), node("b")).nodes)
    assert before.index(Names).names == ("a", "b")
    assert before.with_nodes(cluster(node("b")).nodes).index(Names).names == ("b",)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("minor", "requested"), [("1.37", -(1 << 63)), ("1.38", (1 << 63) - 1)])
def test_since_1_38_sums_end_at_the_largest_int64(minor: str, requested: int) -> None:
    half = {"memory": "4Ei", "vendor.example/gpu": "4Ei"}
    running = [pod(name, requests=half, node="a") for name in "pq"]
    run = simulation(cluster(node("a"), *running, pod("r", cpu=1)), kubernetes_version=minor)
    for _ in range(2):
        for column in (*map(run.snapshot.requested, half), run.snapshot.nonzero_memory):
            assert column.tolist() == [requested]
        run.snapshot.remove(find(run, "q"), 0)
        for column in (*map(run.snapshot.requested, half), run.snapshot.nonzero_memory):
            assert column.tolist() == [1 << 62]
        run.snapshot.add(find(run, "q"), 0)


def test_a_shallow_copy_is_refused() -> None:
    with pytest.raises(TypeError, match="deepcopy"):
        copy.copy(Snapshot(()))
