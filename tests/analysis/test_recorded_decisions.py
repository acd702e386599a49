"""Whether decisions that were recorded are ksched's."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.analysis.audit import NODES_CAME, AuditResult, audit
from ksched_cli.analysis.decision_order import OrderSource
from ksched_cli.analysis.recorded_decisions import RELISTED, read_recording
from ksched_cli.scenario.timeline import read_timeline
from ksched_cli.testing import cluster, node, pod, simulation
from tests.analysis.test_audit import agreeing

Event = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def recorded(folder: Path, objects: list[Any], *events: Event) -> AuditResult:
    """The audit of a recording of these events, one a minute but for those that have their time."""
    state = cluster(*objects)
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-01-01T00:00:00Z"}
    times = [{"at": 60 * number, **event} for number, event in enumerate(events, 1)]
    path = folder / "day.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, [header, *times])))
    timeline = read_timeline(str(path), state)
    assert timeline.start is not None
    names = simulation(state).frameworks
    decision_log = read_recording(state, timeline.events(), timeline.start, names)
    answer = audit(lambda: simulation(decision_log.state), decision_log)
    assert answer.order is OrderSource.RECORDING
    return answer


def bind(name: str, on: str) -> Event:
    return {"decision": {"namespace": "default", "name": name, "node": on}}


def leaves(name: str, **about: Any) -> Event:
    return {"delete": {"kind": "Pod", "namespace": "default", "name": name}, **about}


def test_pods_that_came_and_went_are_followed(folder: Path) -> None:
    """`q` goes to a, which is free again; `r` to b, while `q` is there."""
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=2)],
        {"pod": pod("p", cpu=4)},
        bind("p", "a"),
        {"end": "default/p"},
        {"pod": pod("q", cpu=4)},
        bind("q", "a"),
        {"pod": pod("r", cpu=1)},
        bind("r", "b"),
        leaves("r"),
    )
    assert (answer.differ, answer.unexplained, agreeing(answer)) == ((), (), {"best": 3})


def test_nodes_are_those_of_the_moment(folder: Path) -> None:
    cordoned = node("a", cpu=8, unschedulable=True)
    answer = recorded(
        folder,
        [node("a", cpu=8)],
        {"put": node("b", cpu=4)},
        {"pod": pod("p")},
        bind("p", "a"),
        {"put": cordoned},
        {"pod": pod("q")},
        bind("q", "b"),
        {"delete": {"kind": "Node", "name": "b"}},
        {"put": node("a", cpu=8)},
        {"pod": pod("r")},
        bind("r", "a"),
    )
    assert (answer.differ, answer.unexplained, agreeing(answer)) == ((), (), {"best": 3})


def test_a_decision_that_is_not_kscheds_differs(folder: Path) -> None:
    nodes = [node("a", cpu=8), node("b", cpu=2)]
    answer = recorded(folder, nodes, {"pod": pod("p", cpu=1)}, bind("p", "b"))
    assert [(each.pod, each.node, each.expected) for each in answer.differ] == [
        ("default/p", "b", ("a",))
    ]


@pytest.mark.parametrize("seconds", [1, 6])
def test_a_node_that_came_just_before_may_not_have_been_noticed(seconds: int, folder: Path) -> None:
    answer = recorded(
        folder,
        [node("b", cpu=2)],
        {"pod": pod("p", cpu=1)},
        {"at": 100, "put": node("a", cpu=8)},
        {"at": 100 + seconds, **bind("p", "b")},
    )
    reasons = [NODES_CAME.format(5, "a")] if seconds < 5 else []
    assert [each.reason for each in answer.unexplained] == reasons
    assert len(answer.differ) == 1 - len(reasons)


def test_a_pod_that_left_just_before_may_still_have_been_there(folder: Path) -> None:
    answer = recorded(
        folder,
        [node("a", cpu=8), node("b", cpu=2), pod("big", cpu=8, node="a")],
        {"pod": pod("p", cpu=1)},
        {"at": 100, **leaves("big")},
        {"at": 101, **bind("p", "b")},
    )
    assert (answer.differ, agreeing(answer)) == ((), {"reordered": 1})


@pytest.mark.parametrize("names_preemptor", [True, False])
def test_room_is_made_by_the_recorded_evictions(names_preemptor: bool, folder: Path) -> None:
    about = {"namespace": "default", "name": "high", "nominatedNode": "a", "message": "none fits"}
    eviction = {
        "namespace": "default", "name": "low", "uid": "default/low", "node": "a",
        "evictedFor": "default/high",
    }  # fmt: skip
    answer = recorded(
        folder,
        [node("a", cpu=2), pod("low", cpu=2, node="a"), pod("high", cpu=2, priority=9)],
        leaves("low", gracePeriod=30, preempted=True),
        *([{"decision": eviction}] if names_preemptor else []),
        {"decision": about},
        leaves("low", preempted=True),
        bind("high", "a"),
    )
    assert (answer.differ, answer.unexplained) == ((), ())
    assert agreeing(answer) == {"preempts": 1, "nominated": 1}


def test_pods_that_were_refused_are_judged_in_the_end(folder: Path) -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
    decision = {"namespace": "default", "name": "p", "message": message}
    answer = recorded(folder, [node("a", cpu=1)], {"pod": pod("p", cpu=2)}, {"decision": decision})
    assert len(answer.differ) == 1
    assert answer.differ[0].because.startswith(f'the message is "{message}", not "0/1 nodes')


def test_a_changed_pod_counts_as_it_is(folder: Path) -> None:
    """`q` avoids pods of app x: `p` becomes one."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    host = {name: {"kubernetes.io/hostname": name} for name in "ab"}
    answer = recorded(
        folder,
        [
            node("a", cpu=8, labels=host["a"]),
            node("b", cpu=2, labels=host["b"]),
            pod("p", cpu=1, node="a"),
        ],
        {"put": pod("p", cpu=1, labels={"app": "x"})},
        {"pod": pod("q", cpu=1, affinity=affinity)},
        bind("q", "b"),
    )
    assert (answer.differ, agreeing(answer)) == ((), {"best": 1})


def test_what_a_recorder_has_missed_is_not_judged(folder: Path) -> None:
    gap = {"seconds": 9, "kind": "Pod", "relisted": True}
    answer = recorded(folder, [node("a")], {"gap": gap})
    assert [(each.pod, each.reason) for each in answer.unexplained] == [("Pod", RELISTED)]
