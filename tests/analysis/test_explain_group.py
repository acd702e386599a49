"""Why a group of pods gets nodes, or which member or domain blocks it."""

from typing import Any

import pytest

from ksched_cli.analysis.explain import Blocker, GroupExplanation, explain, explain_group
from ksched_cli.analysis.named_objects import find_group, pods_of
from ksched_cli.analysis.preempt import preempt
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.errors import UsageError
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import GroupsPods, PermitPlugin, Plugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import Code, Status
from ksched_cli.testing import Manifest, cluster, find, node, pod, simulation
from tests.narrowing import present
from tests.report.schemas import conforms, shown

GATES = {
    "1.36": "GenericWorkload=true,GangScheduling=true",
    "1.37": "GenericWorkload=true",
}
VERSIONS = {"1.36": "v1alpha2", "1.37": "v1beta1"}
PLACES = ",TopologyAwareWorkloadScheduling=true"
minors = pytest.mark.parametrize("minor", ["1.36", "1.37"])


def group(minor: str, least: int, name: str = "red", **spec: Any) -> Manifest:
    return {
        "apiVersion": f"scheduling.k8s.io/{VERSIONS[minor]}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}, **spec},
    }


def member(name: str, cpu: str = "2", spec: Any = None, **fields: Any) -> Manifest:
    return pod(
        name, cpu=cpu, spec={"schedulingGroup": {"podGroupName": "red"}, **(spec or {})}, **fields
    )


def explained(
    minor: str, *objects: Manifest, name: str = "podgroup/red", gates: str = ""
) -> GroupExplanation:
    state = cluster(*objects)
    run = simulation(state, kubernetes_version=minor, feature_gates=GATES[minor] + gates)
    answer = explain_group(run, present(find_group(run, name)))
    conforms(answer, "group_explanation")
    return answer


def blocker(answer: GroupExplanation) -> Blocker:
    return present(answer.blocked_by)


@minors
def test_a_group_that_fits_has_a_node_for_each_member(minor: str) -> None:
    answer = explained(minor, node("a", cpu="4"), group(minor, 2), member("p"), member("q"))
    assert (answer.placed, answer.pending, answer.blocked_by) == (2, 0, None)
    assert {member.pod: member.node for member in answer.members} == {
        "default/p": "a",
        "default/q": "a",
    }


@minors
def test_the_member_that_finds_no_node_beside_those_before_it_blocks(minor: str) -> None:
    """On an empty cluster, it would fit."""
    answer = explained(minor, node("a", cpu="3"), group(minor, 2), member("p"), member("q"))
    assert (answer.placed, answer.pending, answer.min_count) == (0, 2, 2)
    assert blocker(answer).pod == "default/q"
    diagnosis = present(blocker(answer).diagnosis)
    assert diagnosis.cause == "requests cpu 2; the only node it may use, a, has 1 free"
    assert "0/1 nodes are available: 1 Insufficient cpu." in blocker(answer).message
    assert answer.members[0].message.startswith("pod group is unschedulable")


def zones(minor: str, *members: Manifest, b: str = "2") -> GroupExplanation:
    nodes = [
        node(name, cpu=cpu, labels={"zone": name[0]})
        for name, cpu in (("a1", "2"), ("a2", "2"), ("b1", "4"), ("b2", b))
    ]
    topology: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}
    return explained(minor, *nodes, group(minor, 4, **topology), *members, gates=PLACES)


@minors
def test_the_domain_in_which_the_most_members_fit_says_what_blocks(minor: str) -> None:
    answer = zones(minor, *(member(f"p{i}") for i in range(4)))
    assert answer.topology_key == "zone"
    fitting = {each.domain: (each.nodes, each.fitting, each.blocked_by) for each in answer.domains}
    assert fitting == {"a": (2, 2, "default/p2"), "b": (2, 3, "default/p3")}
    assert (blocker(answer).domain, blocker(answer).pod) == ("b", "default/p3")
    cause = "requests cpu 2; none of the 2 nodes it may use has any free"
    assert present(blocker(answer).diagnosis).cause == cause
    assert not any(each.chosen or each.fits for each in answer.domains)


@minors
def test_the_domain_that_a_group_goes_to_is_chosen(minor: str) -> None:
    answer = zones(minor, *(member(f"p{i}") for i in range(4)), b="4")
    assert [(each.domain, each.fits, each.chosen) for each in answer.domains] == [
        ("a", False, False),
        ("b", True, True),
    ]
    text = shown(answer)
    assert text[0] == "Every pod of default/red has a node, in zone=b"
    assert any(line.startswith("b ") and "chosen" in line for line in text)


@minors
def test_a_gang_that_is_short_of_pods_says_how_many(minor: str) -> None:
    answer = explained(minor, node("a"), group(minor, 3), member("p"), member("q"))
    assert blocker(answer).pod == ""
    diagnosis = present(blocker(answer).diagnosis)
    assert diagnosis.cause == "2 of the 3 pods that the gang needs are there"
    assert all(each.gated for each in answer.members)


def test_a_member_that_is_held_back_blocks_its_group() -> None:
    gate = {"schedulingGates": [{"name": "quota"}]}
    answer = explained("1.37", node("a"), group("1.37", 1), member("p"), member("q", spec=gate))
    assert (blocker(answer).pod, blocker(answer).message) == (
        "default/q",
        "waiting for scheduling gates: [quota]",
    )


def test_a_group_without_an_object_blocks_its_pods() -> None:
    answer = explained("1.37", node("a"), member("p"))
    assert present(blocker(answer).diagnosis).cause == "there is no PodGroup default/red"


def test_members_of_another_priority_end_the_attempt() -> None:
    pods = member("p", priority=7), member("q", priority=7)
    answer = explained("1.37", node("a"), group("1.37", 2, priority=5), *pods)
    assert "should have the same priority" in blocker(answer).message
    assert answer.message == blocker(answer).message


def test_members_left_by_a_group_that_was_placed_block_nothing_else() -> None:
    """The attempt of those left says why."""
    answer = explained("1.37", node("a", cpu="5"), group("1.37", 1), member("p"), member("q", "4"))
    assert (answer.placed, answer.pending) == (1, 1)
    assert blocker(answer).pod == "default/q"
    assert shown(answer)[0].endswith("is placed without 1 of 2 pods")


def test_whom_a_group_evicts_is_said() -> None:
    answer = explained(
        "1.37", node("a", cpu="2"), pod("low", cpu="2", node="a"),
        group("1.37", 1, priority=5), member("p", priority=5),
    )  # fmt: skip
    assert (answer.evicts, answer.pending) == (("default/low",), 0)


class Gang(PermitPlugin, GroupsPods):
    """Two pods of an app at once."""

    name = "Gang"

    def group_of(self, pod: PodInfo) -> str:
        app = pod.labels.get("app", "")
        return f"{pod.namespace}/{app}" if app else ""

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        return (Status(Code.WAIT), 5.0) if self.group_of(pod) else (Status(Code.SUCCESS), 0.0)


class BrokenGang(Gang):
    def group_of(self, pod: PodInfo) -> str:
        raise RuntimeError("oops")


def of_plugin(plugin: type[Plugin], name: str) -> GroupExplanation:
    labels = {"app": "db"}
    pods = pod("p", cpu="2", labels=labels), pod("q", cpu="2", labels=labels)
    run = simulation(cluster(node("a", cpu="3"), *pods), plugins=[plugin])
    return explain_group(run, present(find_group(run, name)))


@pytest.mark.parametrize("name", ["podgroup/db", "db", "default/db"])
def test_a_group_of_a_plugin_is_blocked_by_the_member_that_fits_nowhere(name: str) -> None:
    """The other one waits for it until its time is over."""
    answer = of_plugin(Gang, name)
    assert (blocker(answer).pod, answer.min_count) == ("default/q", None)
    cause = "requests cpu 2; the only node it may use, a, has 1 free"
    assert present(blocker(answer).diagnosis).cause == cause


def test_a_plugin_that_fails_to_name_groups_has_none() -> None:
    with pytest.raises(UsageError, match="podgroup/db"):
        of_plugin(BrokenGang, "podgroup/db")


def test_a_group_is_named_where_no_pod_or_workload_has_its_name() -> None:
    state = cluster(group("1.37", 1), member("p"), pod("red"))
    run = simulation(state, kubernetes_version="1.37", feature_gates=GATES["1.37"])
    assert find_group(run, "red") is None
    assert present(find_group(run, "pg/red")).pods == ("default/p",)
    assert pods_of(run, "podgroup/red") == {"default/p"}
    with pytest.raises(UsageError, match=r'has the name "rd" \(PodGroups: red\)'):
        find_group(run, "podgroup/rd")


def test_groups_of_one_name_are_listed() -> None:
    blue = group("1.37", 1) | {"metadata": {"name": "red", "namespace": "blue"}}
    run = simulation(
        cluster(group("1.37", 1), blue), kubernetes_version="1.37", feature_gates=GATES["1.37"]
    )
    with pytest.raises(UsageError, match='have a PodGroup "red": default, blue; give -n'):
        find_group(run, "podgroup/red")
    assert present(find_group(run, "podgroup/red", "blue")).key == "blue/red"


def test_a_group_behind_a_gate_says_which() -> None:
    run = simulation(cluster(member("p")), kubernetes_version="1.37")
    with pytest.raises(UsageError, match="--feature-gates GenericWorkload=true"):
        find_group(run, "red")


def test_a_member_alone_is_told_which_nodes_are_in_other_domains() -> None:
    topology: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}
    nodes = [node(name, cpu="1", labels={"zone": name[0]}) for name in ("a1", "b1")]
    state = cluster(*nodes, group("1.37", 1, **topology), member("p"))
    run = simulation(state, kubernetes_version="1.37", feature_gates=GATES["1.37"] + PLACES)
    answer = explain(run, find(run, "p"))
    why = {each.node: each.rejections[0] for each in answer.nodes}
    assert why["a1"].reasons == ("Insufficient cpu",)
    assert why["b1"].plugin == "TopologyPlacementGenerator"
    cause = present(answer.diagnosis).cause
    assert cause == "requests cpu 2; the only node it may use, a1, has 1"


@minors
def test_a_member_that_was_not_tried_is_explained_on_all_nodes(minor: str) -> None:
    """In 1.37 none is tried once too few are left."""
    pods = [member(name, "3") for name in ("p", "q", "r")]
    state = cluster(node("a", cpu="4"), group(minor, 3), *pods)
    run = simulation(state, kubernetes_version=minor, feature_gates=GATES[minor])
    answer = explain(run, find(run, "r"))
    assert answer.node == ""
    assert "a" in {each.node for each in answer.nodes}
    run = simulation(state, kubernetes_version=minor, feature_gates=GATES[minor])
    assert not preempt(run, find(run, "r")).node


def test_a_member_of_a_group_that_is_not_valid_is_explained() -> None:
    pods = member("p", priority=7), member("q", priority=7)
    state = cluster(node("a", cpu="9"), group("1.37", 2, priority=5), *pods)
    run = simulation(state, kubernetes_version="1.37", feature_gates=GATES["1.37"])
    assert "should have the same priority" in explain(run, find(run, "p")).error


TREE = PLACES + ",CompositePodGroup=true"


def tree(*objects: Manifest, name: str) -> GroupExplanation:
    """A job of a leader and of workers, who are a gang of two in one rack."""
    job = group("1.37", 0, "job")
    job |= {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup"}
    job["spec"] = {"schedulingPolicy": {"gang": {"minGroupCount": 2}}}
    parent: Any = {"parentCompositePodGroupName": "job"}
    rack: Any = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
    groups = group("1.37", 1, "leader", **parent), group("1.37", 2, **parent, **rack)
    leads = {"schedulingGroup": {"podGroupName": "leader"}}
    leader = pod("leader", cpu="1", spec=leads)
    nodes = node("a", cpu="2", labels={"rack": "a"}), node("b", cpu="2", labels={"rack": "b"})
    return explained("1.37", *nodes, job, *groups, leader, *objects, name=name, gates=TREE)


@pytest.mark.parametrize("name", ["compositepodgroup/job", "cpg/job", "job", "podgroup/leader"])
def test_the_part_of_a_tree_that_does_not_fit_blocks_it(name: str) -> None:
    answer = tree(member("p"), member("q"), name=name)
    reason = blocker(answer)
    assert (reason.group, reason.pod, reason.domain) == ("default/red", "default/q", "b")
    assert [(each.group, each.depth, each.placed, bool(each.message)) for each in answer.parts] == [
        ("default/job", 0, 0, True),
        ("default/leader", 1, 0, False),
        ("default/red", 1, 0, True),
    ]
    assert "default/q of default/red blocks it in rack=b" in " ".join(shown(answer))


def test_the_member_that_blocks_is_named_beside_a_part_that_was_not_tried() -> None:
    """`leader` has one pod of three: no pod of it is tried, and `p` of the other part fits."""
    job = group("1.37", 0, "job")
    job |= {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup"}
    job["spec"] = {
        "schedulingPolicy": {"gang": {"minGroupCount": 1}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
    }
    parent: Any = {"parentCompositePodGroupName": "job"}
    groups = group("1.37", 3, "leader", **parent), group("1.37", 2, **parent)
    leader = pod("leader", cpu="1", spec={"schedulingGroup": {"podGroupName": "leader"}})
    nodes = node("a", cpu="2", labels={"rack": "a"}), node("b", cpu="2", labels={"rack": "b"})
    members = member("p", cpu="1"), member("q", cpu="8")
    answer = explained("1.37", *nodes, job, *groups, leader, *members, name="job", gates=TREE)
    blocked = [(each.domain, each.blocked_by, each.fitting) for each in answer.domains]
    assert blocked == [("a", "default/q", 1), ("b", "default/q", 1)]


def test_a_tree_that_fits_has_a_node_for_each_member() -> None:
    answer = tree(member("p", cpu="1"), member("q", cpu="1"), name="compositepodgroup/job")
    assert (answer.composite, answer.min_count, answer.placed) == (True, 2, 3)
    assert "composite pod group of 3 pods, 2 groups at once" in shown(answer)


def test_a_part_with_too_few_pods_holds_its_tree_back() -> None:
    reason = blocker(tree(member("p"), name="podgroup/leader"))
    assert reason.group == "default/red"
    assert present(reason.diagnosis).cause == (
        "1 of the 2 pods that PodGroup default/red needs are there"
    )


def test_a_tree_without_its_root_waits_for_it() -> None:
    red = group("1.37", 1, parentCompositePodGroupName="job")
    answer = explained("1.37", node("a"), red, member("p"), gates=TREE)
    assert present(blocker(answer).diagnosis).cause == "there is no CompositePodGroup default/job"


def test_a_composite_group_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match='no CompositePodGroup of the state has the name "x"'):
        tree(member("p"), name="compositepodgroup/x")
