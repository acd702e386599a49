"""Objects of cluster events, decoded as the engine has them."""

from typing import Any

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.testing import cluster, find, node, pod, simulation


def pod_info(name: str = "p", **fields: Any) -> PodInfo:
    """A pod; the fields are those of ksched_cli.testing.pod."""
    return find(simulation(cluster(node("n"), pod(name, **fields))), name)


def decoded_node(name: str = "n", **fields: Any) -> Node:
    """A node; the fields are those of ksched_cli.testing.node."""
    (decoded,) = cluster(node(name, **fields)).nodes
    return decoded
