"""Pods that a command line names."""

from typing import Any

import pytest

from ksched_cli.analysis import named_objects
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.errors import UsageError
from ksched_cli.testing import cluster, pod, simulation
from tests.narrowing import present


def find(name: str, *objects: dict[str, Any]) -> PodInfo | None:
    return named_objects.find_pod(simulation(cluster(*objects)), name)


def test_a_pod_is_found_by_name_or_with_its_namespace() -> None:
    pods = (pod("p"), pod("q", "blue"))
    assert present(find("p", *pods)).key == "default/p"
    assert present(find("blue/q", *pods)).key == "blue/q"


def test_a_name_in_several_namespaces_lists_them() -> None:
    pods = (pod("p"), pod("p", "blue"))
    with pytest.raises(UsageError, match='several pods are named "p": blue/p, default/p'):
        find("p", *pods)
    assert present(find("blue/p", *pods)).key == "blue/p"


def test_a_pod_that_is_not_there_has_near_names() -> None:
    with pytest.raises(UsageError, match=r'no pod "wbe" in .*; did you mean default/web'):
        find("wbe", pod("web"))
    with pytest.raises(UsageError, match=r'no pod "x" in the state .0 pods.$'):
        find("x")


def owned(name: str, kind: str = "StatefulSet", owner: str = "db", **fields: Any) -> dict[str, Any]:
    reference = {"kind": kind, "name": owner, "controller": True}
    created = {"creationTimestamp": fields.pop("created", "2026-03-02T08:00:00Z")}
    return pod(name, metadata={"ownerReferences": [reference], **created}, **fields)


@pytest.mark.parametrize("name", ["db", "default/db", "statefulset/db", "sts/db"])
def test_a_workload_is_its_next_pod_in_the_queue_or_its_newest(name: str) -> None:
    running = [
        owned("db-0", node="n", created="2026-03-02T08:00:01Z"),
        owned("db-1", node="n", created="2026-03-02T08:00:09Z"),
    ]
    waiting = [
        owned("db-3", created="2026-03-02T09:00:02Z"),
        owned("db-2", created="2026-03-02T09:00:01Z"),
    ]
    assert present(find(name, *running)).key == "default/db-1"
    assert present(find(name, *running, *waiting)).key == "default/db-2"


def test_a_deployment_is_named_though_a_replica_set_has_its_pods() -> None:
    manifest = owned(
        "web-5d4f8-x", "ReplicaSet", "web-5d4f8", labels={"pod-template-hash": "5d4f8"}
    )
    for name in ("web", "deploy/web", "replicaset/web-5d4f8", "rs/web-5d4f8"):
        assert present(find(name, manifest)).key == "default/web-5d4f8-x"


def test_a_pod_comes_before_a_workload_of_its_name() -> None:
    assert present(find("db", pod("db"), owned("db-0"))).key == "default/db"


def test_workloads_of_one_name_are_listed() -> None:
    several = (owned("db-0"), owned("db-x", "Job"))
    with pytest.raises(
        UsageError, match="statefulset/db of namespace default, job/db of namespace"
    ):
        find("db", *several)
    assert present(find("job/db", *several)).key == "default/db-x"


def test_a_name_near_a_workload_s_is_offered_as_kind_and_name() -> None:
    with pytest.raises(UsageError, match=r"did you mean job/import\?"):
        find("job/imprt", owned("x-0", "Job", "import"))
