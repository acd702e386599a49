"""Replays with an autoscaler: what holds of all of them, and single decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ksched_cli.analysis.replay_result import replay_result
from ksched_cli.answers import document_of
from ksched_cli.engine.replay.autoscaler.autoscaler import AutoscalerState, ScalingReason
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay
from tests.replays import Plain, node, pod, replay, tries

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}


def owned(name: str, cpu: str = "1", **spec: Any) -> Plain:
    plain = pod(name, cpu, **spec)
    plain["metadata"]["ownerReferences"] = [{**OWNER, "uid": "u"}]
    return plain


def groups(*, scale_down: Plain | None = None, **group: Any) -> Plain:
    document = {"nodeGroups": [{"name": "g", "like": "n", "maxSize": 3, **group}]}
    return {**document, **({} if scale_down is None else {"scaleDown": scale_down})}


def state_of_autoscaler(run: Replay) -> AutoscalerState:
    assert run.autoscaler is not None
    return run.autoscaler.state


def decisions(run: Replay) -> list[tuple[float, str, tuple[str, ...]]]:
    """Each decision's seconds, reason and nodes."""
    events = state_of_autoscaler(run).events
    return [(event.at / 1e6, event.reason.value, event.nodes) for event in events]


def arrivals(count: int, cpu: str = "1", runs_for: float | None = 100) -> list[Plain]:
    extra = {} if runs_for is None else {"runsFor": runs_for}
    return [{"at": i, "pod": pod(f"p{i}", cpu), **extra} for i in range(count)]


def test_nodes_join_for_pods_that_fit_nowhere_and_leave_when_idle(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n", "2")], arrivals(5, runs_for=200), autoscaler=groups())
    # p2 to p4 are seen at 10, two of them per node; their nodes are there at 130.
    assert decisions(run) == [
        (10.0, "pending pods", ("g-1", "g-2")),
        (930.0, "empty", ("g-1", "g-2")),
    ]
    assert tries(run)[-3:] == [(130.0, "p2", "g-1"), (130.0, "p3", "g-2"), (130.0, "p4", "g-1")]
    assert run.nodes.steps == [(0, 1), (130_000_000, 3), (930_000_000, 1)]
    counts = state_of_autoscaler(run).counts["g"]
    assert counts.node_time_until(run.clock.now) == 2 * 800_000_000
    assert not run.pending()


def test_nodes_that_were_asked_for_are_not_asked_for_again(tmp_path: Path) -> None:
    events = [*arrivals(2), {"at": 30, "pod": pod("later"), "runsFor": 10}]
    of_template = {"nodeGroups": [{"name": "g", "template": TWO, "maxSize": 3}]}
    run = replay(tmp_path, [node("n", "1")], events, autoscaler=of_template)
    ups = [each for each in decisions(run) if each[1] == ScalingReason.PENDING_PODS.value]
    assert ups == [(10.0, "pending pods", ("g-1",))]


TWO = {"status": {"capacity": {"cpu": "2", "memory": "8Gi", "pods": "10"}}}


def test_a_node_that_comes_when_nobody_needs_it_any_more_leaves(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": pod("a"), "runsFor": 50},
        {"at": 1, "pod": pod("b"), "runsFor": 20},
    ]
    run = replay(tmp_path, [node("n")], events, autoscaler=groups())
    assert [(at, why) for at, why, _ in decisions(run)] == [
        (10.0, "pending pods"),
        (730.0, "empty"),
    ]


def test_a_group_never_grows_past_its_maximum(tmp_path: Path) -> None:
    events = arrivals(9, runs_for=None)
    run = replay(tmp_path, [node("n")], events, autoscaler=groups(), until=3000)
    assert state_of_autoscaler(run).counts["g"].most == 3
    assert len(run.pending()) == 9 - 4


def test_the_cluster_never_grows_past_its_maximum(tmp_path: Path) -> None:
    scaling = {**groups(maxSize=9), "maxNodesTotal": 3}
    run = replay(tmp_path, [node("n")], arrivals(9, runs_for=None), autoscaler=scaling, until=3000)
    assert run.nodes.most == 3


def test_a_group_has_its_minimum_from_the_first_scan_on(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n")], arrivals(6), autoscaler=groups(minSize=2))
    assert decisions(run)[0] == (0.0, "below minSize", ("g-1", "g-2"))
    counts = state_of_autoscaler(run).counts["g"]
    assert [size for _, size in counts.steps] == [0, 2, 3, 2]


def test_nodes_of_the_state_are_of_a_group_by_their_labels(tmp_path: Path) -> None:
    labels = {"pool": "p"}
    objects = [node("n", labels=labels), node("m", labels=labels), node("other")]
    scaling = groups(nodeSelector=labels, minSize=1)
    run = replay(tmp_path, objects, [], autoscaler=scaling)
    assert decisions(run) == [(600.0, "empty", ("m",))]


def test_pods_that_no_node_of_a_group_could_take_add_none(tmp_path: Path) -> None:
    events = [{"at": 0, "pod": pod("big", "9")}, {"at": 1, "pod": pod("gated", "1", **GATED)}]
    run = replay(tmp_path, [node("n")], events, autoscaler=groups())
    assert decisions(run) == []
    assert run.clock.now <= 20_000_000


GATED = {"schedulingGates": [{"name": "g"}]}


def test_expendable_pods_add_no_node_and_keep_none(tmp_path: Path) -> None:
    low: dict[str, Any] = {"priority": -20}
    events = [
        {"at": 0, "pod": pod("p0")},
        {"at": 1, "pod": pod("p1"), "runsFor": 200},
        {"at": 400, "pod": pod("low-1", "100m", **low)},
        {"at": 500, "pod": pod("low-2", **low)},
    ]
    run = replay(tmp_path, [node("n")], events, autoscaler=groups())
    # low-1 has no controller, and goes with g-1 nevertheless.
    assert ("low-1", "g-1") in [(name, where) for _, name, where in tries(run)]
    assert [why for _, why, _ in decisions(run)] == ["pending pods", "underutilized"]


def test_an_underutilized_node_is_drained_and_its_pods_go_elsewhere(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": owned("a", "2"), "runsFor": 300},
        {"at": 1, "pod": owned("b", "500m"), "runsFor": 2000},
    ]
    run = replay(tmp_path, [node("n", "2")], events, autoscaler=groups())
    assert decisions(run)[1] == (730.0, "underutilized", ("g-1",))
    again = tries(run)[-1]
    assert again == (730.0, "b", "n")
    fates = [(each.pod, each.outcome, each.node) for each in run.log.records]
    assert ("default/b", PodOutcome.EVICTED, "g-1") in fates
    # It runs for as long as it was to, from the beginning.
    assert run.clock.now == 2730_000_000
    assert run.log.counts.evicted == 1


@pytest.mark.parametrize("keeps", ["no controller", "annotation", "no room"])
def test_a_node_whose_pods_may_not_or_cannot_move_stays(tmp_path: Path, keeps: str) -> None:
    second = owned("b", "500m")
    if keeps == "no controller":
        second = pod("b", "500m")
    if keeps == "annotation":
        key = "cluster-autoscaler.kubernetes.io/safe-to-evict"
        second["metadata"]["annotations"] = {key: "false"}
    length = {} if keeps == "no room" else {"runsFor": 300}
    events = [{"at": 0, "pod": owned("a", "2"), **length}, {"at": 1, "pod": second}]
    run = replay(tmp_path, [node("n", "2")], events, autoscaler=groups(), until=9000)
    assert [why for _, why, _ in decisions(run)] == ["pending pods"]


def test_scale_down_can_be_switched_off_and_waits_after_nodes_were_added(tmp_path: Path) -> None:
    run = replay(
        tmp_path, [node("n")], arrivals(3), autoscaler=groups(scale_down={"enabled": False})
    )
    assert run.nodes.last == 3
    settings = {"unneededTime": 0, "delayAfterAdd": "20m"}
    run = replay(tmp_path, [node("n")], arrivals(3), autoscaler=groups(scale_down=settings))
    assert decisions(run)[-1] == (1210.0, "empty", ("g-1", "g-2"))


def test_a_pod_of_a_daemon_set_runs_on_new_nodes_and_counts_there(tmp_path: Path) -> None:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "600m"}}}]
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": containers}}
    selector = {"matchLabels": {"app": "d"}}
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d", "namespace": "default", "uid": "d"},
        "spec": {"selector": selector, "template": template},
    }
    # With the daemon's pod, a node has room for one pod of 400m, not for two.
    events = [{"at": 0, "pod": pod(f"p{i}", "400m"), "runsFor": 100} for i in range(4)]
    scaling = groups(scale_down={"utilizationThreshold": 0.7})
    run = replay(tmp_path, [node("n"), daemons], events, autoscaler=scaling)
    assert decisions(run)[0][2] == ("g-1", "g-2")
    bound = {attempt.node for attempt in run.log.attempts if "d-" in attempt.pod}
    assert bound == {"g-1", "g-2"}
    # They do not keep their nodes.
    assert run.nodes.last == 1


def test_a_node_that_it_removed_need_not_be_deleted_by_the_timeline(tmp_path: Path) -> None:
    labels = {"pool": "p"}
    objects = [node("n"), node("m", labels=labels)]
    events = [{"at": 2000, "delete": {"kind": "Node", "name": "m"}}]
    scaling = groups(nodeSelector=labels)
    run = replay(tmp_path, objects, events, autoscaler=scaling)
    assert run.log.counts.absent == 1


def test_pods_spread_over_hosts_get_a_node_each_only_where_they_need_it(tmp_path: Path) -> None:
    spread = {
        "maxSkew": 2,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    events = []
    for index in range(5):
        plain = pod(f"p{index}", "500m", topologySpreadConstraints=[spread])
        plain["metadata"]["labels"] = {"app": "x"}
        events.append({"at": 0, "pod": plain, "runsFor": 100})
    labels = {"kubernetes.io/hostname": "n"}
    run = replay(tmp_path, [node("n", "1", labels=labels)], events, autoscaler=groups())
    assert decisions(run)[0][2] == ("g-1", "g-2")
    assert not run.pending()


@st.composite
def random_events(draw: st.DrawFn) -> list[Plain]:
    events: list[Plain] = []
    for index in range(draw(st.integers(1, 12))):
        cpu = draw(st.sampled_from(["500m", "1", "2", "3"]))
        make = draw(st.sampled_from([pod, owned]))
        runs_for = draw(st.sampled_from([30, 400, 2500]))
        at = draw(st.integers(0, 3000))
        priority = draw(st.sampled_from([0, 0, 5]))
        plain = make(f"p{index}", cpu, priority=priority)
        events.append({"at": at, "pod": plain, "runsFor": runs_for})
    return events


@given(random_events(), st.integers(0, 2), st.integers(2, 4), st.sampled_from(["1m", "5m"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_laws(tmp_path: Path, events: list[Plain], least: int, most: int, unneeded: str) -> None:
    """Sizes stay within their limits, what fits on a node of the group is placed in the end, nodes
    that nobody needs leave, and the same input gives the same bytes."""
    scaling = groups(
        minSize=least, maxSize=most, scale_down={"unneededTime": unneeded, "delayAfterAdd": "2m"}
    )

    def run_once() -> tuple[Replay, dict[str, Any]]:
        run = replay(tmp_path, [node("n", "2")], events, autoscaler=scaling)
        return run, document_of(replay_result(run, "t", traces=True))

    run, result = run_once()
    counts = state_of_autoscaler(run).counts["g"]
    assert counts.most <= most
    joined = [size for at, size in counts.steps if at >= 120_000_000]
    assert min(joined, default=least) >= least
    assert counts.last == least
    too_large = {f"default/{e['pod']['metadata']['name']}" for e in events if cpu_of(e) == "3"}
    assert set(run.pending()) == too_large
    assert run_once()[1] == result


def cpu_of(event: Plain) -> str:
    cpu: str = event["pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return cpu
