"""A selection of the snapshot's rows, and one of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.nodes import MANY_ROWS, NodeInfo, Nodes
from ksched_cli.testing import cluster, node, pod, simulation

COUNT = MANY_ROWS + 6
DEVICE = "example.com/device"
NODES = [node(f"n{i:02}", cpu=i + 1, labels={"n": str(i)}) for i in range(COUNT)]
SNAPSHOT = simulation(
    cluster(*NODES, pod("p", node="n03", cpu=2), pod("q", node="n03", cpu=1))
).snapshot


@given(st.lists(st.integers(0, COUNT - 1), max_size=COUNT + 20))
def test_a_selection_has_its_rows_in_the_order_given(rows: list[int]) -> None:
    nodes = Nodes(SNAPSHOT, np.array(rows, dtype=np.intp))
    assert len(nodes) == len(rows)
    assert nodes.indices().tolist() == rows
    assert nodes.names() == [f"n{row:02}" for row in rows] == [info.name for info in nodes]
    cpu = SNAPSHOT.allocatable("cpu")
    assert nodes.gather(cpu).tolist() == [1000 * (row + 1) for row in rows]
    assert nodes.gather_columns(np.stack([cpu, -cpu]))[1].tolist() == (-nodes.gather(cpu)).tolist()


def test_without_rows_it_is_every_node_by_name() -> None:
    nodes = Nodes(SNAPSHOT)
    assert nodes.names() == sorted(manifest["metadata"]["name"] for manifest in NODES)
    assert nodes.indices().tolist() == list(range(COUNT))
    assert nodes.gather(SNAPSHOT.allocatable("cpu")) is SNAPSHOT.allocatable("cpu")


def test_a_selection_of_more_than_half_the_nodes_is_most_of_them() -> None:
    assert Nodes(SNAPSHOT, np.arange(COUNT // 2 + 1)).are_most
    assert not Nodes(SNAPSHOT, np.arange(COUNT // 2)).are_most
    assert not Nodes(SNAPSHOT).are_most


@pytest.mark.parametrize("count", [1, MANY_ROWS - 1, MANY_ROWS, COUNT])
def test_a_node_is_the_same_whether_many_or_few_are_visited(count: int) -> None:
    for row, info in enumerate(Nodes(SNAPSHOT, np.arange(count))):
        alone = NodeInfo(SNAPSHOT, row)
        for resource in ("cpu", "memory", DEVICE):
            assert info.allocatable(resource) == alone.allocatable(resource)
            assert info.requested(resource) == alone.requested(resource)
        assert (info.name, info.labels, info.pods) == (alone.name, {"n": str(row)}, alone.pods)


def test_a_nodes_amounts_follow_the_pods_on_it() -> None:
    snapshot = Snapshot(SNAPSHOT.nodes)
    before = list(Nodes(snapshot))
    assert before[3].requested("cpu") == 0
    for info in SNAPSHOT.pods[3]:
        snapshot.add(info, 3)
    assert [before[3].requested("cpu"), before[4].requested("cpu")] == [3000, 0]
    assert [info.name for info in before[3].pods] == ["p", "q"]


def test_a_nodes_labels_cannot_be_changed() -> None:
    labels: Any = NodeInfo(SNAPSHOT, 0).labels
    with pytest.raises(TypeError):
        labels["n"] = "1"
