"""The store of claims: what is allocated, pending, and freed."""

import pytest

from devices import GPU, state_of
from ksched_cli.plugins.dynamic_resources.claims import (
    ClaimError,
    ClaimStore,
    claims_of,
    deallocated,
    held_devices,
    is_reserved_for,
    reserved,
    unreserved,
)
from ksched_cli.testing import find, simulation

DEVICE = (GPU, "a", "g0")
ALLOCATED = {"r": "gpu", "allocated": ["a/g0"], "where": "a"}


def store_of(claims, pods=None):
    state = state_of({"claims": claims, "pods": pods or {"p": list(claims)}})
    run = simulation(state)
    return ClaimStore(run.frameworks["default-scheduler"].handle), find(run, "p")


def test_an_allocated_claim_has_its_devices_until_it_is_deallocated():
    store, pod = store_of({"one": ALLOCATED})
    assert store.in_use(DEVICE)
    assert store.holders() == {DEVICE: "default/one"}
    assert held_devices(pod, store) == {"one": (f"r={GPU}/a/g0",)}
    store.write(deallocated(store.get("default", "one")))
    assert not store.in_use(DEVICE)
    assert store.log == [DEVICE]


def test_a_pending_allocation_uses_its_devices_until_it_is_removed():
    store, _ = store_of({"one": "gpu", "other": ALLOCATED})
    other = store.get("default", "other")
    store.write(deallocated(other))
    store.add_pending(other)
    assert store.is_pending(other)
    assert list(store.devices_in_use()) == [DEVICE]
    store.remove_pending(other)
    store.remove_pending(other)
    assert not store.in_use(DEVICE)
    assert store.log == [DEVICE] * 3


def test_a_claim_is_reserved_for_a_pod_and_unreserved():
    store, pod = store_of({"one": ALLOCATED})
    claim = reserved(store.get("default", "one"), pod)
    assert is_reserved_for(claim, pod)
    assert not is_reserved_for(unreserved(claim, pod), pod)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("gone", 'could not find ResourceClaim "default/gone"'),
        ("deleted", 'resourceclaim "deleted" is being deleted'),
        ({"template": "t"}, 'pod "default/p": ResourceClaim not created yet'),
        (
            {"template": "t", "made": "one"},
            "ResourceClaim default/one was not created for pod default/p (pod is not owner)",
        ),
    ],
)
def test_a_claim_that_cannot_be_used_is_an_error(reference, message):
    claims = {"one": "gpu", "deleted": {"r": "gpu", "deleted": True}}
    state = state_of({"claims": claims, "pods": {"p": [reference]}})
    pod = find(simulation(state), "p")
    with pytest.raises(ClaimError) as error:
        claims_of(pod, ClaimStore(simulation(state).frameworks["default-scheduler"].handle))
    assert str(error.value) == message
