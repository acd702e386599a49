"""Objects of resource.k8s.io/v1beta1 are converted to v1."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.loading.kinds import upgrade_claim, upgrade_slice
from tests.cluster.build import state


def test_a_device_takes_over_the_fields_of_its_basic_part() -> None:
    data: dict[str, Any] = {"spec": {"devices": [{"name": "d", "basic": {"taints": []}}]}}
    upgrade_slice(data)
    assert data == {"spec": {"devices": [{"name": "d", "taints": []}]}}


def test_an_exact_requests_fields_move_into_exactly_in_claims_and_templates() -> None:
    old = {"name": "r", "deviceClassName": "gpu", "count": 2, "tolerations": []}
    new = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2, "tolerations": []}}
    claim: dict[str, Any] = {"spec": {"devices": {"requests": [dict(old)]}}}
    upgrade_claim(claim)
    assert claim == {"spec": {"devices": {"requests": [new]}}}
    template: dict[str, Any] = {"spec": {"spec": {"devices": {"requests": [dict(old)]}}}}
    upgrade_claim(template)
    assert template == {"spec": {"spec": {"devices": {"requests": [new]}}}}


def test_a_list_of_alternatives_stays() -> None:
    request = {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}
    claim: dict[str, Any] = {"spec": {"devices": {"requests": [dict(request)]}}}
    upgrade_claim(claim)
    assert claim["spec"]["devices"]["requests"] == [request]


def test_data_of_another_shape_is_left_to_the_decoder() -> None:
    data: dict[str, Any] = {"spec": [1]}
    upgrade_slice(data)
    upgrade_claim(data)
    assert data == {"spec": [1]}


def test_older_device_objects_are_brought_into_todays_shape() -> None:
    claim = {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}
    loaded = state(
        {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"devices": [{"name": "d", "basic": {"capacity": {"m": {"value": "1Gi"}}}}]},
        },
        {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": claim,
        },
    )
    device = loaded.resource_slices["s"].spec.devices[0]
    assert str(device.capacity["m"].value) == "1Gi"
    request = loaded.resource_claims["default", "c"].spec.devices.requests[0]
    assert request.exactly is not None
    assert (request.exactly.device_class_name, request.exactly.count) == ("gpu", 1)
