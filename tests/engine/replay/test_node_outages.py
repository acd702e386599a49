"""Nodes that fail and come back. A failure is noticed after 50 s; a zone's nodes are then tainted
NoExecute one every 10 s, and their pods leave 300 s later where they say nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.errors import UsageError
from tests.replays import Plain, node, pod, replay, tries

ZONE = "topology.kubernetes.io/zone"


def zoned(zone: str, *names: str) -> list[Plain]:
    return [node(name, labels={ZONE: zone}) for name in names]


def owned(name: str, kind: str = "ReplicaSet", **spec: Any) -> Plain:
    manifest = pod(name, **spec)
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "w", "uid": "w", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


def on(manifest: Plain, name: str) -> Plain:
    return {**manifest, "spec": {**manifest["spec"], "nodeName": name}}


def fail(at: float, *names: str) -> Plain:
    return {"at": at, "change": f"fail nodes {' '.join(names)}"}


def recover(at: float, *names: str) -> Plain:
    return {"at": at, "change": f"recover nodes {' '.join(names)}"}


def taints(run: Replay) -> dict[str, list[str]]:
    return {each.name: [t.effect for t in each.spec.taints] for each in run.cluster.objects.nodes}


def test_pods_of_a_failed_zone_leave_one_node_after_the_other(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [*zoned("a", "a1", "a2"), *zoned("b", "b1", "b2")],
        [
            {"at": 0, "pod": owned("x"), "runsFor": 1000},
            {"at": 0, "pod": owned("y"), "runsFor": 1000},
            fail(100, "a1", "a2"),
        ],
    )
    # Noticed at 150: a1 is tainted NoExecute at once, a2 at 160.
    assert tries(run) == [(0, "x", "a1"), (0, "y", "a2"), (450, "x", "b1"), (460, "y", "b2")]
    assert run.log.counts.evicted == 2
    # They run for 1000 s from the beginning.
    assert run.clock.now == 1_460_000_000
    both = ["NoSchedule", "NoExecute"]
    assert taints(run) == {"a1": both, "a2": both, "b1": [], "b2": []}


def test_until_the_failure_is_noticed_the_node_is_chosen(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [*zoned("a", "a1"), *zoned("b", "b1")],
        [
            fail(0, "a1"),
            {"at": 49, "pod": owned("x"), "runsFor": 10},
            {"at": 50, "pod": pod("y"), "runsFor": 10},
        ],
    )
    # x does no work on a1, which evicts it at 50 + 300.
    assert tries(run) == [(49, "x", "a1"), (50, "y", "b1"), (350, "x", "b1")]
    assert run.clock.now == 360_000_000


def test_a_node_that_is_back_in_time_keeps_its_pods_which_begin_anew(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), node("b")],
        [{"at": 0, "pod": owned("x"), "runsFor": 500}, fail(100, "a"), recover(449, "a")],
    )
    assert tries(run) == [(0, "x", "a")]
    assert run.log.counts.evicted == 0
    assert run.clock.now == 949_000_000
    assert taints(run) == {"a": [], "b": []}


def test_a_node_that_is_back_takes_pods_again(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), node("b", "0")],
        [fail(0, "a"), {"at": 60, "pod": pod("x")}, recover(100, "a")],
    )
    assert tries(run) == [(60, "x", "unschedulable"), (100, "x", "a")]


@pytest.mark.parametrize(
    ("spec", "kind", "tried"),
    [
        (
            {
                "tolerations": [
                    {
                        "key": "node.kubernetes.io/unreachable",
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": 20,
                    }
                ]
            },
            "Job",
            [(70, "x", "b")],
        ),
        ({"tolerations": [{"operator": "Exists"}]}, "Job", []),
        ({}, "DaemonSet", []),
        ({}, "Node", []),
        # Its controller waits until the pod is gone, which takes a kubelet.
        ({}, "StatefulSet", [(1000, "x", "a")]),
    ],
)
def test_tolerations_and_controllers_decide_who_comes_again(
    tmp_path: Path, spec: Plain, kind: str, tried: list[tuple[float, str, str]]
) -> None:
    bound = on(owned("x", kind, **spec), "a")
    run = replay(tmp_path, [node("a"), node("b"), bound], [fail(0, "a"), recover(1000, "a")])
    assert tries(run) == tried


def test_a_pod_without_a_controller_is_gone(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), node("b"), on(pod("x"), "a")],
        [fail(0, "a")],
    )
    assert not tries(run)
    (record,) = run.log.records
    assert (record.outcome, record.ended) == (PodOutcome.EVICTED, 350_000_000)


def test_most_of_a_small_zone_down_stops_its_evictions(tmp_path: Path) -> None:
    objects = [*zoned("a", "a1", "a2", "a3", "a4", "a5"), *zoned("b", "b1")]
    objects += [on(owned(f"x{n}"), f"a{n}") for n in range(1, 6)]
    events = [fail(0, "a1", "a2", "a3"), recover(1000, "a3")]
    run = replay(tmp_path, objects, events)
    # 3 of 5 are 60 %; at 1000 it is 2 of 5, and a1 is tainted 10 s later, a2 at 1020.
    assert tries(run) == [(1310, "x1", "b1"), (1320, "x2", "unschedulable")]


def test_a_whole_zone_down_evicts_at_the_usual_rate(tmp_path: Path) -> None:
    objects = [*zoned("a", "a1", "a2", "a3"), *zoned("b", "b1", "b2", "b3")]
    objects += [on(owned(f"x{n}"), f"a{n}") for n in range(1, 4)]
    run = replay(tmp_path, objects, [fail(0, "a1", "a2", "a3")])
    assert [at for at, _, _ in tries(run)] == [350, 360, 370]


def test_a_large_zone_evicts_a_node_every_hundred_seconds(tmp_path: Path) -> None:
    names = [f"a{n:02}" for n in range(60)]
    objects = [*zoned("a", *names), *zoned("b", "b1", "b2", "b3")]
    objects += [on(owned(f"x{n}"), names[n]) for n in range(3)]
    run = replay(tmp_path, objects, [fail(0, *names[:40])], until=600)
    assert [at for at, _, _ in tries(run)] == [350, 450, 550]


def test_where_no_node_is_ready_nobody_is_evicted(tmp_path: Path) -> None:
    objects = [*zoned("a", "a1"), *zoned("b", "b1"), on(owned("x"), "a1")]
    # a1 is tainted NoExecute from 50 to 150, when b1 is down, too; at 500 b1 is back, and 10 s
    # later a1 is tainted again.
    events = [fail(0, "a1"), fail(100, "b1"), recover(500, "b1")]
    run = replay(tmp_path, objects, events)
    assert tries(run) == [(810, "x", "b1")]


def test_a_failed_node_that_is_deleted_is_gone_with_its_pods(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("a"), node("b"), on(owned("x"), "a")],
        [fail(0, "a"), {"at": 10, "delete": {"kind": "Node", "name": "a"}}],
    )
    assert run.clock.now == 10_000_000
    assert run.log.counts.deleted == 1


def test_what_is_deleted_while_its_node_is_down_is_gone_when_it_is_back(tmp_path: Path) -> None:
    delete = {"at": 5, "delete": {"kind": "Pod", "name": "x"}, "gracePeriod": 30}
    run = replay(
        tmp_path,
        [node("a"), node("b"), on(pod("x"), "a")],
        [delete, fail(10, "a"), recover(100, "a")],
    )
    assert not run.cluster.bound
    assert [(r.outcome, r.ended) for r in run.log.records] == [(PodOutcome.DELETED, 100_000_000)]


def test_a_node_that_is_not_there_cannot_fail(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'event 0 of the timeline: .*no node "c"'):
        replay(tmp_path, [node("a")], [fail(0, "c")])
