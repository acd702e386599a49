"""Passes over all pods, against the loops that they stand for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.objects import LabelSelector, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.selectors import label_selector
from ksched_cli.scenario.pods import (
    names_in,
    newest_timestamp,
    replace_pods,
    select_by_id,
    select_by_labels,
    select_by_name,
    select_on_nodes,
)
from ksched_cli.testing import cluster, pod
from tests.clusters import states


@given(states(), st.data())
def test_pods_are_selected_in_their_order(state: ClusterState, data: st.DataObject) -> None:
    pods = state.pods
    chosen = [each for each in pods if data.draw(st.booleans())]
    assert select_by_id(pods, {id(each) for each in chosen}) == chosen
    names = {each.name for each in chosen}
    assert select_by_name(pods, names) == [each for each in pods if each.name in names]
    nodes = {each.node_name for each in chosen}
    assert select_on_nodes(pods, nodes) == [each for each in pods if each.node_name in nodes]
    selector = label_selector(LabelSelector(match_labels={"app": "a"}))
    matching = [each for each in pods if each.metadata.labels.get("app") == "a"]
    assert select_by_labels(pods, selector) == matching


@given(states(), st.data())
def test_pods_are_replaced_in_place_left_out_and_added(
    state: ClusterState, data: st.DataObject
) -> None:
    pods = state.pods
    (other,) = cluster(pod("other")).pods
    expected: list[Pod] = []
    replacements: dict[int, Pod | None] = {}
    for each in pods:
        kind = data.draw(st.sampled_from(["stays", "goes", "changes"]))
        if kind != "stays":
            replacements[id(each)] = other if kind == "changes" else None
        expected += {"stays": [each], "goes": [], "changes": [other]}[kind]
    assert replace_pods(pods, replacements, [other]) == (*expected, other)


def test_names_are_those_of_one_namespace() -> None:
    pods = cluster(pod("a"), pod("b", "far")).pods
    assert names_in(pods, "default") == {"a"}
    assert names_in(pods, "none") == set()


def test_the_newest_is_the_latest_creation() -> None:
    created = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", None)
    pods = cluster(
        *(pod(f"p{i}", metadata={"creationTimestamp": text}) for i, text in enumerate(created))
    ).pods
    assert newest_timestamp(pods) == created[1]
    assert newest_timestamp(()) == ""
