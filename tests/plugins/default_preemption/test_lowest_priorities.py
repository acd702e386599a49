"""The column of each node's lowest priority follows the pods that come and go."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.plugins.default_preemption.plugin import NO_PODS, LowestPriorities
from ksched_cli.testing import cluster, node, pod

PRIORITIES = (-5, 0, 7)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(PRIORITIES)), max_size=12))
def test_the_column_is_the_minimum_over_the_pods_of_each_node(moves: Any) -> None:
    """A move puts a pod on a node, or takes one of that priority off it where there is one."""
    snapshot = Snapshot(cluster(*(node(name) for name in "abc")).nodes)
    priorities, catalog = LowestPriorities(snapshot), PodCatalog()
    for i, (row, priority) in enumerate(moves):
        there = [other for other in snapshot.pods[row] if other.priority == priority]
        if there:
            snapshot.remove(there[0], row)
        else:
            state = cluster(pod(f"p{i}", spec={"priority": priority}))
            snapshot.add(catalog.info(state.pods[0]), row)
        lowest = [min((p.priority for p in pods), default=NO_PODS) for pods in snapshot.pods]
        assert priorities.column().tolist() == lowest
