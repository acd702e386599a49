"""Objects of a state as plain data, and back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.scenario.objects import (
    kind_of,
    load_objects,
    objects_of,
    plain_object,
    removed,
    replaced,
    with_objects,
)
from ksched_cli.scenario.pods import unbound
from ksched_cli.testing import cluster, node, pod
from tests.clusters import states
from tests.scenario.build import budget, workload


@given(states())
def test_what_is_written_out_reads_back_the_same(state: ClusterState) -> None:
    pods = [plain_object(KINDS["Pod"], each) for each in state.pods]
    nodes = [plain_object(KINDS["Node"], each) for each in state.nodes]
    again = load_objects(state, (*nodes, *pods), "the test")
    assert [each.key for each in again.pods] == [each.key for each in state.pods]
    for old, new in zip(state.pods, again.pods, strict=True):
        assert (new.node_name, new.metadata, new.status) == (
            old.node_name,
            old.metadata,
            old.status,
        )
    for old_node, new_node in zip(state.nodes, again.nodes, strict=True):
        assert (new_node.spec, new_node.status) == (old_node.spec, old_node.status)


def test_a_pod_that_is_pending_again_is_written_as_pending() -> None:
    state = cluster(node("n1"), pod("a", node="n1", status={"phase": "Running"}))
    (pending,) = unbound(state, state.pods).pods
    plain = plain_object(KINDS["Pod"], pending)
    assert (plain["spec"]["nodeName"], plain["status"]) == ("", {"phase": "Pending"})


def test_an_object_without_its_text_is_written_from_its_fields() -> None:
    state = cluster(budget("web", {"app": "web"}, disruptionsAllowed=1))
    plain = plain_object(
        KINDS["PodDisruptionBudget"], state.pod_disruption_budgets["default", "web"]
    )
    assert (plain["apiVersion"], plain["kind"]) == ("policy/v1", "PodDisruptionBudget")
    assert plain["status"]["disruptionsAllowed"] == 1


def test_priorities_come_from_the_classes_of_the_state_and_of_the_manifests() -> None:
    meta = {"name": "high"}
    old = {"kind": "PriorityClass", "metadata": meta, "value": 5}
    new = {"kind": "PriorityClass", "metadata": meta, "value": 9}
    state = cluster(old)
    urgent = pod("p", spec={"priorityClassName": "high"})
    assert load_objects(state, [urgent], "t").pods[0].spec.priority == 5
    assert load_objects(state, [new, urgent], "t").pods[0].spec.priority == 9


def test_an_object_that_is_not_valid_is_an_error_of_its_source() -> None:
    with pytest.raises(InputError, match=r"^web\.yaml"):
        load_objects(cluster(), [pod("p", cpu="many")], "web.yaml")


def test_objects_of_both_are_in_their_old_place_and_new_ones_last() -> None:
    state = cluster(node("n1"), node("n2"), workload("Deployment"))
    added = cluster(node("n3"), node("n1", cpu="9"), workload("Deployment", "db"))
    both = with_objects(state, added)
    assert [each.name for each in both.nodes] == ["n1", "n2", "n3"]
    assert both.nodes[0] is added.nodes[1]
    assert both.nodes[1] is state.nodes[1]
    assert list(both.deployments) == [("default", "web"), ("default", "db")]
    assert with_objects(state, cluster()) == replace(state, warnings=state.warnings)


def test_objects_are_listed_by_namespace_and_name() -> None:
    state = cluster(node("n1"), pod("a", "web"), workload("Deployment"))
    assert list(objects_of(state, KINDS["Node"])) == [("", "n1")]
    assert list(objects_of(state, KINDS["Pod"])) == [("web", "a")]
    assert list(objects_of(state, KINDS["Deployment"])) == [("default", "web")]


def test_objects_are_replaced_and_removed() -> None:
    meta = {"name": "fast"}
    fast = {"kind": "StorageClass", "metadata": meta, "provisioner": "x"}
    state = cluster(node("n1"), node("n2"), fast, workload("Deployment"))
    cordoned = plain_object(KINDS["Node"], state.nodes[0])
    cordoned["spec"] = {"unschedulable": True}
    assert replaced(state, KINDS["Node"], [cordoned]).nodes[0].spec.unschedulable
    assert replaced(state, KINDS["Node"], []) is state
    assert [n.name for n in removed(state, KINDS["Node"], [("", "n1")]).nodes] == ["n2"]
    assert removed(state, KINDS["StorageClass"], [("", "fast")]).storage_classes == {}
    assert removed(state, KINDS["Deployment"], [("default", "web")]).deployments == {}
    assert list(removed(state, KINDS["Deployment"], [("far", "web")]).deployments) == [
        ("default", "web")
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_named_in_singular_and_plural(kind: str) -> None:
    ending = {"y": f"{kind[:-1]}ies", "s": f"{kind}es"}
    for word in (kind, kind.lower(), ending.get(kind[-1], f"{kind}s").lower(), f"{kind}.group"):
        assert kind_of(word) is KINDS[kind]


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("po", "Pod"),
        ("deploy", "Deployment"),
        ("storageclasses", "StorageClass"),
        ("pdb", "PodDisruptionBudget"),
    ],
)
def test_short_words_are_kubectls(word: str, kind: str) -> None:
    assert kind_of(word) is KINDS[kind]


def test_a_word_of_no_kind_is_none() -> None:
    assert kind_of("thing") is None
