"""Devices that are a part of their node's allocatable resources, or take from them beside
(DRANodeAllocatableResources)."""

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.records import RunRecord
from ksched_cli.testing import cluster, node, pod, simulate
from tests.devices import GPU, device_class, thing
from tests.replays import replay, tries

GATE = "DRANodeAllocatableResources=true"
CORES = {"cpu": {"mapping": {"deviceMultiplier": "1500m"}}}
CORES_OF_1_36 = {"cpu": {"allocationMultiplier": "1500m"}}
HOST_MEMORY = {"memory": {"overhead": {"perPod": "1Gi", "perContainer": "1Gi"}}}


def devices(count: int, **fields: Any) -> dict[str, Any]:
    listed = [{"name": f"d{number}", **fields} for number in range(count)]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    return thing(
        "ResourceSlice", "s", {"driver": GPU, "nodeName": "n", "pool": pool, "devices": listed}
    )


def claim(name: str) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}
    spec = {"devices": {"requests": [request]}}
    return thing("ResourceClaim", name, spec, namespace="default", uid=name)


def claiming(name: str, claim_name: str, **fields: Any) -> dict[str, Any]:
    waiting = pod(name, **fields)
    waiting["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": claim_name}]
    for container in waiting["spec"]["containers"]:
        container.setdefault("resources", {})["claims"] = [{"name": "c"}]
    return waiting


def run(*manifests: dict[str, Any], minor: str = "1.38", gates: str = GATE) -> RunRecord:
    machine = node("n", cpu="4", memory="4Gi")
    state = cluster(machine, device_class("any", []), *manifests)
    return simulate(state, kubernetes_version=minor, feature_gates=gates)


@pytest.mark.parametrize(
    ("minor", "field", "resources"),
    [
        ("1.36", "nodeAllocatableResourceMappings", CORES_OF_1_36),
        ("1.37", "nodeAllocatableResources", CORES),
        ("1.38", "nodeAllocatableResources", CORES),
    ],
)
def test_a_device_that_is_cores_of_the_node_takes_them_from_other_pods(
    minor: str, field: str, resources: dict[str, Any]
) -> None:
    waiting = [claiming(f"p{i}", f"c{i}", cpu="500m") for i in range(3)]
    claims = [claim(f"c{i}") for i in range(3)]
    manifests = (devices(3, **{field: resources}), *claims, *waiting)
    record = run(*manifests, minor=minor)
    assert [*record.placements] == ["default/p0", "default/p1"]
    assert "Insufficient cpu" in record.last["default/p2"].message
    assert len(run(*manifests, minor=minor, gates="").placements) == 3


def test_what_a_device_takes_beside_counts_for_each_container_that_uses_it() -> None:
    single, double = claiming("single", "c0"), claiming("double", "c1")
    double["spec"]["containers"].append({"name": "d", "resources": {"claims": [{"name": "c"}]}})
    manifests = devices(2, nodeAllocatableResources=HOST_MEMORY), claim("c0"), claim("c1")
    # 2Gi and 3Gi of 4Gi.
    assert [*run(*manifests, single, double).placements] == ["default/single"]
    assert [*run(*manifests, double).placements] == ["default/double"]


@pytest.mark.parametrize(("minor", "fits"), [("1.37", False), ("1.38", True)])
def test_what_a_device_takes_for_an_init_container_ends_with_it_from_1_38_on(
    minor: str, fits: bool
) -> None:
    waiting = claiming("p", "c0")
    uses = {"resources": {"claims": [{"name": "c"}]}}
    waiting["spec"]["initContainers"] = [{"name": f"i{number}", **uses} for number in range(3)]
    record = run(
        devices(1, nodeAllocatableResources=HOST_MEMORY), claim("c0"), waiting, minor=minor
    )
    assert bool(record.placements) is fits


@pytest.mark.parametrize(
    ("minor", "reason"),
    [
        ("1.36", "claim c0 is already used by another pod"),
        ("1.38", "claim c0 has a mapped device and cannot be shared across pods"),
    ],
)
def test_a_claim_of_such_devices_cannot_be_shared(minor: str, reason: str) -> None:
    fields = {
        "nodeAllocatableResources": CORES,
        "nodeAllocatableResourceMappings": CORES_OF_1_36,
    }
    pods = claiming("first", "c0"), claiming("second", "c0")
    record = run(devices(1, **fields), claim("c0"), *pods, minor=minor)
    assert [*record.placements] == ["default/first"]
    assert reason in record.last["default/second"].message


def test_a_claim_of_what_is_taken_beside_can_be_shared() -> None:
    pods = claiming("first", "c0"), claiming("second", "c0"), claiming("third", "c0")
    record = run(devices(1, nodeAllocatableResources=HOST_MEMORY), claim("c0"), *pods)
    # Each takes 2Gi of 4Gi.
    assert [*record.placements] == ["default/first", "default/second"]


def test_a_running_pod_takes_what_its_status_says() -> None:
    running = pod("running", node="n", cpu="1")
    mapped = {"resourceClaimName": "x", "mapping": [{"name": "cpu", "quantity": "2"}]}
    running["status"] = {"phase": "Running", "nodeAllocatableResourceClaimStatuses": [mapped]}
    waiting = pod("waiting", cpu="2")
    assert not run(running, waiting).placements
    assert run(running, waiting, gates="").placements


def test_preemption_makes_room_for_what_claims_take() -> None:
    victim = pod("victim", node="n", cpu="2")
    waiting = claiming("p", "c0", cpu="1", priority=100)
    record = run(devices(1, nodeAllocatableResources=CORES), claim("c0"), victim, waiting)
    assert [eviction.pod for eviction in record.evicted] == ["default/victim"]
    assert record.placements == {"default/p": "n"}


def test_the_requests_of_a_pod_as_a_whole_must_cover_its_claims() -> None:
    waiting = claiming("p", "c0", cpu="500m")
    waiting["spec"]["resources"] = {"requests": {"cpu": "1"}}
    record = run(devices(1, nodeAllocatableResources=CORES), claim("c0"), waiting)
    assert "pod level request for cpu is insufficient" in record.last["default/p"].message


def test_a_running_pod_that_is_changed_keeps_what_its_claims_take(tmp_path: Path) -> None:
    state = [
        node("n", cpu="4", memory="4Gi"),
        device_class("any", []),
        devices(1, nodeAllocatableResources=CORES),
        claim("c0"),
    ]
    changed = claiming("p", "c0", cpu="1", labels={"app": "other"})
    changed["status"] = {"phase": "Running"}
    events = [
        {"at": 0, "pod": claiming("p", "c0", cpu="1")},
        {"at": 1, "put": changed},
        {"at": 2, "pod": pod("q", cpu="2")},
    ]
    run = replay(tmp_path, state, events, gates=GATE, minor="1.38", until=5)
    assert [each[2] for each in tries(run)] == ["n", "unschedulable"]
