"""scale, against the ranking of the ReplicaSet controller."""

import pytest

from ksched_cli.scenario.change import ChangeError
from ksched_cli.testing import Manifest, cluster, node
from tests.scenario.build import changed, nodes_of, owned, ready, workload

RUNNING = {"phase": "Running"}
COST = "controller.kubernetes.io/pod-deletion-cost"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (owned("a"), owned("b", node="n1", status={"phase": "Pending"})),
        (
            owned("a", node="n1", status={"phase": "Pending"}),
            owned("b", node="n1", status={"phase": "Unknown"}),
        ),
        (
            owned("a", node="n1", status={"phase": "Unknown"}),
            owned("b", node="n1", status=RUNNING),
        ),
        (owned("a", node="n1", status=RUNNING), owned("b", node="n1", status=ready())),
        (
            owned("a", node="n1", status=ready(), annotations={COST: "-1"}),
            owned("b", node="n1", status=ready()),
        ),
        (
            owned("a", node="n1", status=ready(), created="2026-02-01T00:00:00Z"),
            owned("b", node="n1", status=ready(), created="2026-01-01T00:00:00Z"),
        ),
    ],
)
def test_the_first_of_the_ranking_is_removed(first: Manifest, second: Manifest) -> None:
    for pods in ((first, second), (second, first)):
        state, did = changed(cluster(node("n1"), *pods), "scale rs/web --replicas=1")
        assert list(nodes_of(state)) == ["default/b"]
        assert did[0] == "ReplicaSet default/web: scaled (2 → 1 pods)"


def test_doubled_up_pods_go_before_those_that_are_alone() -> None:
    pods = [owned(f"{n}-{i}", node=n, status=ready()) for n, i in (("n1", 0), ("n2", 0), ("n2", 1))]
    state, _ = changed(cluster(node("n1"), node("n2"), *pods), "scale rs/web --replicas=2")
    assert sorted(nodes_of(state).values()) == ["n1", "n2"]


def test_a_stateful_set_loses_its_highest_ordinal() -> None:
    pods = [owned(f"web-{i}", "StatefulSet", node="n1") for i in (0, 10, 2)]
    state, _ = changed(cluster(node("n1"), *pods), "scale sts/web --replicas=2")
    assert list(nodes_of(state)) == ["default/web-0", "default/web-2"]


def test_scaling_up_makes_pods_of_the_template() -> None:
    state, did = changed(cluster(node("n1"), workload("Deployment", replicas=1)), *["cordon n1"])
    state, did = changed(state, "scale deployment/web --replicas=3")
    assert len(state.pods) == 3
    assert did[0] == "Deployment default/web: scaled (1 → 3 pods)"
    assert next(iter(state.replica_sets.values())).spec.replicas == 3
    state, _ = changed(state, "scale deployment/web --replicas=0")
    assert len(state.pods) == 0


def test_a_factor_multiplies_the_replicas_of_every_chosen_workload() -> None:
    labels = {"team": "search"}
    objects = [
        {**workload("Deployment", name, replicas=count), "metadata": {"name": name, "labels": own}}
        for name, count, own in (("a", 2, labels), ("b", 3, labels), ("c", 5, {}))
    ]
    line = "scale deployments -l team=search --factor 2.5"
    state, _ = changed(cluster(node("n1"), *objects), line)
    assert {name[1]: each.spec.replicas for name, each in state.deployments.items()} == {
        "a": 5,
        "b": 8,
        "c": 5,
    }
    state, _ = changed(state, "scale deployment/a --factor=0.2")
    assert state.deployments["default", "a"].spec.replicas == 1


def test_pods_alone_are_copied_where_the_state_has_no_template() -> None:
    labels = {"pod-template-hash": "abc"}
    running = owned("web-abc-x", owner="web-abc", node="n1", cpu=2, labels=labels)
    state, did = changed(cluster(node("n1"), running), "scale deployment/web --replicas=2")
    assert did[1] == "default/web-abc-bbbbb: pending (created for Deployment default/web)"
    assert state.pods[1].spec is state.pods[0].spec
    assert state.pods[1].node_name == ""
    assert state.pods[1].uid != state.pods[0].uid


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("scale deployment/wb --replicas=2", 'no Deployment "wb" in the state (1 Deployment); did'),
        ("scale deployment/web", "--replicas=N is missing"),
        (
            "scale deployment/web --factor=-1",
            '--factor is "-1"; it takes a number',
        ),
        ("scale deployment/web --factor=2 --replicas=2", "--replicas or --factor, not both"),
        ("scale deployment/web --factor=999999", "would have 999999 replicas; at most 200000"),
        ("scale ds/web --replicas=2", '"ds/web" is not accepted here'),
        ("scale --replicas=2", "expected KIND/NAME"),
        (
            "scale deployment/web -n other --replicas=2",
            'no Deployment "web" in namespace other; there is default/web',
        ),
    ],
)
def test_what_cannot_be_scaled_is_an_error(line: str, message: str) -> None:
    with pytest.raises(ChangeError) as error:
        changed(cluster(node("n1"), workload("Deployment")), line)
    assert message in str(error.value)
