"""CSIStorageCapacity objects as columns."""

from typing import Any

from ksched_cli.cluster.objects import StorageClass
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.volume_binding.binder import StorageCapacity
from ksched_cli.testing import cluster, node, simulation
from tests.volumes import CSI, capacity, csi_driver, storage_class


def capacities_of(*objects: dict[str, Any]) -> tuple[StorageCapacity, StorageClass]:
    """Those of two nodes, and the class `fast`."""
    state = cluster(
        node("a", labels={"zone": "x"}), node("b"), storage_class("fast", CSI), *objects
    )
    handle = simulation(state).frameworks["default-scheduler"].handle
    return StorageCapacity(handle), state.storage_classes["fast"]


def largest(*objects: dict[str, Any]) -> list[object]:
    capacities, fast = capacities_of(*objects)
    return [capacities.largest(fast, row) for row in range(2)]


def suffices(*objects: dict[str, Any]) -> list[bool] | None:
    """Whether a volume of one byte may be on each of the nodes; None if no capacity limits it."""
    capacities, fast = capacities_of(*objects)
    nodes = capacities.suffices(fast, Quantity.parse("1"))
    return None if nodes is None else nodes.tolist()


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
    others = capacity("other", "slow", "1Ki")
    assert largest(driver, others) == [None] * 2
    assert suffices(driver, others) == [False] * 2


def test_a_driver_that_publishes_no_capacity_is_unlimited() -> None:
    published = capacity("all", "fast", "1Ki")
    for objects in ([csi_driver(storageCapacity=False), published], [published]):
        assert largest(*objects) == [None] * 2
        assert suffices(*objects) is None
