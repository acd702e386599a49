"""Pod groups as in Kubernetes 1.38: trees agree, nominated domains come first, and the pods of a
group choose the nodes with the cheapest victims."""

from typing import Any

import pytest

from ksched_cli.engine.node_search import placements_to_find
from ksched_cli.engine.records import RunRecord
from ksched_cli.testing import cluster, node, pod, simulate
from tests.engine.test_composite_pod_groups import part, within
from tests.engine.test_pod_group_entity_cycle import group, member, messages

GATES = "GenericWorkload=true"
PLACES = f"{GATES},TopologyAwareWorkloadScheduling=true"
TREES = f"{PLACES},CompositePodGroup=true"
NODES = ("a0", "a1", "b0", "b1")
WORK: dict[str, Any] = {"workloadRef": {"workloadName": "work"}}


def composite(least: int = 0, name: str = "job", **spec: Any) -> dict[str, Any]:
    policy = {"gang": {"minGroupCount": least}} if least else {"basic": {}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "CompositePodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **WORK, **spec},
    }


def run(*objects: dict[str, Any], gates: str = TREES, **options: Any) -> RunRecord:
    """Nodes for one pod each, two per rack."""
    nodes = [node(name, cpu="2", labels={"rack": name[0]}) for name in NODES]
    return simulate(
        cluster(*nodes, *objects), kubernetes_version="1.38", feature_gates=gates, **options
    )


def places(record: RunRecord) -> dict[str, str]:
    return {name.partition("/")[2]: node for name, node in record.placements.items()}


def test_pods_hear_that_their_group_does_not_fit() -> None:
    record = run(group(3), member("p"), member("q", cpu="9"), member("r"), gates=GATES)
    assert messages(record) == {
        "p": 'parent pod group "red" is unschedulable',
        "q": "0/4 nodes are available: 4 Insufficient cpu.",
        "r": 'parent pod group "red" is unschedulable',
    }


def test_a_pod_without_its_group_waits_for_it() -> None:
    record = run(member("p"), gates=GATES)
    text = 'pod group "red" or one of its composite pod group ancestors has not been created yet'
    assert [status.message for status in record.gated.values()] == [text]


@pytest.mark.parametrize(
    ("least", "text"),
    [
        (2, "waiting for compositepodgroup/default/job to meet its quorum"),
        (
            0,
            "waiting for compositepodgroup/default/job tree to have at least one ready child group",
        ),
    ],
)
def test_a_tree_waits_for_its_outermost_group(least: int, text: str) -> None:
    record = run(composite(least), part("red", 2, **WORK), member("p"))
    assert [status.message for status in record.gated.values()] == [text]


@pytest.mark.parametrize(
    ("around", "inside", "error"),
    [
        (
            {"priority": 3},
            {},
            "all pod groups in a hierarchy should have the same priority as the root pod group's"
            ' priority, got 0 ("podgroup/default/red") and 3 ("compositepodgroup/default/job")',
        ),
        (
            {},
            {"workloadRef": {"workloadName": "other"}},
            'pod group workload does not match root workload, got: "other"'
            ' ("podgroup/default/red") and "work" ("compositepodgroup/default/job")',
        ),
        (
            {},
            {"preemptionPolicy": "Never"},
            "all pod groups in a hierarchy should have the same preemption policy, got Never"
            ' ("podgroup/default/red") and PreemptLowerPriority',
        ),
        (
            {},
            {"schedulingPolicy": {"basic": {}}},
            'gang parent "compositepodgroup/default/job" cannot have basic child'
            ' "podgroup/default/red"',
        ),
        (
            {"disruptionMode": {"all": {}}},
            {},
            'parent "compositepodgroup/default/job" with All disruption mode cannot have child'
            ' "podgroup/default/red" with Single disruption mode',
        ),
    ],
)
def test_the_groups_of_a_tree_must_agree(
    around: dict[str, Any], inside: dict[str, Any], error: str
) -> None:
    record = run(composite(1, **around), part("red", **(WORK | inside)), member("p"))
    assert messages(record)["p"] == error


def test_pods_must_agree_with_their_group() -> None:
    record = run(group(1, priority=5), member("p", priority=7), gates=GATES)
    assert messages(record)["p"] == (
        "all pods in a pod group hierarchy should have the same priority as the root pod group's"
        ' priority, got 7 ("p") and 5 ("podgroup/default/red")'
    )


def test_a_tree_may_have_four_levels_at_most() -> None:
    wings = [
        composite(1, name, parentCompositePodGroupName=parent)
        for parent, name in (("job", "a"), ("a", "b"), ("b", "c"))
    ]
    record = run(composite(1), *wings, part("red", parent="c", **WORK), member("p"))
    depth = "hierarchy depth exceeds maximum allowed depth 4"
    assert messages(record)["p"] == f'{depth} at "compositepodgroup/default/c"'


def test_an_empty_label_is_no_domain() -> None:
    lone = node("lone", cpu="9", labels={"rack": ""})
    record = run(lone, group(2, **within("rack")), *(member(name) for name in "pq"), gates=PLACES)
    assert set(places(record).values()) == {"a0", "a1"}


def test_the_domain_that_pods_are_nominated_to_comes_first() -> None:
    pods = [member(name, status={"nominatedNodeName": "b1"}) for name in "pq"]
    record = run(group(2, **within("rack")), *pods, gates=PLACES)
    assert set(places(record).values()) == {"b0", "b1"}


def test_domains_are_tried_until_the_group_fits_in_a_share_of_them() -> None:
    """The second rack would be the fuller one."""
    objects = [pod("b", cpu="0.1", node="b0"), group(1, **within("rack")), member("p", cpu="1")]
    assert places(run(*objects, gates=PLACES))["p"][0] == "b"
    share = {"percentageOfPlacementsToScore": 50}
    for config in (share, {"profiles": [share]}):
        assert places(run(*objects, gates=PLACES, config=config))["p"][0] == "a"


@pytest.mark.parametrize(
    ("percentage", "nodes", "expected"), [(0, 50, 10), (0, 60, 9), (0, 5400, 1), (30, 9, 3)]
)
def test_fewer_domains_are_enough_in_large_clusters(
    percentage: int, nodes: int, expected: int
) -> None:
    assert placements_to_find(percentage, 10, nodes) == expected


def test_a_group_evicts_the_cheapest_victims() -> None:
    """It would take a0 and a1 first, were all nodes alike."""
    running = [
        pod("two-1", cpu="1", node="a0"),
        pod("two-2", cpu="1", node="a0"),
        pod("dear", cpu="2", node="a1", priority=2),
        pod("cheap", cpu="2", node="b0"),
        pod("guarded", cpu="2", node="b1", labels={"app": "guarded"}),
    ]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
        "status": {"disruptionsAllowed": 0},
    }
    pods = [member(name, priority=5) for name in "pqr"]
    record = run(*running, budget, group(3, priority=5), *pods, gates=GATES)
    evicted = {eviction.pod.partition("/")[2] for eviction in record.evicted}
    assert evicted == {"cheap", "two-1", "two-2", "dear"}
    assert set(places(record).values()) == {"b0", "a0", "a1"}


def test_a_group_without_a_policy_does_not_preempt_where_a_pod_of_it_must_not() -> None:
    running = [pod(f"on-{name}", cpu="2", node=name) for name in NODES]
    own = {"preemptionPolicy": "Never"}
    record = run(*running, group(1, priority=5), member("p", priority=5, spec=own), gates=GATES)
    assert not record.evicted


def test_preemption_of_a_group_ends_nominations_to_its_nodes() -> None:
    running = [
        pod(f"on-{name}", cpu="2", node=name, priority=0 if name == "a0" else 3) for name in NODES
    ]
    nominated = pod("x", cpu="2", priority=1, status={"nominatedNodeName": "a0"})
    record = run(*running, nominated, group(1, priority=2), member("p", priority=2), gates=GATES)
    assert places(record)["p"] == "a0"
    assert "default/x" in record.pending


def test_a_victim_that_is_evicted_alone_has_its_own_priority() -> None:
    """Its group's would be too high."""
    other = group(1, "blue", priority=9)
    running = [member(f"on-{name}", node=name, group="blue") for name in NODES]
    record = run(*running, other, group(1, priority=5), member("p", priority=5), gates=GATES)
    assert len(record.evicted) == 1
