"""Changed templates in a timeline: the steps of a rollout, in its time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from ksched_cli.api import Run
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.testing import Manifest, node, pod
from tests.replays import replay, tries
from tests.scenario.build import pods_of, workload

RESTART = "rollout restart {}/web"
SEQUENTIAL = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def nodes(count: int, cpu: int = 1) -> list[Manifest]:
    return [node(f"n{i}", cpu=cpu) for i in range(count)]


def deployment(replicas: int, strategy: dict[str, Any], **spec: Any) -> Manifest:
    return workload("Deployment", replicas=replicas, strategy=strategy, **spec)


def removals(run: Replay) -> list[tuple[float, str]]:
    """When each old pod left."""
    records = run.log.departed or []
    return [
        (each.ended / 1_000_000, each.pod.partition("/")[2])
        for each in records
        if each.outcome is PodOutcome.DELETED and each.ended is not None
    ]


def test_the_scheduler_places_the_pods_of_each_step_before_the_next(tmp_path: Path) -> None:
    state = [*nodes(3), deployment(3, SEQUENTIAL), *pods_of("ReplicaSet", 3)]
    run = replay(tmp_path, state, [{"at": 5, "change": RESTART.format("deployment")}])
    placed = [(at, node[1:]) for at, _, node in tries(run)]
    assert placed == [(at, name[-1]) for at, name in removals(run)]
    assert sorted(placed) == [(5.0, "0"), (5.0, "1"), (5.0, "2")]


def test_a_pod_that_waits_takes_the_place_of_one_that_leaves_first(tmp_path: Path) -> None:
    """As it is first in the queue; at the end, the rollout has one pod fewer."""
    state = [*nodes(2), deployment(2, SEQUENTIAL), *pods_of("ReplicaSet", 2), pod("other", cpu=1)]
    run = replay(tmp_path, state, [{"at": 5, "change": RESTART.format("deployment")}])
    assert "default/other" in run.cluster.bound
    assert [*run.applier.warnings] == [
        "Deployment default/web: rollout is stuck: 0 of 2 pods updated; the next ones find no node"
    ]


def test_a_new_pod_is_available_after_min_ready_seconds(tmp_path: Path) -> None:
    state = [*nodes(3), deployment(3, SEQUENTIAL, minReadySeconds=20), *pods_of("ReplicaSet", 3)]
    run = replay(tmp_path, state, [{"at": 5, "change": RESTART.format("deployment")}])
    assert [at for at, _, node in tries(run) if node] == [5.0, 25.0, 45.0]
    assert [at for at, _ in removals(run)] == [5.0, 25.0, 45.0]
    assert run.clock.now == 65_000_000


def test_a_surge_comes_before_an_old_pod_leaves(tmp_path: Path) -> None:
    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    state = [*nodes(2), node("n2", cpu=1), deployment(2, surge, minReadySeconds=10)]
    state += pods_of("ReplicaSet", 2)
    run = replay(tmp_path, state, [{"at": 0, "change": RESTART.format("deployment")}])
    assert [(at, node) for at, _, node in tries(run)] == [(0.0, "n2"), (10.0, "n1")]
    assert [at for at, _ in removals(run)] == [10.0, 20.0]


def test_a_rollout_that_is_stuck_goes_on_when_a_node_comes(tmp_path: Path) -> None:
    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    state = [*nodes(1), deployment(1, surge), *pods_of("ReplicaSet", 1)]
    events = [
        {"at": 0, "change": RESTART.format("deployment")},
        {"at": 60, "put": node("n9", cpu=1)},
    ]
    run = replay(tmp_path, state, events)
    assert [(at, node) for at, _, node in tries(run)] == [(0.0, "unschedulable"), (60.0, "n9")]
    assert removals(run) == [(60.0, "web-abc-0")]
    assert not run.applier.warnings


def test_a_rollout_that_is_stuck_at_the_end_is_a_warning(tmp_path: Path) -> None:
    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    state = [*nodes(1), deployment(1, surge), *pods_of("ReplicaSet", 1)]
    run = replay(tmp_path, state, [{"at": 0, "change": RESTART.format("deployment")}])
    assert [*run.applier.warnings] == [
        "Deployment default/web: rollout is stuck: 0 of 1 pods updated; the next ones find no node"
    ]


def test_other_changes_make_no_pods_for_a_rollout_under_way(tmp_path: Path) -> None:
    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    state = [*nodes(2), deployment(2, surge), *pods_of("ReplicaSet", 2)]
    state.append(workload("ReplicaSet", "web-abc", replicas=2))
    state[-1]["metadata"]["ownerReferences"] = [
        {"kind": "Deployment", "name": "web", "controller": True}
    ]
    events = [
        {"at": 0, "change": RESTART.format("deployment")},
        {"at": 9, "put": node("n9", cpu=1)},
        {"at": 10, "change": "cordon n9"},
    ]
    run = replay(tmp_path, state, events)
    sets = [each.spec.replicas or 0 for each in run.state().replica_sets.values()]
    assert sorted(sets) == [0, 2]
    assert len(run.state().pods) == 2


@pytest.mark.parametrize(
    ("strategy", "leaving"),
    [
        ({"type": "OnDelete"}, []),
        ({"rollingUpdate": {"partition": 1}}, ["web-2", "web-1"]),
        ({}, ["web-2", "web-1", "web-0"]),
    ],
)
def test_a_stateful_set_goes_down_to_its_partition(
    strategy: dict[str, Any], leaving: list[str], tmp_path: Path
) -> None:
    stateful = workload("StatefulSet", replicas=3, updateStrategy=strategy, minReadySeconds=1)
    run = replay(
        tmp_path,
        [*nodes(3), stateful, *pods_of("StatefulSet", 3)],
        [{"at": 1, "change": RESTART.format("statefulset")}],
    )
    assert removals(run) == [(float(1 + i), name) for i, name in enumerate(leaving)]
    assert len(run.cluster.bound) == 3


def test_at_once_all_pods_are_replaced_in_one_step(tmp_path: Path) -> None:
    state = [*nodes(2), deployment(2, SEQUENTIAL, minReadySeconds=9), *pods_of("ReplicaSet", 2)]
    line = RESTART.format("deployment") + " --at-once"
    run = replay(tmp_path, state, [{"at": 5, "change": line}])
    assert [at for at, _ in removals(run)] == [5.0, 5.0]


def test_pods_that_are_gone_meanwhile_are_not_made_anew(tmp_path: Path) -> None:
    state = [*nodes(3), deployment(3, SEQUENTIAL, minReadySeconds=20), *pods_of("ReplicaSet", 3)]
    events = [
        {"at": 5, "change": RESTART.format("deployment")},
        {"at": 6, "delete": {"kind": "Pod", "namespace": "default", "name": "web-abc-0"}},
    ]
    run = replay(tmp_path, state, events)
    assert len(run.cluster.bound) == 2
    assert not any("web-abc" in key for key in run.cluster.bound)
    assert not run.applier.warnings


def test_a_second_rollout_takes_the_place_of_the_first(tmp_path: Path) -> None:
    state = [*nodes(3), deployment(3, SEQUENTIAL, minReadySeconds=20), *pods_of("ReplicaSet", 3)]
    restart = RESTART.format("deployment")
    run = replay(tmp_path, state, [{"at": 5, "change": restart}, {"at": 10, "change": restart}])
    assert [at for at, _ in removals(run)] == [5.0, 10.0, 30.0, 50.0]
    assert len(run.cluster.bound) == 3
    assert not run.applier.warnings


def random_rollout(draw: random.Random) -> tuple[list[Manifest], str]:
    """A workload of any strategy on nodes that may be full, and a change of its template."""
    kind, count = draw.choice(["Deployment", "StatefulSet", "DaemonSet"]), draw.randrange(1, 5)
    spare = 0 if kind == "DaemonSet" else draw.randrange(3)
    if kind == "Deployment":
        rolling = {"maxSurge": draw.randrange(3), "maxUnavailable": draw.randrange(1, 3)}
        strategies = [{}, {"type": "Recreate"}, {"rollingUpdate": rolling}]
        fields: dict[str, Any] = {"replicas": count, "strategy": draw.choice(strategies)}
    elif kind == "StatefulSet":
        partition = {"rollingUpdate": {"partition": draw.randrange(count + 1)}}
        policy = draw.choice(["Parallel", "OrderedReady"])
        fields = {"replicas": count, "podManagementPolicy": policy}
        fields["updateStrategy"] = draw.choice([{}, partition, {"type": "OnDelete"}])
    else:
        surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        two = {"rollingUpdate": {"maxUnavailable": 2}}
        fields = {"updateStrategy": draw.choice([{}, surge, two])}
    state = [
        *nodes(count + spare, draw.choice([1, 2, 3])),
        workload(kind, **fields),
        *pods_of("ReplicaSet" if kind == "Deployment" else kind, count),
        *(pod(f"other-{i}", cpu=1, priority=-1) for i in range(draw.randrange(2))),
    ]
    resources = f"set resources {{}}/web --requests=cpu={draw.choice(['500m', '2', '3'])}"
    return state, draw.choice([RESTART, resources]).format(kind.lower())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_a_rollout_ends_in_a_timeline_as_at_one_instant(seed: int) -> None:
    state, line = random_rollout(random.Random(seed))
    at_once = Run(state=state, changes=(line,)).schedule()
    over_time = Run(state=state).replay([{"at": 5, "change": line}])
    assert over_time.pods is not UNSET
    waiting = {each.pod for each in over_time.pods if each.outcome == "pending"}
    assert len([key for key in waiting if "web" in key]) == len(
        [key for key in at_once.pending if "web" in key]
    )
    did = [effect for change in at_once.changes for effect in change.did]
    is_stuck = any("rollout is stuck" in each for each in did)
    assert any("rollout is stuck" in each for each in over_time.warnings) == is_stuck
