"""What would give a pod a node: each kind of change, verified; the smallest; or why nothing."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ksched_cli.analysis.diagnosis import pending_report
from ksched_cli.analysis.fix import GONE_COST, Fixer, Remedies, RemedySearch, fix, fix_pending
from ksched_cli.analysis.proposals import COSTS
from ksched_cli.api import CycleState, FilterPlugin, NodeInfo, PodInfo, Proposal, Proposes, Status
from ksched_cli.errors import UsageError
from ksched_cli.framework.interface import Plugin
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.testing import cluster, node, pod, simulate, simulation

Manifest = dict[str, Any]
EXAMPLES = Path(__file__).parents[2] / "examples"
ZONE = "topology.kubernetes.io/zone"


def fixer(
    *objects: Manifest, plugins: Sequence[type[Plugin]] = (), search: RemedySearch | None = None
) -> Fixer:
    state = cluster(*objects)
    return Fixer(
        lambda changed: simulation(changed, plugins=plugins), state, search or RemedySearch()
    )


def remedies(*objects: Manifest, name: str = "default/p", **options: Any) -> Remedies:
    """The remedies of the pod p, each run again: the pod has the node that the remedy says."""
    search = RemedySearch(**options) if options else None
    search_of = fixer(*objects, search=search)
    answer = fix(search_of, name, frozenset({name}))
    for remedy in answer.remedies:
        state, _ = apply_changes(search_of.state, [parse_change(line) for line in remedy.changes])
        assert simulate(state).placements[name] == remedy.node
    return answer


def kinds(answer: Remedies) -> list[tuple[str, ...]]:
    return [remedy.kinds for remedy in answer.remedies]


def of_kind(answer: Remedies, *kind: str) -> Any:
    (remedy,) = [each for each in answer.remedies if each.kinds == kind]
    return remedy


def owned(manifest: Manifest, kind: str, name: str) -> Manifest:
    reference = {"kind": kind, "name": name, "uid": name, "controller": True, "apiVersion": "v1"}
    manifest["metadata"]["ownerReferences"] = [reference]
    return manifest


def deployment(name: str, replicas: int, **fields: Any) -> Manifest:
    template = pod("x", labels={"app": name}, **fields)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": template["spec"]},
        },
    }


def node_affinity(key: str, *values: str) -> Manifest:
    """The required affinity to nodes with one of the values of a label."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [*values]}]}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


# -- kinds of changes -----------------------------------------------------------------------------


def test_a_pod_that_is_placed_needs_nothing() -> None:
    answer = remedies(node("a"), pod("p"))
    assert (answer.node, answer.pods, answer.remedies, answer.is_yes) == ("a", (), (), True)


def test_a_cordoned_node_is_uncordoned() -> None:
    answer = remedies(node("a", unschedulable=True), pod("p"))
    assert answer.remedies[0].changes == ("uncordon a",)
    assert answer.remedies[0].commands == ("kubectl uncordon a",)
    assert answer.cause == "a would take it but for the cordon"


def test_a_taint_is_tolerated_or_removed() -> None:
    answer = remedies(node("a", taints=["gpu=yes:NoSchedule"]), pod("p"))
    assert of_kind(answer, "untaint").changes == ("taint nodes a gpu:NoSchedule-",)
    (patch,) = of_kind(answer, "toleration").patches
    assert patch["spec"]["tolerations"] == [
        {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
    ]


@pytest.mark.parametrize("of_container", ["100m", "3"])
def test_what_a_pod_requests_as_a_whole_leaves_room_for_its_overhead(of_container: str) -> None:
    whole = {"resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "250m"}}
    waiting = pod("p", cpu=of_container, spec=whole)
    remedy = of_kind(remedies(node("a", cpu=2), waiting), "request")
    assert remedy.text == "request cpu 2 instead of 3.25 (resources of the pod), which a has free"
    (patch,) = remedy.patches
    assert patch["spec"]["resources"] == {"requests": {"cpu": "1750m"}}
    # The API server refuses a pod whose containers request more.
    containers = patch["spec"].get("containers", [])
    assert [each["resources"]["requests"]["cpu"] for each in containers] == (
        ["1750m"] if of_container == "3" else []
    )


def test_a_node_that_is_not_ready_is_brought_back_not_tolerated() -> None:
    answer = remedies(node("a", taints=["node.kubernetes.io/not-ready:NoSchedule"]), pod("p"))
    assert answer.remedies[0].text == (
        "get a ready: the node lifecycle controller keeps the taint "
        "node.kubernetes.io/not-ready:NoSchedule until the kubelet reports that it is ready: "
        "see kubectl describe node a"
    )
    assert answer.remedies[0].commands == ("",)
    assert ("toleration",) not in kinds(answer)


def test_a_label_is_set_or_not_selected() -> None:
    answer = remedies(node("a"), pod("p", node_selector={"disk": "ssd"}))
    assert of_kind(answer, "label").changes == ("label nodes a disk=ssd",)
    assert of_kind(answer, "selector").text == "do not select disk=ssd"


def test_a_zone_is_selected_instead_never_relabelled() -> None:
    answer = remedies(node("a", labels={ZONE: "b"}), pod("p", node_selector={ZONE: "x"}))
    assert of_kind(answer, "selector").text == f"select {ZONE}=b instead of x"
    assert not {("label",), ("relabel",)} & {*kinds(answer)}


def test_required_affinity_allows_the_value_that_the_node_has() -> None:
    terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    waiting = pod("p", affinity={"nodeAffinity": required})
    answer = remedies(node("a", labels={"disk": "hdd"}), waiting)
    assert of_kind(answer, "selector").text == "allow disk=hdd besides ssd"
    assert of_kind(answer, "relabel").changes == ("label nodes a disk=ssd --overwrite",)


@pytest.mark.parametrize(("amount", "fits"), [(1500, True), (1501, False)])
def test_a_request_is_lowered_to_exactly_what_is_free(amount: int, fits: bool) -> None:
    objects = (node("a", cpu=2), pod("q", cpu="500m", node="a", priority=9), pod("p", cpu=3))
    remedy = of_kind(remedies(*objects), "request")
    assert remedy.text == "request cpu 1.5 instead of 3, which a has free"
    assert remedy.cost.requests == 0.5
    line = remedy.changes[0].replace("1500m", f"{amount}m")
    state, _ = apply_changes(cluster(*objects), [parse_change(line)])
    assert ("default/p" in simulate(state).placements) is fits


def test_a_request_is_lowered_so_far_that_nobody_is_evicted_for_it() -> None:
    objects = (node("a", cpu=4), pod("q", cpu=3, node="a"), pod("p", cpu=5, priority=5))
    remedy = of_kind(remedies(*objects), "request")
    assert remedy.text == "request cpu 1 instead of 5, which a has free"
    assert remedy.cost.evictions == 0


def test_the_largest_containers_give_up_what_a_pod_requests_too_much() -> None:
    waiting = pod("p", cpu="2500m")
    waiting["spec"]["containers"].append(
        {"name": "side", "resources": {"requests": {"cpu": "500m"}}}
    )
    remedy = of_kind(remedies(node("a", cpu=1), waiting), "request")
    (patch,) = remedy.patches
    lowered = {each["name"]: each["resources"] for each in patch["spec"]["containers"]}
    assert lowered == {"c": {"requests": {"cpu": "500m"}}}


def test_a_request_of_an_extended_resource_is_lowered_with_its_limit() -> None:
    objects = (node("a", resources={"x.com/gpu": 1}), pod("p", requests={"x.com/gpu": 2}))
    (patch,) = of_kind(remedies(*objects), "request").patches
    (container,) = patch["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"x.com/gpu": "1"},
        "limits": {"x.com/gpu": "1"},
    }


def test_pods_are_evicted_that_have_another_node() -> None:
    small = owned(pod("small", cpu=1, node="a"), "Job", "j")
    objects = (node("a", cpu=4), node("b", cpu=1), small, pod("p", cpu=4))
    remedy = of_kind(remedies(*objects, never=frozenset({"request"})), "evict")
    assert remedy.changes == ("delete pods small -n default",)
    assert remedy.also.moved == {"default/small": "b"}
    assert (remedy.cost.evictions, remedy.cost.disruption) == (1, 1)


def test_the_fewest_pods_are_evicted() -> None:
    running = [pod(f"q{size}", cpu=f"{size}m", node="a") for size in (100, 200, 300, 400)]
    objects = (node("a", cpu=1), *running, pod("p", cpu="350m"))
    assert of_kind(remedies(*objects), "evict").changes == ("delete pods q400 -n default",)


def test_a_pod_that_nothing_makes_anew_is_said_to_be_gone() -> None:
    objects = (
        node("a", cpu=1, labels={"pool": "x"}),
        node("b", cpu=1),
        pod("p", cpu=1, node_selector={"pool": "x"}),
    )
    running = pod("q", cpu=1, node="a")
    gone = of_kind(remedies(*objects, running), "evict")
    moved = of_kind(remedies(*objects, owned(running, "Job", "j")), "evict")
    assert (gone.also.gone, moved.also.gone) == (("default/q",), ())
    assert gone.cost.points == moved.cost.points + GONE_COST


BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "q"}}},
    "status": {"disruptionsAllowed": 0},
}


def test_disruption_budgets_are_kept() -> None:
    running = owned(pod("q", cpu=1, node="a", labels={"app": "q"}), "Job", "j")
    objects = (node("a", cpu=1), running, pod("p", cpu=1))
    assert ("evict",) in kinds(remedies(*objects))
    assert ("evict",) not in kinds(remedies(*objects, BUDGET))


def test_disruption_budgets_are_kept_where_the_scheduler_would_evict() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 10,
            "metadata": {"name": "high"}}  # fmt: skip
    running = pod("q", cpu=1, node="a", labels={"app": "q"})
    objects = (node("a", cpu=1), running, high, pod("p", cpu=1))
    assert ("priority",) in kinds(remedies(*objects))
    assert ("priority",) not in kinds(remedies(*objects, BUDGET))


def test_pods_of_a_higher_priority_and_of_daemon_sets_are_not_evicted() -> None:
    daemon = owned(pod("d", cpu="500m", node="a"), "DaemonSet", "d")
    objects = (node("a", cpu=1), daemon, pod("q", cpu="500m", node="a", priority=5))
    assert ("evict",) not in kinds(remedies(*objects, pod("p", cpu=1)))


def test_a_neighbour_is_scaled_down() -> None:
    waiting = pod("p", cpu=3, metadata={"creationTimestamp": "2030-01-01T00:00:00Z"})
    web = deployment("web", 2, cpu=2)
    running = [
        owned(
            pod(f"web-1-{i}", cpu=2, node="a", labels={"app": "web", "pod-template-hash": "1"}),
            "ReplicaSet",
            "web-1",
        )
        for i in range(2)
    ]
    never = frozenset({"request", "evict", "node"})
    answer = remedies(node("a", cpu=5), web, *running, waiting, never=never)
    assert of_kind(answer, "scale").changes == ("scale deployment/web -n default --replicas=1",)


def test_a_node_is_added_of_the_size_that_is_needed() -> None:
    answer = remedies(node("a", cpu=2), pod("p", cpu=3))
    assert of_kind(answer, "node").changes == ("add-nodes more --like a --count 1 --cpu 3",)
    assert of_kind(answer, "node").cost.nodes == 1


def test_many_nodes_are_no_more_than_are_needed() -> None:
    """Eight would do, and four would not."""
    waiting = [pod(f"p{number}", cpu=1) for number in range(12)]
    search = RemedySearch(never=frozenset({"request"}))
    answer = fix(
        fixer(node("a", cpu=2, unschedulable=True), *waiting, search=search),
        "p",
        frozenset(f"default/{each['metadata']['name']}" for each in waiting),
    )
    assert of_kind(answer, "node").cost.nodes == 6


def test_a_priority_class_lets_it_evict() -> None:
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value,
         "metadata": {"name": name}} for name, value in (("high", 10), ("low", -5))
    ]  # fmt: skip
    objects = (node("a", cpu=1), pod("q", cpu=1, node="a", priority=1), *classes)
    answer = remedies(*objects, pod("p", cpu=1))
    assert of_kind(answer, "priority").text == "give it the priority class high (10)"
    assert of_kind(answer, "priority").also.pending_again == ("default/q",)


def test_a_gate_is_removed() -> None:
    answer = remedies(node("a"), pod("p", gates=["quota"]))
    assert answer.remedies[0].text == "remove the scheduling gate quota"
    assert answer.remedies[0].commands[0].startswith("kubectl patch pod/p")


def spread(skew: int, **fields: Any) -> Manifest:
    return {
        "maxSkew": skew,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **fields,
    }


def test_a_spread_constraint_is_loosened_by_as_little_as_helps() -> None:
    running = [pod(f"q{i}", labels={"app": "web"}, node="a") for i in range(3)]
    nodes = (node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, unschedulable=True))
    waiting = pod("p", labels={"app": "web"}, spec={"topologySpreadConstraints": [spread(1)]})
    answer = remedies(*nodes, *running, waiting)
    assert of_kind(answer, "spread").text == "raise the maxSkew over zone from 1 to 4"


def test_pods_of_one_workload_that_spread_otherwise_are_loosened_by_its_template() -> None:
    plain, spreading = (
        owned(pod(name, cpu=1, labels={"app": "web"}, spec=spec), "StatefulSet", "web")
        for name, spec in (("p0", {}), ("p1", {"topologySpreadConstraints": [spread(1)]}))
    )
    web = {**deployment("web", 2, cpu=1), "kind": "StatefulSet"}
    search_of = fixer(node("a", cpu=2), web, plain, spreading)
    answer = fix(search_of, "statefulset/web", frozenset({"default/p0", "default/p1"}))
    text = of_kind(answer, "spread").text
    assert text.startswith("let the spread over zone be ScheduleAnyway, and delete its 2 waiting")


def test_a_domain_without_the_label_makes_the_spread_soft() -> None:
    waiting = pod("p", labels={"app": "web"}, spec={"topologySpreadConstraints": [spread(1)]})
    answer = remedies(node("a"), waiting)
    assert of_kind(answer, "spread").text == "let the spread over zone be ScheduleAnyway"


def anti(key: str, app: str) -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_anti_affinity_is_lifted_or_the_pod_that_is_avoided_evicted() -> None:
    host = "kubernetes.io/hostname"
    labelled = node("a", labels={host: "a"})
    running = pod("q", labels={"app": "web"}, node="a")
    answer = remedies(labelled, running, pod("p", affinity=anti(host, "web")))
    assert of_kind(answer, "affinity").text == f"do not require its anti-affinity by {host}"
    assert of_kind(answer, "evict").changes == ("delete pods q -n default",)


def test_a_pod_that_avoids_it_is_evicted() -> None:
    host = "kubernetes.io/hostname"
    running = pod("q", affinity=anti(host, "web"), node="a")
    labelled = node("a", labels={host: "a"})
    answer = remedies(labelled, running, pod("p", labels={"app": "web"}))
    assert {*kinds(answer)} == {("evict",), ("node",)}


def test_affinity_to_pods_that_are_not_there_is_lifted() -> None:
    near = {"podAffinity": anti("kubernetes.io/hostname", "db")["podAntiAffinity"]}
    answer = remedies(node("a"), pod("p", affinity=near))
    assert kinds(answer) == [("affinity",)]


def test_the_pod_that_waits_in_the_end_is_looked_at_not_one_that_only_waited_for_others() -> None:
    near = {"podAffinity": anti("zone", "late")["podAntiAffinity"]}
    waiting = pod("p0", affinity=near), pod("p1", cpu=3), pod("p2", labels={"app": "late"})
    search_of = fixer(node("a", cpu=2, labels={"zone": "x"}), *waiting)
    answer = fix(search_of, "default", frozenset({"default/p0", "default/p1"}))
    assert (answer.pods, answer.blocked_by) == (("default/p1",), "default/p1")
    assert ("request",) in kinds(answer)
    assert ("affinity",) not in kinds(answer)


def test_another_host_port_is_taken() -> None:
    answer = remedies(node("a"), pod("q", ports=[80, 81], node="a"), pod("p", ports=[80]))
    assert of_kind(answer, "port").text == "use the host port 82 instead of 80"
    assert of_kind(answer, "evict").also.gone == ("default/q",)


CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "disk.csi",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def with_claim(name: str) -> Manifest:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
    return pod("p", spec={"volumes": [volume]})


def test_a_missing_claim_is_created() -> None:
    answer = remedies(node("a"), CLASS, with_claim("data"))
    assert of_kind(answer, "object").text == (
        "create PersistentVolumeClaim default/data of class fast"
    )
    assert of_kind(answer, "object").commands[0].endswith("| kubectl apply -f -")


def test_a_claim_of_a_missing_class_gets_the_class_or_another() -> None:
    answer = remedies(node("a"), CLASS, claim("data", "gone"), with_claim("data"))
    assert of_kind(answer, "object").text == "create StorageClass gone, like fast"
    assert of_kind(answer, "class").text == "create claim default/data with class fast"


def of_class(name: str, **fields: Any) -> Manifest:
    return {**CLASS, "metadata": {"name": name}, **fields}


def claim(name: str, storage_class: str, modes: str = "ReadWriteOnce", **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": [modes],
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
    }


def test_a_claim_gets_a_class_that_makes_volumes_where_the_pod_may_go() -> None:
    zones = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    objects = (
        node("a", labels={ZONE: "a"}),
        of_class("in-b", allowedTopologies=zones),
        CLASS,
        claim("data", "in-b"),
        with_claim("data"),
    )
    assert of_kind(remedies(*objects), "class").text == "create claim default/data with class fast"


def test_the_data_of_a_bound_volume_is_not_left_behind() -> None:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            "claimRef": {"name": "data", "namespace": "default"},
        },
    }
    bound = claim("data", "fast", volumeName="v")
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    answer = remedies(node("a", labels={ZONE: "a"}), CLASS, volume, bound, with_claim("data"))
    assert ("class",) not in kinds(answer)


def test_the_user_of_a_claim_for_a_single_pod_is_evicted() -> None:
    user = with_claim("data")
    user["metadata"]["name"] = "user"
    user["spec"]["nodeName"] = "a"
    bound = claim("data", "fast", "ReadWriteOncePod")
    answer = remedies(node("a"), node("b"), CLASS, bound, user, with_claim("data"))
    assert of_kind(answer, "evict").changes == ("delete pods user -n default",)
    assert of_kind(answer, "evict").text == "evict default/user, which has its volume"


def test_a_pod_with_volumes_is_evicted_where_a_node_has_too_many() -> None:
    limits = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "a"},
        "spec": {"drivers": [{"name": "disk.csi", "nodeID": "a", "allocatable": {"count": 1}}]},
    }
    user = with_claim("used")
    user["metadata"]["name"] = "user"
    user["spec"]["nodeName"] = "a"
    claims = claim("used", "fast"), claim("data", "fast")
    answer = remedies(node("a"), CLASS, limits, *claims, user, with_claim("data"))
    assert of_kind(answer, "evict").text == "evict default/user from a, with their volumes"


def device(kind: str, name: str, **spec: Any) -> Manifest:
    namespaced = {"namespace": "default"} if kind == "ResourceClaim" else {}
    metadata = {"name": name, **namespaced}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


GPU = 'device.driver == "gpu.com"'
DEVICES = (
    node("a"),
    device("DeviceClass", "gpu", selectors=[{"cel": {"expression": GPU}}]),
    device(
        "ResourceSlice",
        "slice",
        driver="gpu.com",
        nodeName="a",
        pool={"name": "a", "generation": 1, "resourceSliceCount": 1},
        devices=[{"name": "d0", "attributes": {"model": {"string": "t4"}}}],
    ),
)
WITH_DEVICE = pod("p", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "cards"}]})


def cards(device_class: str, **fields: Any) -> Manifest:
    request = {"name": "card", "exactly": {"deviceClassName": device_class, **fields}}
    return device("ResourceClaim", "cards", devices={"requests": [request]})


def test_a_missing_claim_for_devices_is_created() -> None:
    answer = remedies(*DEVICES, WITH_DEVICE)
    text = "create ResourceClaim default/cards, of one device of class gpu"
    assert of_kind(answer, "object").text == text


def test_a_missing_class_of_devices_is_created() -> None:
    answer = remedies(*DEVICES, cards("big-gpu"), WITH_DEVICE)
    text = "create DeviceClass big-gpu, of the devices of gpu.com"
    assert of_kind(answer, "object").text == text


def test_a_request_that_selects_no_device_loses_its_selectors() -> None:
    big = {"cel": {"expression": 'device.attributes["gpu.com"].model == "a100"'}}
    answer = remedies(*DEVICES, cards("gpu", selectors=[big]), WITH_DEVICE)
    assert of_kind(answer, "claim").text == "do not select devices in card of claim default/cards"


def test_a_claim_of_a_template_is_changed_for_its_pod_alone() -> None:
    big = {"cel": {"expression": 'device.attributes["gpu.com"].model == "a100"'}}
    claim_of_pod = owned(cards("gpu", selectors=[big]), "Pod", "default/p")
    uses = {"name": "gpu", "resourceClaimTemplateName": "cards"}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "cards"}]}
    waiting = pod("p", spec={"resourceClaims": [uses]}, status=status)
    assert of_kind(remedies(*DEVICES, claim_of_pod, waiting), "claim").text == (
        "do not select devices in card of claim default/cards"
        " (later pods: in its ResourceClaimTemplate)"
    )


def test_fewer_devices_of_a_claim_are_requested() -> None:
    run = Run(states=(str(EXAMPLES / "dra" / "cluster.yaml"),))
    opener = Opener((run,))
    search_of = Fixer(
        lambda changed: opener.simulation(run, state=changed), opener.state(run), RemedySearch()
    )
    answer = fix(search_of, "default/triple", frozenset({"default/triple"}))
    (remedy,) = answer.remedies
    assert remedy.text == "request only 1 device in cards of claim default/three"
    assert remedy.commands[0].startswith("kubectl get resourceclaim three -n default -o yaml |")


# -- the search -----------------------------------------------------------------------------------


def test_two_changes_are_made_where_one_is_not_enough() -> None:
    answer = remedies(
        node("a", unschedulable=True, taints=["gpu:NoSchedule"]),
        pod("p"),
        never=frozenset({"node"}),
    )
    assert kinds(answer) == [("toleration", "uncordon"), ("uncordon", "untaint")]


def test_what_is_cheaper_comes_first_and_preferred_kinds_cost_a_tenth() -> None:
    objects = (node("a", taints=["gpu:NoSchedule"]), pod("p"))
    assert kinds(remedies(*objects))[:2] == [("toleration",), ("untaint",)]
    preferred = remedies(*objects, prefer=frozenset({"untaint"}))
    assert kinds(preferred)[:2] == [("untaint",), ("toleration",)]


def test_kinds_that_are_never_wanted_are_said_to_be_left_out() -> None:
    answer = remedies(node("a", cpu=1), pod("p", cpu=2), never=frozenset({"node", "request"}))
    assert answer.remedies == ()
    assert answer.not_tried == (
        "1 change: of kind request (--never)",
        "4 changes: of kind node (--never)",
    )


def test_the_search_ends_after_so_many_runs_and_says_so() -> None:
    answer = remedies(node("a", taints=["gpu:NoSchedule"]), pod("p"), max_runs=1)
    assert (answer.runs, answer.remedies) == (1, ())
    assert any(line.endswith("the search stopped at --max-runs 1") for line in answer.not_tried)


def test_the_search_ends_after_so_many_seconds_and_says_so() -> None:
    answer = remedies(node("a", taints=["gpu:NoSchedule"]), pod("p"), max_seconds=1e-9)
    assert (answer.runs, answer.remedies) == (1, ())
    assert any(line.endswith("stopped at --max-seconds 1e-09") for line in answer.not_tried)


def test_of_all_pending_pods_each_owner_has_its_own_runs_and_the_answer_says_so() -> None:
    waiting = (pod("p"), pod("q", node_selector={"x": "b"}))
    search = RemedySearch(max_runs=2, most=9)
    answer = fix_pending(fixer(node("a", taints=["gpu:NoSchedule"]), *waiting, search=search))
    assert answer.runs > search.max_runs
    why = "the search for one owner's pods stopped at --max-runs 2"
    assert [line for line in answer.not_tried if line.endswith(why)]


def test_without_a_remedy_the_fewest_reasons_that_stand_against_all_nodes_are_named() -> None:
    nodes = (node("a", cpu=1), node("b", cpu=1), node("c", labels={"disk": "ssd"}))
    waiting = pod("p", cpu=2, node_selector={"disk": "ssd"}, requests={"x.com/gpu": 1})
    answer = remedies(*nodes, waiting, never=frozenset({"node", "evict", "request", "selector"}))
    assert answer.remedies == ()
    assert [(each.reason, each.nodes) for each in answer.conflict] == [
        ("Insufficient x.com/gpu", 3)
    ]


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(UsageError, match='"evicted" is no kind of change'):
        RemedySearch(never=frozenset({"evicted"})).check()


def test_what_else_happens_is_shown() -> None:
    objects = (node("a", unschedulable=True), pod("p"), pod("q"))
    assert of_kind(remedies(*objects), "uncordon").also.placed == ("default/q",)


# -- workloads, all pods, plugins -----------------------------------------------------------------


def test_a_template_is_changed_where_a_workload_makes_the_pods() -> None:
    search_of = fixer(node("a", cpu=4), deployment("web", 3, cpu=2))
    search_of.state = search_of.changed(["scale deployment/web --replicas=3"])
    pods = frozenset(each.key for each in search_of.state.pods)
    assert len(pods) == 3
    answer = fix(search_of, "deployment/web", pods)
    remedy = of_kind(answer, "node")
    assert remedy.changes == ("add-nodes more --like a --count 1",)
    assert len(answer.pods) == 1


def test_all_pending_pods_get_a_node_with_the_fewest_changes() -> None:
    nodes = (node("a", unschedulable=True), node("b", labels={"x": "b"}, taints=["gpu:NoSchedule"]))
    waiting = (pod("p"), pod("q"), pod("r", node_selector={"x": "b"}))
    answer = fix_pending(fixer(*nodes, *waiting))
    (remedy,) = answer.remedies
    assert len(answer.pods) == 3
    assert remedy.changes[0] == "uncordon a"
    assert len(remedy.changes) == 2
    assert answer.unresolved == ()


class Closed(FilterPlugin, Proposes):
    """Rejects nodes that are not open."""

    name = "Closed"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        is_open = node.labels.get("open") == "yes"
        return Status() if is_open else Status.unschedulable("node(s) were closed")

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[Proposal]:
        line = f"label nodes {node.name} open=yes"
        return [Proposal("opening", f"open {node.name}", (line,))]


def test_a_plugin_from_outside_proposes_changes_of_its_own_kind() -> None:
    answer = fix(fixer(node("a"), pod("p"), plugins=[Closed]), "p", frozenset({"default/p"}))
    assert [(each.kinds, each.text, each.node) for each in answer.remedies] == [
        (("opening",), "open a", "a")
    ]


class Broken(Closed):
    name = "Broken"

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[Proposal]:
        raise ValueError("no idea")


def test_a_plugin_that_fails_to_propose_is_a_defect_that_others_survive() -> None:
    search_of = fixer(node("a"), pod("p"), plugins=[Broken])
    answer = fix(search_of, "p", frozenset({"default/p"}))
    assert answer.remedies == ()
    assert [each.plugin for each in search_of.defects.values()] == ["Broken"]


# -- beside brute force ---------------------------------------------------------------------------

NODE_CHANGES = frozenset(("uncordon", "untaint", "label"))
TAINT = {"key": "k", "effect": "NoSchedule"}
NODES = st.lists(st.tuples(*[st.booleans()] * 3, st.integers(1, 3)), min_size=1, max_size=3)


def fewest_changes(objects: Sequence[Manifest], lines: Sequence[str]) -> int | None:
    """How many of the changes give the pod p a node; None where no three do."""
    state = cluster(*objects)
    for count in range(4):
        for chosen in combinations(lines, count):
            changed, _ = apply_changes(state, [parse_change(line) for line in chosen])
            if "default/p" in simulate(changed).placements:
                return count
    return None


@given(NODES, st.integers(2, 3))
def test_a_remedy_is_found_exactly_where_brute_force_finds_one(
    nodes: list[tuple[bool, bool, bool, int]], cpu: int
) -> None:
    """Over the same changes, with no more of them than are needed."""
    objects, lines = [pod("p", cpu=cpu, node_selector={"pool": "x"})], []
    for number, (is_cordoned, is_tainted, is_labelled, size) in enumerate(nodes):
        name = f"n{number}"
        taints = [TAINT] if is_tainted else []
        labels = {"pool": "x"} if is_labelled else {}
        objects.append(node(name, cpu=size, labels=labels, taints=taints))
        objects[-1]["spec"]["unschedulable"] = is_cordoned
        ways = {
            f"uncordon {name}": is_cordoned,
            f"taint nodes {name} k-": is_tainted,
            f"label nodes {name} pool=x": not is_labelled,
        }
        lines += [line for line, applies in ways.items() if applies]
    fewest = fewest_changes(objects, lines)
    assume(fewest != 0)
    answer = remedies(*objects, never=frozenset(COSTS) - NODE_CHANGES, max_runs=1000)
    sizes = [len(remedy.changes) for remedy in answer.remedies]
    assert min(sizes, default=None) == fewest


# -- remedies that people use in the end ----------------------------------------------------------


def term(labels: Manifest, **fields: Any) -> Manifest:
    near = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [near | fields]}
    return {"podAffinity": required}


def test_four_obstacles_of_a_node_are_removed_together() -> None:
    answer = remedies(
        node("a", cpu=1, unschedulable=True, taints=["gpu=x:NoSchedule"]),
        pod("p", cpu=2, node_selector={"disk": "ssd"}),
        never=frozenset({"node"}),
    )
    assert of_kind(answer, "request", "selector", "toleration", "uncordon").text == (
        "uncordon a, and tolerate gpu=x:NoSchedule, and do not select disk=ssd, and request cpu 1 "
        "instead of 2, which a has free"
    )


def test_the_container_that_requests_is_named_and_patched() -> None:
    waiting = pod("p", cpu="100m")
    init = {"name": "load", "resources": {"requests": {"cpu": "3"}}}
    waiting["spec"]["initContainers"] = [init]
    remedy = of_kind(remedies(node("a", cpu=1), waiting), "request")
    assert remedy.text == (
        "request cpu 1 instead of 3 (init container load: 1 instead of 3), which a has free"
    )
    (patch,) = remedy.patches
    assert [each["name"] for each in patch["spec"]["initContainers"]] == ["load"]
    assert "containers" not in patch["spec"]


def test_a_sidecar_s_device_is_lowered_with_its_limit() -> None:
    waiting = pod("p", requests={"x.com/npu": 8})
    amounts = {"x.com/npu": "8"}
    resources = {"requests": amounts, "limits": amounts}
    warm = {"name": "warm", "restartPolicy": "Always", "resources": resources}
    waiting["spec"]["initContainers"] = [warm]
    remedy = of_kind(remedies(node("a", resources={"x.com/npu": 8}), waiting), "request")
    assert "sidecar warm: 0 instead of 8" in remedy.text
    (patched,) = remedy.patches[0]["spec"]["initContainers"]
    assert patched["resources"] == {"requests": {"x.com/npu": "0"}, "limits": {"x.com/npu": "0"}}


def test_a_new_node_has_the_labels_that_the_pod_selects() -> None:
    waiting = pod("p", node_selector={ZONE: "c"})
    remedy = of_kind(remedies(node("a", labels={ZONE: "a"}), waiting), "node")
    assert remedy.text == f"add one more node like a, with the label {ZONE}=c"
    assert remedy.changes == (f"add-nodes more --like a --count 1 --label {ZONE}=c",)


def test_one_larger_node_comes_before_several_equal_ones() -> None:
    waiting = [pod(name, cpu=3) for name in ("first", "p")]
    remedy = of_kind(remedies(node("a", cpu=2), *waiting, never=frozenset({"request"})), "node")
    assert remedy.text == "add one more node like a, with cpu 6"


def test_a_node_that_is_added_has_its_daemon_pods_and_their_ports() -> None:
    daemon = owned(pod("exporter-x", "mon", ports=[9100], node="a"), "DaemonSet", "exporter")
    template = pod("x", ports=[9100])["spec"]
    exporter = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "exporter", "namespace": "mon", "uid": "exporter"},
        "spec": {
            "selector": {"matchLabels": {"app": "e"}},
            "template": {"metadata": {"labels": {"app": "e"}}, "spec": template},
        },
    }
    answer = remedies(node("a"), exporter, daemon, pod("p", ports=[9100]))
    assert ("evict",) not in kinds(answer)
    (waiting,) = of_kind(answer, "node").also.pending_again
    assert waiting.startswith("mon/exporter-")


def test_the_pods_of_an_affinity_are_looked_for_where_they_run() -> None:
    affinity = term({"app": "cache"})
    cache = pod("cache", "infra", labels={"app": "cache"}, node="a")
    host = node("a", labels={"kubernetes.io/hostname": "a"})
    remedy = of_kind(remedies(host, cache, pod("p", affinity=affinity)), "affinity")
    assert remedy.text == (
        "look for the pods of its affinity by kubernetes.io/hostname in namespace infra, too"
    )
    assert '"namespaces":["default","infra"]' in remedy.commands[0]


def test_only_the_term_of_an_affinity_that_no_pod_matches_is_lifted() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [term({"app": app})["podAffinity"][required][0] for app in ("web", "cache")]
    affinity = {"podAffinity": {required: terms}}
    web = pod("web", labels={"app": "web"}, node="a")
    host = node("a", labels={"kubernetes.io/hostname": "a"})
    remedy = of_kind(remedies(host, web, pod("p", affinity=affinity)), "affinity")
    assert remedy.text == (
        "do not require its pod affinity to pods with app=cache by kubernetes.io/hostname"
    )
    assert '"app":"web"' in remedy.commands[0]


def test_pods_of_other_namespaces_count_that_match_all_terms_of_an_affinity() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    labels = {"app": "cache", "tier": "back"}
    terms = [term({key: labels[key]})["podAffinity"][required][0] for key in labels]
    host = node("a", labels={"kubernetes.io/hostname": "a"})
    cache = pod("cache", "infra", labels=labels, node="a")
    waiting = pod("p", affinity={"podAffinity": {required: terms}})
    remedy = of_kind(remedies(host, cache, waiting), "affinity")
    assert remedy.text == (
        "look for the pods of its affinity by kubernetes.io/hostname in namespace infra, too"
    )
    assert remedy.commands[0].count('"namespaces":["default","infra"]') == len(labels)


def test_one_pod_leaves_a_node_with_as_many_pods_as_it_takes() -> None:
    host = node("a", pods=2)
    there = [pod(name, node="a") for name in ("one", "two")]
    assert of_kind(remedies(host, *there, pod("p")), "evict").text == "evict default/one from a"


def test_no_pod_is_told_to_request_less_than_a_hundredth() -> None:
    assert ("request",) not in kinds(remedies(node("a", cpu=1), pod("p", cpu=101)))
    assert ("request",) in kinds(remedies(node("a", cpu=1), pod("p", cpu=100)))


def test_a_claim_waits_no_longer_for_a_node_that_is_gone() -> None:
    gone = {"volume.kubernetes.io/selected-node": "gone"}
    waiting = claim("data", "fast")
    waiting["metadata"]["annotations"] = gone
    remedy = of_kind(remedies(node("a"), CLASS, waiting, with_claim("data")), "claim")
    assert remedy.text.endswith("of claim default/data, as node gone is gone")
    assert remedy.commands[0].startswith("kubectl patch pvc/data")


def test_a_claim_is_as_large_as_the_storage_of_a_node() -> None:
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "disk.csi"},
        "spec": {"storageCapacity": True},
    }
    capacity = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "default"},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {}},
        "capacity": "5Gi",
    }
    larger = claim("data", "fast", resources={"requests": {"storage": "10Gi"}})
    answer = remedies(node("a"), CLASS, driver, capacity, larger, with_claim("data"))
    remedy = of_kind(answer, "claim")
    assert remedy.text == "claim 5Gi of storage instead of 10Gi in default/data"
    assert "kubectl replace --force" in remedy.commands[0]


def test_a_device_s_taint_is_tolerated_in_the_claim() -> None:
    taint = {"key": "gpu.com/unhealthy", "value": "x", "effect": "NoSchedule"}
    tainted = device(
        "ResourceSlice",
        "slice",
        driver="gpu.com",
        nodeName="a",
        pool={"name": "a", "generation": 1, "resourceSliceCount": 1},
        devices=[{"name": "d0", "taints": [taint]}],
    )
    answer = remedies(*DEVICES[:2], tainted, cards("gpu"), WITH_DEVICE)
    assert of_kind(answer, "claim").text == (
        "tolerate the device taint gpu.com/unhealthy=x:NoSchedule in card of claim default/cards"
    )


def test_a_new_node_has_the_devices_of_its_model_and_a_pod_with_a_device_is_evicted() -> None:
    taken = cards("gpu")
    taken["metadata"] = {"name": "taken", "namespace": "default", "uid": "taken"}
    result = {"request": "card", "driver": "gpu.com", "pool": "a", "device": "d0"}
    taken["status"] = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": "user", "uid": "user"}],
    }
    user = pod("user", node="a", metadata={"name": "user", "namespace": "default", "uid": "user"})
    user["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "taken"}]
    answer = remedies(*DEVICES, taken, user, cards("gpu"), WITH_DEVICE)
    assert of_kind(answer, "node").node == "more-1"
    assert of_kind(answer, "evict").changes == ("delete pods user -n default",)


@pytest.mark.parametrize(
    ("count", "leave"), [(1, "its old pod leaves first"), (2, "its old pods leave first")]
)
def test_a_deployment_s_old_pods_leave_before_the_new_ones_come(count: int, leave: str) -> None:
    workload = deployment("web", count, ports=[80])
    workload["metadata"]["uid"] = "web"
    pods, sets = [], []
    for name in ("old", "new"):
        labels = {"app": "web", "pod-template-hash": name}
        replica_set = owned(deployment(f"web-{name}", count, ports=[80]), "Deployment", "web")
        replica_set |= {"kind": "ReplicaSet"}
        replica_set["metadata"] |= {"uid": f"web-{name}", "labels": labels}
        replica_set["spec"]["selector"] = {"matchLabels": labels}
        replica_set["spec"]["template"]["metadata"]["labels"] = labels
        sets.append(replica_set)
        for number in range(count):
            where = f"n{number}" if name == "old" else ""
            replica = pod(f"{name}-{number}", ports=[80], node=where, labels=labels)
            pods.append(owned(replica, "ReplicaSet", f"web-{name}"))
    state = [*(node(f"n{number}") for number in range(count)), workload, *sets, *pods]
    text = f"set maxSurge 0 and maxUnavailable 1 for deployment/web, so that {leave}"
    assert of_kind(fix_pending(fixer(*state)), "rollout").text == text
    (group,) = pending_report(simulation(cluster(*state))).groups
    hint = group.diagnosis.hints[0] if group.diagnosis is not None else None
    assert hint is not None
    assert (hint.text, hint.gain) == (text, count)


def test_the_scheduler_of_a_profile_looks_at_the_pod() -> None:
    answer = remedies(node("a"), pod("p", profile="defualt-scheduler"))
    assert "which the configuration does not have" in answer.cause
    assert of_kind(answer, "scheduler").text == (
        "set schedulerName: default-scheduler instead of defualt-scheduler"
    )


@pytest.mark.parametrize(
    ("asks", "text"),
    [
        ({"node_selector": {"zone": "west"}}, f"select {ZONE}=west instead of zone=west"),
        (
            {"affinity": node_affinity("zone", "west", "north")},
            f"require {ZONE} instead of zone",
        ),
    ],
)
def test_a_key_of_near_spelling_comes_first(asks: dict[str, Any], text: str) -> None:
    nodes = [node(name, labels={ZONE: value}) for name, value in (("a", "east"), ("b", "west"))]
    remedy = of_kind(remedies(*nodes, pod("p", **asks)), "selector")
    assert (remedy.text, remedy.node) == (text, "b")


def test_what_a_container_requests_is_told_beside_the_overhead() -> None:
    waiting = pod("p", cpu=3, spec={"overhead": {"cpu": "2"}})
    text = "request cpu 4 instead of 5 (container c: 2 instead of 3), which a has free"
    assert of_kind(remedies(node("a"), waiting), "request").text == text


def test_a_value_of_near_spelling_comes_first() -> None:
    nodes = [node(name, labels={ZONE: value}) for name, value in (("a", "west"), ("b", "east-1b"))]
    waiting = pod("p", node_selector={ZONE: "east-1-b"})
    text = of_kind(remedies(*nodes, waiting), "selector").text
    assert text == f"select {ZONE}=east-1b instead of east-1-b"


def test_pods_that_differ_from_their_template_are_made_anew_instead_of_patched() -> None:
    """Without a control, any patch of the template would seem to be the remedy."""
    waiting = owned(pod("p", labels={"app": "web"}, cpu=2), "Deployment", "web")
    waiting["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet"
    waiting["metadata"]["ownerReferences"][0]["name"] = "web-1"
    waiting["metadata"]["labels"]["pod-template-hash"] = "1"
    workload = deployment("web", 1, cpu=1)
    replica_set = owned(deployment("web-1", 1, cpu=1), "Deployment", "web") | {"kind": "ReplicaSet"}
    answer = remedies(node("a", cpu=1), workload, replica_set, waiting)
    remedy = of_kind(answer, "restart")
    assert remedy.text.startswith("make the pods of deployment/web anew: they differ from its ")
    assert "the requests of c" in remedy.text
    assert ("request",) not in kinds(answer)


def test_a_workload_is_asked_as_a_whole() -> None:
    """Places for the pods that wait must not be those of its running ones."""
    running = [owned(pod(f"r{i}", cpu=1, node="a"), "ReplicaSet", "w") for i in range(2)]
    waiting = [owned(pod(f"p{i}", cpu=1), "ReplicaSet", "w") for i in range(2)]
    search_of = fixer(node("a", cpu=2), *running, *waiting)
    names = frozenset(f"default/{name}" for name in ("r0", "r1", "p0", "p1"))
    for remedy in fix(search_of, "replicaset/w", names).remedies:
        state, _ = apply_changes(search_of.state, [parse_change(line) for line in remedy.changes])
        run = simulation(state)
        assert names <= run.run().nodes(state.pods).keys()


def test_no_remedy_undoes_a_change_of_the_question() -> None:
    state = cluster(node("a"), node("b", unschedulable=True), pod("p"))
    drained, _ = apply_changes(state, [parse_change("drain a --force")])
    answer = fix(Fixer(simulation, drained, RemedySearch()), "default/p", frozenset({"default/p"}))
    assert of_kind(answer, "uncordon").changes == ("uncordon b",)
    assert "1 change: undo what --change does" in answer.not_tried


def test_no_remedy_evicts_a_pod_of_a_daemon_set() -> None:
    daemon = owned(pod("d", ports=[80], cpu=1, node="a"), "DaemonSet", "d")
    answer = remedies(node("a", cpu=1), daemon, pod("p", ports=[80], cpu=1))
    assert not [each for each in answer.remedies if "evict" in each.kinds]


def test_what_was_tried_is_said_where_nothing_helps() -> None:
    answer = remedies(node("a", cpu=1), pod("p", cpu=2), never=frozenset({"request"}), max_runs=2)
    assert answer.remedies == () or answer.tried == ()
    alone = remedies(
        node("a", taints=["ToBeDeletedByClusterAutoscaler:NoSchedule"]),
        pod("p"),
        never=frozenset({"node"}),
    )
    assert (alone.remedies, alone.tried) == ((), ())


def test_lower_requests_of_several_runs_are_told_from_the_original_request() -> None:
    run = Run(states=(str(EXAMPLES / "what-if" / "cluster.yaml"),))
    opener = Opener((run,))
    answer = fix_pending(
        Fixer(
            lambda changed: opener.simulation(run, state=changed), opener.state(run), RemedySearch()
        )
    )
    assert "request cpu 1.5 instead of 2, which" in answer.remedies[0].text


# -- rollouts of changed templates -----------------------------------------------------------------


def of_workload(kind: str, *objects: Manifest, **search: Any) -> Remedies:
    """The remedies of the workload web, whose pods the state has or lacks."""
    search_of = fixer(*objects, search=RemedySearch(**search))
    search_of.state = search_of.changed(["label nodes a x=y"])  # makes missing pods
    pods = frozenset(pod.key for pod in search_of.state.pods if pod.name.startswith("web-"))
    return fix(search_of, f"{kind}/web", pods)


def test_a_smaller_request_whose_rollout_is_stuck_is_no_remedy_alone() -> None:
    """One old pod holds cpu 3 of 4; a new one with cpu 1 fits beside it, and not two of them."""
    answer = of_workload(
        "deployment", node("a", cpu=4), deployment("web", 2, cpu=3), never=frozenset({"node"})
    )
    (remedy,) = answer.remedies
    assert remedy.kinds == ("request", "rollout")
    assert "set maxSurge 0 and maxUnavailable 1 for deployment/web" in remedy.text
    assert answer.tried == ("request cpu 1 instead of 3, which a has free",)


def test_a_stateful_set_s_waiting_pod_is_deleted_where_nothing_else_replaces_it() -> None:
    stateful = {**deployment("web", 1, cpu=9), "kind": "StatefulSet"}
    answer = of_workload("statefulset", node("a", cpu=4), stateful)
    remedy = of_kind(answer, "request")
    assert remedy.changes[-1] == "delete pods web-0 -n default"
    assert remedy.commands[-1] == "kubectl delete pods web-0 -n default"
    assert remedy.text.endswith(", and delete web-0, which nothing else replaces")
    stateful["spec"]["podManagementPolicy"] = "Parallel"
    remedy = of_kind(of_workload("statefulset", node("a", cpu=4), stateful), "request")
    assert not any(line.startswith("delete") for line in remedy.changes)


def test_the_pods_of_a_rollout_are_no_other_pods_and_those_that_ran_restart() -> None:
    workload = deployment("web", 3, cpu=1)
    workload["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "b"}
    first, second = node("a", cpu=4), node("b", cpu=2, labels={"zone": "b"})
    answer = of_workload("deployment", first, second, workload, never=frozenset({"node"}))
    remedy = of_kind(answer, "selector")
    assert (remedy.also.placed, remedy.also.pending_again, remedy.also.gone) == ((), (), ())
    assert remedy.node == "a"


# -- changes that are made one after the other ----------------------------------------------------

HOST = "kubernetes.io/hostname"
PREFERRED_ELSEWHERE = [{"key": "slow", "effect": "PreferNoSchedule"}]


def test_two_evictions_count_only_if_the_pods_that_come_anew_go_elsewhere_by_themselves() -> None:
    """After the first the pod is tried in vain, and has to back off: it is not the next in turn."""
    running = [owned(pod(f"q{i}", cpu=2, node="a"), "ReplicaSet", f"r{i}") for i in range(2)]
    waiting = pod("p", cpu=4, node_selector={HOST: "a"})
    labels = {HOST: "a"}
    other = node("b", cpu=4, labels={HOST: "b"})
    objects = (node("a", cpu=4, labels=labels), other, *running, waiting)
    assert ("evict",) not in kinds(remedies(*objects))
    slow = node("a", cpu=4, labels=labels, taints=PREFERRED_ELSEWHERE)
    assert ("evict",) in kinds(remedies(slow, other, *running, waiting))


def test_others_of_a_higher_priority_take_the_first_room_before_the_second_is_there() -> None:
    """At one instant, they would take the larger node that is uncordoned last."""
    high = [pod(f"high-{i}", cpu="1500m", priority=5) for i in range(2)]
    term = anti(HOST, "web")
    web = [pod(name, cpu=1, labels={"app": "web"}, affinity=term) for name in ("p", "r")]
    nodes = [
        node("small", cpu="3500m", labels={HOST: "small"}, unschedulable=True),
        node("large", cpu=8, labels={HOST: "large"}, unschedulable=True),
    ]
    state = (*nodes, *high, *web)
    search = fixer(*state)
    lines = ("uncordon small", "uncordon large")
    pods = frozenset({"default/p", "default/r"})
    before, after = search.run((), pods), search.run(lines, pods)
    assert after.places(pods, before)
    assert not search.places(lines, pods, before, after)
    reverse = lines[::-1]
    assert search.places(reverse, pods, before, search.run(reverse, pods))


def test_a_node_comes_last_where_the_old_template_would_take_it_before_its_agents() -> None:
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 10,
                "metadata": {"name": "high"}}  # fmt: skip
    agent = deployment("agent", 0, cpu="100m", priority=10)
    agent["kind"] = "DaemonSet"
    del agent["spec"]["replicas"]
    web = deployment("web", 2, cpu=4, affinity=anti(HOST, "agent"))
    web["kind"] = "ReplicaSet"
    waiting = [
        owned(
            pod(f"web-{i}", cpu=4, labels={"app": "web"}, affinity=anti(HOST, "agent")),
            "ReplicaSet",
            "web",
        )
        for i in range(2)
    ]
    there = owned(
        pod("agent-1", cpu="100m", priority=10, node="a", labels={"app": "agent"}),
        "DaemonSet",
        "agent",
    )
    search = fixer(priority, node("a", cpu=2, labels={HOST: "a"}), agent, web, there, *waiting)
    pods = frozenset({"default/web-0", "default/web-1"})
    (remedy,) = [each for each in fix(search, "web", pods).remedies if "node" in each.kinds]
    assert [line.split()[0] for line in remedy.changes] == ["patch", "delete", "add-nodes"]


def test_a_node_that_stays_free_by_its_name_alone_is_no_promise() -> None:
    """Others of a higher priority go to nodes of equal scores: in a cluster, to any of them."""
    nodes = [node(f"n{i}", cpu=2, labels={HOST: f"n{i}"}) for i in range(5)]
    others = [pod(f"high-{i}", cpu=2, priority=5) for i in range(4)]
    waiting = pod("p", cpu=4, node_selector={HOST: "n4"})
    assert ("request",) not in kinds(remedies(*nodes, *others, waiting))
    assert ("request",) in kinds(remedies(*nodes, waiting))


# -- pods that name their node --------------------------------------------------------------------


def for_node(name: str) -> Manifest:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_a_pod_of_a_daemon_set_stays_on_its_node() -> None:
    agent = owned(pod("p", cpu=1, affinity=for_node("a")), "DaemonSet", "agent")
    full = pod("q", cpu=1, node="a")
    answer = remedies(node("a", cpu=1), node("b", cpu=4), full, agent)
    assert answer.remedies
    assert not any("selector" in each for each in kinds(answer))
    assert {each.node for each in answer.remedies} == {"a"}


def test_a_node_that_a_pod_names_is_dropped_once() -> None:
    objects = (node("a", cpu=1), node("b", cpu=4), pod("p", cpu=2, affinity=for_node("a")))
    assert of_kind(remedies(*objects), "selector").text == "do not name the node"
