"""The distinct amounts among all rows: what is computed for each of these holds for every node.

In a cluster that fills up, or where pods of few templates run, many nodes have the same capacity
and as much in use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksched_cli.cluster.node_columns import Columns, Rows
from ksched_cli.cluster.snapshot import Snapshot

# Not below this many rows, nor for fewer questions: to look for the kinds must pay.
ROWS_MIN = 2000
QUESTIONS_MIN = 16

# At most one kind for so many rows; with more, the index is given up.
ROWS_PER_KIND = 4


class KindAmounts(NamedTuple):
    """usage, capacity: as Snapshot's, with a column per kind. ids: per row, its kind"""

    usage: Columns
    capacity: Columns
    ids: Rows


class RowKinds:
    """One per snapshot: `snapshot.index(RowKinds)`. Not of a fork, which keeps no log."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._questions = 0
        self._limit = len(snapshot) // ROWS_PER_KIND if len(snapshot) >= ROWS_MIN else 0
        self._log_length = 0
        self._kinds: dict[tuple[int, ...], int] = {}
        self._ids: Rows = np.zeros(0, dtype=np.intp)
        self._amounts: Columns = np.zeros((0, 0), dtype=np.int64)

    def amounts(self) -> KindAmounts | None:
        """As they are now; None where there are too many kinds, or too few questions so far."""
        self._questions += 1
        if not self._limit or self._questions < QUESTIONS_MIN:
            return None
        if not len(self._ids):
            self._begin()
        else:
            self._follow()
        if len(self._kinds) > self._limit:
            self._limit = 0
            self._kinds.clear()
            return None
        amounts = self._amounts[:, : len(self._kinds)]
        capacity_count = len(self._snapshot.capacity)
        return KindAmounts(amounts[capacity_count:], amounts[:capacity_count], self._ids)

    def _begin(self) -> None:
        snapshot, kinds = self._snapshot, self._kinds
        columns = np.concatenate((snapshot.capacity, snapshot.usage))
        keys = zip(*columns.tolist(), strict=True)
        self._ids = np.array([kinds.setdefault(key, len(kinds)) for key in keys], dtype=np.intp)
        # Room for the kinds that come with the pods.
        self._amounts = np.zeros((len(columns), self._limit + len(kinds) + 1), dtype=np.int64)
        self._amounts[:, : len(kinds)] = np.array(list(kinds)).T
        self._log_length = len(snapshot.log)

    def _follow(self) -> None:
        """Of the rows that changed since."""
        snapshot, kinds = self._snapshot, self._kinds
        changed = list(set(snapshot.log[self._log_length :]))
        self._log_length = len(snapshot.log)
        for row, usage in zip(changed, snapshot.rows_usage(changed), strict=True):
            key = (*snapshot.capacity_by_row[row], *usage)
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = len(kinds)
                if kind > self._limit:
                    return
                self._amounts[:, kind] = key
            self._ids[row] = kind


def kind_amounts(snapshot: Snapshot) -> KindAmounts | None:
    """Those of all rows, see RowKinds.amounts; None of a snapshot that keeps no log."""
    return snapshot.index(RowKinds).amounts() if type(snapshot) is Snapshot else None
