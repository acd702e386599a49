"""Pods by the workload they belong to."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.objects import LabelSelector, LabelSelectorRequirement
from ksched_cli.scenario.owned_pods import OwnedPods, deployment_of
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
