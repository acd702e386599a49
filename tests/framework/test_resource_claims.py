"""The store of claims: what is allocated, pending and freed, and which devices a pod holds."""

from typing import Any

import pytest

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.framework.resource_claims import (
    ClaimStore,
    claim_name,
    held_devices,
    is_reserved_for,
)
from ksched_cli.plugins.dynamic_resources.plugin import deallocated
from ksched_cli.testing import cluster, find, pod, simulation
from tests.devices import GPU, claim, state_of

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


def test_the_name_of_a_generated_claim_is_that_of_the_same_reference() -> None:
    templates = [{"template": "t", "made": name} for name in ("one", "two")]
    info = find(simulation(state_of({"pods": {"p": templates}})), "p")
    names = [claim_name(info, reference) for reference in info.spec.resource_claims]
    assert names == [("one", True), ("two", True)]


@pytest.mark.parametrize(
    ("consumer", "is_reserved"),
    [
        ({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "red"}, True),
        ({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "blue"}, False),
        ({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "default"}, False),
        ({"resource": "pods", "name": "red"}, False),
    ],
)
def test_a_claim_that_is_reserved_for_a_group_is_reserved_for_its_pods(
    consumer: dict[str, str], is_reserved: bool
) -> None:
    manifest = claim("gpu-claim", ALLOCATED)
    manifest["status"]["reservedFor"] = [{**consumer, "uid": "group"}]
    member = pod("p", spec={"schedulingGroup": {"podGroupName": "red"}})
    run = simulation(cluster(manifest, member))
    stored = claim_in(ClaimStore(run.frameworks["default-scheduler"].handle), "gpu-claim")
    assert is_reserved_for(stored, find(run), of_groups=True) == is_reserved
    assert not is_reserved_for(stored, find(run))


@pytest.mark.parametrize(
    ("amounts", "message"),
    [
        (["0", "1"], ""),
        (["1", "-2"], "{c1} must not be negative, got -2"),
        (["-1", "0", "-2"], "{c0} must not be negative, got -1 (and 1 more {more})"),
    ],
)
def test_claims_that_consume_negative_capacity_are_counted(
    amounts: list[str], message: str
) -> None:
    claims = []
    for i, amount in enumerate(amounts):
        manifest = claim(f"c{i}", ALLOCATED)
        (result,) = manifest["status"]["allocation"]["devices"]["results"]
        result |= {"shareID": f"share-{i}", "consumedCapacity": {"memory": amount}}
        claims.append(manifest)
    texts = {
        f"c{i}": f'claim default/c{i}, device {GPU}/a/g0: consumed capacity "memory"'
        for i in range(3)
    }
    expected = message.format(**texts, more="claims with invalid consumed capacity")
    for minor, text in (("1.38", expected), ("1.37", "")):
        run = simulation(cluster(*claims), kubernetes_version=minor)
        store = ClaimStore(run.frameworks["default-scheduler"].handle)
        assert store.negative_capacity() == text
