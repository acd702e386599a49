"""Pools of devices per node."""

from typing import Any

from ksched_cli.plugins.dynamic_resources.pools import DevicePools, Pool
from ksched_cli.testing import simulation
from tests.devices import GPU, state_of


def pools_of(
    *slices: dict[str, Any], nodes: list[dict[str, Any]] | tuple[str, str] = ("a", "b")
) -> DevicePools:
    state = state_of({"nodes": list(nodes), "slices": slices, "pods": {}})
    return DevicePools(
        simulation(state, kubernetes_version="1.34").snapshot, state.resource_slices.values()
    )


def devices(pool: Pool) -> list[str]:
    return [device.id[2] for device in pool.devices]


def test_a_node_reaches_its_own_slices_and_those_of_all_nodes() -> None:
    pools = pools_of(
        {"node": "a", "devices": {"g0": {}}}, {"reach": "all", "pool": "net", "devices": {"n0": {}}}
    )
    keys = [[pools.pools[number].key for number in numbers] for numbers in pools.of_row]
    assert keys == [[f"{GPU}/a", f"{GPU}/net"], [f"{GPU}/net"]]
    assert sorted(pools.rows_of) == [[0], [0, 1]]


def test_only_the_newest_generation_counts() -> None:
    (pool,) = pools_of(
        {"node": "a", "generation": 2, "devices": {"new": {}}},
        {"node": "a", "generation": 1, "devices": {"old": {}}},
    ).pools
    assert (devices(pool), pool.generation, pool.incomplete) == (["new"], 2, False)


def test_a_pool_without_all_its_slices_is_incomplete() -> None:
    (pool,) = pools_of({"node": "a", "count": 2, "devices": {"g0": {}}}).pools
    assert pool.incomplete


def test_a_pool_with_two_devices_of_one_name_is_invalid() -> None:
    (pool,) = pools_of(
        {"node": "a", "count": 2, "devices": {"g0": {}}},
        {"node": "a", "count": 2, "devices": {"g0": {}}},
    ).pools
    assert pool.invalid == "duplicate device name g0"


def test_devices_with_equal_attributes_are_of_one_kind() -> None:
    pools = pools_of({"node": "a", "devices": {"g0": {"m": 1}, "g1": {"m": 1}, "g2": {"m": 2}}})
    assert [device.kind for device in pools.pools[0].devices] == [0, 0, 1]
