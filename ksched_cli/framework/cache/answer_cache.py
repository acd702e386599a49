"""What is stored of plugins' answers, by the pods that they are about.

Pods of the same shape get the same answers until something in a plugin's scope changes: NODE
answers hold for the whole run; ROW answers until a pod joins or leaves the node; CLUSTER answers
are not stored. What is stored is in memos; the runners fill them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar, cast

from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.memo import Extremes, Memo, ScoreMemo, VerdictMemo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.in_tree_interface import RowScorer
from ksched_cli.framework.interface import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.node_statuses import StatusColumn
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.plugins_runner import R, RowResults
from ksched_cli.framework.results import PreFilterOutcome

# With this many nodes, keeping the answers for two pods costs more than asking twice.
MANY_NODES = 1000

# For so many pods that look the same, computing answers about all nodes brings more than it costs.
MANY_PODS_ALIKE = 64

# After so many pods with a key, storing the answers costs less than asking again.
MANY_QUERIES = {Scope.NODE: 1, Scope.ROW: 5}

# So many rows of shared ROW answers are stored; each takes about 15 bytes.
SHARED_ROWS_MAX = 1 << 20

K = TypeVar("K")
V = TypeVar("V")

# A plugin's name, and its cache_key for a pod.
SharedKey: TypeAlias = tuple[str, Hashable]


class Rejections(Struct):
    """The statuses of all nodes, where the plugins that have memos reject each of them.

    parts:   per such plugin, its memo, how often that had changed, and the nodes it was asked about
    through: so many of the entry's filters were looked at
    """

    column: StatusColumn
    parts: Sequence[tuple[FilterPlugin, VerdictMemo, int, Nodes]]
    through: int


class RowSums(Struct):
    """The weighted sum of the plugins whose scores of a row depend on nothing else.

    plugins: with their weights
    scorer:  of the sum, where all of them score single rows
    memo:    the sum, as it is in a key
    """

    plugins: Mapping[ScorePlugin, int]
    scorer: RowScorer | None
    memo: Memo


class ScorePlan(Struct):
    """How pods of one shape are scored.

    parts:    those of plugins whose weighted scores depend on a node and on extremes alone
    static:   the sum of these for the extremes of `extremes`, as it is in a key, with what decides
              among equal totals; None: not determined yet
    row_sums: of the plugins whose scores depend on the row alone; None where there are none
    others:   the other plugins that run, each with its raw scores; None: it is asked every time
    """

    parts: list[ScoreMemo] = field(default_factory=list)
    extremes: list[Extremes] = field(default_factory=list)
    static: Memo | None = None
    row_sums: RowSums | None = None
    others: list[tuple[ScorePlugin, Memo | None]] = field(default_factory=list)


class CacheEntry(Struct):
    """What is stored for pods of one shape.

    pod_count:    how many such pods were expected
    static_state: what the cacheable plugins wrote in PreFilter and PreScore, and which of them skip
    pre_filters:  the PreFilter plugins to be called in every cycle; None: not determined yet
    pre_filter_outcome: of the others, together; None where it may change
    pre_scores:   as pre_filters, of PreScore
    filters:      the Filter plugins that may reject such pods, each with its verdicts; None: it is
                  asked every time
    rejections:   of the last pod like these that no node passed
    scores:       None: not determined yet
    rate:         the share of the nodes last searched that passed
    """

    pod_count: int
    static_state: CycleState = field(default_factory=CycleState)
    pre_filters: tuple[PreFilterPlugin, ...] | None = None
    pre_filter_outcome: PreFilterOutcome | None = None
    pre_scores: tuple[PreScorePlugin, ...] | None = None
    filters: Sequence[tuple[FilterPlugin, VerdictMemo | None]] | None = None
    rejections: Rejections | None = None
    scores: ScorePlan | None = None
    rate: float = 1.0


class DryRuns(Struct):
    """See AnswerCache.dry_runs. version: the log's length that the results are of"""

    results: RowResults
    version: int


class SharedRows(dict[K, V]):
    """ROW answers about all rows, by key. Nothing bounds the number of keys, so the oldest go."""

    def __init__(self, snapshot: Snapshot, most: int = SHARED_ROWS_MAX) -> None:
        """most: how many rows it stores"""
        super().__init__()
        self._most = max(1, most // max(1, len(snapshot)))

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self._most:
            del self[next(iter(self))]
        super().__setitem__(key, value)


class AnswerCache:
    """Per shape, an entry, where more than one pod has it.

    In-tree plugins that read the names of volume claims answer with Scope.CLUSTER for pods that
    have such; of others nobody knows.

    node_verdicts, node_scores: NODE answers about all rows, which pods of several shapes share
    row_verdicts, row_sums: ROW answers of in-tree plugins in the same way
    by_shape: whether no plugin is foreign; otherwise an entry is of one signature
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.node_verdicts: dict[SharedKey, VerdictMemo] = {}
        self.node_scores: dict[SharedKey, ScoreMemo] = {}
        self.row_verdicts: SharedRows[SharedKey, VerdictMemo] = SharedRows(snapshot)
        self.row_sums: SharedRows[tuple[SharedKey, ...], RowSums] = SharedRows(snapshot)
        self.by_shape = True
        self._least_pods = 2 if len(snapshot) < MANY_NODES else 3
        self._queried: Counter[tuple[bool, str, Hashable]] = Counter()
        self._shareable: dict[str, bool] = {}
        self._expected: Counter[int] = Counter()
        self._entries: dict[int, CacheEntry] = {}
        self._dry_runs: dict[int, DryRuns] = {}

    def expect(self, pods: Iterable[PodInfo]) -> None:
        """Count the pods that will come, by shape and signature."""
        expected = self._expected
        for pod in pods:
            expected[pod.shape] += 1
            if pod.signature != pod.shape:
                expected[pod.signature] += 1

    def shared_key(
        self, plugin: Plugin, pod: PodInfo, caller: PluginCaller, *, is_score: bool
    ) -> Hashable | None:
        """Return the key by which pods of several shapes share NODE or ROW answers, or None if they
        do not. It is returned once enough pods had it, because the cache stores answers about all
        nodes. is_score: of Score, else of Filter"""
        name = plugin.name
        if name not in self._shareable:
            self._shareable[name] = shareable(plugin, caller.foreign)
        if not self._shareable[name]:
            return None
        # Most plugins have one scope for all pods.
        has_other_scopes = type(plugin).scope_for is not Plugin.scope_for
        if has_other_scopes and caller.scope_for(plugin, pod) is not plugin.scope:
            return None
        key = caller.cache_key(plugin, pod)
        query = (is_score, name, key)
        if self._queried[query] >= MANY_QUERIES[plugin.scope]:
            return key
        if self._expected and key is not None:
            self._queried[query] += 1
        return None

    def entry_for(self, pod: PodInfo) -> CacheEntry | None:
        """Return the entry for pods like this one, or None if too few of them are expected."""
        key = pod.shape if self.by_shape else pod.signature
        entry = self._entries.get(key)
        if entry is None and self._expected[key] >= self._least_pods:
            entry = self._entries[key] = CacheEntry(self._expected[key])
        return entry

    def __len__(self) -> int:
        """Return how many shapes have an entry."""
        return len(self._entries)

    def clear(self) -> None:
        """Drop what is cached for pods, and which are expected."""
        self._entries.clear()
        self._expected.clear()
        self._dry_runs.clear()

    def forget(self, pod: PodInfo) -> None:
        """Drop what is cached for pods like this one, and that they are expected."""
        for key in (pod.shape, pod.signature):
            self._entries.pop(key, None)
            self._expected.pop(key, None)
            self._dry_runs.pop(key, None)

    def dry_runs(self, pod: PodInfo, factory: Callable[[], R]) -> R | None:
        """Return the results of dry runs on nodes that have not changed since; the caller reads and
        fills them. Return None if no other pod has the same signature.

        factory: makes empty results
        """
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
    """Return whether pods of several shapes may share the plugin's answers, if its scope for them
    is that of most pods: it is in-tree, has NODE or ROW answers, and a cache key.

    foreign: names of plugins that are not in-tree
    """
    return (
        plugin.name not in foreign
        and plugin.scope is not Scope.CLUSTER
        and type(plugin).cache_key is not Plugin.cache_key
    )
