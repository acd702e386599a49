"""What many pods take of their nodes, added and subtracted at once."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.resources import MANY_PODS
from ksched_cli.cluster.snapshot import PodUsageColumns, Snapshot, SnapshotFork
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod, simulation
from tests.clusters import states


def look(snapshot: Snapshot | SnapshotFork) -> dict[str, Any]:
    """Everything that pods change."""
    return {
        "pods": [sorted(info.uid for info in pods) for pods in snapshot.pods],
        "ports": {row: set(used) for row, used in snapshot.ports.items()},
        "count": snapshot.pod_count.tolist(),
        "cpu": snapshot.requested("cpu").tolist(),
        "gpu": snapshot.requested("example.com/gpu").tolist(),
        "memory": snapshot.requested("memory").tolist(),
        "nonzero": (snapshot.nonzero_cpu.tolist(), snapshot.nonzero_memory.tolist()),
    }


@given(states(max_running=12, max_nodes=2), st.sampled_from([None, "2000000Gi"]))
def test_a_snapshot_that_is_filled_is_as_one_that_pods_were_added_to(
    state: ClusterState, memory: str | None
) -> None:
    """memory: of a pod for which sums are too large to be multiplied"""
    if memory is not None:
        big = cluster(node("n0"), pod("big", memory=memory, node="n0")).pods
        state = replace(state, pods=(*state.pods, *big))
    filled = simulation(state).snapshot
    added = Snapshot(state.nodes)
    for row, pods in enumerate(filled.pods):
        for info in pods:
            added.add(info, row)
    assert look(filled) == look(added)
    assert filled.pods == added.pods
    assert filled.huge == added.huge
    assert filled.usage.tolist() == added.usage.tolist()


def test_pods_that_are_not_huge_may_be_so_together() -> None:
    many, huge = (
        simulation(
            cluster(node("a"), *(pod(f"p{i}", memory="4095Gi", node="a") for i in range(count)))
        ).snapshot.huge
        for count in (MANY_PODS, MANY_PODS + 1)
    )
    assert (many, huge) == (False, True)


@given(states(max_running=8), st.data())
def test_many_pods_at_once_come_and_go_as_one_by_one(
    state: ClusterState, data: st.DataObject
) -> None:
    base = simulation(state).snapshot
    before, end = look(base), len(base.log)
    here = [(row, info) for row, pods in enumerate(base.pods) for info in pods]
    chosen = [each for each in here if data.draw(st.booleans())]
    if not chosen:
        return
    rows, pods = np.array([row for row, _ in chosen]), [info for _, info in chosen]
    load = PodUsageColumns.of(pods)
    together, single = (base.fork(range(len(base))) for _ in range(2))
    together.remove_each(pods, rows, load)
    for row, info in chosen:
        single.remove(info, row)
    assert look(together) == look(single)
    back = np.flatnonzero([data.draw(st.booleans()) for _ in chosen])
    together.add_each([pods[i] for i in back], rows[back], load.gather(back))
    for i in back.tolist():
        single.add(pods[i], int(rows[i]))
    assert look(together) == look(single)
    assert (look(base), len(base.log)) == (before, end)
