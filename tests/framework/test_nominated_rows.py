"""Which rows pods are nominated to, and which of these count for another pod."""

import numpy as np
import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.runners import NominatedRows
from ksched_cli.testing import cluster, find, node, pod, simulation


@pytest.fixture
def run() -> Simulation:
    pods = (pod("p", priority=5), pod("q", priority=5), pod("r", priority=9), pod("s"))
    run = simulation(cluster(*map(node, "abcd"), *pods))
    run.nominator.nominate(find(run, "p"), "c")
    run.nominator.nominate(find(run, "q"), "no such node")
    return run


def test_the_nominated_rows_among_some_nodes_follow_the_nominator(run: Simulation) -> None:
    nominated, other = NominatedRows(run.snapshot, run.nominator), find(run, "s")

    def rows(nodes: Nodes, pod: PodInfo) -> list[tuple[int, int, list[str]]]:
        nominations = nominated.among(nodes, pod)
        return [(index, row, [info.name for info in pods]) for index, row, pods in nominations]

    assert rows(Nodes(run.snapshot), other) == [(2, 2, ["p"])]
    some = Nodes(run.snapshot, np.array([3, 2, 1], dtype=np.intp))
    assert rows(some, other) == [(1, 2, ["p"])]
    run.nominator.nominate(find(run, "q"), "d")
    assert rows(some, other) == [(0, 3, ["q"]), (1, 2, ["p"])]
    run.nominator.clear(find(run, "p"))
    assert rows(some, other) == [(0, 3, ["q"])]
    assert rows(some, find(run, "r")) == []


def test_nominations_to_the_pod_itself_and_to_lesser_pods_do_not_count(run: Simulation) -> None:
    nominated = NominatedRows(run.snapshot, run.nominator)
    assert [info.name for info in nominated.pods(2, find(run, "q"))] == ["p"]
    assert nominated.pods(2, find(run, "p")) == []
    assert nominated.pods(2, find(run, "r")) == []
