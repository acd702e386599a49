"""Nodes as an extender sent them back, in place of the snapshot's own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.snapshot import MISSING, NodeColumns, Snapshot
from ksched_cli.extenders.http_extender import ReturnedNodes
from ksched_cli.testing import cluster, node, pod, simulation

LABELS = st.dictionaries(st.sampled_from(["zone", "rack"]), st.sampled_from("abc"))
RESOURCES = st.dictionaries(
    st.sampled_from(["example.com/gpu", "other.org/nic"]), st.integers(1, 9)
)


@st.composite
def manifests(draw: st.DrawFn, name: str) -> dict[str, Any]:
    cpu = draw(st.integers(1, 8))
    return node(name, cpu=cpu, labels=draw(LABELS), resources=draw(RESOURCES))


def nodes_of(*objects: dict[str, Any]) -> tuple[Node, ...]:
    return cluster(*objects).nodes


@given(st.data())
def test_the_columns_are_those_of_a_cluster_with_the_returned_nodes(data: st.DataObject) -> None:
    names = [f"n{i}" for i in range(data.draw(st.integers(1, 4)))]
    own = nodes_of(*(data.draw(manifests(name)) for name in names))
    rows = data.draw(st.sets(st.integers(0, len(names) - 1), min_size=1))
    sent = dict(
        zip(rows, nodes_of(*(data.draw(manifests(names[row])) for row in rows)), strict=True)
    )
    base = Snapshot(own)
    before = base.node_columns.capacity.copy()
    returned = ReturnedNodes(base, sent)
    expected = NodeColumns(sent.get(row, each) for row, each in enumerate(own))
    for resource in ("cpu", "memory", "pods", "example.com/gpu", "other.org/nic"):
        amounts = expected.allocatable.get(resource, expected.zero)
        assert returned.allocatable(resource).tolist() == amounts.tolist()
    for key in ("zone", "rack"):
        column, table = returned.labels[key], (*returned.labels[key].values, None)
        values = {each.metadata.labels.get(key) for each in own}
        for row, code in enumerate(column.codes):
            value = sent.get(row, own[row]).metadata.labels.get(key)
            assert table[code] == (value if value in values else None)
    assert (base.node_columns.capacity == before).all()


def test_a_value_that_no_node_of_the_cluster_has_counts_as_absent() -> None:
    base = Snapshot(nodes_of(node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"})))
    (sent,) = nodes_of(node("a", labels={"zone": "new"}))
    column = ReturnedNodes(base, {0: sent}).labels["zone"]
    assert column.codes.tolist() == [MISSING, base.labels["zone"].codes[1]]


def test_no_pods_run_on_the_nodes_and_they_have_no_images() -> None:
    base = simulation(
        cluster(node("a", images={"app:1": 5}), pod("p", node="a", cpu="1", ports=[80]))
    ).snapshot
    returned = ReturnedNodes(base, {0: base.nodes[0]})
    assert returned.pods[0] == []
    assert returned.requested("cpu").tolist() == [0]
    assert (returned.ports, returned.pod_count.tolist()) == ({}, [0])
    assert dict(returned.node_columns.images) == {}
    assert base.requested("cpu").tolist() == [1000]


def test_what_does_not_change_is_shared() -> None:
    base = Snapshot(nodes_of(node("a", labels={"zone": "x"}), node("b")))
    returned = ReturnedNodes(base, {0: base.nodes[0]})
    assert returned.labels is base.labels
    assert np.shares_memory(returned.allocatable("cpu"), base.allocatable("cpu"))
    assert returned.order is base.order


def test_a_copy_has_the_same_columns() -> None:
    base = Snapshot(nodes_of(node("a"), node("b", cpu="2")))
    (sent,) = nodes_of(node("a", cpu="7"))
    again = pickle.loads(pickle.dumps(ReturnedNodes(base, {0: sent})))
    assert again.allocatable("cpu").tolist() == [7000, 2000]
