"""Volumes that claims get between two states are the scheduler's choice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.analysis.audit.audit import VOLUMES_COME, AuditResult, audit
from ksched_cli.analysis.audit.decision_log import read_decision_log
from ksched_cli.analysis.audit.decisions import LogEvent, LogLine
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod, simulation
from tests.analysis.audit.aftermath import bound, scheduled
from tests.analysis.audit.test_recorded_decisions import bind, recorded
from tests.volumes import CSI, claim, csi_node, storage_class, volume

NODES = [
    node(name, cpu=cpu, labels={"kubernetes.io/hostname": name})
    for name, cpu in (("a", 4), ("b", 16))
]


def using(name: str, claim: str, **fields: Any) -> dict[str, Any]:
    manifest = pod(name, cpu=1, **fields)
    manifest["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    return manifest


def audited(
    before: ClusterState,
    placed: dict[str, str],
    *storage: dict[str, Any],
    events: tuple[dict[str, Any], ...] = (),
) -> AuditResult:
    """placed: pod → its node, in order; storage: of the state afterwards, with new pods"""
    after = cluster(*NODES, *storage)
    pods = {p.name: p for p in (*after.pods, *before.pods)}
    bindings = [bound(pods[name], on, 10 + n) for n, (name, on) in enumerate(placed.items())]
    decision_log = read_decision_log(
        before,
        replace(after, pods=tuple(bindings), others={"Event": events}),
        simulation(before).frameworks,
        [LogLine(LogEvent.ATTEMPT, pods[name].key) for name in placed],
    )
    return audit(simulation, decision_log)


@pytest.mark.parametrize("is_new", [False, True])
def test_of_equal_volumes_the_real_one_is_taken(is_new: bool) -> None:
    """Both fit `p` on a, and v1 is first by name; had `p` v1, `q` could not be on b."""
    local = storage_class("local")
    volumes = [volume("v1", on=["a", "b"]), volume("v2", on=["a"])]
    only_a = {"kubernetes.io/hostname": "a"}
    pods = [using("p", "c", node_selector=only_a), using("q", "d")]
    claims = [claim("c"), claim("d")]
    first = 1 if is_new else 2
    before = cluster(*NODES, local, *volumes, *claims[:first], *pods[:first])
    answer = audited(
        before,
        {"p": "a", "q": "b"},
        local,
        volume("v1", on=["a", "b"], claim="d", phase="Bound"),
        volume("v2", on=["a"], claim="c", phase="Bound"),
        claim("c", volume="v2"),
        claim("d", volume="v1"),
        *pods[first:],
    )
    assert (answer.decisions, answer.differ, answer.unexplained) == (2, (), ())


@pytest.mark.parametrize("volume_of_p", ["v2", ""])
def test_a_recording_tells_which_of_equal_volumes_is_taken(
    volume_of_p: str, tmp_path: Path
) -> None:
    """Where it does not, `p` has v1, and `q` could not be on b."""
    volumes = [volume("v1", on=["a", "b"]), volume("v2", on=["a"])]
    objects = [*NODES, storage_class("local"), *volumes, claim("c"), claim("d")]
    p = using("p", "c", node_selector={"kubernetes.io/hostname": "a"})
    put: dict[str, Any] = {"put": claim("c", volume=volume_of_p), "decided": True}
    events = [{"pod": p}, put, bind("p", "a")]
    answer = recorded(tmp_path, objects, *events, {"pod": using("q", "d")}, bind("q", "b"))
    assert [each.pod for each in answer.differ] == ["default/q"] * (not volume_of_p)


def test_two_claims_of_a_pod_may_have_got_what_the_other_one_would() -> None:
    """`p` takes both volumes of b, which is the better node; `q` has to go to a."""
    local = storage_class("local")
    volumes = [volume(f"v{number}", on=[on]) for number, on in enumerate("bba", 1)]
    p = using("p", "c1")
    p["spec"]["volumes"].append({"name": "w", "persistentVolumeClaim": {"claimName": "c2"}})
    claims = [claim(name) for name in ("c1", "c2", "d")]
    before = cluster(*NODES, local, *volumes, *claims, p, using("q", "d"))
    got = {"c1": ("v2", "b"), "c2": ("v1", "b"), "d": ("v3", "a")}
    taken = [volume(name, on=[on], claim=own, phase="Bound") for own, (name, on) in got.items()]
    bindings = [claim(own, volume=name) for own, (name, _) in got.items()]
    answer = audited(before, {"p": "b", "q": "a"}, local, *taken, *bindings)
    assert (answer.decisions, answer.differ, answer.unexplained) == (2, (), ())


@pytest.mark.parametrize("has_volume_before", [False, True])
def test_a_claim_that_came_later_does_not_give_the_node_away(has_volume_before: bool) -> None:
    """Its pod had to go to b, where there is another volume; that its claim has v1 is no excuse."""
    local, volumes = storage_class("local"), [volume("v1", on=["a"]), volume("v2", on=["b"])]
    before = cluster(*NODES, local, *volumes[not has_volume_before :])
    taken = volume("v1", on=["a"], claim="c", phase="Bound")
    answer = audited(
        before, {"p": "a"}, local, taken, volumes[1], claim("c", volume="v1"), using("p", "c")
    )
    assert [(d.node, d.expected) for d in answer.differ] == [("a", ("b",))]


@pytest.mark.parametrize("is_new", [False, True])
def test_a_claim_that_a_controller_bound_is_bound(is_new: bool) -> None:
    """Its volume may be as new as the binding."""
    at_once = storage_class("local", wait=False)
    unbound = volume("v1", on=["a"])
    before = cluster(*NODES, at_once, *[unbound][is_new:], claim("c"), using("p", "c"))
    taken = volume("v1", on=["a"], claim="c", phase="Bound")
    answer = audited(before, {"p": "a"}, at_once, taken, claim("c", volume="v1"))
    assert (answer.decisions, answer.differ) == (1, ())


def test_a_claim_that_came_later_and_waits_is_there_from_the_beginning() -> None:
    local, p = storage_class("local"), using("p", "c")
    before, after = cluster(*NODES), cluster(*NODES, local, claim("c"), p)
    state = read_decision_log(before, after, simulation(before).frameworks, ()).state
    assert state.persistent_volume_claims == after.persistent_volume_claims
    assert state.storage_classes == after.storage_classes


def test_a_volume_that_was_made_for_a_claim_was_not_there_before() -> None:
    disks = storage_class("disks", "csi.example.com")
    before = cluster(*NODES, disks, claim("c", storage_class="disks"), using("p", "c"))
    provisioned = volume("pvc-1", storage_class="disks", on=["a"], claim="c", phase="Bound")
    bound_claim = claim("c", storage_class="disks", volume="pvc-1", selected_node="a")
    answer = audited(before, {"p": "a"}, disks, provisioned, bound_claim)
    assert [(d.node, d.expected) for d in answer.differ] == [("a", ("b",))]
    assert audited(before, {"p": "b"}, disks, provisioned, bound_claim).differ == ()


def with_driver(name: str, on: list[str], claim: str = "") -> dict[str, Any]:
    source = {"driver": CSI, "volumeHandle": name}
    return volume(name, on=on, claim=claim, phase="Bound" if claim else "Available", csi=source)


@pytest.mark.parametrize(
    ("seconds", "on", "differs", "is_unexplained"),
    [(30, "a", False, False), (30, "b", True, False), (1, "b", False, True)],
)
def test_volumes_count_against_limits_once_they_are_bound(
    seconds: int, on: str, differs: bool, is_unexplained: bool
) -> None:
    """b, the best node, takes one volume, that of `p`, which is bound while `q` may be placed."""
    limits = [csi_node("a", csi_example_com=9), csi_node("b", csi_example_com=1)]
    local, pods = storage_class("local"), [using("p", "c"), using("q", "d")]
    others = [with_driver("v2", ["a", "b"], "d"), claim("d", volume="v2")]
    free = with_driver("v1", ["a", "b"])
    before = cluster(*NODES, *limits, local, free, *others, claim("c"), *pods)
    p, q = before.pods
    events = scheduled(p, "b", 1), scheduled(q, on, seconds * 1000)
    taken = [with_driver("v1", ["a", "b"], "c"), claim("c", volume="v1")]
    placed = {"p": "b", "q": on}
    answer = audited(before, placed, local, *limits, *taken, *others, events=events)
    assert [d.pod for d in answer.differ] == ["default/q"] * differs
    reasons = [VOLUMES_COME.format("b", "default/p")] * is_unexplained
    assert [each.reason for each in answer.unexplained] == reasons
