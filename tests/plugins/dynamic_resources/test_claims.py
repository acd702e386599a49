"""A pod's claims: which can be used, and for whom they are reserved."""

from typing import Any

import pytest

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.resource_claims import ClaimError, ClaimStore, is_reserved_for
from ksched_cli.plugins.dynamic_resources.plugin import (
    binding_failure,
    claims_of,
    consumer_of,
    deallocated,
    reserved,
    unreserved,
)
from ksched_cli.testing import cluster, find, simulation
from tests.devices import state_of, thing
from tests.narrowing import present

ALLOCATED = {"r": "gpu", "allocated": ["a/g0"], "where": "a"}


def store_of(
    claims: dict[str, Any], pods: dict[str, Any] | None = None
) -> tuple[ClaimStore, PodInfo]:
    state = state_of({"claims": claims, "pods": pods or {"p": list(claims)}})
    run = simulation(state, kubernetes_version="1.34")
    return ClaimStore(run.frameworks["default-scheduler"].handle), find(run, "p")


def test_a_claim_is_reserved_for_a_pod_and_unreserved() -> None:
    store, pod = store_of({"one": ALLOCATED})
    claim = reserved(present(store.get("default", "one")), consumer_of(pod))
    assert is_reserved_for(claim, pod)
    assert not is_reserved_for(unreserved(claim, pod.uid), pod)


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
def test_a_claim_that_cannot_be_used_is_an_error(
    reference: dict[str, str] | str, message: str
) -> None:
    claims = {"one": "gpu", "deleted": {"r": "gpu", "deleted": True}}
    state = state_of({"claims": claims, "pods": {"p": [reference]}})
    pod = find(simulation(state, kubernetes_version="1.34"), "p")
    with pytest.raises(ClaimError) as error:
        claims_of(
            pod,
            ClaimStore(
                simulation(state, kubernetes_version="1.34").frameworks["default-scheduler"].handle
            ),
        )
    assert str(error.value) == message


def test_from_1_36_on_a_pod_is_written_in_capitals() -> None:
    store, _ = store_of({"one": "gpu"})
    _, pod = store_of({"one": "gpu"}, {"p": [{"template": "t", "made": "one"}]})
    with pytest.raises(ClaimError, match=r"not created for Pod default/p \(Pod is not owner\)"):
        claims_of(pod, store, "Pod")


def prepared_claim(*conditions: dict[str, str], **result: Any) -> ResourceClaim:
    """A claim with a device of which its driver tells these conditions."""
    place = {"driver": "d", "pool": "p", "device": "a"}
    waiting = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"], **result}
    allocation = {"devices": {"results": [{"request": "r", **place, **waiting}]}}
    status = {"allocation": allocation, "devices": [{**place, "conditions": list(conditions)}]}
    manifest = thing("ResourceClaim", "c", {}, namespace="default")
    (claim,) = cluster({**manifest, "status": status}).resource_claims.values()
    return claim


FAILED = {"type": "failed", "status": "True", "reason": "Broken", "message": 'no "link"'}


def test_a_device_that_cannot_be_prepared_fails_its_claim() -> None:
    failed = prepared_claim({"type": "other", "status": "True"}, FAILED)
    assert binding_failure(failed) == (
        'device binding failed: claim=c, reason=Broken, message="no \\"link\\""'
    )
    assert binding_failure(deallocated(failed)) == ""
    assert deallocated(failed).status.devices == ()


@pytest.mark.parametrize(
    ("conditions", "result"),
    [
        ([], {}),
        ([{**FAILED, "status": "False"}], {}),
        ([{**FAILED, "type": "ready"}], {}),
        ([FAILED], {"bindingConditions": []}),
        ([FAILED], {"device": "b"}),
    ],
)
def test_a_claim_does_not_fail(conditions: list[dict[str, str]], result: dict[str, Any]) -> None:
    assert binding_failure(prepared_claim(*conditions, **result)) == ""
