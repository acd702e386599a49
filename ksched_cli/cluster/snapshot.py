"""The nodes and the pods on them, as columns: one contiguous array per quantity, a row per node.

Rows are in order of node name. Upstream: pkg/scheduler/framework/types.go (NodeInfo) and
pkg/scheduler/backend/cache (node_tree.go for the order of visits, snapshot.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import Node, Taint
from ksched_cli.cluster.pod_info import HostPort, PodInfo
from ksched_cli.cluster.resources import (
    CPU,
    MANY_PODS,
    MEMORY,
    PODS,
    PodResources,
    node_allocatable,
)
from ksched_cli.cluster.topology.label_columns import LabelColumns

Column = NDArray[np.int64]
Columns = NDArray[np.int64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# The resources that plugins ask about in every cycle, and what Snapshot.capacity is of.
PRINCIPAL = (CPU, MEMORY)
COUNTABLE = (*PRINCIPAL, PODS)

# The older name goes first where a node has both.
ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


class SealedError(Exception):
    """Somebody wants to change a snapshot that is only to be read just now."""


class PodWatcher(Protocol):
    """Something that keeps counts of pods and follows them as they come and go."""

    def pod_added(self, pod: PodInfo, row: int) -> None: ...

    def pod_removed(self, pod: PodInfo, row: int) -> None: ...


@dataclass(frozen=True, slots=True)
class ImageColumn:
    """An image on the nodes that have it: its size in bytes, and their rows."""

    size: int
    rows: Rows


class Snapshot:
    """Columns over nodes, in name order. Only `add` and `remove` change them.

    names, nodes:  per row
    capacity:      allocatable cpu (milli), memory (bytes) and pods, one array of three columns
    usage:         cpu and memory asked for, the number of pods, and nonzero_*, likewise
    nonzero_*:     what the pods on each node ask for of cpu and memory, where a container that asks
                   for none counts for a little; `nonzero` is both
    pods:          per row, the pods on the node, in kube-scheduler's order
    ports:         host ports in use, by row
    huge:          sums of requests may be too large to be multiplied in an int64
    log:           the rows changed so far, in order; an answer that is kept notes its length
    touched:       how long the log was when a row was last changed, by the row's `rank`
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: tuple[Node, ...] = tuple(sorted(nodes, key=lambda node: node.name))
        self.names: tuple[str, ...] = tuple(node.name for node in self.nodes)
        self.row: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        self.labels = LabelColumns(self.nodes)
        count = len(self.nodes)
        self.pods: list[list[PodInfo]] = [[] for _ in range(count)]
        self._take_usage(np.zeros((len(COUNTABLE) + len(PRINCIPAL), count), dtype=np.int64), {})
        self._take_capacity(np.zeros((len(COUNTABLE), count), dtype=np.int64), {})
        self._exists: dict[str, Mask] = {}
        for row, node in enumerate(self.nodes):
            for resource, amount in node_allocatable(node).items():
                if resource not in self._exists:
                    self._exists[resource] = np.zeros(count, dtype=np.bool_)
                if resource not in self._allocatable:
                    self._allocatable[resource] = np.zeros(count, dtype=np.int64)
                self._allocatable[resource][row] = amount
                self._exists[resource][row] = True
        self._range: dict[str, tuple[int, int]] = {}
        self._zero: Column = np.zeros(count, dtype=np.int64)
        self._zero.flags.writeable = False
        self.ports: dict[int, set[HostPort]] = {}
        self.log: list[int] = []
        self.touched: NDArray[np.int32] = np.zeros(count, dtype=np.int32)
        self.huge = False
        self.watchers: list[PodWatcher] = []
        self.sealed = False
        # Columns of requests as lists, for whoever reads them one by one; good until a pod moves.
        self.requested_lists: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def _take_usage(self, usage: Columns, requested: dict[str, Column]) -> None:
        """These arrays are the snapshot's own from now on. requested: of what is not in `usage`."""
        self.usage = usage
        cpu, memory, self.pod_count, self.nonzero_cpu, self.nonzero_memory = usage
        self.nonzero = usage[len(COUNTABLE) :]
        self._requested = {**requested, CPU: cpu, MEMORY: memory}

    def _take_capacity(self, capacity: Columns, allocatable: dict[str, Column]) -> None:
        """As `_take_usage`."""
        self.capacity = capacity
        self._allocatable = {**allocatable, **dict(zip(COUNTABLE, capacity, strict=True))}

    @cached_property
    def principal_range(self) -> tuple[int, int]:
        """The least and the most that a node has of cpu or of memory."""
        amounts = self.capacity[: len(PRINCIPAL)]
        return (int(amounts.min()), int(amounts.max())) if amounts.size else (0, 0)

    # -- quantities ---------------------------------------------------------------------------

    def allocatable(self, resource: str) -> Column:
        """Read-only; zeros for a resource that no node has."""
        return self._allocatable.get(resource, self._zero)

    def allocatable_range(self, resource: str) -> tuple[int, int]:
        """The least and the most that a node has of a resource."""
        limits = self._range.get(resource)
        if limits is None:
            column = self.allocatable(resource)
            limits = (int(column.min()), int(column.max())) if len(column) else (0, 0)
            self._range[resource] = limits
        return limits

    def has_resource(self, resource: str) -> Mask:
        """Which nodes list the resource at all, be it with an amount of 0."""
        mask = self._exists.get(resource)
        return np.zeros(len(self), dtype=np.bool_) if mask is None else mask

    def requested(self, resource: str) -> Column:
        """Read-only; zeros for a resource that no pod asked for."""
        return self._requested.get(resource, self._zero)

    # -- pods ---------------------------------------------------------------------------------

    def seal(self, shut: bool) -> None:
        """While it is shut, no pod comes or goes and the columns cannot be written to."""
        self.sealed = shut
        # An array of several columns goes before its rows, which may be open only if it is.
        wide = (self.usage, self.capacity, self.nonzero)
        columns = (*wide, self.pod_count, self.nonzero_cpu, self.nonzero_memory)
        for column in (*columns, *self._requested.values(), *self._allocatable.values()):
            column.flags.writeable = not shut

    def add(self, pod: PodInfo, row: int) -> None:
        """Puts a pod on a node."""
        if self.sealed:
            raise SealedError("plugins may not put pods on nodes; that is the engine's part")
        self.pods[row].append(pod)
        if pod.template.host_ports:
            self.take_ports(pod, row)
        self.usage[:, row] += pod.resources.usage
        self._count(pod.resources, row, 1)
        for watcher in self.watchers:
            watcher.pod_added(pod, row)

    def remove(self, pod: PodInfo, row: int) -> None:
        """Takes a pod off its node. Upstream fills the gap with the node's last pod: so do we."""
        if self.sealed:
            raise SealedError("plugins may not take pods off nodes; that is the engine's part")
        pods = self.pods[row]
        index = next(i for i, other in enumerate(pods) if other.uid == pod.uid)
        pods[index] = pods[-1]
        pods.pop()
        if pod.template.host_ports:
            self.free_ports(pod, row)
        self.usage[:, row] -= pod.resources.usage
        self._count(pod.resources, row, -1)
        for watcher in self.watchers:
            watcher.pod_removed(pod, row)

    def take_ports(self, pod: PodInfo, row: int) -> None:
        self.ports.setdefault(row, set()).update(pod.template.host_ports)

    def free_ports(self, pod: PodInfo, row: int) -> None:
        """Upstream keeps a set, not a count: a port is free even if another pod has it too."""
        if row in self.ports:
            self.ports[row].difference_update(pod.template.host_ports)
            if not self.ports[row]:
                del self.ports[row]

    def _count(self, resources: PodResources, row: int, sign: int) -> None:
        if resources.others:
            for resource, amount in resources.others.items():
                column = self._requested.get(resource)
                if column is None:
                    column = self._requested[resource] = np.zeros(len(self), dtype=np.int64)
                column[row] += sign * amount
        if resources.huge or len(self.pods[row]) > MANY_PODS:
            self.huge = True
        self._note(row)

    def _note(self, row: int) -> None:
        self.log.append(row)
        self.touched[self.rank.item(row)] = len(self.log)
        self.requested_lists.clear()

    # -- what never changes in a run ------------------------------------------------------------

    @cached_property
    def order(self) -> Rows:
        """Rows in the order of visits: round robin over zones, zones by first appearance."""
        zones: dict[tuple[str, str], list[int]] = {}
        for row, node in enumerate(self.nodes):
            zones.setdefault(zone_key(node), []).append(row)
        in_zones = np.array([row for rows in zones.values() for row in rows], dtype=np.intp)
        turns = np.concatenate([[], *(np.arange(len(rows)) for rows in zones.values())])
        return in_zones[turns.argsort(kind="stable")]

    @cached_property
    def rank(self) -> Rows:
        """rank[row] is the row's place in `order`."""
        rank = np.empty(len(self), dtype=np.intp)
        rank[self.order] = np.arange(len(self))
        return rank

    @cached_property
    def unschedulable(self) -> Mask:
        """The nodes marked spec.unschedulable."""
        return np.array([bool(node.spec.unschedulable) for node in self.nodes], dtype=np.bool_)

    @cached_property
    def taint_sets(self) -> tuple[NDArray[np.int32], tuple[tuple[Taint, ...], ...]]:
        """An id per row, and the taints that the id stands for."""
        index: dict[tuple[Taint, ...], int] = {}
        ids = np.array(
            [index.setdefault(tuple(node.spec.taints), len(index)) for node in self.nodes],
            dtype=np.int32,
        )
        return ids, tuple(index)

    @cached_property
    def images(self) -> dict[str, ImageColumn]:
        """Per image name. Upstream takes the size from the first node that has the image."""
        sizes: dict[str, int] = {}
        rows: dict[str, dict[int, None]] = {}
        for row, node in enumerate(self.nodes):
            for image in node.status.images:
                for name in image.names:
                    sizes.setdefault(name, image.size_bytes)
                    rows.setdefault(name, {})[row] = None
        return {
            name: ImageColumn(size, np.array(list(rows[name]), dtype=np.intp))
            for name, size in sizes.items()
        }


def zone_key(node: Node) -> tuple[str, str]:
    """Region and zone of a node; upstream: component-helpers/node/topology (GetZoneKey)."""
    labels = node.metadata.labels
    return _first(labels, *REGION_LABELS), _first(labels, *ZONE_LABELS)


def _first(labels: dict[str, str], older: str, newer: str) -> str:
    value = labels.get(older)
    return labels.get(newer, "") if value is None else value
