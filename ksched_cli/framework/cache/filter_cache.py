"""Filter verdicts of all nodes, for pods of one signature.

A node's verdict is one code: the position of the first plugin that rejects it, and the number of
its status, so that the smaller of two codes is the verdict of the earlier plugin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.stale_rows import StaleRows
from ksched_cli.framework.in_tree_interface import RowCheck
from ksched_cli.framework.interface import FilterPlugin
from ksched_cli.framework.node_statuses import StatusColumn
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Code, Status

Codes: TypeAlias = NDArray[np.int32]

PASSES = np.iinfo(np.int32).max
STATUS_BITS = 20
STATUS_MASK = (1 << STATUS_BITS) - 1


class RowFilter(Struct):
    """The plugins of a profile for pods that PreFilter leaves one node, where they may be called
    for one row: no columns of all nodes are made for such pods.

    node_plugins: those with NODE answers
    row_checks:   of the ROW plugins
    uncached:     the names of the others
    capacities:   by row that passes the NODE plugins, its column of Snapshot.capacity
    """

    node_plugins: tuple[FilterPlugin, ...]
    row_checks: tuple[RowCheck, ...]
    uncached: frozenset[str]
    capacities: dict[int, Sequence[int]] = field(default_factory=dict)


class FilterCache(Struct):
    """The verdicts of a profile's plugins whose answers are cached.

    stale:        the rows of `codes` that have changed since
    static_codes: per row, the code of the NODE plugins; codes: of all of them
    row_plugins:  the ROW plugins that run; positions: theirs in the profile's order
    uncached:     the plugins whose answers are not cached; uncached_positions: theirs
    is_prefix:    whether these come after all the others that run
    row_checks:   those of the row plugins; None where one of them has none
    rejected:     how many rows of `codes` do not pass
    statuses:     by number; numbers: the reverse
    has_error:    whether a plugin has failed, so that the order of visits matters
    column:       what `column_of_all` returned last; None once it no longer holds
    """

    stale: StaleRows
    static_codes: Codes
    codes: Codes
    row_plugins: tuple[FilterPlugin, ...] = ()
    positions: tuple[int, ...] = ()
    uncached: tuple[FilterPlugin, ...] = ()
    uncached_positions: tuple[int, ...] = ()
    is_prefix: bool = True
    row_checks: Sequence[RowCheck] | None = None
    rejected: int = 0
    statuses: list[Status] = field(default_factory=lambda: [SUCCESS])
    numbers: dict[Status, int] = field(default_factory=dict)
    has_error: bool = False
    column: StatusColumn | None = None

    @classmethod
    def passing(cls, snapshot: Snapshot) -> FilterCache:
        """No plugins: every node passes."""
        codes = np.full(len(snapshot), PASSES, dtype=np.int32)
        return cls(StaleRows(snapshot), codes, codes)

    def add_static(self, position: int, verdicts: Verdicts) -> None:
        """A NODE plugin's verdicts of all rows. Before any rows are stored, and in the order of
        the plugins, as the other methods that add one."""
        if len(verdicts.statuses) > 1:
            self.is_prefix = not self.uncached
            self.static_codes = np.minimum(self.static_codes, self.encode(position, verdicts))
            self.codes = self.static_codes
            self.rejected = int(np.count_nonzero(self.codes != PASSES))

    def add_row_plugin(self, position: int, plugin: FilterPlugin) -> None:
        self.is_prefix = not self.uncached
        self.row_plugins += (plugin,)
        self.positions += (position,)

    def add_uncached(self, position: int, plugin: FilterPlugin) -> None:
        self.uncached += (plugin,)
        self.uncached_positions += (position,)

    def renew(self, nodes: Nodes) -> Nodes | None:
        """Return the nodes whose verdicts must be stored again, or None; see StaleRows.renew."""
        return self.stale.renew(nodes) if self.row_plugins else None

    def store(self, nodes: Nodes, codes: Codes) -> None:
        """One code per node, of all the plugins."""
        rows = nodes.indices()
        if self.codes is self.static_codes:
            self.codes = self.static_codes.copy()
        before = self.codes[rows]
        if np.array_equal(before, codes):
            return
        self.column = None
        self.rejected += int(np.count_nonzero(codes != PASSES) - np.count_nonzero(before != PASSES))
        self.codes[rows] = codes

    def passes(self, nodes: Nodes) -> bool:
        """Whether all the nodes pass, as far as is stored. For a few nodes."""
        codes = self.codes
        return not self.rejected or all(codes.item(r) == PASSES for r in nodes.indices().tolist())

    def verdicts(self, nodes: Nodes) -> Verdicts:
        """The verdicts about nodes that are up to date."""
        if not self.rejected:
            return Verdicts.passing(len(nodes))
        codes = nodes.gather(self.codes)
        ids = np.where(codes == PASSES, 0, codes & STATUS_MASK).astype(np.int32)
        return Verdicts(ids, list(self.statuses))

    def rejecting_positions(self, nodes: Nodes) -> Codes:
        """Per node that is up to date, the position of the plugin that rejects it; of one that
        passes, more than that of any plugin."""
        return nodes.gather(self.codes) >> STATUS_BITS

    @property
    def rejects_all(self) -> bool:
        """Whether no row passes, as far as is stored, and no plugin has failed."""
        return self.rejected == len(self.codes) and not self.has_error

    def column_of_all(self) -> StatusColumn:
        """The statuses of all rows, where they are up to date and none passes."""
        if self.column is None:
            ids = self.codes & STATUS_MASK
            self.column = StatusColumn(self.stale.snapshot, ids, list(self.statuses))
        return self.column

    def encode(self, position: int, verdicts: Verdicts) -> Codes:
        """A plugin's verdicts as codes. position: the plugin's"""
        table = np.full(len(verdicts.statuses), PASSES, dtype=np.int32)
        for i, status in enumerate(verdicts.statuses[1:], start=1):
            number = self.numbers.get(status)
            if number is None:
                number = self.numbers[status] = len(self.statuses)
                self.statuses.append(status)
                self.has_error = self.has_error or status.code == Code.ERROR
            table[i] = position << STATUS_BITS | number
        return table[verdicts.ids]
