"""Signatures: which devices, pools and nodes are interchangeable for a demand."""

from typing import Any

import numpy as np
import pytest

from ksched_cli.cluster.objects import DeviceAttribute
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.dynamic_resources.pools import DeviceKind
from ksched_cli.plugins.dynamic_resources.requests import demand_of
from ksched_cli.plugins.dynamic_resources.search import Devices
from ksched_cli.plugins.dynamic_resources.selectors import (
    BINDING_CONDITIONS,
    DemandView,
    lookup_attribute,
)
from ksched_cli.testing import simulation
from tests.devices import GPU, state_of
from tests.narrowing import present

BIG = f'device.attributes["{GPU}"].model == "big"'


def view_of(
    claim: dict[str, Any] | str, *slices: dict[str, Any], nodes: tuple[str, ...] = ("a", "b")
) -> DemandView:
    state = state_of({"nodes": nodes, "slices": slices, "claims": {"one": claim}, "pods": {}})
    handle = simulation(state, kubernetes_version="1.34").frameworks["default-scheduler"].handle
    return Devices(handle).view(demand_of(list(state.resource_claims.values())))


def test_devices_differ_only_in_what_the_demand_asks_for() -> None:
    devices = {"g0": {"model": "big", "n": 0}, "g1": {"model": "big", "n": 1}, "g2": {"model": "x"}}
    view = view_of({"r": {"class": "gpu", "selectors": [BIG]}}, {"node": "a", "devices": devices})
    assert [view.device_signature_id(kind) for kind in range(3)] == [0, 0, 1]
    assert view.signatures[0].rejections == (None,)
    (rejection,) = view.signatures[1].rejections
    assert present(rejection).expression == BIG


def test_nodes_with_equal_pools_have_one_signature() -> None:
    view = view_of(
        "gpu",
        *({"node": name, "devices": {"g0": {}}} for name in "ab"),
        {"node": "c", "devices": {"g0": {}, "g1": {}}},
        nodes=("a", "b", "c"),
    )
    assert view.node_signatures(np.arange(3)).tolist() == [0, 0, 1]


def test_a_device_with_binding_conditions_is_rejected() -> None:
    view = view_of("gpu", {"node": "a", "devices": {"g0": {"bindingConditions": ["ready"]}}})
    view.device_signature_id(0)
    assert view.signatures[0].rejections == (BINDING_CONDITIONS,)


@pytest.mark.parametrize(
    ("claim", "interchangeable"),
    [
        ("gpu", True),
        ({"r": {"class": "gpu", "adminAccess": True}}, False),
        ({"r": {"class": "gpu", "mode": "All"}}, True),
        (
            {"r": {"class": "gpu", "mode": "All"}, "constraints": [{"matchAttribute": "d/a"}]},
            False,
        ),
    ],
)
def test_devices_are_interchangeable_or_not(
    claim: dict[str, Any] | str, interchangeable: bool
) -> None:
    assert view_of(claim).interchangeable is interchangeable


def test_an_attribute_is_found_by_its_name_with_or_without_the_drivers_domain() -> None:
    attributes = (("model", DeviceAttribute(string_value="big")),)
    kind = DeviceKind(GPU, attributes, (), False, False)
    assert lookup_attribute(kind, f"{GPU}/model", Rules()) == ("string", "big")
    assert lookup_attribute(kind, "model", Rules()) == ("string", "big")
    assert lookup_attribute(kind, "other.com/model", Rules()) is None
