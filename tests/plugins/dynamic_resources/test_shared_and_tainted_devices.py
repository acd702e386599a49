"""Devices with taints, binding conditions, counters and shared capacity, as 1.36 allocates them.

The cases are in shared_and_tainted_devices.yaml, and, decided by kube-scheduler v1.36.3, in
pool_allocations.yaml and request_allocations.yaml.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, explanation, node, pod
from tests.devices import allocation, device_class, thing

CASES = [
    case
    for name in ("shared_and_tainted_devices", "pool_allocations", "request_allocations")
    for case in yaml.load(Path(__file__).with_name(f"{name}.yaml").read_text(), yaml.CSafeLoader)[
        "cases"
    ]
]


def resource_slice(number: int, spec: dict[str, Any]) -> dict[str, Any]:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1, **spec.get("pool", {})}
    has_place = "nodeName" in spec or "perDeviceNodeSelection" in spec
    place = {} if has_place else {"allNodes": True}
    return thing("ResourceSlice", f"s{number}", {"driver": "d", **place, **spec, "pool": pool})


def claim(name: str, given: dict[str, Any]) -> dict[str, Any]:
    requests = [request(*each) for each in given.get("requests", {}).items()]
    spec = {"requests": requests, "constraints": given.get("constraints", [])}
    manifest = thing("ResourceClaim", name, {"devices": spec}, namespace="default")
    if "allocated" in given:
        status = {"allocation": allocation([], "n")}
        if given.get("anywhere"):
            del status["allocation"]["nodeSelector"]
        status["allocation"]["devices"]["results"] = [
            {"request": "r", "driver": "d", "pool": "p", **result} for result in given["allocated"]
        ]
        manifest["status"] = status
    return manifest


def request(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, list):
        return {"name": name, "firstAvailable": [exact(each) for each in given]}
    return {"name": name, "exactly": exact(given)}


def exact(given: dict[str, Any]) -> dict[str, Any]:
    count = {} if given.get("allocationMode") == "All" else {"count": 1}
    return {"deviceClassName": "any", "allocationMode": "ExactCount", **count, **given}


def manifests_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    claims = case["claims"]
    pending = [name for name, given in claims.items() if "allocated" not in given]
    pods = []
    for number, (name, own) in enumerate(case.get("pods", {"pod": pending}).items()):
        created = {"creationTimestamp": f"2026-01-01T00:00:{number:02d}Z"}
        references = [{"name": each, "resourceClaimName": each} for each in own]
        pods.append(pod(name, metadata=created, spec={"resourceClaims": references}))
    return [
        *map(node, case.get("nodes", ["n"])),
        device_class("any", []),
        *(resource_slice(*each) for each in enumerate(case["slices"])),
        *(claim(*each) for each in claims.items()),
        *pods,
    ]


def simulation_of(
    case: dict[str, Any], feature_gates: str = "", release: str = "1.36"
) -> Simulation:
    registry = registry_of(release_of(release, feature_gates))
    configuration = load_configuration(None, "", registry)
    return Simulation(cluster(*manifests_of(case)), configuration, registry, Options())


def devices_of(run: RunRecord) -> dict[str, list[str]]:
    return {
        name: [text.replace("=d/", "=").replace("=e/", "=") for text in devices]
        for attempt in run.attempts
        for name, devices in attempt.claims.items()
    }


@pytest.mark.parametrize("case", CASES, ids=[case["shows"] for case in CASES])
def test_allocation(case: dict[str, Any]) -> None:
    check_allocation(simulation_of(case).run(), case)


def check_allocation(run: RunRecord, expected: dict[str, Any]) -> None:
    """expected: devices, placed, error; see shared_and_tainted_devices.yaml"""
    assert devices_of(run) == expected.get("devices", {})
    if "placed" in expected:
        placed = {a.pod.partition("/")[2]: a.node for a in run.attempts if a.node}
        assert placed == expected["placed"]
    if "error" in expected:
        assert expected["error"] in run.attempts[-1].why_not


TAINTED = {"devices": [{"name": "a", "taints": [{"key": "k", "effect": "NoSchedule"}]}]}
SHARED = {"devices": [{"name": "a", "allowMultipleAllocations": True}]}
CONDITIONAL = {"devices": [{"name": "a", "bindingConditions": ["ready"]}]}
SINGLE: dict[str, Any] = {"c": {"requests": {"r": {}}}}
CAPACITY: dict[str, Any] = {"capacity": {"requests": {"memory": "1"}}}


@pytest.mark.parametrize(
    ("gate", "case", "devices"),
    [
        ("DRADeviceTaints", {"slices": [TAINTED], "claims": SINGLE}, {"c": ["r=p/a"]}),
        ("DRADeviceBindingConditions", {"slices": [CONDITIONAL], "claims": SINGLE}, {}),
        (
            "DRAConsumableCapacity",
            {"slices": [SHARED], "claims": {"c": {"requests": {"r": {}, "s": {}}}}},
            {},
        ),
        (
            "DRAConsumableCapacity",
            {"slices": [SHARED], "claims": {"c": {"requests": {"r": CAPACITY}}}},
            {},
        ),
    ],
)
def test_a_gate_that_is_off_has_no_such_devices(
    gate: str, case: dict[str, Any], devices: dict[str, list[str]]
) -> None:
    assert devices_of(simulation_of(case, f"{gate}=false").run()) == devices


def failed_claim() -> dict[str, Any]:
    """A claim that nobody has, with the device x, which could not be prepared."""
    place = {"driver": "d", "pool": "p", "device": "x"}
    waiting = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    result = {"request": "r", **place, **waiting}
    failed = {"type": "failed", "status": "True", "reason": "Broken", "message": "no link"}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "devices": [{**place, "conditions": [failed]}],
    }
    return {**claim("c", {"requests": {"r": {}}}), "status": status}


@pytest.mark.parametrize(
    ("gates", "devices"),
    [("", {"c": ["r=p/a"]}), ("DRADeviceBindingConditions=false", {"c": ["r=p/x"]})],
)
def test_a_claim_whose_device_cannot_be_prepared_is_allocated_anew(
    gates: str, devices: dict[str, list[str]]
) -> None:
    pods: dict[str, list[str]] = {"pod": ["c"], "later": []}
    case = {"slices": [{"devices": [{"name": "a"}]}], "claims": {}, "pods": pods}
    state = cluster(*manifests_of(case), failed_claim())
    registry = registry_of(release_of("1.36", gates))
    run = Simulation(state, load_configuration(None, "", registry), registry, Options()).run()
    assert devices_of(run) == devices
    if not gates:
        first = run.attempts[0]
        assert "1 resourceclaim not available on the node" in first.why_not
        assert "deallocation of ResourceClaim completed" in first.message


def test_an_explanation_says_why_a_device_could_not_be_prepared() -> None:
    case = {"slices": [{"devices": [{"name": "a"}]}], "claims": {}, "pods": {"pod": ["c"]}}
    state = cluster(*manifests_of(case), failed_claim())
    explained = explanation(state, pod="pod", kubernetes_version="1.36")
    (rejection,) = explained.nodes[0].rejections
    failure = 'device binding failed: claim=c, reason=Broken, message="no link"'
    assert rejection.details == (failure,)
