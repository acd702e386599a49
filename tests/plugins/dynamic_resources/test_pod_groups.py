"""Claims of pods that are scheduled together: a pod's devices are those that were free when it was
filtered, whatever the pods after it were given."""

from typing import Any

import pytest

from ksched_cli.engine.records import RunRecord
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import PreBindPlugin, ReservePlugin
from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.dynamic_resources.plugin import deallocated
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.devices import claim, device_class, resource_slice

GATES = {"1.36": "GenericWorkload=true,GangScheduling=true", "1.37": "GenericWorkload=true"}
VERSIONS = {"1.36": "v1alpha2", "1.37": "v1beta1"}

Object = dict[str, Any]
DEVICES: Object = {"d0": {}, "d1": {}}


def group(minor: str) -> Object:
    return {
        "apiVersion": f"scheduling.k8s.io/{VERSIONS[minor]}",
        "kind": "PodGroup",
        "metadata": {"name": "red", "namespace": "default"},
        "spec": {"schedulingPolicy": {"basic": {}}},
    }


def member(name: str, *claims: str, **fields: Any) -> Object:
    references = [{"name": each, "resourceClaimName": each} for each in claims]
    spec = {"schedulingGroup": {"podGroupName": "red"}, "resourceClaims": references}
    return pod(name, spec=spec, **fields)


def run(minor: str, *objects: Object, **more: Any) -> RunRecord:
    state = cluster(device_class("gpu", []), group(minor), *objects)
    return simulate(state, kubernetes_version=minor, feature_gates=GATES[minor], **more)


def whole_node(number: int) -> list[Object]:
    """A node with two devices."""
    name = f"n{number}"
    return [node(name, cpu="1"), resource_slice(number, {"node": name, "devices": DEVICES})]


TWO = {"r": {"class": "gpu", "count": 2}}


@pytest.mark.parametrize("minor", GATES)
def test_each_pod_of_a_group_gets_the_devices_of_its_trial(minor: str) -> None:
    """The trial of the second pod takes devices of the first one's node into account."""
    claims = claim("k1", TWO), claim("k2", TWO)
    record = run(
        minor, *whole_node(1), *whole_node(2), *claims, member("p1", "k1"), member("p2", "k2")
    )
    assert dict(record.placements) == {"default/p1": "n1", "default/p2": "n2"}
    assert [(attempt.pod, attempt.reserve, attempt.error) for attempt in record.attempts] == [
        ("default/p1", None, ""), ("default/p2", None, ""),
    ]  # fmt: skip


@pytest.mark.parametrize("minor", GATES)
def test_a_pod_of_a_group_that_finds_no_room_is_left(minor: str) -> None:
    claims = claim("k1", "gpu"), claim("k2", "gpu")
    pods = member("p1", "k1", cpu="1"), member("p2", "k2", cpu="1")
    record = run(minor, *whole_node(0), *claims, *pods)
    assert dict(record.placements) == {"default/p1": "n0"}
    assert list(record.pending) == ["default/p2"]
    (alone,) = {each.message for each in record.attempts if each.pod == "default/p2"}
    assert alone.startswith("0/1 nodes are available: 1 Insufficient cpu.")


class Unbound(PreBindPlugin):
    """Binds nothing."""

    name = "Unbound"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def pre_bind(self, *_: object) -> Status:
        return Status.error("no")


@pytest.mark.parametrize("minor", GATES)
def test_a_group_none_of_whose_pods_can_be_bound_is_tried_once(minor: str) -> None:
    """It is scheduled in the trial, again and again."""
    record = run(minor, node("n", cpu="2"), member("p1"), member("p2"), plugins=[Unbound])
    assert [attempt.pod for attempt in record.attempts] == ["default/p1", "default/p2"]


ELSEWHERE = "claim default/k got allocated elsewhere in the meantime"


def tells(record: RunRecord) -> list[tuple[str, str, str]]:
    """Per attempt, the pod, its node, and the error without where it comes from."""
    return [
        (each.pod.partition("/")[2], each.node, each.error.partition(": ")[2])
        for each in record.attempts
    ]


@pytest.mark.parametrize(("minor", "again"), [("1.36", []), ("1.37", [("p2", "n0", "")])])
def test_pods_of_a_group_share_the_devices_of_a_claim_in_their_trial(
    minor: str, again: list[tuple[str, str, str]]
) -> None:
    """The first one writes the claim; the other finds it written. In 1.37 it is tried again at
    once."""
    pods = member("p1", "k"), member("p2", "k")
    record = run(minor, *whole_node(0), claim("k", "gpu"), *pods)
    assert tells(record) == [("p1", "n0", ""), ("p2", "", ELSEWHERE), *again]
    held = {tuple(attempt.claims.items()) for attempt in record.attempts if attempt.node}
    assert held == {(("k", ("r=gpu.example.com/n0/d0",)),)}


@pytest.mark.parametrize(("minor", "is_placed"), [("1.36", True), ("1.37", False)])
def test_in_a_trial_only_1_37_looks_for_the_nodes_that_reach_shared_devices(
    minor: str, is_placed: bool
) -> None:
    """p2 is for n1, which does not reach the devices of p1."""
    away = node("n1", cpu="1", labels={"place": "away"})
    p2 = member("p2", "k")
    p2["spec"]["nodeSelector"] = {"place": "away"}
    record = run(minor, *whole_node(0), away, claim("k", "gpu"), member("p1", "k"), p2)
    attempt = record.attempts[1]
    assert attempt.pod == "default/p2"
    assert attempt.error.endswith(ELSEWHERE) == is_placed
    assert ("resourceclaim not available on the node" in attempt.message) != is_placed


def test_a_group_with_claims_spares_victims_beside_which_it_fits() -> None:
    """Its pods are checked with the devices that were free in their trial, whatever the pods after
    them were given."""
    low = [pod(name, cpu="1", node="n0") for name in ("low-1", "low-2")]
    devices = [
        node("n0", cpu="2"),
        resource_slice(0, {"node": "n0", "devices": {"d0": {}}}),
        *whole_node(1),
    ]
    red = group("1.37")
    red["spec"] = {"priority": 10, "schedulingPolicy": {"gang": {"minCount": 2}}}
    claims = claim("k1", "gpu"), claim("k2", "gpu")
    pods = [member(f"p{i}", f"k{i}", cpu="1", priority=10) for i in (1, 2)]
    state = cluster(device_class("gpu", []), red, *devices, *low, *claims, *pods)
    record = simulate(state, kubernetes_version="1.37", feature_gates=GATES["1.37"])
    assert len(record.evicted) == 1
    assert set(record.placements) == {"default/p1", "default/p2"}


def test_a_claim_that_was_allocated_before_is_reserved_for_all_pods_of_a_group() -> None:
    run_of = simulation(
        cluster(
            device_class("gpu", []),
            group("1.37"),
            *whole_node(0),
            claim("k", {"r": "gpu", "allocated": ["n0/d0"], "where": "n0"}),
            member("p1", "k"),
            member("p2", "k"),
        ),
        kubernetes_version="1.37",
        feature_gates=GATES["1.37"],
    )
    assert set(run_of.run().placements) == {"default/p1", "default/p2"}
    (stored,) = run_of.resource_claims.values()
    assert [user.name for user in stored.status.reserved_for] == ["p1", "p2"]


class TakesBack(ReservePlugin):
    """Deallocates all claims, as another pod's PostFilter may."""

    name = "TakesBack"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._handle = handle

    def reserve(self, *_: object) -> Status:
        store = self._handle.service(ClaimStore)
        for stored in tuple(store.all()):
            store.write(deallocated(stored))
        return SUCCESS

    def unreserve(self, *_: object) -> None:
        """Give nothing back."""


def test_a_claim_that_is_deallocated_before_its_pod_is_bound_is_an_error() -> None:
    pending = pod("p", spec={"resourceClaims": [{"name": "k", "resourceClaimName": "k"}]})
    given = claim("k", {"r": "gpu", "allocated": ["n0/d0"], "where": "n0"})
    state = cluster(device_class("gpu", []), *whole_node(0), given, pending)
    attempt = simulate(state, plugins=[TakesBack], kubernetes_version="1.37").attempts[0]
    assert attempt.error.endswith("claim default/k got deallocated elsewhere in the meantime")
