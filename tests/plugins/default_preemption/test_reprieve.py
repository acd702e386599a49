"""Victims listed from columns: per node those that were not put back, by importance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.victim_order import sort_by_importance
from ksched_cli.plugins.default_preemption.victims import PodColumns, Reprieve
from ksched_cli.testing import cluster, node, simulation
from tests.plugins.default_preemption.manifests import preemption_pod

NODES, PODS_EACH = 3, 3
COUNT = NODES * PODS_EACH
FLAGS = st.lists(st.booleans(), min_size=COUNT, max_size=COUNT)


@given(FLAGS, FLAGS)
def test_a_nodes_victims_are_its_evicted_pods_and_its_violations_those_among_them(
    evicted: list[bool], violates: list[bool]
) -> None:
    """As in a search, pods whose eviction violates a budget come first."""
    pods = [
        preemption_pod(f"p{i}", prio=i % 5, start=i, node="abc"[i // PODS_EACH])
        for i in range(COUNT)
    ]
    snapshot = simulation(cluster(*map(node, "abc"), *pods)).snapshot
    columns = PodColumns(snapshot)
    lower = columns.lower_pods(np.arange(NODES), 9)
    reprieve = Reprieve(
        columns, lower, lower.numbers, lower.starts, np.array(violates), np.array(evicted)
    )
    for index in range(NODES):
        entries = range(index * PODS_EACH, (index + 1) * PODS_EACH)
        expected = [columns.pods[lower.numbers[entry]] for entry in entries if evicted[entry]]
        sort_by_importance(expected)
        victims = reprieve.victims(index)
        assert list(victims.pods) == expected
        assert victims.pdb_violations == sum(evicted[i] and violates[i] for i in entries)
