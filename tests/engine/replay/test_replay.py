"""Whole replays."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ksched_cli.api import (
    SUCCESS,
    Code,
    CycleState,
    NodeInfo,
    PermitPlugin,
    PodInfo,
    PreEnqueuePlugin,
    Status,
)
from ksched_cli.engine.replay import sub_queues
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.simulation import Simulation
from tests.replays import Plain, cluster_of, node, pod, replay, state_of, tries
from tests.thorough import first


def test_a_pod_waits_until_another_has_ended(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("n")],
        [
            {"at": 0, "pod": pod("a"), "runsFor": 100},
            {"at": 1.5, "pod": pod("b"), "runsFor": 30.25},
        ],
    )
    assert tries(run) == [(0.0, "a", "n"), (1.5, "b", "unschedulable"), (100.0, "b", "n")]
    assert run.clock.now == 130_250_000
    assert run.log.counts.ended == 2
    assert run.log.waits.namespace["default"].tolist() == [0, 98_500_000]


def test_it_ends_where_it_is_told_to(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n"), pod("a"), pod("b", "9")], [], until=1000)
    assert run.clock.now == 1_000_000_000
    assert run.log.live["default/a"].outcome is PodOutcome.RUNNING
    assert run.log.live["default/b"].outcome is PodOutcome.PENDING
    assert run.places()["unschedulable"] == ["default/b"]


def test_without_an_end_it_ends_when_only_flushes_are_left(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n"), pod("b", "9")], [{"at": 3, "change": "cordon n"}])
    assert run.clock.now == 3_000_000


def test_a_pod_is_flushed_after_five_minutes(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n"), pod("b", "9")], [], until=700)
    assert [at for at, _, _ in tries(run)] == [0.0, 330.0, 660.0]


def test_pods_without_popping_from_backoff_wait_for_whole_seconds(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": pod("a"), "runsFor": 1},
        {"at": 0.5, "pod": pod("b")},
    ]
    gates = "SchedulerPopFromBackoffQ=false"
    run = replay(tmp_path, [node("n")], events, gates=gates)
    assert tries(run)[-1] == (2.0, "b", "n")


class Morning(PreEnqueuePlugin):
    """Holds pods back when it is asked for the first time, and waits for no event."""

    name = "Morning"

    def __init__(self, args: object, handle: object) -> None:
        self._count = 0

    def pre_enqueue(self, pod: PodInfo) -> Status:
        self._count += 1
        return SUCCESS if self._count > 1 else Status.unresolvable("not yet")


@pytest.mark.parametrize(("release", "attempts"), [("1.36.3", []), ("1.36.4", [(330.0, "a", "n")])])
def test_a_pod_that_a_plugin_holds_back_is_asked_about_anew_since_1_36_4(
    release: str, attempts: list[tuple[float, str, str]], tmp_path: Path
) -> None:
    objects = [node("n"), pod("a")]
    run = replay(tmp_path, objects, [], until=700, plugins=[Morning], minor=release)
    assert tries(run) == attempts


class Holding(PermitPlugin):
    """Holds pods for as long as their label says, for nothing."""

    name = "Holding"

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        seconds = float(pod.labels.get("held", 0))
        return (Status(Code.WAIT), seconds) if seconds else (SUCCESS, 0)


def held(name: str, seconds: int) -> Plain:
    manifest = pod(name)
    manifest["metadata"]["labels"] = {"held": str(seconds)}
    return manifest


def test_a_pod_gets_its_turn_after_several_were_held_for_long(tmp_path: Path) -> None:
    """Each holds the only node for a quarter of an hour, which is the longest that Permit may."""
    events = [{"at": 0, "pod": held(f"held-{n}", 900)} for n in range(3)]
    events.append({"at": 0, "pod": pod("last")})
    run = replay(tmp_path, [node("n")], events, plugins=[Holding])
    assert run.log.live["default/last"].placed == 2_700_000_000


def test_a_replay_ends_whose_pods_are_held_again_and_again(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n")], [{"at": 0, "pod": held("a", 60)}], plugins=[Holding])
    assert run.log.live["default/a"].outcome is PodOutcome.PENDING


def test_a_pod_is_held_on_a_node_that_comes_late(tmp_path: Path) -> None:
    """The node comes after twenty-five minutes; until it is held there for no longer, the other pod
    has no node."""
    group = {"name": "g", "like": "n", "maxSize": 1, "provisioningDelay": 1500}
    events = [
        {"at": 0, "change": "cordon n"},
        {"at": 0, "pod": held("a", 60)},
        {"at": 0, "pod": pod("b")},
    ]
    run = replay(
        tmp_path, [node("n")], events, plugins=[Holding], autoscaler={"nodeGroups": [group]}
    )
    assert run.log.live["default/b"].placed == 1_570_000_000


def test_the_state_begins_in_order_of_creation(tmp_path: Path) -> None:
    late, early = pod("late"), pod("early")
    late["metadata"]["creationTimestamp"] = "2026-01-01T00:00:09Z"
    early["metadata"]["creationTimestamp"] = "2026-01-01T00:00:01Z"
    run = replay(tmp_path, [node("n"), late, early], [])
    assert [name for _, name, _ in tries(run)] == ["early", "late"]
    assert run.clock.text == "2026-01-01T00:00:09Z"


def test_with_all_at_time_0_pods_go_where_schedule_puts_them(tmp_path: Path) -> None:
    objects = [node(f"n{index}", "4") for index in range(5)]
    pods = [pod(f"p{index}", str(index % 3 + 1), priority=index % 2) for index in range(14)]
    run = replay(tmp_path, objects, [{"at": 0, "pod": each} for each in pods])
    cluster = cluster_of(state_of(tmp_path, *objects, *pods))
    engine = cluster.engine
    simulation = Simulation(engine.state, engine.configuration, engine.registry)
    placements = simulation.run().placements
    bound = {key: info.pod.node_name for key, info in run.cluster.bound.items()}
    assert bound == placements


def crowded(draw: random.Random) -> tuple[list[Plain], list[Plain]]:
    """A cluster that is too small, and pods of a few kinds that wait in it together."""
    nodes = [node(name, cpu) for name, cpu in (("a", "2"), ("b", "3"), ("c", "4"))]
    kinds = [(cpu, draw.choice((0, 0, 1))) for cpu in ("1", "2", "3")]
    events: list[Plain] = []
    at = 0.0
    for number in range(60):
        at += draw.choice((0, 0, 0.5, 1, 4))
        cpu, priority = draw.choice(kinds)
        manifest = pod(f"p{number}", cpu, priority=priority)
        events.append({"at": at, "pod": manifest, "runsFor": draw.choice((2, 7, 30))})
        if draw.random() < 0.1:
            name = f"p{draw.randrange(number + 1)}"
            events.append({"at": at, "delete": {"kind": "Pod", "name": name}})
        if draw.random() < 0.05:
            events.append({"at": at, "put": node("d", draw.choice(("1", "5")))})
    return nodes, events


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_pods_rejected_as_one_make_the_attempts_that_they_make_one_by_one(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, events = crowded(random.Random(seed))
    gates = "SchedulerPopFromBackoffQ=false" if seed % 2 else ""
    together = replay(tmp_path, nodes, events, gates=gates)
    monkeypatch.setattr(sub_queues, "_may_join", lambda queued: False)
    single = replay(tmp_path, nodes, events, gates=gates)
    assert len(together.log.attempts) > 200
    assert together.log.attempts == single.log.attempts
    assert together.log.counts == single.log.counts
    assert together.places() == single.places()
    assert list(together.log.live.values()) == list(single.log.live.values())
