"""Nodes with a limit of attached volumes, and pods with claims."""

from collections.abc import Sequence
from typing import Any

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod
from tests.volumes import bound, csi_node, uses

NAMES = [f"v{i}" for i in range(4)]


def wants(name: str, *claims: str, **more: Any) -> dict[str, Any]:
    return pod(name, spec={"volumes": uses(*claims)}, **more)


def limited(
    *pods: dict[str, Any], limit: int = 1, names: Sequence[str] = ("a", "b")
) -> ClusterState:
    return cluster(
        *(node(name) for name in names),
        *(csi_node(name, csi_example_com=limit) for name in names),
        *(manifest for name in NAMES for manifest in bound(name)),
        *pods,
    )
