"""The part of a snapshot about its nodes alone, as columns by node name; pods do not change it.

Upstream: pkg/scheduler/framework/types.go (NodeInfo.Allocatable, ImageStates) and
pkg/scheduler/backend/cache (node_tree.go for the order of visits, snapshot.go).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.objects import Node, Taint
from ksched_cli.cluster.resources import CPU, MEMORY, PODS, node_allocatable
from ksched_cli.cluster.topology.label_columns import LabelColumns

Column = NDArray[np.int64]
Columns = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# The resources that plugins ask about in every cycle, and what NodeColumns.capacity is of.
PRINCIPAL = (CPU, MEMORY)
COUNTABLE = (*PRINCIPAL, PODS)

# The older name goes first where a node has both.
OLDER_ZONE_LABEL = "failure-domain.beta.kubernetes.io/zone"
OLDER_REGION_LABEL = "failure-domain.beta.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"
REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABELS = (OLDER_ZONE_LABEL, ZONE_LABEL)
REGION_LABELS = (OLDER_REGION_LABEL, REGION_LABEL)


class ImageColumn(Struct, frozen=True):
    """An image on the nodes that have it: its size in bytes, and their rows."""

    size: int
    rows: Rows


class NodeColumns:
    """Read-only, and so shared by a snapshot and its forks. Most of it is made on first use.

    nodes, names: per row
    row:          node name → row
    labels:       a column of codes per label key
    capacity:     allocatable cpu (milli), memory (bytes) and pods, one array of three columns
    allocatable:  resource → column, of those that some node has; for COUNTABLE, rows of `capacity`
    zero:         the column of a resource that no node has
    """

    def __init__(self, nodes: Iterable[Node], noticed: Sequence[str] = ()) -> None:
        """noticed: names in the order in which the scheduler noticed the nodes, others after them;
        by name where it is empty"""
        self.nodes: tuple[Node, ...] = tuple(sorted(nodes, key=lambda node: node.name))
        self.names: tuple[str, ...] = tuple(node.name for node in self.nodes)
        self.row: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        self.noticed = tuple(noticed)
        self.labels = LabelColumns(self.nodes)
        count = len(self.nodes)
        self._set_allocatable(
            np.zeros((len(COUNTABLE), count), dtype=np.int64), {}, dict(enumerate(self.nodes))
        )

    def _set_allocatable(
        self, capacity: Columns, others: Mapping[str, Column], nodes: Mapping[int, Node]
    ) -> None:
        """Takes over these arrays, filled but for `nodes`, by row. others: besides COUNTABLE."""
        columns = {**others, **dict(zip(COUNTABLE, capacity, strict=True))}
        # Many nodes are of one size, and equal amounts are mostly one object, which the nodes hold.
        sizes: dict[tuple[object, ...], dict[str, int]] = {}
        for row, node in nodes.items():
            listed = node.status.allocatable
            key = (*listed, *map(id, listed.values()))
            size = sizes.get(key)
            if size is None:
                size = sizes[key] = node_allocatable(node)
            for resource, amount in size.items():
                if resource not in columns:
                    columns[resource] = np.zeros(len(self.nodes), dtype=np.int64)
                columns[resource][row] = amount
        self.capacity = capacity
        self.allocatable: dict[str, Column] = columns
        self.zero: Column = np.zeros(len(self.nodes), dtype=np.int64)
        for column in (capacity, *columns.values(), self.zero):
            column.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild a copy: copied one by one, the columns would no longer be rows of `capacity`."""
        return (type(self), (self.nodes, self.noticed))

    def _as_noticed(self) -> Iterator[tuple[int, Node]]:
        """Return rows and nodes in the order in which the scheduler noticed them."""
        if not self.noticed:
            return enumerate(self.nodes)
        rows = dict.fromkeys(self.row[name] for name in self.noticed if name in self.row)
        rows |= dict.fromkeys(range(len(self.nodes)))
        return ((row, self.nodes[row]) for row in rows)

    @cached_property
    def principal_range(self) -> tuple[int, int]:
        """Return the least and the most that a node has of cpu or of memory."""
        amounts = self.capacity[: len(PRINCIPAL)]
        return (int(amounts.min()), int(amounts.max())) if amounts.size else (0, 0)

    @cached_property
    def principal_floats(self) -> Floats:
        """The allocatable cpu and memory, which floats divide several times as fast as integers."""
        amounts = self.capacity[: len(PRINCIPAL)].astype(np.float64)
        amounts.flags.writeable = False
        return amounts

    @cached_property
    def capacity_by_row(self) -> Sequence[Sequence[int]]:
        """Per row, the amounts of `capacity`: single ones are quicker to read than in an array."""
        return list(zip(*self.capacity.tolist(), strict=True))

    @cached_property
    def order(self) -> Rows:
        """Rows in the order of visits: round robin over zones, zones by first appearance."""
        zones: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for row, node in self._as_noticed():
            zones[zone_key(node)].append(row)
        in_zones = np.fromiter(chain.from_iterable(zones.values()), np.intp, len(self.nodes))
        turns = np.concatenate([[], *(np.arange(len(rows)) for rows in zones.values())])
        return in_zones[turns.argsort(kind="stable")]

    @cached_property
    def rank(self) -> Rows:
        """rank[row] is the row's index in `order`."""
        rank = np.empty(len(self.nodes), dtype=np.intp)
        rank[self.order] = np.arange(len(self.nodes))
        return rank

    @cached_property
    def rank_by_row(self) -> Sequence[int]:
        """The same: a single one is quicker to read than in an array."""
        return self.rank.tolist()

    @cached_property
    def unschedulable(self) -> Mask:
        """The nodes marked spec.unschedulable."""
        return np.array([bool(node.spec.unschedulable) for node in self.nodes], dtype=np.bool_)

    @cached_property
    def taint_sets(self) -> tuple[NDArray[np.int32], tuple[tuple[Taint, ...], ...]]:
        """Return an id per row, and the taints of each id."""
        index: dict[tuple[Taint, ...], int] = {}
        ids = np.array(
            [index.setdefault(tuple(node.spec.taints), len(index)) for node in self.nodes],
            dtype=np.int32,
        )
        return ids, tuple(index)

    @cached_property
    def images(self) -> Mapping[str, ImageColumn]:
        """Per image name. Upstream takes the size from the first node that has the image."""
        sizes: dict[str, int] = {}
        rows: dict[str, dict[int, None]] = {}
        for row, node in self._as_noticed():
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
    return (
        labels.get(OLDER_REGION_LABEL, labels.get(REGION_LABEL, "")),
        labels.get(OLDER_ZONE_LABEL, labels.get(ZONE_LABEL, "")),
    )
