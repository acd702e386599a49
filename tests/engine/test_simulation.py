"""Whole runs: the queue, passes until nothing changes, several profiles, nominations."""

import copy
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Options
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import MAX_PASSES, Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.clusters import states
from tests.framework.toys import Toy
from tests.narrowing import present


def tries(run: RunRecord) -> list[str]:
    return [attempt.pod.removeprefix("default/") for attempt in run.attempts]


def only_after(name: str, other: str) -> type[Toy]:
    """A plugin that lets a pod pass once another one is there."""

    class After(Toy, FilterPlugin):
        name = "After"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            there = any(placed.name == other for pods in node.snapshot.pods for placed in pods)
            return SUCCESS if pod.name != name or there else Status.unschedulable("too early")

    return After


def test_a_pod_that_failed_is_tried_again_once_another_has_landed() -> None:
    state = cluster(node("a"), pod("first"), pod("second"))
    run = simulate(state, plugins=[only_after("first", "second")])
    assert tries(run) == ["first", "second", "first"]
    assert run.placements == {"default/second": "a", "default/first": "a"}
    assert run.last["default/first"].node == "a"


def test_a_pod_that_fits_nowhere_is_not_tried_again_while_nothing_changes() -> None:
    run = simulate(cluster(node("a", cpu="1"), pod("big", cpu="2")))
    assert tries(run) == ["big"]
    assert run.pending == ("default/big",)


def test_a_pod_placed_before_the_attempt_is_no_change_since() -> None:
    run = simulate(cluster(node("a", cpu="1"), pod("small", cpu="1"), pod("big", cpu="2")))
    assert tries(run) == ["small", "big"]


def test_passes_end() -> None:
    class Restless(Toy, FilterPlugin):
        name = "Restless"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return Status.unschedulable("never")

    state = cluster(node("a"), pod("p"))
    run = simulation(state, plugins=[Restless])

    def change(placed: int, total: int) -> None:
        run.scheduler.changes += 1

    run.options = Options(on_progress=change)
    # Something changes after every attempt, and still there is an end.
    assert tries(run.run()) == ["p"] * MAX_PASSES


def test_pods_of_unknown_schedulers_finished_and_leaving_ones_are_not_looked_at() -> None:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    state = cluster(
        node("a"),
        pod("theirs", profile="somebody-else"),
        pod("done", status={"phase": "Succeeded"}),
        pod("leaving", metadata=gone),
        pod("ours"),
    )
    run = simulate(state)
    assert tries(run) == ["ours"]
    assert run.pending == ()


def test_every_pod_goes_by_the_profile_that_it_names() -> None:
    most = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}}
    config = {
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {
                "schedulerName": "packing",
                "pluginConfig": [{"name": "NodeResourcesFit", "args": most}],
            },
        ]
    }
    state = cluster(
        node("a"),
        node("b"),
        pod("there", node="a", cpu="1", memory="4Gi"),
        pod("spreads", cpu="100m", memory="400Mi"),
        pod("packs", cpu="100m", memory="400Mi", profile="packing"),
    )
    run = simulate(state, config)
    assert run.placements == {"default/spreads": "b", "default/packs": "a"}
    assert [attempt.profile for attempt in run.attempts] == ["default-scheduler", "packing"]


def test_pods_on_nodes_that_are_not_there_take_no_room_anywhere() -> None:
    state = cluster(node("a", cpu="1"), pod("lost", node="gone", cpu="1"), pod("p", cpu="1"))
    assert simulate(state).placements == {"default/p": "a"}


def test_a_victim_that_was_placed_in_this_run_loses_its_place_in_the_record() -> None:
    state = cluster(
        node("a", cpu="1"),
        pod("low", cpu="1", node="a"),
        pod("high", cpu="1", priority=10),
    )
    run = simulate(state)
    assert [(eviction.pod, eviction.node, eviction.preemptor) for eviction in run.evicted] == [
        ("default/low", "a", "default/high")
    ]
    assert run.placements == {"default/high": "a"}


def test_without_preemption_nobody_leaves() -> None:
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("high", cpu="1", priority=10)
    )
    base = simulation(state)
    run = Simulation(state, base.configuration, base.registry, Options(preempt=False)).run()
    assert run.evicted == ()
    assert run.pending == ("default/high",)
    assert present(run.last["default/high"].post_filter).victims == ("default/low",)


def test_the_tie_break_chooses_among_the_best_nodes_in_order_of_name() -> None:
    state = cluster(node("c"), node("a"), node("b"), pod("p"))
    base = simulation(state)
    options = Options(tie_break=lambda ties: int(ties[-1]), detailed=True)
    run = Simulation(state, base.configuration, base.registry, options).run()
    assert run.placements == {"default/p": "c"}
    assert run.attempts[0].ties == ("a", "b", "c")


@given(states())
def test_every_pod_ends_up_in_one_place_and_no_node_is_overcommitted(state: ClusterState) -> None:
    run = simulation(state)
    record = run.run()
    pending = {info.key for info in run.pending()}
    evicted = {eviction.pod for eviction in record.evicted} & pending
    assert {*record.placements, *record.pending, *record.gated} | evicted == pending
    assert not set(record.placements) & {*record.pending, *record.gated}
    snapshot = run.snapshot
    assert (snapshot.pod_count == [len(pods) for pods in snapshot.pods]).all()
    for key, name in record.placements.items():
        row = snapshot.row[name]
        placed = next(info for info in snapshot.pods[row] if info.key == key)
        for resource, amount in placed.resources.requests.items():
            if amount:
                assert snapshot.requested(resource)[row] <= snapshot.allocatable(resource)[row]


@given(states(max_nodes=4, max_pending=3))
def test_detail_is_all_that_asking_for_detail_changes(state: ClusterState) -> None:
    base = simulation(state)
    plain = Simulation(state, base.configuration, base.registry).run()
    detailed = base.run()
    assert plain.placements == detailed.placements
    assert plain.pending == detailed.pending
    assert [attempt.message for attempt in plain.attempts] == [
        attempt.message for attempt in detailed.attempts
    ]
    assert [attempt.evaluated for attempt in plain.attempts] == [
        attempt.evaluated for attempt in detailed.attempts
    ]


@given(states())
def test_a_copied_state_decides_as_the_original(state: ClusterState) -> None:
    run = simulation(state).run()
    for copied in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        again = simulation(copied).run()
        assert again.placements == run.placements
        assert [(a.pod, a.node, a.message) for a in again.attempts] == [
            (a.pod, a.node, a.message) for a in run.attempts
        ]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_simulation_is_not_copied_but_made_anew(copied: Callable[[Simulation], object]) -> None:
    run = simulation(cluster(node("a"), pod("p")))
    with pytest.raises(TypeError, match="make another from its state"):
        copied(run)
