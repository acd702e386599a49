"""NodeVolumeLimits where pods come and go: the limit, shared volumes, preemption."""

from typing import Any

import pytest

from ksched_cli.testing import simulate
from tests.plugin_cases import cases, check
from tests.plugins.node_volume_limits.manifests import NAMES, limited, wants
from tests.volumes import CSI, storage_class


def test_pods_placed_in_the_run_take_up_the_limit() -> None:
    run = simulate(limited(*(wants(f"p{i}", name) for i, name in enumerate(NAMES))))
    assert sorted(run.placements.values()) == ["a", "b"]
    assert len(run.pending) == 2


def test_pods_that_share_a_volume_go_where_it_is_attached() -> None:
    run = simulate(
        limited(wants("p0", "v0"), wants("p1", "v1"), wants("p2", "v0"), wants("p3", "v1"))
    )
    assert run.pending == ()
    assert run.placements["default/p0"] == run.placements["default/p2"]
    assert run.placements["default/p1"] == run.placements["default/p3"]


def test_volumes_yet_to_be_made_count_too() -> None:
    claims = [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"c{i}"}}
        | {"spec": {"storageClassName": "wait"}}
        for i in range(3)
    ]
    pods = [wants(f"p{i}", f"c{i}") for i in range(3)]
    run = simulate(limited(storage_class("wait", CSI), *claims, *pods))
    assert len(run.placements) == 2


def test_preemption_frees_a_place() -> None:
    run = simulate(
        limited(wants("low", "v0", node="a"), wants("high", "v1", priority=9), names=["a"])
    )
    assert [eviction.pod for eviction in run.evicted] == ["default/low"]
    assert run.placements == {"default/high": "a"}


def test_preemption_spares_pods_whose_volume_the_pod_has_too() -> None:
    state = limited(
        wants("same", "v1", node="a"),
        wants("low", "v0", node="a"),
        wants("high", "v1", "v2", priority=9),
        limit=2,
        names=["a"],
    )
    run = simulate(state)
    assert [eviction.pod for eviction in run.evicted] == ["default/low"]


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)
