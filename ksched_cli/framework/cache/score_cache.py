"""Score totals of all nodes, for pods of one signature.

The weighted sum over the plugins is stored for every node; a plugin's own scores only where its
part in the sum depends on which nodes are feasible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.cache.stale_rows import StaleRows
from ksched_cli.framework.in_tree_interface import RowScorers
from ksched_cli.framework.interface import NormalizeScore, ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Mask, Scores

# The lowest and the highest of some scores.
Extremes: TypeAlias = tuple[int, int]

# A key is a node's total, and below it, in so many bits, a number that is the larger the earlier
# the node's name: the greatest key is that of the first by name of the nodes with the best total.
TIE_BITS = 21
TIE_MASK = (1 << TIE_BITS) - 1
# The sum of the plugins' weights up to which a key is far from overflowing.
MAX_WEIGHTS = 1 << 32

# How many normalizations of a plugin's raw scores are stored; more are rarely needed.
EXTREMES_MAX = 16


class NodeScores:
    """A plugin's raw scores of all nodes, which never change, and their weighted normalizations
    where these depend on nothing but the extremes. Pods of several signatures may share it.

    lowest, highest: of all nodes
    """

    def __init__(self, plugin: ScorePlugin, raw: Scores, order: Rows) -> None:
        """order: rows in the order of visits"""
        self.plugin = plugin
        self.raw = raw
        self.lowest, self.highest = (int(raw.min()), int(raw.max())) if len(raw) else (0, 0)
        self._parts: dict[Extremes, Scores | None] = {}
        if self.lowest == self.highest:
            return  # whichever nodes are selected
        narrow = np.result_type(np.min_scalar_type(self.lowest), np.min_scalar_type(self.highest))
        # There is no integer type for both a negative number and a very large one.
        self._narrow = raw.astype(narrow) if narrow.kind in "iu" else raw
        visited = self._narrow[order]
        self._next_lowest = _next_ranks(visited == self.lowest)
        self._next_highest = _next_ranks(visited == self.highest)
        # So many nodes may be out of view, and one with each extreme is still in view.
        counts = (np.count_nonzero(raw == extreme) for extreme in (self.lowest, self.highest))
        self._spare = min(counts) - 1

    def extremes(self, nodes: Nodes) -> Extremes:
        """The extremes of a selection."""
        if self.lowest == self.highest or nodes.rows is None:
            return self.lowest, self.highest
        if len(self.raw) - len(nodes.rows) <= self._spare:
            return self.lowest, self.highest
        if nodes.first is not None:
            end = nodes.first + len(nodes.rows)
            if self._next_lowest.item(nodes.first) < end > self._next_highest.item(nodes.first):
                return self.lowest, self.highest
        raw = self._narrow[nodes.rows]
        return raw.item(raw.argmin()), raw.item(raw.argmax())

    def has_part(self, extremes: Extremes) -> bool:
        return extremes in self._parts

    def part(self, extremes: Extremes) -> Scores | None:
        """Return the part as stored. Raises KeyError."""
        return self._parts[extremes]

    def store_part(self, extremes: Extremes, part: Scores | None) -> None:
        """The weighted normalized scores of all nodes, with raw scores brought within the extremes;
        None where the plugin cannot normalize these."""
        if len(self._parts) == EXTREMES_MAX:
            self._parts.clear()
        self._parts[extremes] = part


def _next_ranks(mask: Mask) -> Rows:
    """Per index, the next one where the mask is true, or one beyond all."""
    beyond = len(mask)
    ranks = np.where(mask, np.arange(beyond), beyond)
    following: Rows = np.minimum.accumulate(ranks[::-1])[::-1]
    return following


class NormalizedPart(Struct):
    """A plugin whose normalized scores are in the sums.

    extremes: what they are normalized by; part: as they are in the sums. Both None before that
    """

    scores: NodeScores
    extremes: Extremes | None = None
    part: Scores | None = None


class RowSums:
    """Per row, the weighted sum of ROW plugins, as it is in a key. Pods of several signatures may
    share it.

    stale: those of its rows that have changed since
    """

    __slots__ = ("_in_order", "_sums", "stale")

    def __init__(self, snapshot: Snapshot) -> None:
        self._sums: Scores = np.zeros(len(snapshot), dtype=np.int64)
        # The same in the order of visits, once somebody has asked for a part of that.
        self._in_order: Scores | None = None
        self.stale = StaleRows(snapshot)

    def store(self, row: int, weighted: int) -> None:
        """weighted: as in a key"""
        self._sums[row] = weighted
        if self._in_order is not None:
            self._in_order[self.stale.snapshot.rank.item(row)] = weighted

    def store_all(self, nodes: Nodes, sums: Scores) -> None:
        """One sum per node, as in a key."""
        rows = slice(None) if nodes.rows is None else nodes.rows
        self._sums[rows] = sums
        if self._in_order is not None:
            self._in_order[self.stale.snapshot.rank[rows]] = sums

    def gather(self, nodes: Nodes) -> Scores:
        """Do not write to it: it may be a part of the column itself."""
        if nodes.first is None or nodes.rows is None:
            return nodes.gather(self._sums)
        if self._in_order is None:
            self._in_order = self._sums[self.stale.snapshot.order]
        return self._in_order[nodes.first : nodes.first + len(nodes.rows)]

    def forget(self) -> None:
        """Mark all rows as stale."""
        self.stale = StaleRows(self.stale.snapshot)


def shift_of(snapshot: Snapshot, weights: Iterable[int]) -> int:
    """ScoreCache.shift, for plugins of these weights."""
    fits = len(snapshot) <= TIE_MASK and sum(weights) <= MAX_WEIGHTS
    return TIE_BITS if fits else 0


class ScoreCache(Struct):
    """The plugins of a profile, by how much of their scores is cached.

    static_sums: per row, the weighted sum of the NODE plugins
    shift:       by how many bits a total is shifted in a key; 0 where a key is the total alone
    row_sums:    that of `row_plugins`; None if there are no ROW plugins
    row_plugins: plugin → weight; computed anew for rows that changed
    normalized_parts: in static_sums, normalized by the extremes of the nodes last asked about
    normalized_plugins: in neither, their raw scores in `raw`; normalized in every cycle
    raw_row_plugins: those among them whose raw scores are computed anew for rows that changed
    raw:         raw scores of all rows, by plugin name
    uncached:    the plugins of which nothing is cached
    row_scorers: those of the row plugins, where all of them score single rows
    """

    snapshot: Snapshot
    static_sums: Scores
    shift: int = TIE_BITS
    row_sums: RowSums | None = None
    row_plugins: dict[ScorePlugin, int] = field(default_factory=dict)
    normalized_parts: list[NormalizedPart] = field(default_factory=list)
    normalized_plugins: list[ScorePlugin] = field(default_factory=list)
    raw_row_plugins: list[ScorePlugin] = field(default_factory=list)
    raw: dict[str, Scores] = field(default_factory=dict)
    uncached: list[ScorePlugin] = field(default_factory=list)
    row_scorers: RowScorers = ()
    # static_sums as keys, and these in the order of visits, once somebody has asked for them.
    _static_keys: Scores | None = None
    _static_in_order: Scores | None = None
    # Whether somebody has asked for a part of them before.
    _is_read_again: bool = False

    @classmethod
    def zeros(cls, snapshot: Snapshot, shift: int) -> ScoreCache:
        """No plugins: every sum is 0."""
        return cls(snapshot, np.zeros(len(snapshot), dtype=np.int64), shift)

    def add_row_plugin(self, plugin: ScorePlugin, weight: int) -> None:
        self.row_sums = self.row_sums or RowSums(self.snapshot)
        if isinstance(plugin, NormalizeScore):
            self.raw[plugin.name] = np.zeros(len(self.snapshot), dtype=np.int64)
            self.normalized_plugins.append(plugin)
            self.raw_row_plugins.append(plugin)
        else:
            self.row_plugins[plugin] = weight

    def add_node_plugin(self, plugin: ScorePlugin, weight: int, scores: NodeScores) -> None:
        """Before any sums are read."""
        if not isinstance(plugin, NormalizeScore):
            if scores.lowest or scores.highest:
                self.static_sums += scores.raw * weight
        elif plugin.normalizes_by_min_max:
            self.normalized_parts.append(NormalizedPart(scores))
        else:
            self.raw[plugin.name] = scores.raw
            self.normalized_plugins.append(plugin)

    def keys(self, nodes: Nodes) -> Scores:
        """The keys of the nodes' sums. Do not write to it: it may be a part of a column itself."""
        static = self._static(nodes)
        return static if self.row_sums is None else static + self.row_sums.gather(nodes)

    def _static(self, nodes: Nodes) -> Scores:
        rows, first = nodes.rows, nodes.first
        if rows is not None and not self._is_read_again:
            # Mostly a pod that no other looks like, which asks once: no column for it.
            self._is_read_again = True
            return self._keys_of(self.static_sums[rows], rows)
        if self._static_keys is None:
            every_row = np.arange(len(self.static_sums))
            self._static_keys = self._keys_of(self.static_sums, every_row)
        if rows is None or first is None:
            return nodes.gather(self._static_keys)
        if self._static_in_order is None:
            self._static_in_order = self._static_keys[self.snapshot.order]
        return self._static_in_order[first : first + len(rows)]

    def _keys_of(self, sums: Scores, rows: Rows) -> Scores:
        return (sums << self.shift) + (TIE_MASK - rows) if self.shift else sums

    def replace_part(
        self, normalized: NormalizedPart, extremes: Extremes, part: Scores | None
    ) -> None:
        """Puts another normalization into the sums. part: see NodeScores.store_part; None leaves
        the plugin to be normalized in every cycle from now on."""
        self._static_keys = self._static_in_order = None
        if normalized.part is not None:
            self.static_sums -= normalized.part
        if part is not None:
            self.static_sums += part
        normalized.part, normalized.extremes = part, extremes
        if part is None:
            plugin = normalized.scores.plugin
            self.normalized_parts.remove(normalized)
            self.raw[plugin.name] = normalized.scores.raw
            self.normalized_plugins.append(plugin)
