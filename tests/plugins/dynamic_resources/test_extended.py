"""Pods that request extended resources that device classes back, by the rules of 1.36."""

import json
from typing import Any

import pytest

from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, node, pod
from tests.devices import thing
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import claim, resource_slice

GPU = "example.com/gpu"
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
IMPLICIT = "deviceclass.resource.kubernetes.io/any"
BACKING = thing("DeviceClass", "any", {"extendedResourceName": GPU})
TWO_DEVICES = resource_slice(0, {"nodeName": "n", "devices": [{"name": "a"}, {"name": "b"}]})


def requesting(name: str, resources: dict[str, str], number: int = 0) -> dict[str, Any]:
    created = {"creationTimestamp": f"2026-01-01T00:00:{number:02d}Z", "uid": name}
    container = {"name": "c", "image": "i", "resources": {"requests": resources}}
    return pod(name, metadata=created, spec={"containers": [container]})


def run_of(
    *manifests: dict[str, Any],
    minor: str = "1.36",
    feature_gates: str = "",
    config: dict[str, Any] | None = None,
) -> RunRecord:
    registry = registry_of(release_of(minor, feature_gates))
    text = json.dumps({**CONFIG, **config}) if config else None
    configuration = load_configuration(text, "", registry)
    return Simulation(cluster(*manifests), configuration, registry, Options()).run()


@pytest.mark.parametrize("resource", [GPU, IMPLICIT])
def test_devices_stand_for_a_resource_that_the_node_does_not_have(resource: str) -> None:
    run = run_of(node("m"), node("n"), BACKING, TWO_DEVICES, requesting("p", {resource: "2"}))
    (attempt,) = run.attempts
    assert attempt.node == "n"
    devices = ("container-0-request-0=d/p/a", "container-0-request-0=d/p/b")
    assert dict(attempt.claims) == {"<extended-resources>": devices}


def test_the_next_pod_finds_them_taken() -> None:
    pods = [requesting(name, {GPU: "2"}, number) for number, name in enumerate("pq")]
    first, second = run_of(node("n"), BACKING, TWO_DEVICES, *pods).attempts
    assert first.node == "n"
    assert "1 cannot allocate all claims" in second.why_not


def test_a_device_plugin_comes_first() -> None:
    with_plugin = node("n", resources={GPU: "1"})
    pods = [requesting(name, {GPU: "1"}, number) for number, name in enumerate("pq")]
    first, second = run_of(with_plugin, BACKING, TWO_DEVICES, *pods).attempts
    assert (first.node, dict(first.claims)) == ("n", {})
    assert f"1 Insufficient {GPU}" in second.why_not


def test_claims_and_resources_are_allocated_together() -> None:
    mixed = requesting("p", {GPU: "1"})
    mixed["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "c"}]
    own = claim("c", {"requests": {"r": {}}})
    (attempt,) = run_of(node("n"), BACKING, TWO_DEVICES, own, mixed).attempts
    assert dict(attempt.claims) == {
        "c": ("r=d/p/a",),
        "<extended-resources>": ("container-0-request-0=d/p/b",),
    }


def stale_claim() -> dict[str, Any]:
    """The pod p's claim, from an attempt before."""
    stale = claim("p-extended-resources-x", {"requests": {"r": {}}})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    stale["metadata"]["ownerReferences"] = [owner]
    stale["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    return stale


def test_a_pod_like_one_with_a_claim_left_behind_is_not_rejected_for_it() -> None:
    pods = [requesting(name, {GPU: "1"}, number) for number, name in enumerate("pq")]
    disabled = {"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}
    config = {"profiles": [{"schedulerName": "default-scheduler", **disabled}]}
    run = run_of(node("n"), BACKING, TWO_DEVICES, stale_claim(), *pods, config=config)
    assert [attempt.node for attempt in run.attempts[:2]] == ["", "n"]


def test_nodes_whose_device_plugins_have_the_resource_are_scored() -> None:
    other = resource_slice(1, {"nodeName": "o", "devices": [{"name": "a"}]})
    nodes = [node("n"), node("m", resources={GPU: "2"}), node("o")]
    run = run_of(*nodes, BACKING, TWO_DEVICES, other, requesting("p", {GPU: "1"}))
    (attempt,) = run.attempts
    assert (attempt.error, attempt.node) == ("", "m")


def test_a_claim_that_an_earlier_attempt_left_behind_is_deleted_first() -> None:
    run = run_of(node("n"), BACKING, TWO_DEVICES, stale_claim(), requesting("p", {GPU: "1"}))
    assert "1 cannot schedule extended resource claim" in run.attempts[0].why_not
    assert "deletion of ResourceClaim completed" in run.attempts[0].message


@pytest.mark.parametrize(
    ("minor", "gates"), [("1.34", ""), ("1.35", ""), ("1.36", "DRAExtendedResource=false")]
)
def test_without_the_gate_a_node_needs_the_resource(minor: str, gates: str) -> None:
    manifests = (node("n"), BACKING, TWO_DEVICES, requesting("p", {GPU: "1"}))
    (attempt,) = run_of(*manifests, minor=minor, feature_gates=gates).attempts
    assert f"1 Insufficient {GPU}" in attempt.why_not
