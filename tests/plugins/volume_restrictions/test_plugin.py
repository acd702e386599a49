"""VolumeRestrictions where pods come and go: preemption, nominations, trials."""

from typing import Any

import pytest

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.plugins.volume_restrictions import (
    STATE_KEY,
    VolumeRestrictions,
    after_pod_deletion,
)
from ksched_cli.testing import cluster, find, node, pod, simulate, simulation
from tests.narrowing import plugin_of
from tests.plugin_cases import cases, check
from tests.plugins.event_objects import pod_info
from tests.volumes import bound, uses

SINGLE = bound("single", modes=("ReadWriteOncePod",))
DISK = {"name": "disk", "gcePersistentDisk": {"pdName": "d"}}


def wants(name: str, *claims: str, disk: bool = False, **more: Any) -> dict[str, Any]:
    return pod(name, spec={"volumes": uses(*claims) + ([DISK] if disk else [])}, **more)


def test_preemption_frees_a_claim_for_a_single_pod() -> None:
    state = cluster(
        node("a"),
        node("b"),
        *SINGLE,
        wants("low", "single", node="a"),
        wants("high", "single", priority=9),
    )
    run = simulate(state)
    assert [eviction.pod for eviction in run.evicted] == ["default/low"]
    assert run.placements == {"default/high": "a"}


def test_evicting_pods_elsewhere_does_not_free_a_claim() -> None:
    """The pod that has the claim is as important."""
    state = cluster(
        node("a"),
        node("b"),
        *SINGLE,
        wants("holder", "single", node="a", priority=9),
        wants("low", node="b"),
        wants("high", "single", priority=9),
    )
    run = simulate(state)
    assert not run.evicted
    assert run.pending == ("default/high",)


def test_preemption_frees_a_disk() -> None:
    state = cluster(
        node("a"),
        wants("low", disk=True, node="a"),
        wants("bystander", node="a"),
        wants("high", disk=True, priority=9),
    )
    run = simulate(state)
    assert [eviction.pod for eviction in run.evicted] == ["default/low"]
    assert run.placements == {"default/high": "a"}


def test_a_disk_that_was_placed_in_the_run_is_in_use() -> None:
    run = simulate(cluster(node("a"), node("b"), *(wants(f"p{i}", disk=True) for i in range(3))))
    assert sorted(run.placements.values()) == ["a", "b"]
    assert len(run.pending) == 1


def test_a_claim_that_was_placed_in_the_run_is_in_use() -> None:
    run = simulate(cluster(node("a"), *SINGLE, wants("p0", "single"), wants("p1", "single")))
    assert run.placements == {"default/p0": "a"}


@pytest.mark.parametrize("namespace", ["default", "other"])
def test_pods_of_any_namespace_move_the_count_in_a_trial_as_upstream_has_it(namespace: str) -> None:
    mover = wants("mover", "single", "single", namespace=namespace, node="a")
    state = cluster(node("a"), *SINGLE, wants("x", "single", node="a"), wants("p", "single"), mover)
    run = simulation(state)
    plugin = plugin_of(run, VolumeRestrictions)
    original, info = CycleState(), find(run)
    run.frameworks["default-scheduler"].pre_filtering.run(original, info)
    trial = original.clone()
    place = NodeInfo(run.snapshot, 0)
    plugin.remove_pod(trial, info, find(run, f"{namespace}/mover"), place)
    assert trial.read(STATE_KEY).conflicts == -1
    plugin.add_pod(trial, info, find(run, "x"), place)
    assert trial.read(STATE_KEY).conflicts == 0
    assert original.read(STATE_KEY).conflicts == 1


def test_without_prefilter_every_node_that_has_no_conflict_is_an_error() -> None:
    off = {"disabled": [{"name": "VolumeRestrictions"}]}
    state = cluster(node("a"), node("b"), wants("x", disk=True, node="a"), wants("p", disk=True))
    run = simulate(state, {"profiles": [{"plugins": {"preFilter": off}}]})
    message = 'cannot read "PreFilterVolumeRestrictions" from cycleState'
    assert run.last["default/p"].error == f'running "VolumeRestrictions" filter plugin: {message}'


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_a_pod_is_tried_when_one_with_its_disk_or_claim_is_deleted() -> None:
    disk = {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "a"}}]}
    incoming = pod_info(spec=disk)
    assert after_pod_deletion(incoming, pod_info("o", node="n", spec=disk), None)
    assert not after_pod_deletion(incoming, pod_info("o", node="n"), None)
    claiming = {"volumes": uses("data")}
    assert after_pod_deletion(pod_info(spec=claiming), pod_info("o", spec=claiming), None)
    elsewhere = pod_info("o", namespace="blue", spec=claiming)
    assert not after_pod_deletion(pod_info(spec=claiming), elsewhere, None)
