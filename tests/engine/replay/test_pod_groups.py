"""Pods of a group are tried together in a replay, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.replay.replay import Replay
from ksched_cli.errors import UsageError
from tests.replays import Plain, node, pod, replay, tries

GATES = "GenericWorkload=true,GangScheduling=true"


def gang(min_count: int, name: str = "red") -> Plain:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}},
    }


def member(name: str, cpu: str = "1", group: str = "red", **spec: Any) -> Plain:
    return pod(name, cpu, schedulingGroup={"podGroupName": group}, **spec)


def replayed(folder: Path, objects: list[Plain], events: list[Plain], **header: Any) -> Replay:
    return replay(folder, objects, events, gates=GATES, minor="1.36", **header)


def test_a_gang_is_held_back_until_enough_of_its_pods_are_there(tmp_path: Path) -> None:
    events = [{"at": at, "pod": member(f"p{at}")} for at in range(3)]
    run = replayed(tmp_path, [node("a", "9"), gang(3)], events)
    # The first two wait until the third is assumed.
    assert tries(run) == [(2, name, "a") for name in ("p0", "p1", "p2", "p0", "p1")]


def test_a_deleted_pod_counts_no_longer(tmp_path: Path) -> None:
    gone = {"at": 1, "delete": {"kind": "Pod", "name": "p0"}}
    events = [{"at": 0, "pod": member("p0")}, gone, {"at": 2, "pod": member("p1")}]
    run = replayed(tmp_path, [node("a", "9"), gang(2)], events)
    assert tries(run) == []
    assert run.places()["gated"] == ["default/p1"]


def test_a_gang_that_fits_in_part_takes_no_room_and_backs_off(tmp_path: Path) -> None:
    events = [{"at": 0, "pod": member(name)} for name in ("p", "q")]
    running = pod("old", nodeName="a")
    ends = {"at": 5, "delete": {"kind": "Pod", "name": "old"}, "gracePeriod": 0}
    run = replayed(tmp_path, [node("a", "2"), gang(2), running], [*events, ends])
    # The backoffs are one and two seconds, and end in the second after.
    times = [at for at, name, _ in tries(run) if name == "q"]
    assert times == [0, 2, 5]
    assert {name: node for _, name, node in tries(run)[-2:]} == {"p": "a", "q": "a"}


def test_a_replay_ends_although_a_gang_that_does_not_fit_backs_off_again_and_again(
    tmp_path: Path,
) -> None:
    events = [{"at": 0, "pod": member(name)} for name in ("p", "q")]
    run = replayed(tmp_path, [node("a", "1"), gang(2)], events)
    assert run.pending() == ["default/p", "default/q"]
    assert run.clock.now < 10_000_000


def test_the_pods_of_a_gang_are_nominated_while_their_victims_leave(tmp_path: Path) -> None:
    victims = [pod(name, nodeName="a", priority=-1) for name in ("u", "v")]
    events = [{"at": 0, "pod": member(name)} for name in ("p", "q")]
    run = replayed(tmp_path, [node("a", "2"), gang(2), *victims], events)
    first = run.log.attempts[:2]
    assert [each.nominated_node for each in first] == ["a", "a"]
    assert {name for each in first for name in each.victims} == {"default/u", "default/v"}
    assert run.log.counts.evicted == 2
    assert {(at, name) for at, name, where in tries(run) if where == "a"} == {(30, "p"), (30, "q")}


def test_pods_of_a_group_go_by_priority_then_in_the_order_of_coming(tmp_path: Path) -> None:
    pods = [member("low"), member("high", priority=5), member("low-too"), pod("alone", priority=3)]
    run = replayed(tmp_path, [node("a", "9"), gang(1)], [{"at": 0, "pod": each} for each in pods])
    assert [name for _, name, _ in tries(run)] == ["high", "low", "low-too", "alone"]


def entity(min_count: int, name: str = "red", **spec: Any) -> Plain:
    policy = {"schedulingPolicy": {"gang": {"minCount": min_count}}, **spec}
    return {**gang(min_count, name), "apiVersion": "scheduling.k8s.io/v1beta1", "spec": policy}


def replayed_as_entities(folder: Path, objects: list[Plain], events: list[Plain]) -> Replay:
    gates = "GenericWorkload=true"
    return replay(folder, objects, events, gates=gates, minor="1.37", until=20)


def test_a_group_backs_off_as_one_whatever_happens(tmp_path: Path) -> None:
    """Room that is made meanwhile helps it no earlier."""
    events = [
        {"at": 0, "pod": member("p", "2")},
        {"at": 0, "pod": member("q", "2")},
        {"at": 0.5, "put": node("b", "9")},
    ]
    run = replayed_as_entities(tmp_path, [node("a", "3"), entity(2)], events)
    first, later = tries(run)[:2], tries(run)[2:]
    assert first == [(0, "p", "unschedulable"), (0, "q", "unschedulable")]
    assert {(at, name) for at, name, _ in later} == {(2, "p"), (2, "q")}
    assert "unschedulable" not in {where for _, _, where in later}


def test_a_pod_that_comes_joins_its_group(tmp_path: Path) -> None:
    events = [{"at": at, "pod": member(f"p{at}")} for at in range(3)]
    run = replayed_as_entities(tmp_path, [node("a", "9"), entity(3)], events)
    assert {(name, on) for at, name, on in tries(run) if at == 2} == {
        ("p0", "a"),
        ("p1", "a"),
        ("p2", "a"),
    }


def test_pods_of_a_group_without_an_object_are_held_back(tmp_path: Path) -> None:
    run = replayed_as_entities(tmp_path, [node("a", "9")], [{"at": 0, "pod": member("p")}])
    assert tries(run) == []
    assert run.places()["gated"] == ["default/p"]


GONE = {"kind": "PodGroup", "namespace": "default", "name": "red"}


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
def test_pods_are_tried_once_the_object_of_their_group_comes(tmp_path: Path, minor: str) -> None:
    objects = {"1.36": (gang(2), GATES), "1.37": (entity(2), "GenericWorkload=true")}
    group, gates = objects[minor]
    events = [{"at": 0, "pod": member(name)} for name in ("p", "q")]
    comes: Plain = {"at": 3, "put": group}
    run = replay(tmp_path, [node("a", "9")], [*events, comes], gates=gates, minor=minor, until=9)
    assert {(at, name, where) for at, name, where in tries(run)} >= {(3, "p", "a"), (3, "q", "a")}
    assert run.pending() == []


def test_pods_whose_group_is_gone_wait_for_it(tmp_path: Path) -> None:
    events: list[Plain] = [
        {"at": 0, "pod": member("p", "2")},
        {"at": 0.5, "delete": GONE},
        {"at": 0.7, "put": node("a", "9")},
        {"at": 5, "put": entity(1)},
    ]
    run = replayed_as_entities(tmp_path, [node("a", "1"), entity(1)], events)
    assert tries(run) == [(0, "p", "unschedulable"), (5, "p", "a")]


def test_a_lower_min_count_lets_a_gang_in(tmp_path: Path) -> None:
    events: list[Plain] = [{"at": 0, "pod": member("p")}]
    for at, least in ((1, 3), (2, 1)):
        events.append({"at": at, "put": entity(least)})
    run = replayed_as_entities(tmp_path, [node("a", "9"), entity(2)], events)
    assert tries(run) == [(2, "p", "a")]


def test_a_group_of_another_shape_is_an_error_of_its_event(tmp_path: Path) -> None:
    broken = entity(1) | {"spec": {"schedulingPolicy": {"gang": {"minCount": "many"}}}}
    with pytest.raises(UsageError, match=r"event 0 of the timeline: PodGroup default/red: spec"):
        replayed_as_entities(tmp_path, [node("a", "9")], [{"at": 1, "put": broken}])


@pytest.mark.parametrize("gated", ["p", "q"])
def test_a_group_is_tried_once_none_of_its_pods_is_gated(gated: str, tmp_path: Path) -> None:
    gates: dict[str, Plain] = {gated: {"schedulingGates": [{"name": "g"}]}}
    events = [
        *({"at": 0, "pod": member(name, **gates.get(name, {}))} for name in "pq"),
        {"at": 5, "put": member(gated)},
    ]
    run = replayed_as_entities(tmp_path, [node("a", "9"), entity(2)], events)
    assert set(tries(run)) == {(5.0, "p", "a"), (5.0, "q", "a")}
