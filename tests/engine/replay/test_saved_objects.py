"""The objects of a checkpoint."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.message_pack import pack, unpack
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.checkpoint import PodTable, SavedObjects
from ksched_cli.scenario.objects import manifests
from tests.engine.replay.interruptions import WITH_CLAIMS
from tests.replays import Plain, node, pod

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": pod("t", "1500m")["spec"]}
APPS = [
    {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": "x"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}, "more": 1,
    }
    for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
]  # fmt: skip
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
       "spec": {"template": TEMPLATE}}  # fmt: skip
OTHER = {"apiVersion": "example.com/v1", "kind": "Gang", "metadata": {"name": "g"},
         "spec": {"large": 2**70, "part": 0.1, "texts": ["ä", None]}}  # fmt: skip
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"},
         "value": 7}  # fmt: skip
OBJECTS: list[Plain] = [
    *WITH_CLAIMS, *APPS, JOB, OTHER, CLASS, node("other", "1e3", labels={"zone": "z"}),
    *(pod(name, priorityClassName="p") for name in ("p1", "p2")), pod("q", "3", nodeName="other"),
]  # fmt: skip
# These are compared by identity.
WITH_SPECS = ("pods", "replica_sets", "stateful_sets", "deployments", "daemon_sets", "jobs")


@pytest.fixture
def state(tmp_path: Path) -> ClusterState:
    path = tmp_path / "state.json"
    path.write_bytes(msgspec.json.encode(OBJECTS))
    return load_state([str(path)], reads=("Gang.example.com",))


def saved(table: PodTable, state: ClusterState) -> tuple[ClusterState, list[Pod]]:
    return unpack(pack(table.save(state)), SavedObjects).restored()


def test_a_state_is_the_same_again(state: ClusterState) -> None:
    again, _ = saved(PodTable(), state)
    for field in fields(state):
        if field.name not in ("others", *WITH_SPECS):
            assert getattr(again, field.name) == getattr(state, field.name), field.name
    assert pack(PodTable().save(again)) == pack(PodTable().save(state))
    assert list(manifests(again)) == list(manifests(state))
    assert [bytes(each.raw) for each in again.nodes] == [bytes(each.raw) for each in state.nodes]
    assert again.others["Gang.example.com"] == (OTHER,)


def test_pods_of_a_spec_share_it_and_each_is_once(state: ClusterState) -> None:
    first, second, third = state.pods
    moved = structs.replace(first, node_name="other", status=PENDING_AGAIN)
    table = PodTable()
    places = table.places([third, moved, third])
    again, pods = saved(table, state)
    assert [pods[place] for place in places][::2] == [again.pods[2]] * 2
    assert pods[places[0]] is again.pods[2]
    assert pods[places[1]].spec is again.pods[0].spec is again.pods[1].spec
    assert (first.spec is second.spec, first.spec is third.spec) == (True, False)
    assert again.pods[2].spec is not again.pods[0].spec
    assert pods[places[1]].status is PENDING_AGAIN
    assert (pods[places[1]].node_name, bytes(pods[places[1]].raw)) == ("other", bytes(first.raw))


def test_a_spec_or_pod_that_there_is_not_is_noticed(state: ClusterState) -> None:
    objects = PodTable().save(replace(state, pods=state.pods[:1]))
    for wrong in ({"specs": ()}, {"pods": ()}):
        with pytest.raises(IndexError):
            structs.replace(objects, **wrong).restored()
