"""Which of a cache's rows are older than the snapshot's."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.nodes import Nodes

# Scan the log up to this length; beyond it compare the version column.
LOG_SCAN_MAX = 100

NEVER = -1


class RowVersions:
    """Per row, the length that the snapshot's log had when the row was last computed.

    In order of visits, as Snapshot.touched is, so that the rows of a search lie side by side.
    """

    __slots__ = ("_all_rows", "_versions", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._versions = np.full(len(snapshot), NEVER, dtype=np.int32)
        # The least of `_versions`, once all rows were renewed together.
        self._all_rows: int | None = None

    def renew(self, nodes: Nodes) -> Nodes | None:
        """Those of the nodes that changed since they were last renewed, or never were; None where
        there are none. From now on they count as up to date: the caller computes them anew."""
        snapshot, rows, first = self.snapshot, nodes.rows, nodes.first
        touched, versions = snapshot.touched, self._versions
        if rows is None:
            ranks = self._all_stale_ranks()
        elif first is not None:
            end = first + len(rows)
            ranks = (touched[first:end] > versions[first:end]).nonzero()[0]
            ranks += first
        else:
            ranks = snapshot.rank[rows]
            ranks = ranks[(touched[ranks] > versions[ranks]).nonzero()[0]]
        count = len(ranks)
        if not count:
            return None
        versions[ranks] = len(snapshot.log)
        if count == (len(versions) if rows is None else len(rows)):
            return nodes
        return Nodes(nodes.snapshot, snapshot.order[ranks])

    def _all_stale_ranks(self) -> Rows:
        log = self.snapshot.log
        since, self._all_rows = self._all_rows, len(log)
        if since is not None and since >= len(log) - LOG_SCAN_MAX:
            return self.snapshot.rank[list(set(log[since:]))]
        return (self.snapshot.touched > self._versions).nonzero()[0]
