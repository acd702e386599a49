"""A fork of a snapshot for one row after the other."""

from __future__ import annotations

from ksched_cli.cluster.snapshot import Snapshot, SnapshotFork


class RowFork(SnapshotFork):
    """Pods may come and go on one row, until it is moved to another: what it then costs are the
    rows that have changed, not all columns, as a fork made for each row would.

    It follows the log of `base`; a fork keeps none, so that one of a fork holds until that changes.
    """

    def __init__(self, base: Snapshot) -> None:
        super().__init__(base, ())
        self._base = base
        self._log_length = len(base.log)
        self._row: int | None = None

    def move_to(self, row: int) -> None:
        """Move to another row: it is then what `base.fork([row])` would be, without subscribers and
        indexes."""
        base = self._base
        changed = {*base.log[self._log_length :]}
        if self._row is not None:
            changed.add(self._row)
        self._log_length, self._row = len(base.log), row
        self._follow(list(changed))
        self.pods[row] = list(base.pods[row])
        if row in base.ports:
            self.ports[row] = set(base.ports[row])
        self._own[row] = True
        self.huge = base.huge
        self._watchers.clear()
        self._indexes.clear()

    def _follow(self, rows: list[int]) -> None:
        """Take the rows over from `base`, whose pods and ports they share again."""
        base = self._base
        self.usage[:, rows] = base.usage[:, rows]
        for name, column in self.other_requested().items():
            column[rows] = base.requested(name)[rows]
        for name, column in base.other_requested().items():
            if name not in self._requested:
                self._requested[name] = column.copy()
        for row in rows:
            self.pods[row] = base.pods[row]
            self._own[row] = False
            if row in base.ports:
                self.ports[row] = base.ports[row]
            else:
                self.ports.pop(row, None)
