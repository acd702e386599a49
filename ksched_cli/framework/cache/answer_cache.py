"""Plugins' answers about pods, stored as long as they are valid.

Pods of the same shape get the same answers until something in the plugin's scope changes: NODE
answers hold for the whole run; ROW answers until a pod joins or leaves the node; CLUSTER answers
are not cached. Caches only store: the runners call the plugins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable
from typing import TypeAlias, cast

from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.filter_cache import FilterCache, RowFilter
from ksched_cli.framework.cache.score_cache import NodeScores, RowSums, ScoreCache
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import Plugin, PreFilterPlugin, PreScorePlugin, Scope
from ksched_cli.framework.plugins_runner import R, RowResults
from ksched_cli.framework.results import PreFilterOutcome, Verdicts

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
