"""A group that does not fit evicts pods and groups of lower priority, wherever they are."""

from typing import Any

import pytest

from ksched_cli.engine.records import RunRecord
from ksched_cli.testing import cluster, node, pod, simulate

GATES = "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true"
PENDING = "pod group is unschedulable"


def group(name: str, min_count: int = 2, **spec: Any) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    policy = {"gang": {"minCount": min_count}}
    meta = {"name": name, "namespace": "default"}
    return {**kind, "metadata": meta, "spec": {"schedulingPolicy": policy, **spec}}


def member(name: str, group_name: str = "red", **fields: Any) -> dict[str, Any]:
    spec = {"schedulingGroup": {"podGroupName": group_name}, **fields.pop("spec", {})}
    return pod(name, cpu=fields.pop("cpu", "2"), spec=spec, **fields)


def low(
    name: str, node_name: str, minute: int = 0, cpu: str = "2", **fields: Any
) -> dict[str, Any]:
    status = {"phase": "Running", "startTime": f"2026-01-01T00:{minute:02d}:00Z"}
    labels = {"app": "low"}
    return pod(name, cpu=cpu, node=node_name, priority=-1, status=status, labels=labels, **fields)


def run(*objects: dict[str, Any]) -> RunRecord:
    nodes = [node("a", cpu="2"), node("b", cpu="2")]
    state = cluster(*nodes, *objects)
    return simulate(state, kubernetes_version="1.36", feature_gates=GATES)


def evicted(record: RunRecord) -> list[str]:
    return [eviction.pod.partition("/")[2] for eviction in record.evicted]


def test_a_gang_evicts_what_it_needs_and_is_tried_again() -> None:
    record = run(group("red"), low("x", "a"), low("y", "b", 1), member("p"), member("q"))
    assert evicted(record) == ["x", "y"]
    assert dict(record.placements) == {"default/p": "a", "default/q": "b"}
    own = "preemption: not eligible due to workload aware preemption enabled"
    assert [own in attempt.message for attempt in record.attempts] == [True, True, False, False]


def test_pods_that_fit_are_nominated_while_the_victims_leave() -> None:
    record = run(group("red"), low("x", "a"), member("p"), member("q"))
    assert evicted(record) == ["x"]
    first, second = record.attempts[:2]
    assert first.message == PENDING
    assert "Insufficient cpu" in second.message
    assert dict(record.placements) == {"default/p": "b", "default/q": "a"}


def test_those_that_need_not_leave_stay() -> None:
    pods = [low("old", "a", 0, cpu="500m"), low("new", "a", 1, cpu="500m"), low("x", "b", 2)]
    record = run(group("red", 1), *pods, member("p", cpu="1500m"))
    assert evicted(record) == ["x"], "the most important come back first, and x is the least"


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({}, [member("p", spec={"preemptionPolicy": "Never"}), member("q")]),
        ({"priority": -1}, [member("p"), member("q")]),
        ({"schedulingConstraints": {"topology": [{"key": "zone"}]}}, [member("p"), member("q")]),
        ({"priority": 9}, [member("p", cpu="3"), member("q")]),
    ],
    ids=["policy", "priority", "constraints", "too large"],
)
def test_nobody_leaves_where_it_may_not_or_does_not_help(spec: Any, pods: Any) -> None:
    record = run(group("red", **spec), low("x", "a"), *pods)
    assert not record.evicted
    assert record.pending == ("default/p", "default/q")


def test_a_group_that_is_one_victim_leaves_whole() -> None:
    victims = [member(n, "blue", node=at, priority=5) for n, at in (("x", "a"), ("y", "b"))]
    for mode, expected in (("PodGroup", ["x", "y"]), ("Pod", [])):
        blue = group("blue", disruptionMode=mode, priority=-1)
        record = run(group("red", 1), blue, *victims, member("p"))
        assert evicted(record) == expected, mode


def test_budgets_are_violated_last() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "low", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": 0},
    }
    other = low("y", "b", 0)
    other["metadata"]["labels"] = {"app": "other"}
    pods = [low("x", "a", 5), other, member("p")]
    assert evicted(run(group("red", 1), *pods)) == ["x"]
    assert evicted(run(group("red", 1), budget, *pods)) == ["y"]


def test_a_priority_class_gives_a_group_its_priority() -> None:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    meek = {**kind, "metadata": {"name": "meek"}, "value": -7}
    pods = [low("x", "a"), low("y", "b"), member("p")]
    assert not run(meek, group("red", 1, priorityClassName="meek"), *pods).evicted
    assert len(run(meek, group("red", 1), *pods).evicted) == 1


def test_the_cluster_is_as_it_was_after_a_search_that_found_nobody() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    running, late = low("x", "a", cpu="1"), pod("z", cpu="100m", priority=-5)
    for manifest in (running, late):
        manifest["spec"]["containers"][0]["ports"] = ports
    pods = [running, member("p", cpu="3"), member("q", cpu="3"), late, pod("fits", cpu="1")]
    state = cluster(node("a", cpu="2"), group("red", priority=9), *pods)
    record = simulate(state, kubernetes_version="1.36", feature_gates=GATES)
    assert dict(record.placements) == {"default/fits": "a"}
    assert "free ports" in record.last["default/z"].message
