"""What plugins have answered, a value per row of the snapshot, stored as long as it holds.

A memo only stores: the runners call the plugins. NODE answers hold for the whole run. ROW answers
hold until a pod joins or leaves the node: StaleRows says which rows are to be computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.interface import NormalizeScore, ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status

# Read the log up to this length; beyond it compare the column of the log's lengths.
LOG_SCAN_MAX = 100
# Below this many rows, asking row by row costs less than the array form.
SINGLE_ROWS_MAX = 18
# How many normalizations of a plugin's raw scores are stored; more are rarely needed.
EXTREMES_MAX = 16

# One integer per row.
Values: TypeAlias = NDArray[Any]

# The lowest and the highest of some scores.
Extremes: TypeAlias = tuple[int, int]


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

    def renew(self, nodes: Nodes) -> list[int] | Nodes:
        """Return those of the nodes that changed since they were last renewed, or never were; a
        list of rows where there are less than SINGLE_ROWS_MAX. From now on they count as up to
        date: the caller computes them anew."""
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
            return []
        row_by_rank = snapshot.node_columns.row_by_rank
        if marks.find(1, rank + 1, end) < 0:
            # Mostly it is one.
            marks[rank] = 0
            return [row_by_rank[rank]]
        ranks = self._mask[rank:end].nonzero()[0]
        self._mask[rank:end] = False
        if len(ranks) < SINGLE_ROWS_MAX:
            return [row_by_rank[rank + each] for each in ranks.tolist()]
        if len(ranks) == end - first:
            return nodes
        ranks += rank
        return Nodes(snapshot, snapshot.order[ranks])

    def _renew_selection(self, nodes: Nodes) -> list[int] | Nodes:
        """Renew the stale rows of nodes in any order."""
        ranks = self.snapshot.rank[nodes.indices()]
        stale = ranks[self._mask[ranks]]
        self._mask[stale] = False
        if len(stale) < SINGLE_ROWS_MAX:
            return self.snapshot.order[stale].tolist()
        if len(stale) == len(ranks):
            return nodes
        return Nodes(self.snapshot, self.snapshot.order[stale])

    def _follow(self) -> None:
        """Mark the rows that the log has since it was last looked at."""
        snapshot, since = self.snapshot, self._log_length
        log = snapshot.log
        self._log_length = len(log)
        if len(log) - since > LOG_SCAN_MAX:
            self._mask |= snapshot.touched > since
            return
        marks, ranks = self._marks, snapshot.node_columns.rank_by_row
        for row in log[since:]:
            marks[ranks[row]] = 1


class Memo:
    """One value per row.

    values: by row; stale: the rows that are to be computed again, None where the values hold
    """

    __slots__ = ("_in_order", "snapshot", "stale", "values")

    def __init__(self, snapshot: Snapshot, values: Values, stale: StaleRows | None = None) -> None:
        self.snapshot = snapshot
        self.values = values
        self.stale = stale
        # The same in the order of visits, once somebody has asked for a part of that.
        self._in_order: Values | None = None

    @classmethod
    def empty(cls, snapshot: Snapshot) -> Memo:
        """Return a memo of ROW answers, none of which is there yet."""
        return cls(snapshot, np.zeros(len(snapshot), dtype=np.int64), StaleRows(snapshot))

    def renew(self, nodes: Nodes) -> list[int] | Nodes:
        """Return the nodes whose values must be stored again; see StaleRows.renew."""
        return self.stale.renew(nodes) if self.stale is not None else []

    def store(self, nodes: Nodes, values: Values) -> None:
        """Store one value per node."""
        rows = slice(None) if nodes.rows is None else nodes.rows
        self.values[rows] = values
        if self._in_order is not None:
            self._in_order[self.snapshot.rank[rows]] = values

    def store_each(self, rows: Sequence[int], values: Iterable[int]) -> None:
        """Store as `store` does, for a few rows."""
        ranks, in_order = self.snapshot.node_columns.rank_by_row, self._in_order
        for row, value in zip(rows, values, strict=True):
            self.values[row] = value
            if in_order is not None:
                in_order[ranks[row]] = value

    def gather(self, nodes: Nodes) -> Values:
        """Return the nodes' values. Do not write to it: it may be a part of the column itself."""
        if nodes.first is None or nodes.rows is None:
            return nodes.gather(self.values)
        if self._in_order is None:
            self._in_order = self.values[self.snapshot.order]
        return self._in_order[nodes.first : nodes.first + len(nodes.rows)]

    def forget(self) -> None:
        """Mark all rows as stale."""
        self.stale = StaleRows(self.snapshot)


class VerdictMemo(Memo):
    """The verdicts of a Filter plugin.

    values:    per row, the number of its status
    statuses:  by number; the first is success
    rejected:  how many rows are rejected, as far as is stored
    changes:   how often what is stored has become something else
    is_scalar: whether the plugin may be called node by node, see PluginCaller.status_of_all
    """

    __slots__ = ("_numbers", "changes", "is_scalar", "rejected", "statuses")

    def __init__(self, snapshot: Snapshot, stale: StaleRows | None, *, is_scalar: bool) -> None:
        super().__init__(snapshot, np.zeros(len(snapshot), dtype=np.int32), stale)
        self.statuses: list[Status] = [SUCCESS]
        self._numbers: dict[Status, int] = {}
        self.rejected = self.changes = 0
        self.is_scalar = is_scalar

    def store_verdicts(self, nodes: Nodes, verdicts: Verdicts) -> None:
        """Store one verdict per node."""
        if not self.rejected and len(verdicts.statuses) == 1:
            return
        table = [0]
        for status in verdicts.statuses[1:]:
            if status not in self._numbers:
                self._numbers[status] = len(self.statuses)
                self.statuses.append(status)
            table.append(self._numbers[status])
        values = np.array(table, dtype=np.int32)[verdicts.ids]
        before = nodes.gather(self.values)
        if not np.array_equal(before, values):
            self.rejected += int(np.count_nonzero(values) - np.count_nonzero(before))
            self.changes += 1
            self.store(nodes, values)

    def passes(self, rows: Sequence[int]) -> bool:
        """Return whether all the rows pass, as far as is stored. For a few rows."""
        return not self.rejected or not any(self.values.item(row) for row in rows)

    def verdicts(self, nodes: Nodes) -> Verdicts:
        """Return the verdicts about nodes that are up to date."""
        return Verdicts(self.gather(nodes).copy(), list(self.statuses))

    @property
    def has_error(self) -> bool:
        """Return whether the plugin has failed on some node."""
        return any(status.code is Code.ERROR for status in self.statuses)


class ScoreMemo(Memo):
    """The raw scores of a Score plugin with NODE answers, and their weighted normalizations by the
    extremes of a selection, where these are all that it depends on.

    lowest, highest: of all rows
    """

    __slots__ = ("_is_fixed", "_parts", "_spare", "highest", "lowest", "plugin")

    def __init__(self, snapshot: Snapshot, plugin: ScorePlugin, raw: Scores) -> None:
        super().__init__(snapshot, raw)
        self.plugin = plugin
        self.lowest, self.highest = (int(raw.min()), int(raw.max())) if len(raw) else (0, 0)
        # So many nodes may be out of view, and one with each extreme is still in view.
        counts = (np.count_nonzero(raw == extreme) for extreme in (self.lowest, self.highest))
        self._spare = min(counts) - 1
        self._is_fixed = self.lowest == self.highest or not isinstance(plugin, NormalizeScore)
        self._parts: dict[Extremes, Memo | None] = {}

    @property
    def has_parts(self) -> bool:
        """Return whether a node's weighted score depends on nothing but its raw score and the
        extremes."""
        plugin = self.plugin
        return not isinstance(plugin, NormalizeScore) or plugin.normalizes_by_min_max

    def extremes(self, nodes: Nodes) -> Extremes:
        """Return the lowest and the highest raw score of a selection; of all rows where nothing
        depends on it."""
        if (
            self._is_fixed
            or nodes.rows is None
            or len(self.values) - len(nodes.rows) <= self._spare
        ):
            return self.lowest, self.highest
        raw = self.values.take(nodes.rows)
        return raw.item(raw.argmin()), raw.item(raw.argmax())

    def part(self, extremes: Extremes, compute: Callable[[Nodes, Scores], Scores]) -> Memo | None:
        """Return the weighted normalized scores of all rows, whose raw scores are brought within
        the extremes. Return None if the plugin fails, perhaps because of a node that is not in the
        selection.

        compute: normalizes and weights the raw scores of nodes. Raises PluginError
        """
        if extremes not in self._parts:
            if len(self._parts) == EXTREMES_MAX:
                self._parts.clear()
            raw = self.values.clip(*extremes)
            try:
                self._parts[extremes] = Memo(self.snapshot, compute(Nodes(self.snapshot), raw))
            except PluginError:
                self._parts[extremes] = None
        return self._parts[extremes]
