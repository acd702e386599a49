"""Nodes as an extender sent them back: kube-scheduler goes on with those in place of its own.

It knows no pods on them and no images: Score sees a node with nothing requested. So does this.

Upstream: pkg/scheduler/extender.go (Filter, where the answer has Nodes).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ksched_cli.cluster.node_columns import COUNTABLE, NodeColumns
from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.snapshot_contents import SnapshotContents
from ksched_cli.cluster.topology.label_columns import MISSING, LabelColumn, LabelColumns


class ReturnedNodes(Snapshot):
    """`base` with `nodes` (by row) in place of its own. Only these rows are to be asked about.

    Labels and taints are those that the extender sent. A label's value that no node of the cluster
    has counts as absent, for the counters of pods per domain know nothing of it. It has no pods.
    """

    def __init__(self, base: Snapshot, nodes: Mapping[int, Node]) -> None:
        self.__setstate__(
            SnapshotContents(
                node_columns=_ReturnedColumns(base.node_columns, nodes),
                pods=[[] for _ in range(len(base))],
                usage=np.zeros_like(base.usage),
                requested={},
                ports={},
                log=[],
                touched=np.zeros(len(base), dtype=np.int32),
                huge=base.huge,
            )
        )


class _ReturnedColumns(NodeColumns):
    """Shares with `base` what `nodes` (by row) do not change; the order of visits is one such."""

    def __init__(self, base: NodeColumns, nodes: Mapping[int, Node]) -> None:
        self._base = base
        self._returned = nodes
        own = list(base.nodes)
        for row, node in nodes.items():
            own[row] = node
        self.nodes = tuple(own)
        self.names, self.row = base.names, base.row
        self.order, self.rank = base.order, base.rank
        self.images = {}
        old = base.nodes
        if any(node.metadata.labels != old[row].metadata.labels for row, node in nodes.items()):
            self.labels = _Relabelled(base.labels, self.nodes, list(nodes))
        else:
            self.labels = base.labels
        resized = {
            row: node
            for row, node in nodes.items()
            if node.status.allocatable != old[row].status.allocatable
        }
        if resized:
            self._resize(resized)
        else:
            self.capacity, self.allocatable = base.capacity, base.allocatable
            self.zero = base.zero

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._base, self._returned))

    def _resize(self, nodes: Mapping[int, Node]) -> None:
        rows = list(nodes)
        capacity = self._base.capacity.copy()
        capacity[:, rows] = 0
        others = {}
        for name, column in self._base.allocatable.items():
            if name not in COUNTABLE:
                others[name] = column.copy()
                others[name][rows] = 0
        self._set_allocatable(capacity, others, nodes)


class _Relabelled(LabelColumns):
    """The columns of `base`, with other codes for the rows that were sent back."""

    def __init__(self, base: LabelColumns, nodes: tuple[Node, ...], rows: list[int]) -> None:
        super().__init__(nodes)
        self._base = base
        self._rows = rows

    def _make(self, key: str) -> LabelColumn:
        column = self._base[key]
        codes = column.codes.copy()
        for row in self._rows:
            value = self._nodes[row].metadata.labels.get(key, "")
            has = key in self._nodes[row].metadata.labels
            codes[row] = column.index.get(value, MISSING) if has else MISSING
        return LabelColumn(codes, column.values, column.index)
