"""Groups that are parts of CompositePodGroups, as in Kubernetes 1.37: the tree is tried as one,
each group within the nodes of the group around it."""

from typing import Any

import pytest

from ksched_cli.engine.records import RunRecord
from ksched_cli.testing import cluster, node, pod, simulate
from tests.engine.test_pod_group_entity_cycle import group, member, messages

GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"


def composite(least: int = 0, name: str = "job", **spec: Any) -> dict[str, Any]:
    policy = {"gang": {"minGroupCount": least}} if least else {"basic": {}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def part(name: str, least: int = 1, parent: str = "job", **spec: Any) -> dict[str, Any]:
    return group(least, name, parentCompositePodGroupName=parent, **spec)


def within(key: str) -> dict[str, Any]:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def run(*objects: dict[str, Any], gates: str = GATES, rows: str = "ab") -> RunRecord:
    """Nodes for one pod each, two per rack."""
    nodes = (
        node(f"{rack}{i}", cpu="2", labels={"rack": rack, "zone": "z"})
        for rack in rows
        for i in range(2)
    )
    return simulate(cluster(*nodes, *objects), kubernetes_version="1.37", feature_gates=gates)


def places(record: RunRecord) -> dict[str, str]:
    return {name.partition("/")[2]: node for name, node in record.placements.items()}


def test_groups_of_a_tree_are_placed_together() -> None:
    record = run(composite(2), part("red"), part("blue"), member("p"), member("q", group="blue"))
    assert places(record) == {"q": "a0", "p": "a1"}


def test_groups_are_tried_oldest_first() -> None:
    red, blue = part("red"), part("blue")
    red["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    blue["metadata"]["creationTimestamp"] = "2026-01-01T00:00:01Z"
    record = run(composite(), red, blue, member("p"), member("q", group="blue"))
    assert places(record) == {"p": "a0", "q": "a1"}


def test_too_few_groups_that_fit_leave_the_tree_out() -> None:
    objects = part("red"), part("blue"), member("p"), member("q", cpu="9", group="blue")
    record = run(composite(2), *objects)
    assert places(record) == {}
    least = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    assert messages(record)["p"].endswith(f"first placement status: {least}")
    assert messages(record)["q"] == "0/4 nodes are available: 4 Insufficient cpu."


def test_a_group_that_does_not_fit_does_not_stop_the_others_where_any_number_may_fit() -> None:
    objects = part("red"), part("blue"), member("p"), member("q", cpu="9", group="blue")
    assert places(run(composite(), *objects)) == {"p": "a0"}


def test_a_tree_keeps_to_the_domain_of_its_root() -> None:
    """Neither rack has nodes for three pods."""
    pods = [member("p"), member("q"), member("r", group="blue")]
    objects = part("red", 2), part("blue"), *pods
    assert places(run(composite(2, **within("rack")), *objects)) == {}
    assert len(places(run(composite(2, **within("zone")), *objects))) == 3


def test_a_group_has_its_own_domain_within_that_of_the_group_around_it() -> None:
    pods = [member("p"), member("q"), member("r", group="blue")]
    objects = part("red", 2, **within("rack")), part("blue"), *pods
    placed = places(run(composite(2, **within("zone")), *objects))
    assert placed["p"][0] == placed["q"][0] != placed["r"][0]


def test_trees_may_be_deeper() -> None:
    wing = composite(2, "wing", parentCompositePodGroupName="job")
    objects = part("red", parent="wing"), part("blue", parent="wing"), member("p")
    assert places(run(composite(1), wing, *objects, member("q", group="blue"))) == {
        "q": "a0",
        "p": "a1",
    }
    record = run(composite(1), wing, *objects)
    assert {status.message for status in record.gated.values()} == {
        'waiting for composite pod group "job" tree to meet quorum'
    }


def test_pods_wait_for_the_object_around_their_group() -> None:
    record = run(part("red"), member("p"))
    assert {status.message for status in record.gated.values()} == {
        "failed to build hierarchy snapshot: composite pod group object not found in state for"
        " compositepodgroup/default/job"
    }


def test_groups_in_each_other_are_never_tried() -> None:
    wing = composite(1, "wing", parentCompositePodGroupName="job")
    job = composite(1, parentCompositePodGroupName="wing")
    record = run(job, wing, part("red"), member("p"))
    assert list(record.gated) == ["default/p"]


def test_all_pods_need_the_priority_of_the_root() -> None:
    record = run(composite(priority=3), part("red", priority=5), member("p", priority=5))
    assert messages(record)["p"].endswith("pod group's priority, got 5 and 3")


@pytest.mark.parametrize(("policy", "evicted"), [("Never", 0), ("PreemptLowerPriority", 2)])
def test_a_tree_makes_room_for_all_its_pods_as_its_root_says(policy: str, evicted: int) -> None:
    running = [pod(f"b{i}", cpu="2", node=f"a{i}") for i in range(2)]
    own = {"preemptionPolicy": policy}
    pods = [
        member("p", priority=5, spec=own),
        member("q", group="blue", priority=5, spec=own),
    ]
    groups = composite(2, priority=5, preemptionPolicy=policy), part("red"), part("blue")
    gates = f"{GATES},PodGroupPreemptionPolicy=true"
    record = run(*running, *groups, *pods, gates=gates, rows="a")
    assert len(record.evicted) == evicted
    assert len(places(record)) == evicted


def test_a_tree_that_is_disrupted_as_one_is_one_victim() -> None:
    """The same for a single pod that preempts; the priority is the root's."""
    running = [
        member("b0", node="a0", priority=1),
        member("b1", node="a1", group="blue", priority=1),
    ]
    root = composite(priority=1, disruptionMode={"all": {}})
    preemptor = pod("x", cpu="2", priority=5)
    record = run(*running, root, part("red"), part("blue"), preemptor, rows="a")
    assert {eviction.pod for eviction in record.evicted} == {"default/b0", "default/b1"}


def test_without_the_gate_a_part_is_a_group_of_its_own() -> None:
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    assert places(run(part("red"), member("p"), gates=gates)) == {"p": "a0"}
