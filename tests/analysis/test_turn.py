"""A pod's turn in a run."""

from typing import Any

from ksched_cli.analysis.attempts import Turn, take_turn
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.records import NO_DETAIL
from ksched_cli.engine.simulation import Simulation
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.narrowing import present


def turn_of(name: str, *objects: dict[str, Any], alone: bool = False) -> Turn[int]:
    """The turn; each answer is how many pods are on the nodes."""
    run = simulation(cluster(*objects))
    return take_turn(run, find(run, name), lambda _: sum(map(len, run.snapshot.pods)), alone=alone)


def test_the_cluster_is_seen_as_each_attempt_finds_it() -> None:
    objects = (node("a"), pod("first"), pod("p"), pod("last"))
    turn = turn_of("p", *objects)
    assert (turn.answers, [attempt.node for attempt in turn.attempts]) == ((1,), ["a"])
    assert turn_of("p", *objects, alone=True).answers == (0,)


def test_an_attempt_that_makes_room_is_followed_by_another() -> None:
    turn = turn_of("p", node("a", cpu=1), pod("low", node="a", cpu=1), pod("p", cpu=1, priority=9))
    assert (turn.answers, [attempt.node for attempt in turn.attempts]) == ((1, 0), ["", "a"])
    assert turn.evicts == ("default/low",)


def test_a_gated_pod_is_tried_after_all_others() -> None:
    turn = turn_of("p", node("a"), pod("p", gates=["example.com/g"]), pod("q"), pod("r"))
    assert (turn.answers, present(turn.gated).plugin) == ((2,), "SchedulingGates")
    assert turn.attempts[-1].node == "a"


def test_detail_is_recorded_of_its_attempts_alone() -> None:
    detailed = simulation(cluster(node("a"), node("b"), pod("q"), pod("p"), pod("r")))
    run = Simulation(detailed.state, detailed.configuration, detailed.registry)
    run.focus = Focus(frozenset({"default/p"}))
    attempts = {attempt.pod: attempt for attempt in run.run().attempts}
    assert attempts["default/p"].detail.feasible == ("a", "b")
    assert attempts["default/q"].detail is attempts["default/r"].detail is NO_DETAIL


def test_the_node_is_told_before_the_pod_is_there() -> None:
    run = simulation(cluster(node("a"), node("b", cpu=8), pod("p", cpu=1), pod("other")))
    taken: list[tuple[int, int]] = []

    def note(row: int) -> None:
        taken.append((row, len(run.snapshot.pods[row])))

    take_turn(run, find(run, "p"), lambda _: None, on_choice=note)
    assert taken == [(1, 0)]
