"""Pods by the workload they belong to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.objects import LabelSelector, LabelSelectorRequirement, Pod
from ksched_cli.scenario.owned_pods import OwnedPods, deployment_of, group_pods
from ksched_cli.testing import Manifest, cluster, pod
from tests.scenario.build import owned


@pytest.mark.parametrize(
    ("manifest", "deployment"),
    [
        (owned("p", owner="web-abc", labels={"pod-template-hash": "abc"}), "web"),
        (owned("p", owner="a-b-abc", labels={"pod-template-hash": "abc"}), "a-b"),
        (owned("p", owner="web-xyz", labels={"pod-template-hash": "abc"}), ""),
        (owned("p", owner="web-abc"), ""),
        (owned("p", "StatefulSet", "web-abc", labels={"pod-template-hash": "abc"}), ""),
        (pod("p", labels={"pod-template-hash": "abc"}), ""),
    ],
)
def test_the_deployment_of_a_pod_is_in_its_replica_sets_name(
    manifest: Manifest, deployment: str
) -> None:
    assert deployment_of(cluster(manifest).pods[0]) == deployment


def test_pods_are_active_or_ended_and_those_being_deleted_are_neither() -> None:
    leaving = owned("c")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    labels = {"pod-template-hash": "abc"}
    state = cluster(
        owned("a", owner="web-abc", labels=labels),
        owned("b", "Job", "j", status={"phase": "Succeeded"}),
        leaving,
        pod("d"),
        pod("e", status={"phase": "Failed"}),
    )
    pods = OwnedPods.of(state.pods)
    assert {key: [p.name for p in own] for key, own in pods.active.items()} == {
        ("default", "ReplicaSet", "web-abc"): ["a"],
        ("default", "Deployment", "web"): ["a"],
    }
    assert {key: [p.name for p in own] for key, own in pods.ended.items()} == {
        ("default", "Job", "j"): ["b"]
    }
    assert {key: [p.name for p in own] for key, own in pods.orphans.items()} == {"default": ["d"]}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (LabelSelector(match_labels={"app": "web"}), ["a"]),
        (LabelSelector(), ["a", "b"]),
        (None, []),
        (LabelSelector(match_expressions=(LabelSelectorRequirement("a", "Near"),)), []),
    ],
)
def test_a_controller_adopts_the_orphans_that_its_selector_matches(
    selector: LabelSelector | None, names: list[str]
) -> None:
    state = cluster(pod("a", labels={"app": "web"}), pod("b"), pod("c", "far"))
    pods = OwnedPods.of(state.pods)
    assert [p.name for p in pods.adopted("default", selector)] == names
    assert pods.adopted("elsewhere", selector) == []


KINDS = st.sampled_from([("ReplicaSet", "web-x"), ("ReplicaSet", "db"), ("Job", "web-x"), None])
PHASES = st.sampled_from(["Pending", "Running", "Succeeded"])


@st.composite
def drawn_pods(draw: Any, name: str) -> Pod:
    controller = draw(KINDS)
    kind, owner = controller or ("ReplicaSet", "")
    labels = {"pod-template-hash": draw(st.sampled_from(["x", "y"]))}
    manifest = owned(name, kind, owner, labels=labels, status={"phase": draw(PHASES)})
    if controller is None:
        manifest["metadata"]["ownerReferences"] = []
    if draw(st.booleans()):
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return cluster(manifest).pods[0]


@given(st.data())
def test_what_is_made_anew_after_a_change_is_as_if_all_were(data: Any) -> None:
    """Some pods go, one comes, at any place."""
    before = tuple(data.draw(drawn_pods(f"p{number}")) for number in range(12))
    stays = data.draw(st.lists(st.booleans(), min_size=12, max_size=12))
    after = [pod for pod, remains in zip(before, stays, strict=True) if remains]
    after.insert(data.draw(st.integers(0, len(after))), data.draw(drawn_pods("new")))
    assert OwnedPods.of(before) == group_pods(before)
    assert OwnedPods.of(tuple(after)) == group_pods(after)
    assert OwnedPods.of(before) == group_pods(before)


def test_of_the_same_pods_nothing_is_made_anew() -> None:
    state = cluster(owned("a", owner="web"))
    assert OwnedPods.of(state.pods) is OwnedPods.of(state.pods)
