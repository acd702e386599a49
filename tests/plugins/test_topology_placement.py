"""A group goes to one domain of the topology key that it asks for."""

from typing import Any

import pytest

from ksched_cli.engine.records import RunRecord
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, node, pod, simulate

GATES = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"


def group(min_count: int = 2, *keys: str) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    policy = {"gang": {"minCount": min_count}}
    constraints = {"topology": [{"key": key} for key in keys]}
    spec = {"schedulingPolicy": policy, "schedulingConstraints": constraints}
    return {**kind, "metadata": {"name": "red", "namespace": "default"}, "spec": spec}


def member(name: str, cpu: str = "2", **fields: Any) -> dict[str, Any]:
    return pod(name, cpu=cpu, spec={"schedulingGroup": {"podGroupName": "red"}}, **fields)


def racked(name: str, rack: str = "", cpu: str = "2") -> dict[str, Any]:
    return node(name, cpu=cpu, labels={"rack": rack} if rack else {})


def run(*objects: dict[str, Any]) -> RunRecord:
    return simulate(cluster(*objects), kubernetes_version="1.36", feature_gates=GATES)


def test_the_plugins_of_groups_are_there_from_their_minor_on_and_off() -> None:
    gang = [registry_of(release_of(minor)).get("GangScheduling") for minor in MINORS]
    counts = [registry_of(release_of(minor)).get("PodGroupPodsCount") for minor in MINORS]
    assert [entry is not None for entry in gang] == [False, True, True, True, True]
    assert [entry is not None for entry in counts] == [False, False, True, True, True]
    assert not any(entry.enabled_by_default for entry in (*gang, *counts) if entry)
    assert ["reserve" in entry.points for entry in gang if entry] == [True, *[False] * 3]


NODES = [racked("a", "1"), racked("b", "2"), racked("c", "2"), racked("d")]
BOTH = [member("p"), member("q")]


def test_a_group_goes_where_one_domain_has_room_for_it() -> None:
    record = run(*NODES, group(2, "rack"), *BOTH)
    assert dict(record.placements) == {"default/p": "b", "default/q": "c"}
    assert [attempt.evaluated for attempt in record.attempts] == [2, 2]


def test_of_two_domains_that_have_room_it_goes_to_the_fuller_one() -> None:
    nodes = [racked("a", "1", cpu="4"), racked("b", "2", cpu="4")]
    there = pod("there", cpu="2", node="b")
    record = run(*nodes, there, group(2, "rack"), member("p", cpu="1"), member("q", cpu="1"))
    assert dict(record.placements) == {"default/p": "b", "default/q": "b"}


def test_without_a_key_it_goes_anywhere() -> None:
    assert dict(run(*NODES, group(2), *BOTH).placements) == {"default/p": "a", "default/q": "b"}


def test_it_stays_pending_where_no_domain_has_room() -> None:
    record = run(*NODES, group(3, "rack"), *BOTH, member("r"))
    assert len(record.pending) == 3
    messages = [attempt.message for attempt in record.attempts[:3]]
    assert messages[0].startswith("pod group is unschedulable, waiting for minCount pods")
    assert messages[1].startswith("0/1 nodes are available: 1 Insufficient cpu. ")
    assert messages[1].endswith(
        "preemption: not eligible due to placement-based pod group scheduling limitation"
    )


def test_no_node_has_the_key() -> None:
    record = run(*NODES, group(2, "room"), *BOTH)
    assert {attempt.message for attempt in record.attempts} == {"no feasible placements found"}


def test_pods_that_have_a_node_decide_the_domain() -> None:
    nodes = [*NODES, racked("e", "1")]
    record = run(*nodes, group(2, "rack"), member("b0", node="a"), member("p"))
    assert dict(record.placements) == {"default/p": "e"}


@pytest.mark.parametrize(
    ("bound", "error"),
    [
        ([member("b0", node="d")], "no topology domain found for pod default/b0"),
        (
            [member("b0", node="a"), member("b1", node="b")],
            "more than 1 domain found for pod group: 1, 2",
        ),
        (
            [member("b0", node="gone")],
            'getting node for pod default/b0: nodeinfo not found for node name "gone"',
        ),
    ],
    ids=["no label", "two domains", "no node"],
)
def test_pods_whose_domain_is_not_clear_fail_the_group(bound: Any, error: str) -> None:
    record = run(*NODES, group(1, "rack"), *bound, member("p"))
    prefix = "cannot determine domain for already scheduled pods: "
    assert record.attempts[0].error == prefix + error
