"""drain, against what kubectl drain and the eviction API do."""

from typing import Any

import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import Manifest, cluster, node, pod, simulate
from tests.scenario.build import budget, changed, nodes_of, owned, ready


def drained(
    *objects: Manifest, line: str = "drain n1"
) -> tuple[dict[str, str], list[str], ClusterState]:
    state, did = changed(cluster(node("n1"), node("n2"), *objects), line)
    return nodes_of(state), did[2:], state


@pytest.mark.parametrize(
    ("manifest", "node_after", "did"),
    [
        (owned("p", node="n1"), "", ["default/p: pending again (was on n1)"]),
        (owned("p", node="n2"), "n2", []),
        (
            owned("p", "DaemonSet", "ds", node="n1"),
            "n1",
            [
                "default/p: stays (pod of a DaemonSet)",
                "default/p: kubectl would refuse without --ignore-daemonsets",
            ],
        ),
        (
            owned("p", "Node", "n1", node="n1", annotations={"kubernetes.io/config.mirror": "x"}),
            "n1",
            ["default/p: stays (static pod)"],
        ),
        (
            owned("p", "Job", "j", node="n1", status={"phase": "Succeeded"}),
            "n1",
            ["default/p: stays (finished: Succeeded)"],
        ),
        (
            pod("p", node="n1"),
            "",
            [
                "default/p: pending again (was on n1)",
                "default/p: kubectl would refuse without --force "
                "(no controller, so nothing creates it again)",
            ],
        ),
    ],
)
def test_each_kind_of_pod_is_treated_as_by_kubectl(
    manifest: Manifest, node_after: str, did: list[str]
) -> None:
    nodes, effects, _ = drained(manifest)
    assert nodes == {"default/p": node_after}
    assert effects == did


def test_with_force_a_pod_without_a_controller_is_gone() -> None:
    nodes, did, _ = drained(pod("p", node="n1"), owned("q", node="n1"), line="drain n1 --force")
    assert nodes == {"default/q": ""}
    assert did[0] == "default/p: deleted (was on n1; no controller)"


def test_local_storage_is_told_unless_kubectl_was_told_to_delete_it() -> None:
    manifest = owned("p", node="n1")
    manifest["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    _, did, _ = drained(manifest)
    assert did[1] == "default/p: kubectl would refuse without --delete-emptydir-data"
    _, did, _ = drained(manifest, line="drain n1 --ignore-daemonsets --delete-emptydir-data")
    assert did == ["default/p: pending again (was on n1)"]


def test_budgets_are_used_up_in_order_of_name_and_refuse_the_rest() -> None:
    pods = [
        owned(name, node="n1", labels={"app": "web"}, status=ready()) for name in ("c", "a", "b")
    ]
    web = budget("web", {"app": "web"}, disruptionsAllowed=2, currentHealthy=3, desiredHealthy=1)
    nodes, did, state = drained(*pods, web)
    assert nodes == {"default/a": "", "default/b": "", "default/c": "n1"}
    assert did[-1] == (
        "default/c: stays (disruption budget default/web allows no more disruptions: "
        "it needs 1 healthy pods and has 1 after 2 evictions)"
    )
    status = state.pod_disruption_budgets["default", "web"].status
    assert (status.disruptions_allowed, status.current_healthy) == (0, 1)
    nodes, _, _ = drained(*pods, web, line="drain n1 --disable-eviction")
    assert set(nodes.values()) == {""}


@pytest.mark.parametrize(
    ("spec", "status", "leaves"),
    [
        ({}, {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2}, True),
        ({}, {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 2}, False),
        ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {"disruptionsAllowed": 0}, True),
    ],
)
def test_pods_that_are_not_ready_may_leave_as_the_policy_says(
    spec: Manifest, status: Manifest, leaves: bool
) -> None:
    web = budget("web", {"app": "web"}, **status)
    web["spec"] |= spec
    running = owned("p", node="n1", labels={"app": "web"}, status={"phase": "Running"})
    nodes, _, _ = drained(running, web)
    assert nodes == {"default/p": "" if leaves else "n1"}


def test_a_pod_with_two_budgets_cannot_be_evicted() -> None:
    budgets = [budget(name, {"app": "web"}, disruptionsAllowed=1) for name in ("x", "y")]
    nodes, did, _ = drained(owned("p", node="n1", labels={"app": "web"}), *budgets)
    assert nodes == {"default/p": "n1"}
    assert "matches several disruption budgets (x, y)" in did[0]


def test_drained_pods_queue_after_those_that_wait_already() -> None:
    def request(name: str, created: str, **fields: Any) -> Manifest:
        return owned(name, cpu=3, created=created, **fields)

    state, _ = changed(
        cluster(
            node("n1", cpu=4),
            node("n2", cpu=4),
            request("old", "2026-01-01T00:00:00Z", node="n1"),
            request("waits", "2026-02-01T00:00:00Z"),
        ),
        "drain n1",
    )
    run = simulate(state)
    assert run.placements == {"default/waits": "n2"}
    assert list(run.pending) == ["default/old"]


WEB = {"app": "web"}


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ({"disruptionsAllowed": 2}, "n1: drain finishes"),
        (
            {
                "disruptionsAllowed": 1,
                "currentHealthy": 3,
                "desiredHealthy": 2,
                "expectedPods": 3,
            },
            "n1: drain waits for a disruption budget (default/web, until 1 more pod is healthy "
            "elsewhere)",
        ),
        (
            {"currentHealthy": 1, "desiredHealthy": 2, "expectedPods": 3},
            "n1: drain waits for a disruption budget (default/web, until 2 more pods are "
            "healthy elsewhere)",
        ),
        (
            {"currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2},
            "n1: drain never finishes (budget default/web requires 2 of 2 pods)",
        ),
    ],
)
def test_a_drain_begins_with_how_it_ends(status: Manifest, verdict: str) -> None:
    pods = [owned(name, node="n1", labels=WEB, status=ready()) for name in "ab"]
    state = cluster(node("n1"), node("n2"), *pods, budget("web", WEB, **status))
    _, did = changed(state, "drain n1")
    assert did[:2] == [verdict, "n1: cordoned"]


def test_a_drain_of_pods_with_two_budgets_never_finishes() -> None:
    budgets = [budget(name, WEB, disruptionsAllowed=1) for name in ("x", "y")]
    state = cluster(node("n1"), owned("p", node="n1", labels=WEB), *budgets)
    _, did = changed(state, "drain n1")
    assert did[0] == (
        "n1: drain never finishes (budgets default/x, default/y select the same pods, and the "
        "eviction API refuses such pods)"
    )


def test_the_nodes_whose_drain_does_not_finish_come_first() -> None:
    pods = [owned("p", node="n2", labels=WEB, status=ready())]
    status = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    state = cluster(node("n1"), node("n2"), *pods, budget("web", WEB, **status))
    _, did = changed(state, "drain n1 n2")
    assert did[:2] == [
        "n2: drain never finishes (budget default/web requires 1 of 1 pods)",
        "n1: drain finishes",
    ]
