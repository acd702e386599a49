"""The objects of a watched cluster, after what its watches tell."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from ksched_cli.live.client import ClusterError
from ksched_cli.live.lists import ObjectList, Resource
from ksched_cli.live.snapshot import annotated_object
from ksched_cli.live.watch import Reconnection, WatchedChange
from ksched_cli.serve.objects import WatchedObjects
from ksched_cli.testing import node, pod
from tests.serve.conftest import Manifest

PODS = Resource("Pod", "v1", "pods", True)
NODES = Resource("Node", "v1", "nodes", False)
BUDGETS = Resource("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", True)
BUDGET = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"maxUnavailable": 1}}


def listed(resource: Resource, *objects: Manifest) -> ObjectList:
    items = [annotated_object(resource, Raw(json.dumps(each))) for each in objects]
    return ObjectList(resource, "", items, "1")


def watched(*lists: ObjectList) -> WatchedObjects:
    objects = WatchedObjects("the cluster", frozenset())
    objects.begin(lists)
    objects.state()
    return objects


def change(kind: str, resource: Resource, manifest: Manifest) -> WatchedChange:
    return WatchedChange(0, kind, resource, Raw(json.dumps(manifest)), "2")


def relisted(objects: ObjectList) -> Reconnection:
    return Reconnection(0, 0, objects.resource, "", objects, is_lost=True)


def test_what_a_new_list_lacks_is_gone() -> None:
    objects = watched(listed(NODES, node("a"), node("b")), listed(PODS, pod("p"), pod("q")))
    assert [*objects.changes(relisted(listed(NODES, node("a"), node("b"))))] == []
    assert not objects.is_stale
    assert [*objects.changes(relisted(listed(NODES, node("b"))))] == []
    assert objects.is_stale
    (of_p, of_q) = objects.changes(relisted(listed(PODS, pod("q"))))
    assert of_p.before is not None
    assert (of_p.before.name, of_p.after) == ("p", None)
    assert of_q.after is not None
    assert [each.name for each in objects.state().nodes] == ["b"]
    assert [each.name for each in objects.state().pods] == ["q"]
    assert [*objects.changes(change("ADDED", NODES, node("a")))] == []
    assert [each.name for each in objects.state().nodes] == ["b", "a"]


def test_a_change_of_a_kind_whose_name_begins_like_a_pods_is_none_of_a_pod() -> None:
    objects = watched(listed(NODES, node("a")), listed(BUDGETS))
    assert [*objects.changes(change("ADDED", BUDGETS, BUDGET))] == []
    assert objects.is_stale
    assert len(objects.state().pod_disruption_budgets) == 1
    assert not objects.is_stale


def test_a_change_of_nothing_that_is_read_is_none() -> None:
    objects = watched(listed(NODES, node("a")))
    heartbeat = node("a")
    heartbeat["metadata"]["resourceVersion"] = "2"
    assert [*objects.changes(change("MODIFIED", NODES, heartbeat))] == []
    assert [*objects.changes(change("DELETED", NODES, node("never-seen")))] == []
    assert not objects.is_stale


def test_a_pod_that_cannot_be_read_is_the_clusters_fault() -> None:
    objects = watched(listed(NODES, node("a")), listed(PODS))
    wrong = {**pod("p"), "spec": {"containers": 1}}
    with pytest.raises(ClusterError, match="the cluster has a pod that cannot be read"):
        list(objects.changes(change("ADDED", PODS, wrong)))
