"""What would give the pods of a group a node: all of them are asked about together, and the answer
names the pod, and the topology domain, that blocks."""

from typing import Any

import pytest

from ksched_cli.analysis.fix import Fixer, Remedies, RemedySearch, fix
from ksched_cli.analysis.named_objects import pods_of
from ksched_cli.errors import UsageError
from ksched_cli.testing import cluster, node, pod, simulation
from tests.devices import GPU, claim, device_class, thing

Manifest = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
IN_ZONE: Manifest = {"schedulingConstraints": {"topology": [{"key": ZONE}]}}
MINORS = {
    "1.36": "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true",
    "1.37": "GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
}


def gang(least: int, name: str = "red", version: str = "1.37", **spec: Any) -> Manifest:
    api = {"1.36": "v1alpha2", "1.37": "v1beta1"}[version]
    return {
        "apiVersion": f"scheduling.k8s.io/{api}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}, **spec},
    }


def members(*names: str, group: str = "red", cpu: str = "2", **fields: Any) -> list[Manifest]:
    spec = {"schedulingGroup": {"podGroupName": group}}
    return [pod(name, cpu=cpu, spec=spec, **fields) for name in names]


def remedies(*objects: Manifest, name: str, version: str = "1.37", **options: Any) -> Remedies:
    state = cluster(*objects)

    def opened(changed: Any) -> Any:
        return simulation(changed, kubernetes_version=version, feature_gates=MINORS[version])

    fixer = Fixer(opened, state, RemedySearch(**options))
    return fix(fixer, name, pods_of(opened(state), name))


def changes(answer: Remedies) -> list[tuple[str, ...]]:
    return [remedy.changes for remedy in answer.remedies]


@pytest.mark.parametrize("version", MINORS)
@pytest.mark.parametrize("name", ["w0", "podgroup/red", "workload/train"])
def test_all_pods_of_a_gang_are_asked_about_and_the_one_that_blocks_is_named(
    name: str, version: str
) -> None:
    references: dict[str, Manifest] = {
        "1.36": {"podGroupTemplateRef": {"workload": {"workloadName": "train"}}},
        "1.37": {"workloadRef": {"workloadName": "train"}},
    }
    nodes = (node("a", cpu=2), node("b", cpu=2))
    group = gang(3, version=version, **references[version])
    answer = remedies(*nodes, group, *members("w0", "w1", "w2"), name=name, version=version)
    assert answer.pods == ("default/w0", "default/w1", "default/w2")
    assert (answer.group, answer.blocked_by) == ("default/red", "default/w2")
    assert ("add-nodes more --like a --count 1",) in changes(answer)


def test_a_patch_is_one_of_all_pods_that_are_alike() -> None:
    nodes = (node("a", cpu=2), node("b", cpu=2, taints=["gpu:NoSchedule"]))
    answer = remedies(*nodes, gang(2), *members("w0", "w1"), name="w0")
    tolerating = answer.remedies[0]
    assert tolerating.kinds == ("toleration",)
    assert [each["metadata"]["name"] for each in tolerating.patches] == ["w0", "w1"]
    assert [line.split()[1] for line in tolerating.changes] == ["pod/w0", "pod/w1"]


def test_pods_of_another_shape_are_left_as_they_are() -> None:
    nodes = (node("a", cpu=2), node("b", cpu=4, taints=["gpu:NoSchedule"]))
    pods = (*members("driver", cpu="2"), *members("w0", "w1", cpu="1500m"))
    answer = remedies(*nodes, gang(3), *pods, name="podgroup/red")
    tolerating = answer.remedies[0]
    assert answer.blocked_by == "default/w0"
    assert [line.split()[1] for line in tolerating.changes] == ["pod/w0", "pod/w1"]


def test_as_many_nodes_are_changed_as_the_gang_needs() -> None:
    nodes = [node("a", cpu=2), *(node(name, cpu=2, unschedulable=True) for name in "bc")]
    never = frozenset({"node"})
    answer = remedies(*nodes, gang(3), *members("w0", "w1", "w2"), name="w0", never=never)
    assert ("uncordon b", "uncordon c") in changes(answer)


@pytest.mark.parametrize("version", MINORS)
def test_the_domain_that_blocks_is_the_one_where_most_pods_fit(version: str) -> None:
    nodes = (
        node("a", cpu=2, labels={ZONE: "a"}),
        *(node(name, cpu=2, labels={ZONE: "b"}) for name in ("b0", "b1")),
        node("b2", cpu=2, labels={ZONE: "b"}, unschedulable=True),
    )
    group = gang(3, version=version, **IN_ZONE)
    answer = remedies(*nodes, group, *members("w0", "w1", "w2"), name="w0", version=version)
    assert (answer.domain, answer.blocked_by) == (f"{ZONE}=b", "default/w2")
    assert answer.cause == "b2 would take it but for the cordon"
    assert changes(answer)[0] == ("uncordon b2",)
    assert ("add-nodes more --like b0 --count 1",) in changes(answer)


def test_reasons_of_other_domains_are_none_of_the_conflict() -> None:
    nodes = (node("a", cpu=1, labels={ZONE: "a"}), node("b", cpu=4, labels={ZONE: "b"}))
    never = frozenset({"node", "request"})
    group = gang(2, **IN_ZONE)
    answer = remedies(*nodes, group, *members("w0", "w1", cpu="3"), name="w0", never=never)
    assert answer.domain == f"{ZONE}=b"
    assert [(each.reason, each.nodes) for each in answer.conflict] == [("Insufficient cpu", 1)]


def test_a_gang_that_lacks_pods_starts_with_those_that_there_are() -> None:
    answer = remedies(node("a", cpu=4), gang(3), *members("w0", "w1"), name="w0")
    assert answer.remedies[0].text == "lower minCount of PodGroup default/red from 3 to 2"
    assert answer.remedies[0].commands[0].endswith("| kubectl apply -f -")


def test_the_minimum_of_a_gang_stays_where_its_api_does_not_let_it_change() -> None:
    group = gang(3, version="1.36")
    answer = remedies(node("a", cpu=4), group, *members("w0"), name="w0", version="1.36")
    assert not answer.remedies


def test_a_group_that_is_not_there_is_created() -> None:
    answer = remedies(node("a", cpu=4), *members("w0", "w1"), name="w0")
    assert answer.pods == ("default/w0", "default/w1")
    assert answer.remedies[0].text == "create PodGroup default/red, a gang of 2"


def test_the_pod_that_holds_its_group_back_is_named() -> None:
    (gated,) = members("w0", gates=["quota"])
    answer = remedies(node("a", cpu=4), gang(2), *members("a"), gated, name="podgroup/red")
    assert answer.blocked_by == "default/w0"
    assert answer.remedies[0].text == "remove the scheduling gate quota"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("podgroup/blue", 'no PodGroup of the state has the name "blue"'),
        ("workload/x", 'no PodGroup of the state was made for Workload "x"'),
    ],
)
def test_an_unknown_group_is_an_error(name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        remedies(node("a"), gang(1), *members("w0"), name=name)


def test_without_the_gate_there_are_no_groups() -> None:
    with pytest.raises(UsageError, match="GenericWorkload=true"):
        pods_of(simulation(cluster(node("a"), gang(1), *members("w0"))), "podgroup/red")


# -- a placement that kube-scheduler does not find ------------------------------------------------

SSD = {"disk": "ssd"}


def controlled(manifest: Manifest) -> Manifest:
    name = manifest["metadata"]["name"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


def placement(answer: Remedies) -> list[tuple[str, str]]:
    return [(each.pod.partition("/")[2], each.node) for each in answer.placement]


@pytest.mark.parametrize("version", MINORS)
def test_a_node_that_an_earlier_pod_takes_from_a_later_one_is_left_to_it(version: str) -> None:
    hosts = ({"kubernetes.io/hostname": name} for name in "ab")
    nodes = (node("a", cpu=2, labels={**next(hosts), **SSD}), node("b", cpu=2, labels=next(hosts)))
    pods = [*members("any"), *members("picky", node_selector=SSD)]
    group = gang(2, version=version)
    answer = remedies(*nodes, group, *pods, name="any", version=version)
    assert placement(answer) == [("picky", "a"), ("any", "b")]
    assert answer.remedies[0].text == "select node b for default/any"


def test_a_pod_that_comes_first_is_made_anew_so_that_it_comes_last() -> None:
    nodes = (node("a", cpu=2, labels=SSD), node("b", cpu=2))
    pods = [*members("any"), *members("picky", node_selector=SSD)]
    answer = remedies(*nodes, gang(2), *map(controlled, pods), name="any")
    assert (
        answer.remedies[0].text == "create default/any anew, so that it comes after default/picky"
    )
    assert answer.remedies[0].changes == ("delete pods any -n default",)


def test_a_placement_is_within_one_domain() -> None:
    """Each pod has a node that it may use in another zone alone."""
    nodes = (
        node("a0", cpu=2, labels={ZONE: "a", **SSD}),
        node("b0", cpu=2, labels={ZONE: "b", **SSD}),
        node("b1", cpu=2, labels={ZONE: "b"}),
    )
    pods = [*members("any"), *members("picky", node_selector=SSD)]
    answer = remedies(*nodes, gang(2, **IN_ZONE), *pods, name="any")
    assert placement(answer) == [("picky", "b0"), ("any", "b1")]
    alone = remedies(*nodes[:2], gang(2, **IN_ZONE), *pods, name="any")
    assert not alone.placement


def test_where_there_is_none_it_is_proven() -> None:
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    nodes = [node(name, cpu=3) for name in "abc"]
    names = ("w0", "w1", "w2", "w3")
    never = frozenset({"node", "request"})
    answer = remedies(*nodes, gang(4), *members(*names), name="w0", never=never)
    assert not answer.placement
    assert answer.no_moves is not None
    assert answer.no_moves.outcome == "none exists"
    assert answer.no_moves.because == (
        "cpu: no arrangement of the pods on the 3 nodes leaves enough on one of them",
    )


def counted(name: str, size: str, memory: int) -> Manifest:
    used = [{"counterSet": "g", "counters": {"mem": {"value": str(memory)}}}]
    attributes = {"size": {"string": size}}
    return {"name": name, "attributes": attributes, "consumesCounters": used}


def partitions() -> list[Manifest]:
    """A device as a whole or in halves, the whole first."""
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": GPU, "nodeName": "n1", "pool": pool}
    counters = [{"name": "g", "counters": {"mem": {"value": "2"}}}]
    halves = [counted(name, "half", 1) for name in ("half-a", "half-b")]
    return [
        node("n1"),
        device_class("gpu", [f"device.driver == '{GPU}'"]),
        thing("ResourceSlice", "s0", {**spec, "sharedCounters": counters}),
        thing("ResourceSlice", "s1", {**spec, "devices": [counted("whole", "whole", 2), *halves]}),
    ]


def with_claims(given: Manifest) -> list[Manifest]:
    pods = members("p0", "p1", cpu="1")
    for each in pods:
        name = f"{each['metadata']['name']}-c"
        each["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": name}]
    return [*pods, *(claim(f"p{index}-c", given) for index in range(2))]


def selected(size: str) -> Manifest:
    return {"class": "gpu", "selectors": [f"device.attributes['{GPU}'].size == '{size}'"]}


def test_an_alternative_of_a_claim_that_leaves_devices_to_others_is_listed_first() -> None:
    given = {"r": {"firstAvailable": [selected("whole"), selected("half")]}}
    answer = remedies(*partitions(), gang(2), *with_claims(given), name="p0")
    assert [each.devices for each in answer.placement] == [
        (f"r/x1={GPU}/n1/half-a",),
        (f"r/x1={GPU}/n1/half-b",),
    ]
    best = answer.remedies[0]
    assert best.text == "list x1 before x0 in request r of claim default/p0-c"
    (line,) = best.changes
    assert '"op": "move"' in line


def test_devices_that_consume_less_are_listed_first() -> None:
    answer = remedies(*partitions(), gang(2), *with_claims({"r": "gpu"}), name="p0")
    assert [each.devices for each in answer.placement] == [
        (f"r={GPU}/n1/half-a",),
        (f"r={GPU}/n1/half-b",),
    ]
    assert answer.remedies[0].text == (
        "have its driver list the devices of ResourceSlice s1 as half-a, half-b, whole"
    )
