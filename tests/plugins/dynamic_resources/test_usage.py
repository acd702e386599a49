"""The devices in use, as bits per pool, and which nodes have equal ones."""

from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.plugins.dynamic_resources.plugin import (
    deallocated,
)
from ksched_cli.plugins.dynamic_resources.pools import DevicePools
from ksched_cli.plugins.dynamic_resources.search import DevicesInUse
from ksched_cli.testing import simulation
from tests.devices import state_of
from tests.narrowing import present


def test_bits_follow_allocations() -> None:
    state = state_of(
        {
            "nodes": ["a", "b"],
            "slices": [{"node": name, "devices": {"g0": {}, "g1": {}}} for name in "ab"],
            "claims": {"one": {"r": "gpu", "allocated": ["a/g1"], "where": "a"}},
            "pods": {},
        }
    )
    store = ClaimStore(
        simulation(state, kubernetes_version="1.34").frameworks["default-scheduler"].handle
    )
    pools = DevicePools(
        simulation(state, kubernetes_version="1.34").snapshot, state.resource_slices.values()
    )
    in_use = DevicesInUse(pools, store)
    assert in_use.masks == [0b10, 0]
    assert in_use.of_row[0] != in_use.of_row[1]
    store.write(deallocated(present(store.get("default", "one"))))
    assert in_use.masks == [0b10, 0]
    in_use.refresh()
    assert in_use.masks == [0, 0]
    assert in_use.of_row[0] == in_use.of_row[1]
