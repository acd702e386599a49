"""How full the nodes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from msgspec import structs

from ksched_cli.answers import Count, Part
from ksched_cli.cluster.node_columns import COUNTABLE
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.kube.format_quantity import amount_text


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """A node's allocatable and what the pods on it request, by resource, in the scheduler's units;
    pods: how many are on it."""

    name: str
    allocatable: Mapping[str, int]
    requested: Mapping[str, int]
    pods: int


class NodeResources(Part, frozen=True):
    """A node's allocatable, and what the pods on it request, as Kubernetes quantities, bytes in
    full.

    allocatable: resource → quantity
    requested: resource → quantity
    """

    name: str
    allocatable: Mapping[str, str]
    requested: Mapping[str, str]
    pods: Count


def resources_of(usages: Sequence[NodeUsage]) -> tuple[NodeResources, ...]:
    return tuple(
        NodeResources(
            usage.name,
            {key: _quantity(key, value) for key, value in usage.allocatable.items()},
            {key: _quantity(key, value) for key, value in usage.requested.items()},
            usage.pods,
        )
        for usage in usages
    )


def _quantity(resource: str, amount: int) -> str:
    return amount_text(resource, amount) if resource == "cpu" else str(amount)


def node_usages(snapshot: Snapshot) -> tuple[NodeUsage, ...]:
    """Per node, by name: cpu, memory and pods, and what else it has any of."""
    counts = snapshot.pod_count.tolist()
    allocatable = {
        resource: column.tolist()
        for resource, column in sorted(snapshot.node_columns.allocatable.items())
    }
    requested = {resource: snapshot.requested(resource).tolist() for resource in allocatable}
    return tuple(
        NodeUsage(
            name,
            {
                resource: column[row]
                for resource, column in allocatable.items()
                if column[row] or resource in COUNTABLE
            },
            {
                resource: column[row]
                for resource, column in requested.items()
                if resource != PODS and (allocatable[resource][row] or resource in COUNTABLE)
            },
            counts[row],
        )
        for row, name in enumerate(snapshot.names)
    )


def nodes_used(snapshot: Snapshot) -> int:
    """How many nodes have pods on them."""
    return int((snapshot.pod_count > 0).sum())


class Utilization(Part, frozen=True):
    """The shares of a resource that pods request, over the nodes that have any of it: 0.5 is half
    of a node's allocatable.

    stddev: over all these nodes, not of a sample
    total: of all that these nodes have together
    """

    mean: float
    max: float
    stddev: float
    total: float

    def rounded(self, digits: int) -> Self:
        return type(self)(*(round(share, digits) for share in structs.astuple(self)))


def utilization(snapshot: Snapshot) -> dict[str, Utilization]:
    """By resource, of those that some node has."""
    answer = {}
    for resource, allocatable in sorted(snapshot.node_columns.allocatable.items()):
        requested = snapshot.pod_count if resource == PODS else snapshot.requested(resource)
        has_any = allocatable > 0
        if has_any.any():
            shares = requested[has_any] / allocatable[has_any]
            answer[resource] = Utilization(
                float(shares.mean()),
                float(shares.max()),
                float(shares.std()),
                float(requested[has_any].sum() / allocatable[has_any].sum()),
            )
    return answer
