"""Plugins' answers about pods, stored as long as they are valid.

Pods of the same shape get the same answers until something in the plugin's scope changes: NODE
answers hold for the whole run; ROW answers until a pod joins or leaves the node; CLUSTER answers
are not cached. Caches only store: the runners call the plugins. A cache of columns computes again
the rows that have changed since (StaleRows):

- FilterCache: verdicts of all nodes. A node's verdict is one code: the position of the first plugin
  that rejects it, and the number of its status, so that the smaller of two codes is the verdict of
  the earlier plugin.
- ScoreCache: score totals of all nodes. The weighted sum over the plugins is stored for every node;
  a plugin's own scores only where its part in the sum depends on which nodes are feasible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from typing import TypeAlias, cast

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.in_tree_interface import RowScorer
from ksched_cli.framework.interface import (
    FilterPlugin,
    NormalizeScore,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.node_statuses import StatusColumn
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.plugins_runner import R, RowResults
from ksched_cli.framework.results import Mask, PreFilterOutcome, Scores, Verdicts
from ksched_cli.framework.status import SUCCESS, Code, Status

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

    def store(self, rows: Sequence[int], sums: Iterable[int]) -> None:
        """sums: as in a key"""
        column, in_order = self._sums, self._in_order
        ranks = self.stale.snapshot.node_columns.rank_by_row
        for row, weighted in zip(rows, sums, strict=True):
            column[row] = weighted
            if in_order is not None:
                in_order[ranks[row]] = weighted

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
    row_scorer:  of the sum of the row plugins, where all of them score single rows
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
    row_scorer: RowScorer | None = None
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
        if self.row_sums is None:
            return self._static(nodes)
        if self._is_read_again and nodes.first is None and nodes.are_most:
            # To add up all rows costs less than to gather twice.
            every = Nodes(self.snapshot)
            return nodes.gather(self._static(every) + self.row_sums.gather(every))
        return self._static(nodes) + self.row_sums.gather(nodes)

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


Codes: TypeAlias = NDArray[np.int32]

PASSES = np.iinfo(np.int32).max
STATUS_BITS = 20
STATUS_MASK = (1 << STATUS_BITS) - 1


class RowFilter(Struct):
    """The plugins of a profile for pods that PreFilter leaves one node, where they may be called
    for one row: no columns of all nodes are made for such pods.

    node_plugins: those with NODE answers; row_plugins: those with ROW answers
    uncached:     the names of those that may not be called so
    passing:      the rows that are known to pass the NODE plugins
    """

    node_plugins: tuple[FilterPlugin, ...]
    row_plugins: tuple[FilterPlugin, ...]
    uncached: frozenset[str]
    passing: set[int] = field(default_factory=set)


class FilterCache(Struct):
    """The verdicts of a profile's plugins whose answers are cached.

    stale:        the rows of `codes` that have changed since
    static_codes: per row, the code of the NODE plugins; codes: of all of them
    row_plugins:  the ROW plugins that run; positions: theirs in the profile's order
    uncached:     the plugins whose answers are not cached; uncached_positions: theirs
    is_prefix:    whether these come after all the others that run
    has_scalar_rows: whether the row plugins may be called node by node
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
    has_scalar_rows: bool = False
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

    def renew(self, nodes: Nodes) -> list[int] | Nodes:
        """Return the nodes whose verdicts must be stored again; see StaleRows.renew."""
        return self.stale.renew(nodes) if self.row_plugins else []

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

    def passes(self, rows: Sequence[int]) -> bool:
        """Whether all the rows pass, as far as is stored. For a few rows."""
        codes = self.codes
        return not self.rejected or all(codes.item(row) == PASSES for row in rows)

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


# Read the log up to this length; beyond it compare the column of the log's lengths.
LOG_SCAN_MAX = 100
# Below this many rows, asking row by row costs less than the array form.
SINGLE_ROWS_MAX = 18


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
        """Those of the nodes that changed since they were last renewed, or never were; a list of
        rows where there are less than SINGLE_ROWS_MAX. From now on they count as up to date: the
        caller computes them anew."""
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
        """Renews the stale rows of nodes in any order."""
        ranks = self.snapshot.rank[nodes.indices()]
        stale = ranks[self._mask[ranks]]
        self._mask[stale] = False
        if len(stale) < SINGLE_ROWS_MAX:
            return self.snapshot.order[stale].tolist()
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


# With this many nodes, keeping the answers for two pods costs more than asking twice.
MANY_NODES = 1000

# For so many pods that look the same, computing answers about all nodes brings more than it costs.
MANY_PODS_ALIKE = 64

# A plugin's name, and its cache_key for a pod.
SharedKey: TypeAlias = tuple[str, Hashable]


class CacheEntry(Struct):
    """The cache of pods of one shape.

    static_state: what the cached plugins wrote in PreFilter and PreScore, and which of them skip
    pod_count:    how many such pods were expected
    pre_filters:  the PreFilter plugins to be called in every cycle; None: not determined yet
    pre_filter_outcome: of the others, together; None where it may change
    pre_scores:   as pre_filters, of PreScore
    rate:         the share of the nodes last searched that passed
    """

    pod_count: int
    static_state: CycleState = field(default_factory=CycleState)
    pre_filters: tuple[PreFilterPlugin, ...] | None = None
    pre_filter_outcome: PreFilterOutcome | None = None
    pre_scores: tuple[PreScorePlugin, ...] | None = None
    filter: FilterCache | None = None
    row_filter: RowFilter | None = None
    score: ScoreCache | None = None
    rate: float = 1.0


class DryRuns(Struct):
    """See AnswerCache.dry_runs. version: the log's length that the results are of"""

    results: RowResults
    version: int


class AnswerCache:
    """Per shape, an entry, where more than one pod has it.

    In-tree plugins that read the names of volume claims answer with Scope.CLUSTER for pods that
    have such; of others nobody knows.

    node_verdicts, node_scores: NODE answers about all rows, which pods of several shapes share
    row_sums: the same of scores of in-tree ROW plugins; by the plugins' keys
    by_shape: whether no plugin is foreign; otherwise an entry is of one signature
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.node_verdicts: dict[SharedKey, Verdicts] = {}
        self.node_scores: dict[SharedKey, NodeScores] = {}
        self.row_sums: dict[tuple[SharedKey, ...], RowSums] = {}
        self.by_shape = True
        self._least_pods = 2 if len(snapshot) < MANY_NODES else 3
        self._queried: set[SharedKey] = set()
        self._expected: Counter[int] = Counter()
        self._entries: dict[int, CacheEntry] = {}
        self._dry_runs: dict[int, DryRuns] = {}

    def expect(self, pods: Iterable[PodInfo]) -> None:
        """The pods that will come."""
        expected = self._expected
        for pod in pods:
            expected[pod.shape] += 1
            if pod.signature != pod.shape:
                expected[pod.signature] += 1

    def is_shared(self, key: SharedKey) -> bool:
        """Whether to keep NODE answers for the key beyond entries: once it comes a second time, for
        what is kept is of all nodes."""
        if key in self._queried:
            return True
        if self._expected:
            self._queried.add(key)
        return False

    def entry_for(self, pod: PodInfo) -> CacheEntry | None:
        """The entry for pods like this one; None where there are hardly any others."""
        key = pod.shape if self.by_shape else pod.signature
        entry = self._entries.get(key)
        if entry is None and self._expected[key] >= self._least_pods:
            entry = self._entries[key] = CacheEntry(self._expected[key])
        return entry

    def __len__(self) -> int:
        """Return how many shapes have an entry."""
        return len(self._entries)

    def clear(self) -> None:
        """Drops what is cached for pods, and which are expected."""
        self._entries.clear()
        self._expected.clear()
        self._dry_runs.clear()

    def forget(self, pod: PodInfo) -> None:
        """Drops what is cached for pods like this one, and that they are expected."""
        for key in (pod.shape, pod.signature):
            self._entries.pop(key, None)
            self._expected.pop(key, None)
            self._dry_runs.pop(key, None)

    def dry_runs(self, pod: PodInfo, factory: Callable[[], R]) -> R | None:
        """Results of dry runs on nodes that have not changed since; the caller reads them and fills
        them in. None where no other pod has the same signature. factory: makes them, empty"""
        log = self.snapshot.log
        cached = self._dry_runs.get(pod.signature)
        if cached is None:
            if self._expected[pod.signature] < 2:
                return None
            cached = self._dry_runs[pod.signature] = DryRuns(factory(), len(log))
        elif cached.version < len(log):
            cached.results.forget(log[cached.version :])
            cached.version = len(log)
        return cast(R, cached.results)


def shareable(plugin: Plugin, foreign: Container[str]) -> bool:
    """Whether pods of several shapes may share the plugin's answers: it is in-tree, has NODE
    answers about every pod, and a cache key. foreign: names of plugins that are not in-tree"""
    return (
        plugin.name not in foreign
        and plugin.scope is Scope.NODE
        and type(plugin).scope_for is Plugin.scope_for
        and type(plugin).cache_key is not Plugin.cache_key
    )
