"""The groups of a state, and how many of their pods are there and on nodes."""

from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.errors import UsageError
from ksched_cli.framework.pod_groups import PodGroups
from ksched_cli.kube.versions import release_of
from ksched_cli.testing import cluster, node, pod

RED = ("default", "red")
RELEASE = release_of("1.36", "GenericWorkload=true")


def pod_group(policy: Any, version: str = "v1alpha2") -> dict[str, Any]:
    api_version = f"scheduling.k8s.io/{version}"
    spec = {"schedulingPolicy": policy}
    return {
        "apiVersion": api_version,
        "kind": "PodGroup",
        "metadata": {"name": "red"},
        "spec": spec,
    }


def member(name: str, **fields: Any) -> dict[str, Any]:
    return pod(name, spec={"schedulingGroup": {"podGroupName": "red"}}, **fields)


def groups_of(*objects: dict[str, Any]) -> tuple[PodGroups, Snapshot, list[Any]]:
    state = cluster(node("a"), *objects)
    catalog, snapshot = PodCatalog(), Snapshot(state.nodes)
    infos = [catalog.info(pod) for pod in state.pods]
    for info in infos:
        if info.pod.node_name:
            snapshot.add(info, 0)
    return PodGroups(state, snapshot, {"default-scheduler"}, RELEASE), snapshot, infos


def test_pods_are_counted_as_they_come_and_go() -> None:
    groups, snapshot, infos = groups_of(member("b", node="a"), member("p"), pod("q"))
    assert (groups.pod_count(RED), groups.scheduled_count(RED)) == (2, 1)
    snapshot.add(infos[1], 0)
    assert (groups.pod_count(RED), groups.scheduled_count(RED)) == (2, 2)
    snapshot.remove(infos[0], 0)
    groups.forget(infos[0])
    groups.forget(infos[2])
    assert (groups.pod_count(RED), groups.scheduled_count(RED)) == (1, 1)


def test_only_objects_of_this_version_are_groups() -> None:
    groups, _, (info,) = groups_of(pod_group({"gang": {"minCount": 3}}), member("p"))
    group = groups.get(info)
    assert group is not None
    assert group.min_count == 3
    assert not groups_of(pod_group({"basic": {}}, "v1alpha1"))[0].groups


def test_a_group_of_another_shape_is_named() -> None:
    with pytest.raises(UsageError, match=r"PodGroup default/red: spec: .*minCount"):
        groups_of(pod_group({"gang": {"minCount": "many"}}))


@pytest.mark.parametrize("created", ["yesterday", "0001-01-01T00:00:00+05:00", 5])
def test_a_group_of_no_time_is_named(created: object) -> None:
    group = pod_group({"basic": {}})
    group["metadata"]["creationTimestamp"] = created
    with pytest.raises(UsageError, match="is not a time such as"):
        groups_of(group)


def test_groups_of_another_version_and_parts_of_composite_groups_are_named() -> None:
    part: Any = pod_group({"basic": {}})
    part["spec"]["parentCompositePodGroupName"] = "all"
    groups, _, _ = groups_of(part, pod_group({"basic": {}}, "v1beta1"))
    assert [line.partition(";")[0] for line in groups.warnings] == [
        "not read: PodGroup default/red of scheduling.k8s.io/v1beta1",
        "ignored the CompositePodGroup of PodGroup default/red",
    ]
    assert groups_of(pod_group({"basic": {}}))[0].warnings == ()
