"""What is said about classes, slices and claims that are not right: object, field, problem."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ksched_cli.commands.main import application
from ksched_cli.plugins.dynamic_resources.object_checks import device_problems
from ksched_cli.testing import cluster, node
from tests.devices import (
    GPU,
    claim,
    claiming,
    device_class,
    resource_slice,
    state_of,
    thing,
)


def test_a_state_that_is_right_has_none() -> None:
    case = {
        "slices": [{"node": "a", "devices": {"g0": {}}}],
        "claims": {"one": "gpu"},
        "pods": {"p": ["one"]},
    }
    assert device_problems(state_of(case)) == []


def slices(*given: dict[str, Any]) -> list[dict[str, Any]]:
    return [resource_slice(i, slice_) for i, slice_ in enumerate(given)]


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param(
            [device_class("gpu", ["device.driver == 'x'", "device.model == 'x'"])],
            "DeviceClass gpu: spec.selectors[1].cel.expression: compilation failed: "
            "ERROR: <input>:1:7: undefined field 'model'",
            id="a selector that does not compile",
        ),
        pytest.param(
            [claim("one", {"r": {"class": "gpu", "selectors": ["device.driver"]}})],
            "ResourceClaim default/one: spec.devices.requests[0].exactly.selectors[0].cel"
            ".expression: must evaluate to bool or the unknown type, not string",
            id="a selector that is no condition",
        ),
        pytest.param(
            [thing("DeviceClass", "gpu", {"selectors": [{}]})],
            "DeviceClass gpu: spec.selectors[0].cel: is missing; no other kind of selector is "
            "known",
            id="a selector of no kind",
        ),
        pytest.param(
            [claim("one", "fast")],
            "ResourceClaim default/one: spec.devices.requests[0].exactly.deviceClassName: there is "
            'no DeviceClass "fast" in the state',
            id="a request of an unknown class",
        ),
        pytest.param(
            [claim("one", {"r": {"firstAvailable": [{"class": "gpu"}, {"class": "fast"}]}})],
            "ResourceClaim default/one: spec.devices.requests[0].firstAvailable[1]"
            '.deviceClassName: there is no DeviceClass "fast" in the state',
            id="an unknown class in a list",
        ),
        pytest.param(
            [claim("one", {"r": {}})],
            "ResourceClaim default/one: spec.devices.requests[0]: has neither exactly nor "
            "firstAvailable",
            id="a request for nothing",
        ),
        pytest.param(
            [claim("one", {"r": "gpu", "constraints": [{}]})],
            "ResourceClaim default/one: spec.devices.constraints[0]: has no matchAttribute",
            id="a constraint of no kind",
        ),
        pytest.param(
            slices({"node": "gone", "devices": {"g0": {}}}),
            'ResourceSlice slice-0: spec.nodeName: there is no Node "gone" in the state',
            id="a slice of an unknown node",
        ),
        pytest.param(
            [
                thing(
                    "ResourceSlice",
                    "nowhere",
                    {
                        "driver": GPU,
                        "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
                    },
                )
            ],
            "ResourceSlice nowhere: spec.nodeName: is missing, and so are nodeSelector and "
            "allNodes: no node reaches it",
            id="a slice of no node",
        ),
        pytest.param(
            slices({"node": "a", "perDeviceNodeSelection": True, "devices": {"g0": {}}}),
            "ResourceSlice slice-0: spec.perDeviceNodeSelection: is behind a gate that is off: its "
            "devices do not count",
            id="a slice behind a gate",
        ),
        pytest.param(
            slices(
                {"node": "a", "generation": 2, "devices": {"g0": {}}},
                {"node": "a", "generation": 1, "devices": {"g1": {}}},
            ),
            f"ResourceSlice slice-1: spec.pool.generation: 1 is out of date, pool {GPU}/a is at 2: "
            "its devices do not count where the newer ones are within reach",
            id="two pools of one name and different generations",
        ),
        pytest.param(
            slices({"node": "a", "count": 2, "devices": {"g0": {}}}),
            f"ResourceSlice slice-0: spec.pool.resourceSliceCount: pool {GPU}/a should have 2 "
            "slices of generation 1 and has 1: none of its devices is handed out",
            id="an incomplete pool",
        ),
        pytest.param(
            slices(
                {"node": "a", "count": 2, "devices": {"g0": {}}},
                {"node": "a", "count": 2, "devices": {"g0": {}}},
            ),
            f'ResourceSlice slice-1: spec.devices[0].name: "g0" appears twice in pool {GPU}/a, '
            "which makes it invalid",
            id="a device that is there twice",
        ),
    ],
)
def test_a_fault_is_told_with_object_and_field(objects: list[dict[str, Any]], message: str) -> None:
    classes = [] if objects[0]["kind"] == "DeviceClass" else [device_class("gpu", [])]
    assert device_problems(cluster(node("a"), *classes, *objects)) == [message]


def test_a_template_is_looked_at_like_a_claim() -> None:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "fast"}}]}}
    template = thing("ResourceClaimTemplate", "one", {"spec": spec}, namespace="default")
    assert device_problems(cluster(node("a"), template)) == [
        "ResourceClaimTemplate default/one: spec.spec.devices.requests[0].exactly.deviceClassName: "
        'there is no DeviceClass "fast" in the state'
    ]


def test_what_is_wrong_with_many_is_told_once() -> None:
    claims = [claim(f"c{i}", "fast") for i in range(5)]
    (line,) = device_problems(cluster(node("a"), *claims))
    named = (
        "ResourceClaim default/c0, ResourceClaim default/c1, ResourceClaim default/c2 and 2 more"
    )
    assert line.startswith(f"{named}: spec.devices")


def test_a_command_warns_where_pods_want_devices(tmp_path: Path) -> None:
    state = tmp_path / "cluster.json"
    pods = [claiming(0, "p", ["one"])]
    items = [node("a"), claim("one", "fast"), *pods]
    state.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    shown = CliRunner().invoke(application(["schedule"]), ["schedule", "--state", str(state)])
    assert 'there is no DeviceClass "fast" in the state' in shown.stderr
    state.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items[:2]}))
    shown = CliRunner().invoke(application(["schedule"]), ["schedule", "--state", str(state)])
    assert "fast" not in shown.stderr
