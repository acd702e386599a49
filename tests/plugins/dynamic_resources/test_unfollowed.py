"""What a state needs of gates that ksched does not implement is warned of, where they are on."""

from typing import Any

import pytest

from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.dynamic_resources.unfollowed import unfollowed_gates
from ksched_cli.testing import cluster, node, pod


def slice_of(**device: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": [{"name": "x", **device}],
        },
    }


def test_a_gate_is_named_where_it_is_on() -> None:
    amounts = {"requests": {"cpu": "1"}}
    resized = pod("p", spec={"resources": amounts}, status={"resources": amounts})
    state = cluster(node("n"), resized)
    gate = "InPlacePodLevelResourcesVerticalScaling"
    (line,) = unfollowed_gates(state, release_of("1.36"))
    assert f"does not implement {gate}, which Kubernetes 1.36 has on" in line
    assert unfollowed_gates(state, release_of("1.34")) == []


@pytest.mark.parametrize(
    "manifest",
    [
        slice_of(),
        slice_of(taints=[{"key": "k", "effect": "NoSchedule"}]),
        slice_of(bindingConditions=["ready"]),
        slice_of(allowMultipleAllocations=True),
    ],
)
def test_devices_need_no_gate_that_is_not_implemented(manifest: dict[str, Any]) -> None:
    assert unfollowed_gates(cluster(node("n"), manifest), release_of("1.36")) == []
