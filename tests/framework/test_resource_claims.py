"""The store of claims: what is allocated, pending and freed, and which devices a pod holds."""

from typing import Any

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.framework.resource_claims import ClaimStore, held_devices
from ksched_cli.plugins.dynamic_resources.plugin import deallocated
from ksched_cli.testing import find, simulation
from tests.devices import GPU, state_of

DEVICE = (GPU, "a", "g0")
ALLOCATED = {"r": "gpu", "allocated": ["a/g0"], "where": "a"}


def store_of(claims: dict[str, Any]) -> ClaimStore:
    run = simulation(state_of({"claims": claims, "pods": {"p": list(claims)}}))
    return ClaimStore(run.frameworks["default-scheduler"].handle)


def claim_in(store: ClaimStore, name: str) -> ResourceClaim:
    claim = store.get("default", name)
    assert claim is not None
    return claim


def test_an_allocated_claim_has_its_devices_until_it_is_deallocated() -> None:
    store = store_of({"gpu-claim": ALLOCATED})
    assert store.in_use(DEVICE)
    assert store.holders() == {DEVICE: "default/gpu-claim"}
    store.write(deallocated(claim_in(store, "gpu-claim")))
    assert not store.in_use(DEVICE)
    assert store.log == [DEVICE]


def test_a_pending_allocation_uses_its_devices_until_it_is_removed() -> None:
    store = store_of({"first": "gpu", "second": ALLOCATED})
    claim = claim_in(store, "second")
    store.write(deallocated(claim))
    store.add_pending(claim)
    assert store.pending(claim) is not None
    assert list(store.devices_in_use()) == [DEVICE]
    store.remove_pending(claim)
    store.remove_pending(claim)
    assert not store.in_use(DEVICE)
    assert store.log == [DEVICE] * 3


def test_held_devices_are_those_of_allocated_claims() -> None:
    state = state_of(
        {"claims": {"first": ALLOCATED, "second": "gpu"}, "pods": {"p": ["first", "second"]}}
    )
    run = simulation(state)
    store = ClaimStore(run.frameworks["default-scheduler"].handle)
    assert held_devices(find(run, "p"), store) == {"first": (f"r={GPU}/a/g0",)}


def test_what_became_of_unchanged_claims_is_carried_over() -> None:
    claims: dict[str, Any] = {"first": ALLOCATED, "second": "gpu"}
    run = simulation(state_of({"claims": claims, "pods": {"p": list(claims)}}))
    handle = run.frameworks["default-scheduler"].handle
    previous, again = ClaimStore(handle), ClaimStore(handle)
    previous.write(deallocated(claim_in(previous, "first")))
    again.carry_over(previous)
    assert not again.in_use(DEVICE)
    changed = store_of(claims)  # equal claims, but others
    changed.carry_over(previous)
    assert changed.in_use(DEVICE)
