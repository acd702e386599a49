"""The columns of pods follow the pods that come and go."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.victim_order import sort_by_importance
from ksched_cli.plugins.default_preemption.victims import PodColumns
from ksched_cli.testing import cluster, node, simulation
from tests.plugins.default_preemption.manifests import preemption_pod

NAMES = ["a", "b", "c"]
# A node, and what happens there: its pod of that index leaves, or a pod comes.
CHANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=12)


def listed(columns: PodColumns, priority: int) -> list[list[PodInfo]]:
    lower = columns.lower_pods(np.arange(len(NAMES)), priority)
    pods = [columns.pods[number] for number in lower.numbers.tolist()]
    ends = lower.counts.cumsum()
    return [pods[end - count : end] for end, count in zip(ends, lower.counts, strict=True)]


@given(CHANGES, st.lists(st.integers(-1, 4), min_size=13, max_size=13))
def test_after_any_change_they_are_those_below_the_priority_in_order_of_importance(
    changes: list[tuple[int, int]], priorities: list[int]
) -> None:
    running = [
        preemption_pod(f"r{i}", prio=i % 4, start=i % 3, node=NAMES[i % 3]) for i in range(9)
    ]
    spare = [preemption_pod(f"s{i}", prio=i % 4, start=i % 2, cpu=i) for i in range(12)]
    run = simulation(cluster(*map(node, NAMES), *running, *spare))
    snapshot, coming = run.snapshot, run.pending()
    columns = snapshot.index(PodColumns)
    for (row, choice), priority in zip([(0, 99), *changes], priorities, strict=False):
        if choice < len(snapshot.pods[row]):
            snapshot.remove(snapshot.pods[row][choice], row)
        elif choice != 99 and coming:
            snapshot.add(coming.pop(), row)
        expected = [[pod for pod in pods if pod.priority < priority] for pods in snapshot.pods]
        for pods in expected:
            sort_by_importance(pods)
        assert listed(columns, priority) == expected


def test_columns_hold_what_a_search_for_victims_reads() -> None:
    state = cluster(
        node("a"),
        preemption_pod("first", prio=2, start=1, cpu=1, node="a"),
        preemption_pod("second", prio=1, start=2, memory=7, node="a"),
        preemption_pod("third", prio=1, node="a"),
    )
    columns = PodColumns(simulation(state).snapshot)
    numbers = columns.lower_pods(np.array([0]), 3).numbers
    assert columns.priority[numbers].tolist() == [2, 1, 1]
    assert columns.start[numbers].argsort().tolist() == [0, 1, 2]
    assert columns.requests("cpu", numbers).tolist() == [1000, 0, 0]
    assert columns.requests("memory", numbers).tolist() == [0, 7, 0]
    assert columns.requests("example.com/gpu", numbers).tolist() == [0, 0, 0]
