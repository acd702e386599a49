"""Running pods whose node has deferred their resize, which kube-scheduler preempts others for
(InPlacePodVerticalScalingSchedulerPreemption)."""

from typing import Any

import pytest

from ksched_cli.engine.records import RunRecord
from ksched_cli.testing import cluster, node, pod, simulate

GATE = "InPlacePodVerticalScalingSchedulerPreemption=true"
MINORS = pytest.mark.parametrize("minor", ["1.37", "1.38"])


def growing(name: str = "growing", *, cpu: str = "3", had: str = "1", **fields: Any) -> Any:
    """A pod on node n that has less than it wants."""
    manifest = pod(name, node="n", cpu=cpu, **fields)
    manifest["status"] = {
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
        "containerStatuses": [
            {
                "name": manifest["spec"]["containers"][0]["name"],
                "allocatedResources": {"cpu": had},
                "resources": {"requests": {"cpu": had}},
            }
        ],
    }
    return manifest


def run(*manifests: Any, minor: str = "1.38", gates: str = GATE) -> RunRecord:
    state = cluster(node("n", cpu="4"), node("other", cpu="64"), *manifests)
    return simulate(state, kubernetes_version=minor, feature_gates=gates)


def messages(record: RunRecord, key: str = "default/growing") -> list[str]:
    return [attempt.why_not for attempt in record.attempts if attempt.pod == key]


@MINORS
def test_a_deferred_resize_preempts_pods_of_lower_priority_on_its_node(minor: str) -> None:
    victim = pod("victim", node="n", cpu="2")
    elsewhere = pod("elsewhere", node="other", cpu="2")
    record = run(growing(priority=100), victim, elsewhere, minor=minor)
    assert [eviction.pod for eviction in record.evicted] == ["default/victim"]
    assert not record.placements


def test_without_the_gate_nothing_is_done_for_it() -> None:
    record = run(growing(priority=100), pod("victim", node="n", cpu="2"), gates="")
    assert (record.attempts, record.evicted) == ((), ())


@MINORS
def test_a_resize_that_fits_is_an_error_as_the_pod_is_assumed_a_second_time(minor: str) -> None:
    (message,) = messages(run(growing(), minor=minor))
    assert message == "pod default/growing(default/growing) is in the cache, so can't be assumed"


def test_a_node_may_disable_it() -> None:
    machine = node("n", cpu="4")
    machine["spec"]["podPreemptionPolicy"] = {"disableResizePreemption": ["an-operator"]}
    state = cluster(machine, growing(priority=100), pod("victim", node="n", cpu="2"))
    record = simulate(state, kubernetes_version="1.38", feature_gates=GATE)
    assert not record.evicted
    assert "1 node had resize preemption disabled" in messages(record)[0]


def test_where_the_pod_runs_is_not_questioned() -> None:
    pending = growing(priority=100)
    pending["spec"]["nodeSelector"] = {"disk": "ssd"}
    machine = node("n", cpu="4")
    machine["spec"] |= {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]}
    state = cluster(machine, pending, pod("victim", node="n", cpu="2"))
    record = simulate(state, kubernetes_version="1.38", feature_gates=GATE)
    assert [eviction.pod for eviction in record.evicted] == ["default/victim"]


def test_pods_of_its_own_priority_stay() -> None:
    record = run(growing(), pod("same", node="n", cpu="2"))
    assert not record.evicted
    assert "1 Insufficient cpu" in messages(record)[0]


def test_an_infeasible_resize_is_not_tried() -> None:
    infeasible = growing(priority=100)
    infeasible["status"]["conditions"][0]["reason"] = "Infeasible"
    assert run(infeasible, pod("victim", node="n", cpu="3")).attempts == ()


def test_a_pod_like_it_without_a_node_is_decided_by_itself() -> None:
    running, waiting = growing(), pod("waiting", cpu="3")
    record = run(running, waiting)
    assert record.placements == {"default/waiting": "other"}
