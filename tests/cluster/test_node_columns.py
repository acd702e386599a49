"""What is known of nodes alone, in columns, and the order of visits."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import NodeColumns, zone_key
from ksched_cli.testing import cluster, node

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
SIZES = {"n1": 10, "n2": 20, "n3": 30}
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


class NodeTree:
    """kube-scheduler's order of visits, as a list per zone from which nodes are taken in turn."""

    def __init__(self) -> None:
        self.zones: dict[tuple[str, str], list[str]] = {}

    def add(self, labels: dict[str, str], name: str) -> None:
        zone = labels.get(OLD_ZONE, labels.get(ZONE, ""))
        self.zones.setdefault((labels.get(REGION, ""), zone), []).append(name)

    def visits(self) -> Iterator[str]:
        queues = [list(names) for names in self.zones.values()]
        while any(queues):
            yield from (queue.pop(0) for queue in queues if queue)


LABELS = st.fixed_dictionaries(
    {},
    optional={
        ZONE: st.sampled_from(["", "a", "b"]),
        OLD_ZONE: st.sampled_from(["", "a", "c"]),
        REGION: st.sampled_from(["", "r1", "r2"]),
    },
)


@given(st.dictionaries(st.from_regex(r"n[0-9]{1,3}", fullmatch=True), LABELS, max_size=12))
def test_nodes_are_visited_as_the_schedulers_node_tree_lists_them(
    labels: dict[str, dict[str, str]],
) -> None:
    columns = NodeColumns(cluster(*(node(name, labels=own) for name, own in labels.items())).nodes)
    tree = NodeTree()
    for name in sorted(labels):
        tree.add(labels[name], name)
    assert [columns.names[row] for row in columns.order] == list(tree.visits())
    assert columns.rank[columns.order].tolist() == list(range(len(columns.nodes)))


def test_rows_are_in_order_of_name() -> None:
    columns = NodeColumns(cluster(node("n2"), node("n10"), node("n1")).nodes)
    assert columns.names == ("n1", "n10", "n2")
    assert columns.row == {"n1": 0, "n10": 1, "n2": 2}


def columns_of(*nodes: dict[str, object]) -> NodeColumns:
    return NodeColumns(cluster(*nodes).nodes)


def test_nodes_with_the_same_taints_share_an_id() -> None:
    tainted = (node("a", taints=["k=v:NoSchedule"]), node("c", taints=["k=v:NoSchedule"]))
    ids, sets = columns_of(tainted[0], node("b"), tainted[1]).taint_sets
    assert ids.tolist() == [0, 1, 0]
    assert [len(taints) for taints in sets] == [1, 0]


def test_the_older_label_of_a_zone_goes_first() -> None:
    (labelled,) = cluster(node("a", labels={OLD_ZONE: "old", ZONE: "new", REGION: "r"})).nodes
    assert zone_key(labelled) == ("r", "old")


def test_cpu_memory_and_pods_are_rows_of_one_array() -> None:
    columns = columns_of(node("b", cpu="2", memory="1Ki", pods=5), node("a", cpu="500m", pods=3))
    assert columns.capacity[0].tolist() == [500, 2000]
    assert columns.capacity[1, 1] == 1024
    assert columns.capacity[2].tolist() == [3, 5]
    for resource in ("cpu", "memory", "pods"):
        assert np.shares_memory(columns.allocatable[resource], columns.capacity)


def test_a_resource_has_a_column_once_a_node_has_some() -> None:
    columns = columns_of(node("a"), node("b", resources={"example.com/gpu": 2}))
    assert columns.allocatable["example.com/gpu"].tolist() == [0, 2]
    assert "example.com/fpga" not in columns.allocatable


def test_the_least_and_the_most_of_cpu_and_memory() -> None:
    columns = columns_of(node("a", cpu="1", memory="1"), node("b", cpu="3", memory="9"))
    assert columns.principal_range == (1, 3000)
    assert columns_of().principal_range == (0, 0)


def test_columns_cannot_be_written_to() -> None:
    columns = columns_of(node("a"))
    for column in (columns.capacity, columns.allocatable["cpu"], columns.zero):
        with pytest.raises(ValueError, match="read-only"):
            column[...] = 0


def test_an_image_has_the_size_that_the_first_node_gives() -> None:
    columns = columns_of(
        node("b", images={"app:1": 7}), node("a", images={"app:1": 5, "db:2": 1}), node("c")
    )
    image = columns.images["app:1"]
    assert (image.size, image.rows.tolist()) == (5, [0, 1])
    assert columns.images["db:2"].rows.tolist() == [0]


def test_nodes_marked_unschedulable_are_a_mask() -> None:
    columns = columns_of(node("a"), node("b", unschedulable=True))
    assert columns.unschedulable.tolist() == [False, True]


def test_a_copy_is_made_of_the_same_nodes() -> None:
    columns = columns_of(node("a", cpu="1"), node("b", cpu="2"))
    for again in (copy.deepcopy(columns), pickle.loads(pickle.dumps(columns))):
        assert again.nodes == columns.nodes
        assert np.shares_memory(again.allocatable["cpu"], again.capacity)


def test_the_node_that_was_noticed_first_says_how_big_an_image_is() -> None:
    nodes = cluster(*(node(name, images={"web:1": size}) for name, size in SIZES.items())).nodes
    by_name, noticed = NodeColumns(nodes), NodeColumns(nodes, ("n3", "gone", "n1"))
    assert (by_name.images["web:1"].size, noticed.images["web:1"].size) == (
        SIZES["n1"],
        SIZES["n3"],
    )
    assert copy.copy(noticed).images["web:1"].size == SIZES["n3"]


def test_nodes_are_visited_in_the_order_in_which_they_were_noticed() -> None:
    columns = NodeColumns(cluster(*map(node, SIZES)).nodes, ("n3", "n1"))
    assert [columns.names[row] for row in columns.order] == ["n3", "n1", "n2"]
