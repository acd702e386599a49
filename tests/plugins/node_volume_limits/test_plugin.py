"""NodeVolumeLimits where pods come and go: the limit, shared volumes, preemption."""

from typing import Any

import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod, simulate
from tests.plugin_cases import cases, check
from tests.volumes import CSI, bound, csi_node, storage_class, uses

NAMES = [f"v{i}" for i in range(4)]


def wants(name: str, *claims: str, **more: Any) -> dict[str, Any]:
    return pod(name, spec={"volumes": uses(*claims)}, **more)


def limited(
    *pods: dict[str, Any], limit: int = 1, names: list[str] | tuple[str, str] = ("a", "b")
) -> ClusterState:
    return cluster(
        *(node(name) for name in names),
        *(csi_node(name, csi_example_com=limit) for name in names),
        *(manifest for name in NAMES for manifest in bound(name)),
        *pods,
    )


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
