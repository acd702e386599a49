"""Nodes as an extender sent them back: kube-scheduler goes on with those in place of its own.

It knows no pods on them and no images: Score sees a node with nothing requested. So does this.

Upstream: pkg/scheduler/extender.go (Filter, where the answer has Nodes).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.resources import node_allocatable
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.topology.label_columns import MISSING, LabelColumn, LabelColumns

# What a Snapshot derives from its nodes and keeps.
_DERIVED = ("taint_sets", "unschedulable", "images", "principal_range")


class ReturnedNodes(Snapshot):
    """`base` with `nodes` (by row) in place of its own. Only these rows are to be asked about.

    Labels and taints are those that the extender sent. A label's value that no node of the cluster
    has counts as absent, for the counters of pods per domain know nothing of it.
    """

    def __init__(self, base: Snapshot, nodes: Mapping[int, Node]) -> None:
        self.__dict__.update(base.__dict__)
        for name in _DERIVED:
            self.__dict__.pop(name, None)
        self.__dict__["images"] = {}
        own = list(base.nodes)
        for row, node in nodes.items():
            own[row] = node
        self.nodes = tuple(own)
        count = len(own)
        self.pods = [[] for _ in range(count)]
        self.ports = {}
        self._take_usage(np.zeros_like(base.usage), {})
        self._range = {}
        self.log = []
        self.watchers = []
        old = base.nodes
        if any(node.metadata.labels != old[row].metadata.labels for row, node in nodes.items()):
            self.labels = _Relabelled(base.labels, self.nodes, list(nodes))
        changed = {
            row: node
            for row, node in nodes.items()
            if node.status.allocatable != old[row].status.allocatable
        }
        if changed:
            self._resize(base, changed)

    def _resize(self, base: Snapshot, nodes: Mapping[int, Node]) -> None:
        self._take_capacity(
            base.capacity.copy(),
            {name: column.copy() for name, column in base._allocatable.items()},
        )
        self._exists = {name: column.copy() for name, column in base._exists.items()}
        for row, node in nodes.items():
            for name, column in self._allocatable.items():
                column[row] = 0
                self._exists[name][row] = False
            for name, amount in node_allocatable(node).items():
                if name not in self._allocatable:
                    self._allocatable[name] = np.zeros(len(self), dtype=np.int64)
                    self._exists[name] = np.zeros(len(self), dtype=np.bool_)
                self._allocatable[name][row] = amount
                self._exists[name][row] = True


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
