"""Claims under the rules of each minor: pools that are not whole, and distinct attributes."""

from typing import Any

import pytest

from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, node, pod

API = "resource.k8s.io/v1"


def resource_slice(name: str, count: int, generation: int = 1, **spec: Any) -> dict[str, Any]:
    pool = {"name": "pool", "generation": generation, "resourceSliceCount": count}
    devices = spec.pop("devices", [{"name": name}])
    placement = spec or {"allNodes": True}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": "d", "pool": pool, "devices": devices, **placement},
    }


def claim(count: int = 1, **devices: Any) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "any", "count": count}}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [request], **devices}},
    }


ANY = {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}


def outcome(minor: str, *manifests: dict[str, Any]) -> str:
    """The pod's node, or why it has none."""
    waiting = pod("p")
    waiting["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "c"}]
    registry = registry_of(release_of(minor))
    configuration = load_configuration(None, "", registry)
    state = cluster(node("n"), ANY, waiting, *manifests)
    (attempt,) = Simulation(state, configuration, registry, Options()).run().attempts
    return attempt.node or attempt.why_not


def outcomes(*manifests: dict[str, Any]) -> list[str]:
    texts = (outcome(minor, *manifests) for minor in MINORS)
    return [text.partition(". ")[0].partition(": ")[2] or text for text in texts]


def test_an_incomplete_pool_is_used_up_to_1_34() -> None:
    nowhere = "1 cannot allocate all claims"
    assert outcomes(resource_slice("a", 2), claim()) == ["n", *[nowhere] * (len(MINORS) - 1)]


def test_slices_out_of_reach_complete_a_pool() -> None:
    far = resource_slice("b", 2, nodeName="elsewhere")
    assert outcomes(resource_slice("a", 2), far, claim()) == ["n"] * len(MINORS)


def test_a_pool_is_obsolete_where_slices_out_of_reach_are_newer() -> None:
    newer = resource_slice("b", 2, generation=2, nodeName="elsewhere")
    nowhere = "1 cannot allocate all claims"
    assert outcomes(resource_slice("a", 2), newer, claim()) == ["n", *[nowhere] * (len(MINORS) - 1)]


def test_an_invalid_pool_rejects_the_node_and_no_longer_fails_the_pod() -> None:
    twice = resource_slice("a", 1, devices=[{"name": "x"}, {"name": "x"}])
    error, *messages = outcomes(twice, claim())
    assert "duplicate device name x" in error
    assert messages == ["1 invalid resource pools were encountered"] * len(MINORS[1:])


@pytest.mark.parametrize(("second", "newest"), [("b", "n"), ("a", "1 cannot allocate all claims")])
def test_distinct_attributes_come_and_go_and_then_compare(second: str, newest: str) -> None:
    devices = [
        {"name": f"x{index}", "attributes": {"d/model": {"string": model}}}
        for index, model in enumerate(("a", second))
    ]
    constraints = [{"distinctAttribute": "d/model"}]
    manifests = (resource_slice("s", 1, devices=devices), claim(2, constraints=constraints))
    oldest, middle, *latest = outcomes(*manifests)
    assert (oldest, set(latest)) == ("n", {newest})
    assert "empty constraint" in middle
