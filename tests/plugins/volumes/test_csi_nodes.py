"""CSINode objects as columns."""

from ksched_cli.plugins.volumes import CSINodes
from ksched_cli.testing import cluster, node, simulation
from tests.narrowing import present
from tests.volumes import csi_node


def columns() -> CSINodes:
    state = cluster(
        node("a"),
        node("b"),
        node("c"),
        csi_node("a", migrated="kubernetes.io/x,kubernetes.io/y", csi_example_com=2),
        csi_node("b", csi_example_com=None),
    )
    return CSINodes(simulation(state).frameworks["default-scheduler"].handle)


def test_a_driver_has_a_limit_per_node_or_none() -> None:
    nodes = columns()
    assert present(nodes.limits("csi.example.com")).tolist() == [2, -1, -1]
    assert nodes.limits("other") is None


def test_nodes_with_a_csi_node_and_with_a_limit() -> None:
    nodes = columns()
    assert nodes.has_csi_node.tolist() == [True, True, False]
    assert nodes.limited.tolist() == [True, False, False]


def test_migrated_plugins_are_those_of_the_annotation() -> None:
    nodes = columns()
    assert nodes.migrated("kubernetes.io/y").tolist() == [True, False, False]
    assert nodes.migrated("kubernetes.io/z").tolist() == [False, False, False]
