"""What Kubernetes 1.37 decides otherwise than 1.36: a test per rule, of whole runs under both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ksched_cli.config.load import default_configuration
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.errors import UsageError
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, node, pod, simulate
from tests import volumes
from tests.devices import claiming, device_class, thing

Manifest = dict[str, Any]
GPU = "gpu.example.com"
FILTER = 'running "DynamicResources" filter plugin: '


def both(*objects: Manifest, config: Any = None, gates: str = "") -> tuple[RunRecord, RunRecord]:
    """The runs of 1.36 and of 1.37. gates: of 1.37"""
    state = cluster(*objects)
    before = simulate(state, config, kubernetes_version="1.36")
    return before, simulate(state, config, kubernetes_version="1.37", feature_gates=gates)


def last(*objects: Manifest, config: Any = None, gates: str = "") -> tuple[Attempt, Attempt]:
    """The last attempts of both runs."""
    before, after = both(*objects, config=config, gates=gates)
    return before.attempts[-1], after.attempts[-1]


def outcomes(*objects: Manifest, config: Any = None, gates: str = "") -> tuple[str, str]:
    """The last attempts: the node, the error, or the first sentence of the message."""
    return tuple(  # type: ignore[return-value]  # two attempts are two texts
        attempt.node
        or attempt.error.removeprefix(FILTER)
        or attempt.why_not.partition(". ")[0].partition(": ")[2]
        for attempt in last(*objects, config=config, gates=gates)
    )


# -- the configuration ----------------------------------------------------------------------------


def test_node_name_comes_first_and_three_plugins_extend_pre_filter() -> None:
    lists = {}
    for minor in ("1.36", "1.37"):
        configuration = default_configuration(registry_of(release_of(minor)))
        (profile,) = configuration.profiles
        lists[minor] = {
            point: [ref.name for ref in refs] for point, refs in profile.plugins.items()
        }
    first = ["NodeName", "NodeUnschedulable", "TaintToleration"]
    assert lists["1.36"]["filter"][:2] == ["NodeUnschedulable", "NodeName"]
    assert lists["1.37"]["filter"][:3] == lists["1.37"]["preFilter"][:3] == first
    assert lists["1.36"]["preFilter"][0] == "NodeAffinity"


def test_pod_group_post_filter_is_filled_by_multi_point() -> None:
    before, after = (default_configuration(registry_of(release_of(m))) for m in ("1.36", "1.37"))
    assert "podGroupPostFilter" not in before.profiles[0].plugins
    refs = after.profiles[0].plugins["podGroupPostFilter"]
    assert [ref.name for ref in refs] == ["DynamicResources", "DefaultPreemption"]


def test_deferred_pod_scheduling_may_be_named_and_does_nothing_without_its_gate() -> None:
    config = {
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "DeferredPodScheduling"}]}}}]
    }
    record = simulate(cluster(node("a"), pod()), config, kubernetes_version="1.37")
    assert [attempt.node for attempt in record.attempts] == ["a"]


@pytest.mark.parametrize(
    ("gate", "refusal"),
    [
        ("SchedulerQueueingHints=true", "unrecognized feature gate: SchedulerQueueingHints"),
        ("SidecarContainers=true", "unrecognized feature gate: SidecarContainers"),
        ("GangScheduling=true", "unrecognized feature gate: GangScheduling"),
        ("WorkloadAwarePreemption=true", "unrecognized feature gate: WorkloadAwarePreemption"),
        ("NodeDeclaredFeatures=false", "feature is locked to true"),
        ("DRAExtendedResource=false", "feature is locked to true"),
    ],
)
def test_gates_that_are_gone_or_locked_are_refused_in_upstreams_words(
    gate: str, refusal: str
) -> None:
    with pytest.raises(UsageError, match=refusal):
        release_of("1.37", gate)


# -- preemption -----------------------------------------------------------------------------------


def test_preemption_says_what_it_found_and_device_post_filter_is_silent() -> None:
    before, after = both(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("high", cpu="1", priority=9)
    )
    success = "preemption: found a potential placement for pod on node a, preempting 1 victims"
    assert "found a potential" not in before.attempts[0].message
    assert after.attempts[0].message == f"0/1 nodes are available: 1 Insufficient cpu. {success}"
    before_message, after_message = (
        attempt.why_not for attempt in last(node("a", cpu="1"), pod("p", cpu="2"))
    )
    assert "no new claims to deallocate, preemption:" in before_message
    assert ". preemption:" in after_message


def running(name: str, cpu: str, *, start: str = "", **fields: Any) -> Manifest:
    return pod(name, cpu=cpu, node="a", status={"startTime": start} if start else {}, **fields)


def test_the_last_of_the_victims_without_a_start_time_goes_first() -> None:
    before, after = both(
        node("a", cpu="3"),
        *(running(f"v{index}", "1") for index in range(3)),
        pod("high", cpu="1", priority=9),
    )
    assert before.attempts[0].post_filter.victims == ("default/v0",)  # type: ignore[union-attr]
    assert after.attempts[0].post_filter.victims == ("default/v2",)  # type: ignore[union-attr]


def test_a_victim_with_a_start_time_is_older_than_those_without() -> None:
    _, after = both(
        node("a", cpu="3"),
        running("new", "1"),
        running("old", "1", start="2026-01-01T00:00:00Z"),
        running("newer", "1"),
        pod("high", cpu="2", priority=9),
    )
    victims = after.attempts[0].post_filter.victims  # type: ignore[union-attr]
    assert victims == ("default/new", "default/newer")


def test_a_removed_pods_place_among_the_victims_is_taken_by_the_last() -> None:
    """v0 is evicted first; v3 takes its place, and v2 is the youngest then."""
    pods = [running(f"v{index}", "1", priority=int(index > 0)) for index in range(4)]
    first = pod("first", cpu="1", priority=9)
    second = pod("second", cpu="1", priority=8, affinity=None)
    _, after = both(node("a", cpu="4"), *pods, first, second)
    victims = [a.post_filter.victims for a in after.attempts if a.post_filter is not None]
    assert [v for v in victims if v] == [("default/v0",), ("default/v2",)]


def test_a_budget_after_the_first_violated_one_does_not_count_the_victim() -> None:
    def budget(name: str, allowed: int, labels: Manifest) -> Manifest:
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed},
        }

    before, after = both(
        node("a", cpu="2"),
        running("both", "1", start="2026-01-01T00:00:00Z", labels={"x": "1", "y": "1"}),
        running("one", "1", start="2026-01-02T00:00:00Z", labels={"y": "1"}),
        budget("x", 0, {"x": "1"}),
        budget("y", 1, {"y": "1"}),
        pod("high", cpu="2", priority=9),
    )
    counts = [r.attempts[0].post_filter.candidates["a"].pdb_violations for r in (before, after)]  # type: ignore[union-attr]
    assert counts == [2, 1]


# -- plugins --------------------------------------------------------------------------------------


def score(attempt: Attempt, plugin: str, name: str) -> int:
    """A node's raw score."""
    return attempt.detail.scores[name][plugin].raw


def test_image_volumes_count_in_the_threshold_of_image_locality() -> None:
    image = {"name": "v", "image": {"reference": "big:1"}}
    size = 500 * 1024 * 1024
    before, after = last(
        node("a", images={"big:1": size, "img:latest": size}),
        node("b", images={"big:1": size, "img:latest": size}),
        pod("p", spec={"volumes": [image]}),
    )
    scores = [score(attempt, "ImageLocality", "a") for attempt in (before, after)]
    assert scores == [100, 49]


def test_a_resized_pod_requests_the_greatest_of_three_sums() -> None:
    """The spec asks for 1 and 3, the node has granted 3 and 1: 6 by each container's most, 4 by the
    sums."""
    statuses = [
        {"name": name, "allocatedResources": {"cpu": cpu}, "resources": {"requests": {"cpu": cpu}}}
        for name, cpu in (("x", "3"), ("y", "1"))
    ]
    containers = [
        {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}}}
        for name, cpu in (("x", "1"), ("y", "3"))
    ]
    resized = pod(
        "r", node="a", spec={"containers": containers}, status={"containerStatuses": statuses}
    )
    assert outcomes(node("a", cpu="6"), resized, pod("p", cpu="2")) == ("1 Insufficient cpu", "a")


def test_what_a_pod_says_of_itself_while_it_is_resized_stands_for_its_containers() -> None:
    """An infeasible resize: the spec does not count, and the containers were granted more."""
    granted = {"cpu": "3"}
    status = {
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
        "containerStatuses": [
            {"name": "c", "allocatedResources": granted, "resources": {"requests": granted}}
        ],
        "allocatedResources": {"cpu": "1"},
        "resources": {"requests": {"cpu": "1"}},
    }
    resized = pod("r", cpu="4", node="a", status=status)
    assert outcomes(node("a", cpu="3"), resized, pod("p", cpu="2")) == ("1 Insufficient cpu", "a")


@pytest.mark.parametrize(
    "resources",
    [{"limits": {"cpu": "3"}}, {"requests": {"memory": "1Gi"}}, {"limits": {"memory": "2Gi"}}],
)
def test_defaults_of_the_pod_as_a_whole_leave_its_requests_as_they_were(
    resources: Manifest,
) -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}
    whole = pod("w", spec={"containers": [container], "resources": resources})
    for cpu in ("1", "2", "3"):
        before, after = outcomes(node("a", cpu=cpu), whole)
        assert before == after


def test_what_the_pod_as_a_whole_requests_by_default_counts_while_it_is_resized() -> None:
    """The status of the pod names memory, which its spec as a whole takes from the container."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"memory": "3Gi"}}}
    spec = {"containers": [container], "resources": {"requests": {"cpu": "1"}}}
    status = {"resources": {"requests": {"memory": "1Gi"}}}
    resized = pod("r", node="a", spec=spec, status=status)
    both_runs = outcomes(node("a", memory="4Gi"), resized, pod("p", memory="2Gi"))
    assert both_runs == ("1 Insufficient memory", "1 Insufficient memory")


def test_a_missing_csi_driver_that_says_so_rejects_the_node() -> None:
    manifests = (
        volumes.csi_driver(preventPodSchedulingIfMissing=True),
        volumes.storage_class("fast", volumes.CSI),
        volumes.claim("c", storage_class="fast"),
    )
    waiting = pod("p", spec=volumes_of("c"))
    reason = f"2 {volumes.CSI} CSI driver is not installed on the node"
    nodes = (node("a"), node("b"), volumes.csi_node("b", other_driver=3))
    assert outcomes(*nodes, *manifests, waiting) == ("a", reason)
    installed = volumes.csi_node("a", csi_example_com=None)
    assert outcomes(*nodes, installed, *manifests, waiting) == ("a", "a")
    gates = "VolumeLimitScaling=false"
    assert outcomes(*nodes, *manifests, waiting, gates=gates) == ("a", "a")


def volumes_of(*claims: str) -> Manifest:
    return {
        "volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    }


def test_bind_mount_options_need_a_node_that_declares_them() -> None:
    mounts = [{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}]
    container = {"name": "c", "image": "i", "volumeMounts": mounts}
    waiting = pod("p", spec={"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]})
    declared = node("b", status={"declaredFeatures": ["VolumeBindMountOptions"]})
    assert outcomes(node("a"), declared, waiting) == ("a", "b")


# -- the storage score ----------------------------------------------------------------------------


def provisioned(*capacities: Manifest, claims: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    names = [each["metadata"]["name"] for each in claims]
    return (
        volumes.csi_driver(storageCapacity=True),
        volumes.storage_class("fast", volumes.CSI),
        *capacities,
        *claims,
        pod("p", spec=volumes_of(*names)),
    )


def on(name: str) -> Manifest:
    return {"matchLabels": {"kubernetes.io/hostname": name}}


def hosts(*names: str) -> list[Manifest]:
    return [node(name, labels={"kubernetes.io/hostname": name}) for name in names]


def test_more_free_capacity_for_volumes_to_be_provisioned_wins() -> None:
    before, after = last(
        *hosts("a", "b"),
        *provisioned(
            volumes.capacity("ca", "fast", "20Gi", nodeTopology=on("a")),
            volumes.capacity("cb", "fast", "100Gi", nodeTopology=on("b")),
            claims=(
                volumes.claim("one", "5Gi", "fast"),
                volumes.claim("two", "5Gi", "fast"),
            ),
        ),
    )
    assert (before.node, after.node) == ("a", "b")
    assert [score(after, "VolumeBinding", name) for name in "ab"] == [50, 90]


def test_existing_volumes_go_before_those_to_be_provisioned_in_the_storage_score() -> None:
    """On a node with a volume to bind, the capacity for the other claim does not count."""
    _, after = last(
        *hosts("a", "b"),
        volumes.storage_class("local"),
        volumes.volume("pv", "10Gi", on=["a"]),
        volumes.volume("pv-b", "4Gi", on=["b"]),
        *provisioned(
            volumes.capacity("ca", "fast", "100Gi", nodeTopology={}),
            claims=(volumes.claim("bound", "4Gi"), volumes.claim("made", "50Gi", "fast")),
        ),
    )
    assert [score(after, "VolumeBinding", name) for name in "ab"] == [60, 0]


def test_a_pod_without_volumes_has_a_storage_score_of_zero() -> None:
    before, after = last(node("a"), node("b"), pod())
    assert "VolumeBinding" not in before.detail.scores["a"]
    assert score(after, "VolumeBinding", "a") == 0


def test_the_shape_of_the_storage_score_is_defaulted_and_checked() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    config = {"profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": {"shape": shape}}]}]}
    objects = (
        *hosts("a", "b"),
        *provisioned(
            volumes.capacity("ca", "fast", "20Gi", nodeTopology=on("a")),
            volumes.capacity("cb", "fast", "100Gi", nodeTopology=on("b")),
            claims=(volumes.claim("one", "10Gi", "fast"),),
        ),
    )
    record = simulate(cluster(*objects), config, kubernetes_version="1.37")
    assert record.attempts[0].node == "a"
    with pytest.raises(
        Exception, match="shape requires the feature gate StorageCapacityScoring, which is off"
    ):
        simulate(cluster(*objects), config, kubernetes_version="1.36")


def test_a_capacity_without_an_amount_breaks_the_cycle_of_its_pod_alone() -> None:
    """Where 1.37.2 panics: only where two nodes fit are they scored."""
    objects = (
        *provisioned(
            volumes.capacity("c", "fast", maximumVolumeSize="100Gi"),
            claims=(volumes.claim("one", "10Gi", "fast"),),
        ),
        pod("other", metadata={"creationTimestamp": "2026-01-02T00:00:00Z"}),
    )
    record = simulate(cluster(*hosts("a", "b"), *objects), kubernetes_version="1.37")
    broken, other = record.attempts[:2]
    assert broken.error == (
        'running Score plugins: plugin "VolumeBinding" failed with: '
        "kube-scheduler v1.37.2 panics here: CSIStorageCapacity default/c has a maximumVolumeSize"
        " and no capacity"
    )
    assert other.node == "a"
    record = simulate(cluster(*hosts("a"), *objects), kubernetes_version="1.37")
    assert [attempt.node for attempt in record.attempts] == ["a", "a"]


# -- batches --------------------------------------------------------------------------------------

SPREAD = {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
BATCHED = {"profiles": [{"pluginConfig": [SPREAD]}]}


def test_a_batch_goes_on_where_the_last_node_still_has_room() -> None:
    """The node taken last is scored again, and ranked among those that are left."""
    nodes = (node("big", cpu="8"), node("middle", cpu="5"), node("small", cpu="2"))
    pods = [pod(f"p{index}", cpu="1") for index in range(4)]
    before, after = both(*nodes, *pods, config=BATCHED)
    assert [attempt.evaluated for attempt in before.attempts] == [3, 3, 3, 3]
    assert [attempt.evaluated for attempt in after.attempts] == [3, 1, 1, 1]
    assert [attempt.node for attempt in after.attempts] == [a.node for a in before.attempts]


def test_a_nominated_pod_takes_no_part_in_a_batch() -> None:
    nodes = [node(name, cpu="4") for name in ("a", "b", "c")]
    nominated = pod("p1", cpu="3", status={"nominatedNodeName": "c"})
    pods = [pod("p0", cpu="3"), nominated, pod("p2", cpu="3")]
    _, after = both(*nodes, *pods, config=BATCHED)
    assert [(a.node, a.evaluated) for a in after.attempts] == [("a", 3), ("c", 1), ("b", 3)]


# -- devices --------------------------------------------------------------------------------------


def slices(*devices: Manifest, driver: str = GPU, pool: str = "pool", **spec: Any) -> Manifest:
    count = spec.pop("count", 1)
    named = {"name": pool, "generation": 1, "resourceSliceCount": count}
    name = spec.pop("name", f"{driver}-{pool}")
    where = {} if "nodeName" in spec else {"allNodes": True}
    fields = {"driver": driver, "pool": named, **where, **spec}
    return thing("ResourceSlice", name, fields | ({"devices": list(devices)} if devices else {}))


def device_claim(name: str = "c", /, **fields: Any) -> Manifest:
    devices = {key: fields.pop(key) for key in ("constraints",) if key in fields}
    exactly = {"deviceClassName": "any", **fields}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}], **devices}}
    return thing("ResourceClaim", name, spec, namespace="default")


def allocated(claim: Manifest, device: str, **result: Any) -> Manifest:
    results = [{"request": "r", "driver": GPU, "pool": "pool", "device": device, **result}]
    return claim | {"status": {"allocation": {"devices": {"results": results}}}}


ANY = device_class("any", [])


def claimed(*objects: Manifest, claim: Manifest | None = None, gates: str = "") -> tuple[str, str]:
    waiting = claiming(0, "p", ["c"])
    return outcomes(node("a"), ANY, *objects, claim or device_claim(), waiting, gates=gates)


def test_errors_of_selectors_name_the_device_and_hint_at_optional_keys() -> None:
    expression = f'device.attributes["{GPU}"].missing == 1'
    selector: Manifest = {"selectors": [{"cel": {"expression": expression}}]}
    before, after = claimed(slices({"name": "d"}), claim=device_claim(**selector))
    assert before == "claim default/c: selector #0: CEL runtime error: no such key: missing"
    assert after == (
        f"claim default/c: selector #0 on device {GPU}/pool/d: CEL runtime error: no such key:"
        " missing. consider using CEL optional chaining (.? followed by orValue()) or guarding the"
        " check with has() for optional fields"
    )


def counted(name: str, amount: str = "1", /, **fields: Any) -> Manifest:
    consumed = [{"counterSet": "s", "counters": {"c": {"value": amount}}}]
    return {"name": name, "consumesCounters": consumed, **fields}


def counters(amount: str, driver: str = GPU, **spec: Any) -> Manifest:
    sets = [{"name": "s", "counters": {"c": {"value": amount}}}]
    name = f"{driver}-counters"
    return slices(name=name, driver=driver, sharedCounters=sets, count=2, **spec)


def test_counters_of_two_drivers_pools_of_one_name_are_apart() -> None:
    objects = [
        manifest
        for driver, amount in (("a.example.com", "0"), (GPU, "1"))
        for manifest in (
            counters(amount, driver),
            slices(counted("d"), driver=driver, count=2),
        )
    ]
    assert claimed(*objects) == ("1 cannot allocate all claims", "a")


def test_slices_with_counters_count_on_their_own_nodes_only() -> None:
    """On another node nothing is known of a pool that is invalid."""
    broken = {"name": "d", "consumesCounters": [{"counterSet": "other", "counters": {"c": {}}}]}
    objects = (counters("1", nodeName="b"), slices(broken, nodeName="b", count=2))
    before, after = claimed(*objects)
    assert before == "1 invalid resource pools were encountered"
    assert after == "1 cannot allocate all claims"


SHARED: Manifest = {"allowMultipleAllocations": True}


def test_a_device_in_use_does_not_pay_its_counters_again() -> None:
    """Nor where the share that is allocated has no capacity."""
    device = counted("d", **SHARED)
    used = allocated(device_claim("used"), "d", shareID="00000001-0000-0000-0000-000000000000")
    objects = (counters("1"), slices(device, count=2), used)
    assert claimed(*objects) == ("1 cannot allocate all claims", "a")


def memory(amount: str, **policy: Any) -> Manifest:
    return {"capacity": {"mem": {"value": amount, **({"requestPolicy": policy} if policy else {})}}}


def wanting(amount: str, **fields: Any) -> Manifest:
    return device_claim(capacity={"requests": {"mem": amount}}, **fields)


def test_in_mode_all_a_device_without_enough_left_fails_the_request() -> None:
    devices = [{"name": name, **SHARED, **memory("4Gi")} for name in ("d0", "d1")]
    share = {"shareID": "00000001-0000-0000-0000-000000000000", "consumedCapacity": {"mem": "3Gi"}}
    used = allocated(device_claim("used"), "d0", **share)
    claim = wanting("2Gi", allocationMode="All")
    assert claimed(slices(*devices), used, claim=claim) == ("a", "1 cannot allocate all claims")
    small = {"name": "d2", **SHARED, **memory("1Gi")}
    assert claimed(slices(*devices, small), claim=claim) == ("a", "a")


@pytest.mark.parametrize(
    ("amount", "policy", "problem"),
    [
        ("-1", {}, "capacity value is negative"),
        (
            "10E",
            {"validRange": {"min": "1", "step": "1"}},
            "capacity request cannot be represented in the device's range arithmetic: request 10E"
            " exceeds MaxInt64",
        ),
        (
            "9223372036854775807",
            {"validRange": {"min": "0", "step": "4"}},
            "capacity request cannot be represented in the device's range arithmetic: rounding"
            " request 9223372036854775807 up to the next step passes MaxInt64",
        ),
    ],
)
def test_capacity_that_is_negative_or_cannot_be_rounded_breaks_the_cycle(
    amount: str, policy: Manifest, problem: str
) -> None:
    device = {"name": "d", **SHARED, **memory("20E", **policy)}
    _, after = claimed(slices(device), claim=wanting(amount))
    name = f"{GPU}/pool/d"
    place = f"claim default/c, request r: checking capacity for device {name}"
    assert after == f'{place}: capacity "mem": {problem}'


def test_the_error_about_too_many_devices_names_the_request() -> None:
    before, after = claimed(slices({"name": "d"}), claim=device_claim(count=33))
    assert before == (
        "claim default/c: number of requested devices 33 exceeds the claim limit of 32"
    )
    assert after == (
        "claim default/c, request r: adding 33 devices exceeds the claim limit of 32, with 0"
        " already accounted for"
    )


@pytest.mark.parametrize(
    "expression",
    [
        "{}.l.exists(x, x == 2)",
        "2 in {}.l",
        "{}.l.includes(2)",
        "{}.l[1] == 2 && size({}.l) == 2",
        "{}.other.includes('x')",
        "{}.v[0].isLessThan(semver('2.0.0'))",
    ],
)
def test_a_list_attribute_is_a_value_to_selectors(expression: str) -> None:
    attributes = {
        "l": {"ints": [1, 2]},
        "other": {"string": "x"},
        "v": {"versions": ["1.2.3"]},
    }
    text = expression.replace("{}", f'device.attributes["{GPU}"]')
    claim = device_claim(selectors=[{"cel": {"expression": text}}])
    _, after = claimed(slices({"name": "d", "attributes": attributes}), claim=claim)
    assert after == "a"
    matching_all = device_claim(selectors=[{"cel": {"expression": "true"}}])
    before, _ = claimed(slices({"name": "d", "attributes": attributes}), claim=matching_all)
    assert before.endswith("unsupported attribute value")


def test_slices_with_compatibility_groups_make_their_pool_incomplete() -> None:
    grouped = counted("d")
    grouped["consumesCounters"][0]["compatibilityGroups"] = ["g"]
    objects = (counters("4"), slices(grouped, counted("e"), count=2))
    assert claimed(*objects) == ("a", "1 cannot allocate all claims")


def test_distinct_attribute_remembers_every_device_of_a_request() -> None:
    devices = [
        {"name": f"d{index}", "attributes": {"model": {"string": model}}}
        for index, model in enumerate("aba")
    ]
    constraints = [{"distinctAttribute": f"{GPU}/model"}]
    claim = device_claim(count=3, constraints=constraints)
    assert claimed(slices(*devices), claim=claim) == ("a", "1 cannot allocate all claims")


def rule(**selector: str) -> Manifest:
    taint = {"key": "broken", "effect": "NoSchedule"}
    return thing("DeviceTaintRule", "rule", {"deviceSelector": selector, "taint": taint})


@pytest.mark.parametrize(
    ("selector", "node_name"),
    [
        ({}, ""),
        ({"driver": GPU}, ""),
        ({"driver": GPU, "pool": "pool", "device": "d"}, ""),
        ({"driver": "other"}, "a"),
        ({"pool": "other"}, "a"),
        ({"device": "other"}, "a"),
    ],
)
def test_device_taint_rules_add_their_taint(selector: dict[str, str], node_name: str) -> None:
    before, after = claimed(slices({"name": "d"}), rule(**selector))
    assert before == "a"
    assert after == (node_name or "1 cannot allocate all claims")


def test_a_device_taint_rule_without_a_selector_taints_nothing() -> None:
    manifest = rule()
    del manifest["spec"]["deviceSelector"]
    assert claimed(slices({"name": "d"}), manifest) == ("a", "a")
    gates = "DRADeviceTaintRules=false"
    assert claimed(slices({"name": "d"}), rule(driver=GPU), gates=gates) == ("a", "a")


def test_ranges_count_in_thousandths_with_their_gate_alone() -> None:
    """600m in steps of 250m: 1 where ranges count in whole units, else 750m."""
    policy = {"validRange": {"min": "250m", "step": "250m", "max": "2"}}
    device = {"name": "d", **SHARED, **memory("900m", **policy)}
    fractional = "DRAFractionalCapacityRange=true"
    claim: Callable[[], Manifest] = lambda: wanting("600m")  # noqa: E731
    nowhere = "1 cannot allocate all claims"
    assert claimed(slices(device), claim=claim()) == (nowhere, nowhere)
    assert claimed(slices(device), claim=claim(), gates=fractional) == (nowhere, "a")


def test_ranges_count_in_thousandths_where_no_older_scheduler_is_beside() -> None:
    policy = {"validRange": {"min": "250m", "step": "250m", "max": "2"}}
    device = {"name": "d", **SHARED, **memory("900m", **policy)}
    for version, placed in (("1.36", ""), ("1.37", "a")):
        state = cluster(node("a"), ANY, slices(device), wanting("600m"), claiming(0, "p", ["c"]))
        run = simulate(state, kubernetes_version="1.37", min_compatibility_version=version)
        assert run.attempts[-1].node == placed, version
