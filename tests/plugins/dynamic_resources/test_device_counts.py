"""Devices of a class per node, and how many of them are allocated."""

from typing import Any

from ksched_cli.framework.handle import Handle
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.dynamic_resources.selectors import DeviceCounts
from ksched_cli.testing import cluster, node, simulation
from tests.devices import device_class
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import claim, resource_slice


def counts_of(*manifests: dict[str, Any]) -> DeviceCounts:
    state = cluster(node("m"), node("n"), *manifests)
    handle = simulation(state).frameworks["default-scheduler"].handle
    return DeviceCounts(
        Handle(handle.snapshot, handle.cluster, handle.nominator, release=release_of("1.36"))
    )


def test_devices_count_where_they_are_reached() -> None:
    counts = counts_of(
        device_class("any", []),
        resource_slice(0, {"nodeName": "n", "devices": [{"name": "a"}, {"name": "b"}]}),
        resource_slice(1, {"pool": {"name": "q"}, "devices": [{"name": "c"}]}),
        claim("one", {"allocated": [{"device": "b"}]}),
    )
    total, taken = counts.totals("any")
    assert (total.tolist(), taken.tolist()) == ([1, 3], [0, 1])


def test_only_devices_of_the_class_count_and_none_where_its_selector_fails() -> None:
    counts = counts_of(
        device_class("kind", ['device.attributes["d"].kind == "x"']),
        resource_slice(
            0,
            {
                "nodeName": "m",
                "devices": [
                    {"name": "a", "attributes": {"kind": {"string": "x"}}},
                    {"name": "b", "attributes": {"kind": {"string": "y"}}},
                ],
            },
        ),
        resource_slice(1, {"pool": {"name": "q"}, "nodeName": "n", "devices": [{"name": "c"}]}),
    )
    assert counts.totals("kind")[0].tolist() == [1, 0]
