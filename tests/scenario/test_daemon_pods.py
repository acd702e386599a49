"""Where a DaemonSet runs its pods."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.scenario.workloads import (
    daemon_model,
    daemon_template,
    on_node,
    should_continue_on,
    should_run_on,
    target_node,
)
from ksched_cli.testing import cluster, node, pod
from tests.narrowing import present
from tests.scenario.build import workload


def runs(on: dict[str, Any], **spec: Any) -> bool:
    state = cluster(on, pod("model", spec=spec))
    return should_run_on(state.pods[0], state.nodes[0])


@pytest.mark.parametrize(
    ("taint", "tolerations", "expected"),
    [
        ("a:NoSchedule", [], False),
        ("a:NoExecute", [], False),
        ("a:PreferNoSchedule", [], True),
        ("a:NoSchedule", [{"operator": "Exists"}], True),
        ("a:NoSchedule", [{"key": "b", "operator": "Exists"}], False),
    ],
)
def test_taints_that_forbid_keep_it_away_unless_tolerated(
    taint: str, tolerations: list[dict[str, str]], expected: bool
) -> None:
    assert runs(node("n1", taints=[taint]), tolerations=tolerations) is expected


def test_it_runs_on_a_node_that_is_cordoned_for_it_tolerates_the_taint() -> None:
    cordoned = node(
        "n1", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]
    )
    assert not runs(cordoned)
    spec = daemon_template({})["spec"]
    assert runs(cordoned, tolerations=spec["tolerations"])


@pytest.mark.parametrize(("taint", "expected"), [("a:NoSchedule", True), ("a:NoExecute", False)])
def test_one_that_runs_stays_unless_a_taint_evicts_it(taint: str, expected: bool) -> None:
    state = cluster(node("n1", taints=[taint]), pod("model"))
    assert should_continue_on(state.pods[0], state.nodes[0]) is expected
    assert not should_run_on(state.pods[0], state.nodes[0])


def test_a_pod_of_the_template_has_the_tolerations_of_daemon_pods() -> None:
    state = cluster(workload("DaemonSet"))
    model = present(daemon_model(state, state.daemon_sets["default", "web"]))
    assert "node.kubernetes.io/unschedulable" in {t.key for t in model.spec.tolerations}
    bare = workload("DaemonSet", template={})
    assert daemon_model(state, cluster(bare).daemon_sets["default", "web"]) is None


def test_it_runs_where_selector_and_affinity_match() -> None:
    labelled = node("n1", labels={"a": "b"})
    assert runs(labelled, nodeSelector={"a": "b"})
    assert not runs(labelled, nodeSelector={"a": "c"})


def test_an_affinity_that_cannot_be_parsed_matches_no_node() -> None:
    expression = {"key": "a", "operator": "Gt", "values": ["many"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    assert not runs(node("n1"), affinity={"nodeAffinity": required})


def test_a_template_that_names_a_node_runs_there_alone() -> None:
    state = cluster(node("n1"), node("n2"), pod("model", node="n2"))
    assert [should_run_on(state.pods[0], each) for each in state.nodes] == [False, True]


def test_the_node_of_a_pending_pod_is_that_of_its_affinity() -> None:
    pending = on_node(pod("p"), "n7")
    plain, bound = pod("q"), on_node(pod("r", node="n1"), "n7")
    nodes = [target_node(each) for each in cluster(pending, plain, bound).pods]
    assert nodes == ["n7", "", "n1"]
