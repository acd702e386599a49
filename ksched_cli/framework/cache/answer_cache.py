"""What plugins answered about pods, stored as long as it holds.

Pods of the same signature get the same answers, as long as what the plugin's scope names does not
change: NODE answers hold for the whole run; ROW answers until a pod comes to the node or leaves it;
CLUSTER answers are not cached. Caches only store: the runners call the plugins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.filter_cache import FilterCache
from ksched_cli.framework.cache.score_cache import NodeScores, ScoreCache
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PreFilterPlugin, PreScorePlugin
from ksched_cli.framework.plugins_runner import R, RowResults
from ksched_cli.framework.results import PreFilterOutcome, Verdicts

# Below this many nodes, calls of the array form cost more than the form for one node.
SCALAR_PATH_MAX = 6

# A plugin's name, and its cache_key for a pod.
SharedKey: TypeAlias = tuple[str, Hashable]


@dataclass(slots=True)
class CacheEntry:
    """All that is cached for one signature.

    static_state: what the cached plugins wrote in PreFilter and PreScore, and which of them skip
    pre_filters:  the PreFilter plugins to be called in every cycle; None: not determined yet
    pre_filter_outcome: of the others, together; None where it may change
    pre_scores:   as pre_filters, of PreScore
    rate:         the share of the nodes last searched that passed
    dry_runs:     see AnswerCache.dry_runs; dry_runs_version: the log's length that they are of
    """

    static_state: CycleState = field(default_factory=CycleState)
    pre_filters: tuple[PreFilterPlugin, ...] | None = None
    pre_filter_outcome: PreFilterOutcome | None = None
    pre_scores: tuple[PreScorePlugin, ...] | None = None
    filter: FilterCache | None = None
    score: ScoreCache | None = None
    rate: float = 1.0
    dry_runs: RowResults | None = None
    dry_runs_version: int = 0


class AnswerCache:
    """Per signature, an entry, where more than one pod has it.

    node_verdicts, node_scores: NODE answers about all rows, which pods of several signatures share
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.node_verdicts: dict[SharedKey, Verdicts] = {}
        self.node_scores: dict[SharedKey, NodeScores] = {}
        self._expected: Counter[int] = Counter()
        self._entries: dict[int, CacheEntry] = {}

    def expect(self, pods: Iterable[PodInfo]) -> None:
        """The pods that will come."""
        self._expected.update(pod.signature for pod in pods)

    def entry_for(self, pod: PodInfo) -> CacheEntry | None:
        """The entry for the pod's signature; None where no other pod has the same."""
        entry = self._entries.get(pod.signature)
        if entry is None and self._expected[pod.signature] > 1:
            entry = self._entries[pod.signature] = CacheEntry()
        return entry

    def forget(self, pod: PodInfo) -> None:
        """Drops the entry for the pod's signature, and that its pods are expected."""
        self._entries.pop(pod.signature, None)
        self._expected.pop(pod.signature, None)

    def dry_runs(self, pod: PodInfo, factory: Callable[[], R]) -> R | None:
        """Results of dry runs on nodes that have not changed since; the caller reads them and fills
        them in. None where no other pod has the same signature. factory: makes them, empty"""
        entry = self.entry_for(pod)
        if entry is None:
            return None
        log = self.snapshot.log
        if entry.dry_runs is None:
            entry.dry_runs = factory()
        elif entry.dry_runs_version < len(log):
            entry.dry_runs.forget(log[entry.dry_runs_version :])
        entry.dry_runs_version = len(log)
        return cast(R, entry.dry_runs)
