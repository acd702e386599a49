"""Pods that leave their nodes, and what follows for budgets and claims."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.pods import (
    PodsByLabel,
    budget_matcher,
    is_of_daemon_set,
    is_ready,
    is_running,
    is_static,
    pending_again,
    unbound,
    without_pods,
)
from ksched_cli.testing import Manifest, cluster, node, pod
from tests.clusters import states
from tests.scenario.build import budget, owned, ready

MIRROR = {"kubernetes.io/config.mirror": "x"}


@pytest.mark.parametrize(
    ("manifest", "static", "daemon", "running"),
    [
        (owned("p", node="n1"), False, False, True),
        (owned("p"), False, False, False),
        (owned("p", "Node", "n1", node="n1"), True, False, True),
        (pod("p", node="n1", annotations=MIRROR), True, False, True),
        (owned("p", "DaemonSet", "d", node="n1"), False, True, True),
        (owned("p", "Job", "j", node="n1", status={"phase": "Succeeded"}), False, False, False),
    ],
)
def test_who_manages_a_pod_and_whether_it_runs(
    manifest: Manifest, static: bool, daemon: bool, running: bool
) -> None:
    (each,) = cluster(manifest).pods
    assert (is_static(each), is_of_daemon_set(each), is_running(each)) == (static, daemon, running)


def test_a_pod_is_ready_by_its_condition() -> None:
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}
    pods = cluster(owned("a", status=ready()), owned("b", status=unready), owned("c")).pods
    assert [is_ready(each) for each in pods] == [True, False, False]


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"app": "web"}},
        {"matchLabels": {"app": "web", "tier": "front"}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db", "db"]}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
        {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]},
        {},
        None,
    ],
)
def test_pods_by_label_finds_those_that_a_budget_is_about(selector: Manifest | None) -> None:
    labels = [{}, {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "front"}]
    manifests = [
        pod(f"p{number}", namespace=namespace, labels=each)
        for namespace in ("default", "other")
        for number, each in enumerate(labels)
    ]
    about = {**budget("b", {}), "spec": {"selector": selector}}
    state = cluster(*manifests, about)
    (each,) = state.pod_disruption_budgets.values()
    expected = {other.key for other in state.pods if budget_matcher(each)(other)}
    assert {other.key for other in PodsByLabel(state.pods).of_budget(each)} == expected


@given(states(), st.data())
def test_pods_that_leave_are_pending_and_all_others_are_shared(
    state: ClusterState, data: st.DataObject
) -> None:
    leaving = [each for each in state.pods if data.draw(st.booleans())]
    keys = {each.key for each in leaving}
    staying = [each for each in state.pods if each.key not in keys]
    again, in_place = pending_again(state, leaving), unbound(state, leaving)
    assert list(again.pods[: len(staying)]) == staying
    assert {each.key for each in again.pods[len(staying) :]} == keys
    assert [each.key for each in in_place.pods] == [each.key for each in state.pods]
    for after in (again, in_place):
        assert all(not each.node_name for each in after.pods if each.key in keys)
    assert list(without_pods(state, leaving).pods) == staying


def test_pods_are_made_anew_last_in_the_queue_in_the_order_of_their_age() -> None:
    pods = [
        owned(name, created=f"2026-01-0{day}T00:00:00Z", node="n1")
        for name, day in (("a", 3), ("b", 1), ("c", 5))
    ]
    state = cluster(node("n1"), *pods)
    after = pending_again(state, state.pods[:2])
    assert [(each.name, each.metadata.creation_timestamp[:10]) for each in after.pods] == [
        ("c", "2026-01-05"),
        ("b", "2026-01-05"),
        ("a", "2026-01-05"),
    ]
    in_place = unbound(state, state.pods[:2])
    assert [each.metadata.creation_timestamp for each in in_place.pods] == [
        each.metadata.creation_timestamp for each in state.pods
    ]


def test_a_budget_counts_the_ready_pods_that_leave() -> None:
    labels = {"app": "web"}
    web = budget("web", labels, disruptionsAllowed=1, currentHealthy=3)
    pods = [owned(f"p{i}", node="n1", labels=labels, status=ready()) for i in range(2)]
    unready = owned("q", node="n1", labels=labels)
    state = cluster(node("n1"), *pods, unready, owned("r", node="n1", status=ready()), web)
    status = without_pods(state, state.pods).pod_disruption_budgets["default", "web"].status
    assert (status.current_healthy, status.disruptions_allowed) == (1, 0)


@pytest.mark.parametrize(
    ("namespace", "selector", "matches"),
    [
        ("default", {"matchLabels": {"app": "web"}}, True),
        ("far", {"matchLabels": {"app": "web"}}, False),
        ("default", {}, True),
        ("default", None, False),
        ("default", {"matchExpressions": [{"key": "a", "operator": "Near"}]}, False),
    ],
)
def test_a_budget_is_about_pods_of_its_namespace_that_it_selects(
    namespace: str, selector: dict[str, Any] | None, matches: bool
) -> None:
    manifest = budget("web", {})
    manifest["metadata"]["namespace"] = namespace
    manifest["spec"] = {} if selector is None else {"selector": selector}
    state = cluster(pod("p", labels={"app": "web"}), manifest)
    (each,) = state.pod_disruption_budgets.values()
    assert budget_matcher(each)(state.pods[0]) is matches


def test_a_claim_made_for_a_pod_goes_with_it_and_stays_while_the_pod_is_pending_again() -> None:
    owner = {"kind": "Pod", "name": "p", "uid": "default/p", "controller": True}
    claim = {
        "kind": "ResourceClaim",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": "c", "ownerReferences": [owner]},
        "status": {
            "allocation": {},
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "default/p"}],
        },
    }
    uses = {"resourceClaimStatuses": [{"name": "r", "resourceClaimName": "c"}]}
    state = cluster(node("n1"), pod("p", node="n1", status=uses), claim)
    assert without_pods(state, state.pods).resource_claims == {}
    after = unbound(state, state.pods)
    status = after.resource_claims["default", "c"].status
    assert (status.allocation, status.reserved_for) == (None, ())
    assert after.pods[0].status.resource_claim_statuses == (
        state.pods[0].status.resource_claim_statuses
    )
