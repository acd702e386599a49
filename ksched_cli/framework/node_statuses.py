"""The reason why each node was rejected in one attempt, and the text for a pod that fits nowhere.

Upstream: pkg/scheduler/framework/interface.go (NodeToStatus), types.go (FitError.Error).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.results import Ids, Mask
from ksched_cli.framework.status import Code, Status


def fit_error(statuses: NodeStatuses, pre_filter: str = "", post_filter: str = "") -> str:
    """Return the message of a pod that fits no node.

    pre_filter: PreFilter's message, printed in place of the nodes' reasons
    post_filter: PostFilter's message, appended
    """
    if pre_filter:
        text = f"0/{statuses.node_count} nodes are available: {pre_filter}."
    else:
        text = counts_message(statuses.node_count, statuses.count(), statuses.absent)
    return f"{text} {post_filter}" if post_filter else text


def counts_message(total: int, counts: Mapping[Status, int], absent: Status) -> str:
    """Return the message by how many nodes have each status. absent: the status of the others."""
    return _counts_message(total, tuple(counts.items()), absent)


@lru_cache(maxsize=1024)
def _counts_message(total: int, counts: tuple[tuple[Status, int], ...], absent: Status) -> str:
    """Return the message with the number of nodes per reason. It is cached: the pods of one
    template, tried one after the other, mostly get the same message."""
    count_by_reason: Counter[str] = Counter()
    own_count = 0
    for status, count in counts:
        own_count += count
        for reason in status.reasons:
            count_by_reason[reason] += count
    if own_count < total:
        for reason in absent.reasons:
            count_by_reason[reason] += total - own_count
    text = f"0/{total} nodes are available:"
    if not count_by_reason:
        return text
    # Sorted as text: "10 …" goes before "2 …".
    return f"{text} {', '.join(sorted(f'{n} {reason}' for reason, n in count_by_reason.items()))}."


def no_common_node(plugins: Collection[str]) -> Status:
    """Return PreFilter's message where each of the plugins leaves nodes but no node is left by all.

    Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
    """
    names = sorted(plugins)
    if len(names) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {names[0]}")
    listed = "[" + " ".join(names) + "]"
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) {listed} simultaneously")


ABSENT = -1
NOT_LOOKED_AT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class StatusColumn:
    """The statuses of all rows, for several attempts to share. Read-only.

    ids: per row, an index into `statuses`
    """

    __slots__ = ("_counts", "_rows", "ids", "snapshot", "statuses")

    def __init__(self, snapshot: Snapshot, ids: Ids, statuses: list[Status]) -> None:
        self.snapshot = snapshot
        self.ids = ids
        self.statuses = statuses
        self._counts: NDArray[np.intp] | None = None
        self._rows: dict[Code, Rows] = {}

    def counts(self) -> NDArray[np.intp]:
        """Return how many rows have each of `statuses`, by its index."""
        if self._counts is None:
            self._counts = np.bincount(self.ids, minlength=len(self.statuses))
        return self._counts

    def rows_with(self, code: Code) -> Rows:
        """See NodeStatuses.rows_with."""
        rows = self._rows.get(code)
        if rows is None:
            order = self.snapshot.order
            has_code = np.array([status.code == code for status in self.statuses])
            rows = self._rows[code] = order[has_code[self.ids[order]]]
        return rows


class AddedVerdicts(NamedTuple):
    """Verdicts on some rows, None for all.

    ids:        0 passes; the others, with the offset, are indexes into the attempt's statuses
    """

    rows: Rows | None
    ids: Ids
    offset: int


class NodeStatuses(Mapping[str, Status]):
    """Node name → status. A node without a status of its own has the status `absent`.

    foreign: of names that are no node here; only extenders speak about such
    node_count: how many nodes might have been visited
    """

    __slots__ = (
        "_added",
        "_ids",
        "_rejections",
        "_shared",
        "absent",
        "foreign",
        "node_count",
        "snapshot",
        "statuses",
    )

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.node_count = len(snapshot)
        self.statuses: list[Status] = []
        self.foreign: dict[str, Status] = {}
        self.absent = NOT_LOOKED_AT
        self._ids: Ids | None = None
        # What is not in `_ids` yet: mostly nobody asks for more than how many there are.
        self._added: list[AddedVerdicts] = []
        self._rejections = 0
        # The status of all rows, until one of them changes or they are read one by one.
        self._shared: StatusColumn | None = None

    @property
    def ids(self) -> Ids:
        """Return per row of the snapshot, an index into `statuses`, or ABSENT."""
        if self._shared is not None:
            self._ids, self._shared = self._shared.ids.copy(), None
        elif self._ids is None:
            self._ids = np.full(len(self.snapshot), ABSENT, dtype=np.int32)
        for added in self._added:
            rejected = added.ids.nonzero()[0]
            rows = rejected if added.rows is None else added.rows[rejected]
            self._ids[rows] = added.ids[rejected] + added.offset
        self._added.clear()
        return self._ids

    def add(self, rows: Rows | None, ids: Ids, statuses: list[Status]) -> None:
        """Add rows with verdicts, each row once in an attempt; rows with id 0 pass and are left
        out. The arrays become this object's own.

        rows: None means all
        """
        if len(statuses) == 1:
            return
        if self._shared is not None:
            self.ids  # noqa: B018  # from here on they are this attempt's own
        rejections = int(np.count_nonzero(ids))
        if rejections:
            self._added.append(AddedVerdicts(rows, ids, len(self.statuses) - 1))
            self._rejections += rejections
            self.statuses += statuses[1:]

    def share(self, column: StatusColumn) -> None:
        """Set the statuses of all rows, none of which had one before."""
        self._shared = column
        self.statuses = list(column.statuses)

    def set(self, row: int, status: Status) -> None:
        self.ids[row] = len(self.statuses)
        self.statuses.append(status)

    def set_by_name(self, name: str, status: Status) -> None:
        row = self.snapshot.row.get(name)
        if row is None:
            self.foreign[name] = status
        else:
            self.set(row, status)

    @property
    def has_status(self) -> Mask:
        """Return the rows that have a status of their own."""
        return self.ids != ABSENT

    @property
    def own_count(self) -> int:
        """Return how many names have a status of their own."""
        if not self.statuses:
            return len(self.foreign)
        if self._shared is not None:
            rows = len(self.snapshot)
        elif self._ids is None:
            rows = self._rejections
        else:
            rows = int(np.count_nonzero(self.has_status))
        return rows + len(self.foreign)

    def codes(self) -> Ids:
        """Return the code per row, absent ones included."""
        table = [int(status.code) for status in self.statuses] + [int(self.absent.code)]
        # ABSENT is -1 and so finds the table's last entry.
        return np.array(table, dtype=np.int32)[self.ids]

    def rows_with(self, code: Code) -> Rows:
        """Return the rows whose status has the code, in the order of visits."""
        if self._shared is not None:
            return self._shared.rows_with(code)
        order = self.snapshot.order
        return order[self.codes()[order] == code]

    def count(self) -> dict[Status, int]:
        """Return how many nodes have each status, without the absent ones."""
        counts: dict[Status, int] = {}
        for status, count in zip(self.statuses, self._counts_by_id().tolist(), strict=True):
            if count:
                counts[status] = counts.get(status, 0) + count
        for status in self.foreign.values():
            counts[status] = counts.get(status, 0) + 1
        return counts

    def _counts_by_id(self) -> NDArray[np.intp]:
        """Return how many rows have each of `statuses`, by its index."""
        if self._shared is not None:
            return self._shared.counts()
        length = len(self.statuses)
        if self._ids is None:
            counts = np.zeros(length, dtype=np.intp)
            for added in self._added:
                rejections = np.bincount(added.ids)[1:]
                first = added.offset + 1
                counts[first : first + len(rejections)] += rejections
            return counts
        # ABSENT is -1, the first bin.
        return np.bincount(self.ids + 1, minlength=length + 1)[1:]

    def own(self) -> dict[str, Status]:
        """Return the nodes that have a status of their own, by name."""
        names, statuses, ids = self.snapshot.names, self.statuses, self.ids
        rows = np.flatnonzero(ids != ABSENT)
        pairs = zip(rows.tolist(), ids[rows].tolist(), strict=True)
        return {names[row]: statuses[status_id] for row, status_id in pairs} | self.foreign

    def at(self, row: int) -> Status:
        if self._ids is None and len(self._added) == 1 and self._added[0].rows is None:
            (added,) = self._added  # No column for a single row.
            verdict = added.ids.item(row)
            return self.statuses[verdict + added.offset] if verdict else self.absent
        status_id = self.ids[row]
        return self.absent if status_id == ABSENT else self.statuses[status_id]

    def __getitem__(self, name: str) -> Status:
        row = self.snapshot.row.get(name)
        # Upstream gives the status of absent nodes for any name, also for one that is no node.
        return self.foreign.get(name, self.absent) if row is None else self.at(row)

    def __iter__(self) -> Iterator[str]:
        return iter(self.snapshot.names)

    def __len__(self) -> int:
        return len(self.snapshot)
