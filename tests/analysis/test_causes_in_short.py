"""The cause, in the line after the answer: what a pod's volumes, its DaemonSet, its tolerations and
its labels say comes before what is in the way elsewhere."""

from dataclasses import replace
from typing import Any

import pytest

from ksched_cli.analysis.diagnosis import Diagnosis
from ksched_cli.testing import cluster, node, pod, simulation
from tests.analysis.test_diagnosis import diagnosed
from tests.devices import GPU, resource_slice, state_of, thing
from tests.narrowing import present
from tests.volumes import claim, storage_class, volume

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def of(*objects: dict[str, Any]) -> Diagnosis:
    run = simulation(cluster(*objects))
    (key,) = [pod.key for pod in run.pending() if pod.name == "p"]
    return present(diagnosed(run, key))


def zoned(name: str, zone: str, **fields: Any) -> dict[str, Any]:
    return node(name, labels={ZONE: zone}, **fields)


def bound(*claims: str, **fields: Any) -> dict[str, Any]:
    """The pod with these claims."""
    volumes = [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}}
        for i, name in enumerate(claims)
    ]
    return pod("p", spec={"volumes": volumes}, **fields)


# -- nodes that a pod is for -----------------------------------------------------------------------


def test_a_claim_that_names_its_volume_but_is_not_bound_says_what_it_lacks() -> None:
    unbound = claim("data", volume="pv-0")
    unbound["metadata"]["annotations"] = {}
    own = volume("pv-0", zones=["a"], claim="data")
    answer = of(zoned("a1", "a"), unbound, own, bound("data"))
    assert answer.cause == (
        "claim default/data names volume pv-0, but lacks the annotation"
        " pv.kubernetes.io/bind-completed of bound claims"
    )


def test_the_zone_of_a_bound_volume_comes_before_what_is_in_the_way_elsewhere() -> None:
    answer = of(
        zoned("a1", "a", taints=["x:NoSchedule", "y:NoSchedule"]),
        zoned("b1", "b"),
        claim("data", volume="pv-0"),
        volume("pv-0", zones=["a"], claim="data"),
        bound("data"),
    )
    assert answer.cause == (
        f"the volume of claim default/data is in {ZONE}=a; a1 would take it but for the taint "
        "x:NoSchedule and the taint y:NoSchedule"
    )
    assert answer.nodes == ("a1",)


def test_a_zone_without_nodes_is_the_cause() -> None:
    answer = of(
        zoned("a1", "a"), claim("data", volume="pv-0"), volume("pv-0", zones=["c"]), bound("data")
    )
    assert answer.cause == (
        f"the volume of claim default/data is in {ZONE}=c, and no node is there"
    )


def test_a_class_without_provisioner_makes_no_volume_in_its_topologies() -> None:
    topology = {"matchLabelExpressions": [{"key": ZONE, "values": ["c"]}]}
    causes = [
        of(
            zoned("a1", "a"),
            {**storage_class("zonal", provisioner), "allowedTopologies": [topology]},
            claim("data", storage_class="zonal"),
            bound("data"),
        ).cause
        for provisioner in ("ebs.csi.aws.com", "kubernetes.io/no-provisioner")
    ]
    assert causes == [
        f"claim default/data gets its volume in {ZONE}=c (StorageClass zonal), and no node is "
        "there",
        "a1 would take it but for a volume, which neither exists nor can be provisioned there "
        "(claim default/data)",
    ]


def test_a_selector_that_contradicts_the_zone_of_a_volume() -> None:
    answer = of(
        zoned("a1", "a"),
        zoned("b1", "b"),
        claim("data", volume="pv-0"),
        volume("pv-0", zones=["a"]),
        bound("data", node_selector={ZONE: "b"}),
    )
    assert answer.cause == (
        f"the volume of claim default/data is in {ZONE}=a; no node there has the label "
        f"{ZONE}=b, which it selects (1 node has {ZONE}=a)"
    )


def test_volumes_of_two_zones_are_never_together() -> None:
    answer = of(
        zoned("a1", "a"),
        zoned("b1", "b"),
        claim("one", volume="pv-a"),
        claim("two", volume="pv-b"),
        volume("pv-a", zones=["a"]),
        volume("pv-b", zones=["b"]),
        bound("one", "two"),
    )
    assert answer.cause == (
        f"the volume of claim default/one is in {ZONE}=a and the volume of claim "
        f"default/two is in {ZONE}=b: no node is in both places"
    )


def test_a_local_volume_s_node_that_is_gone_is_named() -> None:
    answer = of(
        node("a", labels={"kubernetes.io/hostname": "a"}),
        claim("data", volume="pv-0"),
        volume("pv-0", on=["gone"]),
        bound("data"),
    )
    assert answer.cause == (
        "the volume of claim default/data is on node gone, which is not in the state"
    )


def test_the_node_that_was_selected_for_a_new_volume_and_is_gone_is_named() -> None:
    answer = of(
        node("a"),
        storage_class("gp3", "ebs.csi.aws.com"),
        claim("data", storage_class="gp3", selected_node="gone"),
        bound("data"),
    )
    assert answer.cause == (
        "claim default/data gets its volume on node gone (annotation "
        "volume.kubernetes.io/selected-node), which is not in the state"
    )


def daemon_pod(node_name: str, **fields: Any) -> dict[str, Any]:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u"}
    metadata = {"ownerReferences": [{**owner, "controller": True}]}
    return pod("p", affinity={"nodeAffinity": required}, metadata=metadata, **fields)


@pytest.mark.parametrize(
    ("named", "cause"),
    [
        ("n2", "DaemonSet agent made it for node n2, which is not in the state"),
        (
            "n1",
            "DaemonSet agent made it for node n1; it requests cpu 8; the only node it may "
            "use, n1, has 4",
        ),
    ],
)
def test_the_node_that_a_daemon_set_made_a_pod_for(named: str, cause: str) -> None:
    assert of(node("n1"), node("n3"), daemon_pod(named, cpu=8)).cause == cause


def test_a_node_of_that_name_without_its_labels_is_in_the_state() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    label = {"key": "pool", "operator": "In", "values": ["gpu"]}
    terms = [{"matchFields": [field], "matchExpressions": [label]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    answer = of(node("n1"), node("n2"), pod("p", affinity={"nodeAffinity": required}))
    assert answer.cause == (
        "it is for node n1; no node there has the label pool=gpu, which it selects"
    )


# -- obstacles of different nodes ------------------------------------------------------------------


def test_what_other_nodes_lack_is_a_sentence_of_its_own() -> None:
    answer = of(node("a", cpu=1), node("b", taints=["x:NoSchedule"]), pod("p", cpu=2))
    assert answer.cause == "b would take it but for the taint x:NoSchedule"
    assert answer.notes == ("requests cpu 2; the only node it may use, a, has 1",)


@pytest.mark.parametrize(("cpu", "text"), [(4, ", 1 of it overhead of its RuntimeClass"), (5, "")])
def test_overhead_is_named_where_the_pod_would_fit_without_it(cpu: int, text: str) -> None:
    large = pod("p", cpu=cpu, spec={"overhead": {"cpu": "1"}})
    cause = of(node("a", cpu=4), large).cause
    assert cause == f"requests cpu {cpu + 1}{text}; the only node it may use, a, has 4"


def test_who_holds_the_room_is_named_with_the_age_of_its_oldest_pod() -> None:
    old = pod("old", cpu=2, node="a", metadata={"creationTimestamp": "2026-03-01T00:00:00Z"})
    young = pod("young", cpu=1, node="a", metadata={"creationTimestamp": "2026-03-04T02:00:00Z"})
    (holder,) = of(node("a", cpu=3), old, young, pod("p", cpu=1)).holders
    assert (holder.amount, holder.total, holder.age) == ("3", "3", "3 d")


def test_several_obstacles_of_a_node_are_in_one_list() -> None:
    answer = of(node("a", cpu=1, taints=["x:NoSchedule"], unschedulable=True), pod("p", cpu=2))
    assert answer.cause == (
        "a would take it but for the cordon, the taint x:NoSchedule and too little cpu "
        "(requests 2, a has 1)"
    )
    assert answer.notes == ()


# -- near misses -----------------------------------------------------------------------------------


def test_near_values_are_ranked_by_how_alike_they_are_and_by_how_many_nodes_have_them() -> None:
    pools = ["gpus-a", "gpus-b", "gpus-b", "gpus", "gpux", "other"]
    nodes = [node(f"n{i}", labels={"pool": value}) for i, value in enumerate(pools)]
    answer = of(*nodes, pod("p", node_selector={"pool": "gpus-c"}))
    assert answer.cause.endswith("(nodes have gpus-b (2), gpus-a (1) and gpus (1))")


@pytest.mark.parametrize(
    ("labels", "selected", "near"),
    [
        ({"disk-type": "ssd"}, {"disktype": "ssd"}, "1 node has disk-type=ssd"),
        ({ZONE: "eu-1a"}, {"zone": "eu-1a"}, f"1 node has {ZONE}=eu-1a"),
        ({ZONE: "eu-1a"}, {ZONE: "eu1a"}, f"1 node has {ZONE}=eu-1a"),
        ({"pool": "large"}, {"pool": "gpu"}, "1 node has pool=large"),
    ],
)
def test_labels_that_are_nearly_those_selected(
    labels: dict[str, str], selected: dict[str, str], near: str
) -> None:
    answer = of(node("a", labels=labels), node("b"), pod("p", node_selector=selected))
    assert answer.cause.endswith(f", which it selects ({near})")


@pytest.mark.parametrize(
    ("toleration", "near"),
    [
        ({"key": "sla", "value": "951", "effect": "NoSchedule"}, "it tolerates sla=951:NoSchedule"),
        ({"key": "sla", "operator": "Exists", "effect": "NoExecute"}, "it tolerates sla:NoExecute"),
        ({"key": "slas", "operator": "Exists"}, "it tolerates slas"),
        (
            {"key": "sla", "operator": "Gt", "value": "900"},
            "its toleration sla Gt 900 needs the feature gate TaintTolerationComparisonOperators",
        ),
        ({"key": "sla", "operator": "Gt", "value": "990"}, "it tolerates sla Gt 990"),
    ],
)
def test_tolerations_that_nearly_cover_a_taint(toleration: dict[str, str], near: str) -> None:
    answer = of(node("a", taints=["sla=950:NoSchedule"]), pod("p", tolerations=[toleration]))
    assert answer.cause == f"a would take it but for the taint sla=950:NoSchedule ({near})"


# -- devices ---------------------------------------------------------------------------------------

MODEL = f'device.attributes["{GPU}"].model'
IN_USE: dict[str, Any] = {"r": "gpu", "allocated": ["a/g0"], "where": "a"}


def with_devices(case: dict[str, Any], minor: str = "1.37", **device: Any) -> Diagnosis:
    """The diagnosis of the pod p, which has the claim `one`, on the only node, which has g0."""
    devices = {"g0": {"model": "small"} | device}
    fields = {"nodes": ["a"], "pods": {"p": ["one"]}, "slices": [{"node": "a", "devices": devices}]}
    run = simulation(state_of({**fields, **case}), kubernetes_version=minor)
    return present(diagnosed(run, "default/p"))


@pytest.mark.parametrize(
    ("case", "lack"),
    [
        (
            {"claims": {"one": "gpu", "other": IN_USE}},
            "it wants 1 gpu and 0 are free (1 is in use: g0 by default/other)",
        ),
        (
            {"claims": {"one": {"r": {"class": "gpu", "selectors": [f'{MODEL} == "big"']}}}},
            f'it wants 1 gpu and 0 are free (1 is deselected by CEL: {MODEL} == "big")',
        ),
        (
            {"claims": {"one": {"r": {"class": "gpu", "selectors": [f"{MODEL}.odd"]}}}},
            f"the CEL selector {MODEL}.odd fails: ",
        ),
        (
            {"claims": {"one": {"r": {"class": "gpu", "count": 2}}}},
            "it wants 2 gpu and 1 is free",
        ),
        (
            {"claims": {"one": {"r": {"class": "gpu", "mode": "All"}}, "other": IN_USE}},
            "it wants all of gpu (allocationMode All) (1 is in use: g0 by default/other)",
        ),
        (
            {
                "claims": {"one": {"r": {"class": "gpu", "mode": "All"}}, "other": IN_USE},
                "slices": [{"node": "a", "devices": {"g0": {}, "g1": {}}}],
            },
            "it wants all of gpu (allocationMode All) (1 is in use: g0 by default/other)",
        ),
    ],
)
def test_what_a_claim_lacks_is_in_the_cause(case: dict[str, Any], lack: str) -> None:
    cause = with_devices(case).cause
    assert cause.startswith(f"a would take it but for claim default/one: {lack}")


@pytest.mark.parametrize(
    ("minor", "lack"),
    [
        (
            "1.37",
            "it wants 2 gpu and 0 are free (2 are not handed out, as pool "
            f"{GPU}/a is incomplete (1 of 2 slices))",
        ),
        ("1.34", "it wants 2 gpu and 1 is free (1 is in use: g0 by default/other)"),
    ],
)
def test_an_incomplete_pool_is_described_by_the_rules_of_the_release(minor: str, lack: str) -> None:
    """Since 1.35, nothing of it is handed out."""
    claims = {"one": {"r": {"class": "gpu", "count": 2}}}
    if minor == "1.34":
        claims["other"] = IN_USE
    slices = [{"node": "a", "count": 2, "devices": {"g0": {}, "g1": {}}}]
    case = {"claims": claims, "slices": slices}
    assert with_devices(case, minor).cause == f"a would take it but for claim default/one: {lack}"


@pytest.mark.parametrize("minor", ["1.34", "1.37"])
def test_an_incomplete_pool_has_not_all_devices(minor: str) -> None:
    claims = {"one": {"r": {"class": "gpu", "mode": "All"}}}
    pools = ("left", "right")
    slices = [{"node": "a", "pool": each, "count": 2, "devices": {"g0": {}}} for each in pools]
    assert with_devices({"claims": claims, "slices": slices}, minor).cause == (
        "a would take it but for claim default/one: it wants all of gpu (allocationMode All) "
        f"(pool {GPU}/left is incomplete)"
    )


def test_devices_that_back_an_extended_resource_are_counted_where_the_node_has_none() -> None:
    requesting = pod("p", requests={"example.com/gpu": 3})
    backing = thing("DeviceClass", "any", {"extendedResourceName": "example.com/gpu"})
    devices = resource_slice(0, {"node": "b", "devices": {"g0": {}, "g1": {}}})
    state = cluster(node("a"), node("b"), backing, devices, requesting)
    run = simulation(state, kubernetes_version="1.36")
    assert present(diagnosed(run, "default/p")).cause == (
        "b would take it but for claim default/<extended-resources>: it wants 3 any and 2 are free"
    )


def test_nodes_without_devices_are_not_the_nearest() -> None:
    case = {"nodes": ["a", "b", "c"], "claims": {"one": "gpu", "other": IN_USE}}
    assert with_devices(case).nodes == ("a",)
    other = {"node": "b", "devices": {"g0": {}}}
    bare = with_devices({"claims": {"one": "gpu"}, "slices": [other]})
    assert bare.cause == "a would take it but for its device claims: no device is in its reach"
    none = with_devices({"claims": {"one": "gpu"}, "slices": []})
    assert "its device claims: the state has no ResourceSlices" in none.cause


# -- affinity --------------------------------------------------------------------------------------


def near(operator: str, labels: dict[str, str], kind: str = "podAntiAffinity") -> dict[str, Any]:
    """The pod p with these labels and a term about pods whose label job is, or is not, z."""
    expressions = [{"key": "job", "operator": operator, "values": ["z"]}]
    term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": ZONE}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod("p", labels=labels, affinity={kind: rule})


@pytest.mark.parametrize(
    ("operator", "job", "whom"),
    [("In", "z", f"one per {ZONE}"), ("NotIn", "x", f"to pods with job notin (z) by {ZONE}")],
)
def test_anti_affinity_says_whom_it_keeps_the_pod_from(operator: str, job: str, whom: str) -> None:
    other = pod("other", labels={"job": job}, node="a")
    answer = of(zoned("a", "z"), other, near(operator, {"job": "z"}))
    assert answer.cause == f"a would take it but for its own anti-affinity ({whom})"


def test_only_the_terms_of_anti_affinity_that_are_in_the_way_are_named() -> None:
    own = {"labelSelector": {"matchLabels": {"job": "z"}}, "topologyKey": HOSTNAME}
    red = {"labelSelector": {}, "namespaces": ["red"], "topologyKey": ZONE}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [own, red]}
    answer = of(
        zoned("a", "z"),
        pod("other", "red", labels={"job": "z"}, node="a"),
        pod("p", labels={"job": "z"}, affinity={"podAntiAffinity": rule}),
    )
    assert answer.cause == (
        "a would take it but for its own anti-affinity (to pods with any labels in namespace red "
        f"by {ZONE})"
    )


def test_only_the_spread_constraints_that_are_in_the_way_are_named() -> None:
    select = {"labelSelector": {"matchLabels": {"job": "z"}}, "maxSkew": 1}
    hard = {**select, "whenUnsatisfiable": "DoNotSchedule"}
    soft = {**select, "whenUnsatisfiable": "ScheduleAnyway", "topologyKey": "rack"}
    constraints = [{**hard, "topologyKey": ZONE}, {**hard, "topologyKey": HOSTNAME}, soft]

    def host(name: str, zone: str, *taints: str) -> dict[str, Any]:
        return node(name, labels={HOSTNAME: name, ZONE: zone}, taints=taints)

    def cause(*nodes: dict[str, Any]) -> str:
        waiting = pod("p", labels={"job": "z"}, spec={"topologySpreadConstraints": constraints})
        return of(*nodes, pod("other", labels={"job": "z"}, node="a"), waiting).cause

    barred = host("b", "y", "x:NoExecute", "y:NoExecute")
    assert cause(host("a", "z", "x:NoExecute"), host("a2", "z"), barred) == (
        f"a2 would take it but for its topology spread constraints (over {ZONE})"
    )
    assert cause(host("a", "z"), barred) == (
        f"a would take it but for its topology spread constraints (over {ZONE}, over {HOSTNAME})"
    )
    bare = node("c", labels={HOSTNAME: "c"})
    assert cause(host("a", "z", "x:NoExecute"), bare, barred) == (
        f"c would take it but for its topology spread constraints (over {ZONE}, a label that is "
        "not there)"
    )


def test_terms_of_node_affinity_of_which_no_node_meets_one_are_all_named() -> None:
    terms = [
        {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["d"]}]},
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    answer = of(zoned("a", "z"), pod("p", affinity={"nodeAffinity": required}))
    assert answer.cause == f"a would take it but for its node affinity (gen>3 or {ZONE}=d)"


@pytest.mark.parametrize("selector", [{}, {"pool": "a"}])
def test_node_affinity_that_the_configuration_adds_is_not_the_pods(
    selector: dict[str, str],
) -> None:
    terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["z"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    args = {"name": "NodeAffinity", "args": {"addedAffinity": required}}
    waiting = pod("p", node_selector=selector)
    state = cluster(node("n", labels={"pool": "a"}), waiting)
    run = simulation(state, {"profiles": [{"pluginConfig": [args]}]})
    assert present(diagnosed(run, "default/p")).cause == (
        "n would take it but for the node affinity that the scheduler's configuration adds"
    )


def test_the_first_pod_of_a_group_only_needs_the_key() -> None:
    answer = of(node("a"), near("In", {"job": "z"}, "podAffinity"))
    assert answer.cause == (
        f"a would take it but for its pod affinity by {ZONE}, a label that is not there"
    )


# -- kinds that a state lacks ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objects", "cause"),
    [
        ([], "claim default/data is not known: the state has no PersistentVolumeClaims"),
        (
            [claim("data", volume="pv-0")],
            "volume pv-0 of claim default/data is not known: the state has no PersistentVolumes",
        ),
        (
            [claim("data", storage_class="gp3")],
            "class gp3 of claim default/data is not known: the state has no StorageClasses",
        ),
        (
            [claim("data", volume="pv-0"), volume("pv-1")],
            "claim default/data is bound to volume pv-0, which does not exist",
        ),
        ([claim("other")], "there is no claim default/data"),
    ],
)
def test_no_cause_is_made_of_a_kind_that_the_state_lacks(
    objects: list[dict[str, Any]], cause: str
) -> None:
    assert of(node("a"), *objects, bound("data")).cause.startswith(cause)


@pytest.mark.parametrize(
    ("case", "absent", "cause"),
    [
        (
            {"claims": {}},
            "resource_claims",
            "ResourceClaim default/one is not known: the state has no ResourceClaims",
        ),
        (
            {"claims": {"one": "gpu"}},
            "device_classes",
            "DeviceClass gpu of claim default/one is not known: the state has no DeviceClasses",
        ),
    ],
)
def test_devices_of_a_kind_that_the_state_lacks(
    case: dict[str, Any], absent: str, cause: str
) -> None:
    state = state_of({"nodes": ["a"], "pods": {"p": ["one"]}, **case})
    without: dict[str, Any] = {absent: {}}
    run = simulation(replace(state, **without))
    assert present(diagnosed(run, "default/p")).cause.startswith(cause)
