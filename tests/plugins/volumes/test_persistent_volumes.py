"""Persistent volumes by storage class."""

from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.volumes import PersistentVolumes, capacity
from ksched_cli.testing import cluster, node, simulation
from tests.volumes import claim, volume


def test_a_class_has_its_volumes_smallest_first() -> None:
    sizes = (("big", "9Gi"), ("b", "2Gi"), ("a", "2Gi"))
    state = cluster(
        node("a"), *(volume(name, size) for name, size in sizes), volume("other", "1Gi", "x")
    )
    volumes = PersistentVolumes(simulation(state).frameworks["default-scheduler"].handle)
    table = volumes.of_class("local")
    assert [each.name for each in table.volumes] == ["a", "b", "big"]
    assert table.first_of_size(Quantity.parse("3Gi")) == 2
    assert table.first_of_size(Quantity.parse("10Gi")) == 3


def test_available_volumes_have_the_access_modes_and_the_phase() -> None:
    state = cluster(
        node("a"),
        volume("a", modes=("ReadWriteMany",)),
        volume("b", phase="Released"),
        volume("c"),
        claim("asking"),
    )
    volumes = PersistentVolumes(simulation(state).frameworks["default-scheduler"].handle)
    (asking,) = state.persistent_volume_claims.values()
    assert volumes.of_class("local").available_for(asking).tolist() == [False, False, True]


def test_a_volume_without_capacity_is_empty() -> None:
    state = cluster({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}})
    assert capacity(state.persistent_volumes["v"]) == Quantity.parse("0")
