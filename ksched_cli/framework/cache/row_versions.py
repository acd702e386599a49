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
        versions = self._versions
        if rows is None:
            count, ranks = len(versions), self._all_stale_ranks()
        elif first is not None:
            count = len(rows)
            end = first + count
            ranks = (snapshot.touched[first:end] > versions[first:end]).nonzero()[0]
            if len(ranks) == 1:
                # Mostly it is one; a slice costs less than a selection.
                first += ranks.item(0)
                versions[first] = len(snapshot.log)
                return Nodes(snapshot, snapshot.order[first : first + 1], first)
            ranks += first
        else:
            count, ranks = len(rows), snapshot.rank[rows]
            ranks = ranks[(snapshot.touched[ranks] > versions[ranks]).nonzero()[0]]
        stale = len(ranks)
        if not stale:
            return None
        versions[ranks] = len(snapshot.log)
        return nodes if stale == count else Nodes(snapshot, snapshot.order[ranks])

    def _all_stale_ranks(self) -> Rows:
        log = self.snapshot.log
        since, self._all_rows = self._all_rows, len(log)
        if since is not None and since >= len(log) - LOG_SCAN_MAX:
            return self.snapshot.rank[list(set(log[since:]))]
        return (self.snapshot.touched > self._versions).nonzero()[0]
