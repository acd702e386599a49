"""Pools with counters, and slices whose devices each say which nodes reach them."""

from typing import Any

from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.dynamic_resources.features import features_of
from ksched_cli.plugins.dynamic_resources.pools import DevicePools, Pool
from ksched_cli.testing import cluster, node, simulation
from tests.narrowing import present
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import resource_slice

COUNTERS = [{"name": "card", "counters": {"m": {"value": "1"}}}]
CONSUMES = [{"counterSet": "card", "counters": {"m": {"value": "1"}}}]
TWO = {"name": "p", "resourceSliceCount": 2}


def pools_of(*specs: dict[str, Any]) -> DevicePools:
    slices = [resource_slice(*each) for each in enumerate(specs)]
    state = cluster(node("m"), node("n"), *slices)
    release = release_of("1.36")
    snapshot = simulation(state).snapshot
    return DevicePools(
        snapshot, state.resource_slices.values(), release.rules, features_of(release)
    )


def on_row(pools: DevicePools, row: int) -> list[Pool]:
    return [pools.pools[number] for number in pools.of_row[row]]


def test_a_pool_has_its_counters_wherever_its_devices_are() -> None:
    pools = pools_of(
        {"pool": TWO, "nodeName": "n", "sharedCounters": COUNTERS},
        {"pool": TWO, "nodeName": "m", "devices": [{"name": "a", "consumesCounters": CONSUMES}]},
    )
    (pool,) = on_row(pools, 0)
    counters = present(pool.counters)
    assert (pool.invalid, pool.incomplete) == ("", False)
    assert [device for device, _ in counters.consumers] == [("d", "p", "a")]
    assert on_row(pools, 1) == []


def test_a_pool_that_is_not_whole_is_on_every_node_by_its_counters() -> None:
    pools = pools_of({"pool": TWO, "nodeName": "n", "sharedCounters": COUNTERS})
    assert [pool.incomplete for row in (0, 1) for pool in on_row(pools, row)] == [True, True]


def test_devices_on_other_nodes_must_consume_what_is_there() -> None:
    wrong = [{"counterSet": "other", "counters": {"m": {"value": "1"}}}]
    three = {"name": "p", "resourceSliceCount": 3}
    pools = pools_of(
        {"pool": three, "nodeName": "n", "sharedCounters": COUNTERS},
        {"pool": three, "nodeName": "m", "devices": [{"name": "a"}]},
        {"pool": three, "nodeName": "n", "devices": [{"name": "b", "consumesCounters": wrong}]},
    )
    assert on_row(pools, 0)[0].invalid == "counter set other not found"


def test_a_device_out_of_reach_stays_in_the_pool_and_is_marked() -> None:
    pools = pools_of(
        {
            "perDeviceNodeSelection": True,
            "devices": [{"name": "a", "nodeName": "m"}, {"name": "b", "nodeName": "elsewhere"}],
        }
    )
    (pool,) = on_row(pools, 0)
    assert [device.traits.is_reachable for device in pool.devices] == [True, False]
    assert on_row(pools, 1) == []


def test_pools_of_two_drivers_with_counters_and_one_name_are_ambiguous() -> None:
    pools = pools_of(
        *({"driver": driver, "pool": TWO, "sharedCounters": COUNTERS} for driver in "de")
    )
    assert pools.ambiguous_names == {"p"}


def test_binding_conditions_of_a_pool_that_is_not_whole_do_not_put_it_last() -> None:
    conditions = {"name": "a", "bindingConditions": ["ready"]}
    specs = [{"pool": {"name": name}, "devices": [conditions]} for name in ("p1", "p2")]
    specs.append({"pool": {"name": "p3"}, "devices": [{"name": "a"}]})
    whole = pools_of(*specs)
    assert [pool.name for pool in on_row(whole, 0)] == ["p3", "p1", "p2"]
    specs[0]["pool"] = {"name": "p1", "resourceSliceCount": 2}
    assert [pool.name for pool in on_row(pools_of(*specs), 0)] == ["p1", "p3", "p2"]
