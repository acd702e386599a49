"""Pools of devices per node, and the node selectors of allocations."""

import pytest

from devices import GPU, state_of
from ksched_cli.plugins.dynamic_resources.pools import DevicePools, node_selector
from ksched_cli.testing import simulation


def pools_of(*slices, nodes=("a", "b")):
    state = state_of({"nodes": list(nodes), "slices": slices, "pods": {}})
    return DevicePools(simulation(state).snapshot, state.resource_slices.values())


def devices(pool):
    return [device.id[2] for device in pool.devices]


def test_a_node_reaches_its_own_slices_and_those_of_all_nodes():
    pools = pools_of(
        {"node": "a", "devices": {"g0": {}}}, {"reach": "all", "pool": "net", "devices": {"n0": {}}}
    )
    keys = [[pools.pools[number].key for number in numbers] for numbers in pools.of_row]
    assert keys == [[f"{GPU}/a", f"{GPU}/net"], [f"{GPU}/net"]]
    assert sorted(pools.rows_of) == [[0], [0, 1]]


def test_only_the_newest_generation_counts():
    (pool,) = pools_of(
        {"node": "a", "generation": 2, "devices": {"new": {}}},
        {"node": "a", "generation": 1, "devices": {"old": {}}},
    ).pools
    assert (devices(pool), pool.generation, pool.incomplete) == (["new"], 2, False)


def test_a_pool_without_all_its_slices_is_incomplete():
    (pool,) = pools_of({"node": "a", "count": 2, "devices": {"g0": {}}}).pools
    assert pool.incomplete


def test_a_pool_with_two_devices_of_one_name_is_invalid():
    (pool,) = pools_of(
        {"node": "a", "count": 2, "devices": {"g0": {}}},
        {"node": "a", "count": 2, "devices": {"g0": {}}},
    ).pools
    assert pool.invalid == "duplicate device name g0"


def test_devices_with_equal_attributes_are_of_one_kind():
    pools = pools_of({"node": "a", "devices": {"g0": {"m": 1}, "g1": {"m": 1}, "g2": {"m": 2}}})
    assert [device.kind for device in pools.pools[0].devices] == [0, 0, 1]


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        ({"reach": "all", "pool": "p"}, None),
        ({"node": "a"}, ("match_fields", "metadata.name", ("a",))),
        ({"reach": {"zone": "z"}, "pool": "p"}, ("match_expressions", "zone", ("z",))),
    ],
)
def test_an_allocation_can_be_used_where_its_devices_are(given, selector):
    nodes = [{"name": "a", "labels": {"zone": "z"}}]
    (pool,) = pools_of({**given, "devices": {"g0": {}}}, nodes=nodes).pools
    result = node_selector(pool.devices, "a")
    if selector is None:
        assert result is None
    else:
        field, key, values = selector
        (requirement,) = getattr(result.node_selector_terms[0], field)
        assert (requirement.key, requirement.values) == (key, values)
