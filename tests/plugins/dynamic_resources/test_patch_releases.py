"""Allocations that patch releases of one minor decide differently; the cases are in
patch_releases.yaml."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.testing import cluster, node, simulate
from tests.devices import claiming, device_class, thing
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import (
    check_allocation,
    resource_slice,
    simulation_of,
)

CASES = yaml.safe_load(Path(__file__).with_name("patch_releases.yaml").read_text())["cases"]


@pytest.mark.parametrize(
    ("case", "release"),
    [
        pytest.param(case, release, id=f"{case['shows']}: {release}")
        for case in CASES
        for release in case["releases"]
    ],
)
def test_allocation(case: dict[str, Any], release: str) -> None:
    check_allocation(simulation_of(case, release=release).run(), case["releases"][release])


@pytest.mark.parametrize(("release", "node_name"), [("1.37.0", ""), ("1.37.1", "a")])
def test_a_device_taint_rule_without_a_selector_taints_everything_at_first(
    release: str, node_name: str
) -> None:
    rule = thing("DeviceTaintRule", "rule", {"taint": {"key": "k", "effect": "NoSchedule"}})
    request = {"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}
    claim = thing("ResourceClaim", "c", {"devices": {"requests": [request]}}, namespace="default")
    devices = resource_slice(0, {"devices": [{"name": "x"}]})
    pod = claiming(0, "p", ["c"])
    state = cluster(node("a"), device_class("any", []), devices, rule, claim, pod)
    assert simulate(state, kubernetes_version=release).attempts[-1].node == node_name
