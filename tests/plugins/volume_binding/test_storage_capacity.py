"""CSIStorageCapacity objects as columns."""

from typing import Any

from ksched_cli.plugins.volume_binding.binder import StorageCapacity
from ksched_cli.testing import cluster, node, simulation
from tests.volumes import CSI, capacity, csi_driver, storage_class


def largest(*objects: dict[str, Any]) -> list[object]:
    state = cluster(
        node("a", labels={"zone": "x"}), node("b"), storage_class("fast", CSI), *objects
    )
    handle = simulation(state).frameworks["default-scheduler"].handle
    capacities, fast = StorageCapacity(handle), state.storage_classes["fast"]
    return [capacities.largest(fast, row) for row in range(2)]


def test_a_node_gets_the_largest_capacity_of_its_topology() -> None:
    in_x = {"nodeTopology": {"matchLabels": {"zone": "x"}}}
    driver = csi_driver(storageCapacity=True)
    assert largest(
        driver, capacity("all", "fast", "1Ki"), capacity("x", "fast", "2Ki", **in_x)
    ) == [2048, 1024]


def test_the_maximum_volume_size_goes_before_the_capacity() -> None:
    driver = csi_driver(storageCapacity=True)
    assert largest(driver, capacity("all", "fast", "2Ki", maximumVolumeSize="1Ki")) == [1024] * 2


def test_a_class_without_capacity_objects_has_none() -> None:
    driver = csi_driver(storageCapacity=True)
    assert largest(driver, capacity("other", "slow", "1Ki")) == [None] * 2


def test_a_driver_that_publishes_no_capacity_is_unlimited() -> None:
    unlimited = [None] * 2
    assert largest(csi_driver(storageCapacity=False), capacity("all", "fast", "1Ki")) == unlimited
    assert largest(capacity("all", "fast", "1Ki")) == unlimited
