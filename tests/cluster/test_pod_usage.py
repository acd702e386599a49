"""What many pods take of their nodes, added and subtracted at once."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_usage import PodUsageColumns
from ksched_cli.cluster.snapshot import Snapshot, SnapshotFork
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import simulation
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
