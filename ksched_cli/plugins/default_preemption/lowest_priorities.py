"""The lowest priority of the pods on each node: where it is not below the preemptor's, there are no
victims, and no dry run is needed to see that."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.snapshot import Column, Snapshot

NO_PODS = np.iinfo(np.int64).max


class LowestPriorities:
    """A column of the snapshot, brought up to date when it is read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._column: Column | None = None
        self._version = 0

    def column(self) -> Column:
        """Per row, the lowest priority of its pods; NO_PODS where there are none. Read-only."""
        snapshot = self._snapshot
        if self._column is None:
            self._column = np.full(len(snapshot), NO_PODS, dtype=np.int64)
            stale = {row for row, pods in enumerate(snapshot.pods) if pods}
        else:
            stale = set(snapshot.log[self._version :])
        self._version = len(snapshot.log)
        for row in stale:
            priorities = [pod.priority for pod in snapshot.pods[row]]
            self._column[row] = min(priorities, default=NO_PODS)
        return self._column
