"""The rows of a cache that have changed since it computed them."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.nodes import Nodes

# Read the log up to this length; beyond it compare the column of the log's lengths.
LOG_SCAN_MAX = 100


class StaleRows:
    """A mark per row. In order of visits, so that the rows of a search lie side by side.

    Bytes rather than an array: to find the one or two marks among hundreds is a search in C that
    costs less than any operation on arrays.
    """

    __slots__ = ("_log_length", "_marks", "_mask", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._marks = bytearray(b"\1" * len(snapshot))
        # The same memory.
        self._mask = np.frombuffer(self._marks, dtype=np.bool_)
        self._log_length = len(snapshot.log)

    def renew(self, nodes: Nodes) -> Nodes | None:
        """Those of the nodes that changed since they were last renewed, or never were; None where
        there are none. From now on they count as up to date: the caller computes them anew."""
        snapshot, marks = self.snapshot, self._marks
        if self._log_length != len(snapshot.log):
            self._follow()
        rows, first = nodes.rows, nodes.first
        if rows is None:
            first, end = 0, len(marks)
        elif first is not None:
            end = first + len(rows)
        else:
            return self._renew_selection(nodes)
        rank = marks.find(1, first, end)
        if rank < 0:
            return None
        if marks.find(1, rank + 1, end) < 0:
            # Mostly it is one; a slice costs less than a selection.
            marks[rank] = 0
            return Nodes(snapshot, snapshot.order[rank : rank + 1], rank)
        ranks = self._mask[first:end].nonzero()[0]
        self._mask[first:end] = False
        if len(ranks) == end - first:
            return nodes
        ranks += first
        return Nodes(snapshot, snapshot.order[ranks])

    def _renew_selection(self, nodes: Nodes) -> Nodes | None:
        """Renews the stale rows of nodes in any order."""
        ranks = self.snapshot.rank[nodes.indices()]
        stale = ranks[self._mask[ranks]]
        if not len(stale):
            return None
        self._mask[stale] = False
        if len(stale) == len(ranks):
            return nodes
        return Nodes(self.snapshot, self.snapshot.order[stale])

    def _follow(self) -> None:
        """Marks the rows that the log has since it was last looked at."""
        snapshot, since = self.snapshot, self._log_length
        log = snapshot.log
        self._log_length = len(log)
        if len(log) - since > LOG_SCAN_MAX:
            self._mask |= snapshot.touched > since
            return
        marks, ranks = self._marks, snapshot.node_columns.rank_by_row
        for row in log[since:]:
            marks[ranks[row]] = 1
