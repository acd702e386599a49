"""Claims that are made for the pods of a timeline, and go with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import devices, volumes
from tests.replays import Plain, node, pod, replay, tries

REFERENCE: dict[str, Any] = {
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]
}
GPU_NODE: list[Plain] = [
    node("a", cpu="8"),
    devices.device_class("gpu", [f'device.driver == "{devices.GPU}"']),
    devices.resource_slice(0, {"node": "a", "devices": {"g0": {}}}),
    devices.thing(
        "ResourceClaimTemplate",
        "one",
        {"spec": {"devices": {"requests": [devices.request("r", "gpu")]}}},
        namespace="default",
    ),
]


def test_a_pod_takes_its_claim_along_and_frees_the_device(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": pod("first", **REFERENCE), "runsFor": 100},
        {"at": 10, "pod": pod("second", **REFERENCE), "runsFor": 100},
    ]
    run = replay(tmp_path, GPU_NODE, events)
    assert [each for each in tries(run) if each[2] == "a"] == [
        (0, "first", "a"),
        (100, "second", "a"),
    ]
    assert not run.cluster.state_with([]).resource_claims


@pytest.mark.parametrize("evicted", ["restarts", "resumes"])
def test_a_victim_that_comes_again_has_a_claim_again(tmp_path: Path, evicted: str) -> None:
    low = pod("low", cpu="6", terminationGracePeriodSeconds=10, **REFERENCE)
    events = [
        {"at": 0, "pod": low, "runsFor": 100},
        {"at": 40, "pod": pod("high", cpu="6", priority=9), "runsFor": 30},
    ]
    run = replay(tmp_path, GPU_NODE, events, evicted=evicted)
    assert [each for each in tries(run) if each[2] == "a"] == [
        (0, "low", "a"),
        (50, "high", "a"),
        (80, "low", "a"),
    ]


def test_a_pod_that_a_change_moves_has_a_claim_again(tmp_path: Path) -> None:
    owned = pod("first", **REFERENCE)
    owned["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "controller": True}]
    events: list[Plain] = [
        {"at": 0, "pod": owned},
        {"at": 10, "change": "drain a"},
        {"at": 20, "change": "uncordon a"},
    ]
    run = replay(tmp_path, GPU_NODE, events)
    assert [each for each in tries(run) if each[2] == "a"] == [
        (0, "first", "a"),
        (20, "first", "a"),
    ]


def test_an_ephemeral_volume_has_a_claim(tmp_path: Path) -> None:
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}}
    scratch: dict[str, Any] = {
        "volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": claim}}]
    }
    objects = [node("a", cpu="8"), volumes.storage_class("local", "csi")]
    run = replay(tmp_path, objects, [{"at": 0, "pod": pod("p", **scratch)}])
    assert tries(run) == [(0, "p", "a")]
