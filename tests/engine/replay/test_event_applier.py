"""Events of a timeline, applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.errors import UsageError
from tests.engine.replay.claims import (
    DEVICE_CLASS,
    STORAGE_CLASS,
    claiming,
    device_claim,
    devices,
    mounting,
    volume,
    volume_claim,
)
from tests.replays import Plain, node, pod, replay, tries


def test_a_change_in_kubectls_words_moves_pods(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), node("b"), pod("x", nodeName="a")],
        [{"at": 3, "change": "cordon a"}, {"at": 3, "change": "reschedule --all"}],
    )
    assert tries(run) == [(3.0, "x", "b")]


def test_a_pod_that_is_made_anew_runs_as_long_as_the_one_before(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), node("b")],
        [
            {"at": 0, "pod": pod("x"), "runsFor": 10},
            {"at": 3, "change": "cordon a"},
            {"at": 3, "change": "reschedule --all"},
        ],
    )
    assert tries(run)[-1] == (3.0, "x", "b")
    assert run.clock.now == 13_000_000


def test_the_pods_of_a_node_that_leaves_are_gone(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), pod("x", nodeName="a")],
        [{"at": 1, "delete": {"kind": "Node", "name": "a"}}, {"at": 2, "put": node("b")}],
    )
    assert run.log.counts.deleted == 1
    assert run.cluster.snapshot.names == ("b",)
    assert not run.cluster.bound


def test_a_pod_is_deleted_with_or_without_a_grace_period(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a", "3"), pod("x", nodeName="a"), pod("y", nodeName="a"), pod("z", "9")],
        [
            {"at": 1, "delete": {"kind": "Pod", "name": "x"}},
            {"at": 1, "delete": {"kind": "Pod", "name": "y"}, "gracePeriod": 4},
            {"at": 2, "delete": {"kind": "Pod", "name": "z"}},
        ],
    )
    assert run.log.counts.deleted == 3
    assert run.clock.now == 5_000_000
    assert not run.log.live


def test_a_gate_is_lifted_by_a_put(tmp_path: Path) -> None:
    gated = pod("x", schedulingGates=[{"name": "g"}])
    run = replay(tmp_path, [node("a"), gated], [{"at": 4, "put": pod("x")}])
    assert tries(run) == [(4.0, "x", "a")]


def test_a_bound_pod_that_changes_stays_on_its_node(tmp_path: Path) -> None:
    run = replay(
        tmp_path, [node("a"), pod("x", nodeName="a"), pod("y")], [{"at": 4, "put": pod("x", "0")}]
    )
    assert run.cluster.bound["default/x"].pod.node_name == "a"
    assert tries(run)[-1] == (4.0, "y", "a")


def test_a_pod_may_come_with_its_node(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a")],
        [
            {"at": 1, "pod": pod("x", nodeName="a"), "runsFor": 2},
            {"at": 1, "pod": pod("y")},
            {"at": 2, "pod": pod("z", schedulerName="another")},
        ],
    )
    assert tries(run)[-1] == (3.0, "y", "a")
    assert run.log.counts.ignored == 1
    assert run.log.live["default/y"].outcome is PodOutcome.RUNNING


def test_a_pod_that_has_gone_before_it_is_deleted_is_counted(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("a")], [{"at": 1, "delete": {"kind": "Pod", "name": "x"}}])
    assert (run.log.counts.absent, run.log.counts.deleted) == (1, 0)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"pod": pod("x")}, "event 0 of the timeline: pod default/x already exists"),
        ({"delete": {"kind": "Node", "name": "b"}}, "no Node b exists to delete"),
        ({"change": "cordon b"}, 'no node "b" in the state'),
    ],
)
def test_an_event_about_what_is_not_there_is_an_error(
    tmp_path: Path, event: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        replay(tmp_path, [node("a"), pod("x", nodeName="a")], [{"at": 0, **event}])
    assert message in str(error.value)


def taint_rule(name: str, **selector: str) -> Plain:
    spec: Plain = {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}}
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def test_rules_that_taint_devices_no_more_move_pods_that_wait_for_devices(tmp_path: Path) -> None:
    """As kube-scheduler 1.37.2 does along this timeline."""
    claims = [device_claim("c"), device_claim("d")]
    objects = [node("a", "4"), node("b", "4"), DEVICE_CLASS, *map(devices, "ab"), *claims]
    run = replay(
        tmp_path,
        [*objects, taint_rule("every", driver="d")],
        [
            {"at": 1, "pod": claiming("p", "c")},
            {"at": 20.5, "put": taint_rule("every", driver="other")},
            {"at": 40, "put": taint_rule("of-b", pool="b")},
            {"at": 42, "pod": claiming("q", "d")},
            {"at": 60.5, "put": taint_rule("of-c", pool="c")},
            {"at": 70.5, "delete": {"kind": "DeviceTaintRule", "name": "of-b"}},
        ],
        minor="1.37",
    )
    assert tries(run) == [
        (1.0, "p", "unschedulable"),
        (20.5, "p", "a"),
        (42.0, "q", "unschedulable"),
        (70.5, "q", "b"),
    ]


def decision(name: str, **about: str) -> dict[str, str]:
    return {"namespace": "default", "name": name, **about}


def test_what_a_recorded_scheduler_decided_is_passed_over(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), node("b")],
        [{"at": 1, "pod": pod("x")}, {"at": 1, "decision": decision("x", node="b")}],
    )
    assert tries(run) == [(1.0, "x", "a")]


def test_pods_of_another_scheduler_come_to_the_nodes_that_it_chose(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a", "2"), pod("of-state", schedulerName="other")],
        [
            {"at": 1, "pod": pod("x", schedulerName="other")},
            {"at": 2, "decision": decision("x", node="a")},
            {"at": 3, "decision": decision("of-state", node="a")},
            {"at": 4, "pod": pod("y")},
        ],
    )
    assert tries(run) == [(4.0, "y", "unschedulable")]
    assert sorted(run.cluster.bound) == ["default/of-state", "default/x"]


def test_a_recorded_end_comes_as_long_after_a_later_placement(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a")],
        [
            {"at": 0, "pod": pod("first"), "runsFor": 8},
            {"at": 1, "pod": pod("x")},
            {"at": 4, "end": "default/x", "ranFor": 3},
            {"at": 9, "pod": pod("y")},
            {"at": 10, "end": "gone"},
        ],
    )
    assert [each for each in tries(run) if each[2] == "a"][1:] == [
        (8.0, "x", "a"), (11.0, "y", "a"),
    ]  # fmt: skip
    assert run.log.counts.absent == 1


def test_a_recorded_end_of_a_pod_that_runs_is_when_it_was(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), pod("of-state", nodeName="a")],
        [{"at": 2, "end": "of-state"}, {"at": 3, "pod": pod("x")}],
    )
    assert tries(run) == [(3.0, "x", "a")]


@pytest.mark.parametrize(("priority", "survivors"), [(0, ["victim"]), (10, ["x"])])
def test_recorded_victims_go_when_they_went_where_they_are_victims_here_too(
    priority: int, survivors: list[str], tmp_path: Path
) -> None:
    """Another of the victim's name comes, as of a StatefulSet: there is one already where it was
    not evicted."""
    victim = {"kind": "Pod", "namespace": "default", "name": "victim"}
    run = replay(
        tmp_path,
        [node("a"), pod("victim", nodeName="a", terminationGracePeriodSeconds=30)],
        [
            {"at": 1, "pod": pod("x", priority=priority)},
            {"at": 1, "delete": victim, "gracePeriod": 30, "preempted": True},
            {"at": 5, "delete": victim, "preempted": True},
            {"at": 6, "pod": pod("victim")},
        ],
        until=20,
    )
    assert [key.partition("/")[2] for key in run.cluster.bound] == survivors


def test_devices_that_a_recorded_scheduler_chose_are_no_claims_state(tmp_path: Path) -> None:
    claim = device_claim("c")
    other = {**claim, "spec": {}, "status": {"allocation": {}}}
    run = replay(
        tmp_path,
        [node("a"), claim],
        [{"at": 1, "put": other, "decided": True}],
    )
    assert run.cluster.objects.resource_claims["default", "c"].status.allocation is None


def test_gaps_of_a_recorder_are_a_warning(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("a")], [{"at": 1, "gap": {"seconds": 3, "kind": "Pod"}}])
    assert list(run.applier.warnings) == [
        "the timeline has gaps, in which the recorder had no connection"
    ]


@pytest.mark.parametrize(("minor", "times"), [("1.36", {0, 5}), ("1.37", {0})])
def test_a_pod_that_comes_nominated_wakes_those_that_follow_it_up_to_1_36(
    tmp_path: Path, minor: str, times: set[float]
) -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    follows = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    nominated = pod("big", "9")
    nominated["metadata"]["labels"] = {"app": "x"}
    nominated["status"] = {"nominatedNodeName": "a"}
    events = [{"at": 0, "pod": pod("small", affinity=follows)}, {"at": 5, "pod": nominated}]
    gates = "GenericWorkload=true" + (",GangScheduling=true" if minor == "1.36" else "")
    run = replay(tmp_path, [node("a")], events, gates=gates, minor=minor, until=20)
    assert {at for at, name, _ in tries(run) if name == "small"} == times


def test_volumes_and_devices_stay_taken_when_nodes_change(tmp_path: Path) -> None:
    """The third pod of each kind fits nowhere, whatever changes, until there is another volume."""
    hosts = [node(name, "4", labels={"kubernetes.io/hostname": name}) for name in "ab"]
    objects = [
        *hosts, STORAGE_CLASS, volume("pv-a", "a"), volume("pv-b", "b"),
        *map(volume_claim, ("c1", "c2", "c3")),
        DEVICE_CLASS, devices("a"), devices("b"), *map(device_claim, ("d1", "d2", "d3")),
    ]  # fmt: skip
    events: list[Plain] = [
        *({"at": i, "pod": mounting(f"v{i}", f"c{i}"), "runsFor": 30} for i in (1, 2)),
        *({"at": i, "pod": claiming(f"d{i}", f"d{i}")} for i in (1, 2)),
        {"at": 5, "pod": mounting("v3", "c3")},
        {"at": 6, "pod": claiming("d3", "d3")},
        {"at": 20, "put": node("other", "4")},
        {"at": 40, "change": "label nodes a x=y"},
        {"at": 50, "pod": mounting("again", "c1")},
        {"at": 60, "put": volume("pv-more", "b")},
    ]
    run = replay(tmp_path, objects, events, until=700)
    placed = {name: (at, where) for at, name, where in tries(run) if where in "ab"}
    nodes = {name: where for name, (_, where) in placed.items()}
    assert nodes == {"v1": "a", "v2": "b", "d1": "b", "d2": "a", "again": "a", "v3": "b"}
    assert placed["v3"][0] >= 60
    assert run.pending() == ["default/d3"]


def test_a_pod_whose_node_is_not_there_yet_may_be_put_again(tmp_path: Path) -> None:
    early = pod("p", nodeName="late")
    changed = pod("p", cpu="500m", nodeName="late")
    events = [{"at": 1, "put": early}, {"at": 2, "put": changed}, {"at": 3, "put": node("late")}]
    run = replay(tmp_path, [node("n")], events)
    assert run.cluster.bound["default/p"].resources.requests["cpu"] == 500
