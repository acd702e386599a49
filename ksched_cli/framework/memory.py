"""What plugins answered for pods that look the same, kept as long as it holds.

A plugin's scope says how long that is: NODE answers never change in a run; ROW answers are redone
for the rows touched since; CLUSTER answers are not kept. Plugins have no caches of their own.

Nodes' verdicts are kept as one code each: the place of the plugin that rejects the node first, and
a number for its status, so that the earliest rejection is the smallest code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.interface import (
    FilterPlugin,
    NormalizeScore,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.framework.verdicts import Scores, Verdicts

Codes: TypeAlias = NDArray[np.int32]

PASSES = np.int32(np.iinfo(np.int32).max)
STATUS_BITS = 20
STATUS_MASK = (1 << STATUS_BITS) - 1

# Re-asking plugins about more rows than this costs more than asking about all of them.
FEW_ROWS = 512

# A plugin's verdicts (Filtering.ask) and raw scores (Scoring.ask), failures taken care of.
AskFilter: TypeAlias = Callable[[FilterPlugin, CycleState, PodInfo, Nodes], Verdicts]
AskScore: TypeAlias = Callable[[ScorePlugin, CycleState, PodInfo, Nodes], Scores]


def keeps(plugin: Plugin, pod: PodInfo) -> bool:
    """Whether the plugin's answers about the pod may be kept at all."""
    return plugin.depends_on(pod) is not Scope.CLUSTER


@dataclass(slots=True)
class FilterMemory:
    """The plugins of a profile up to the first whose answers are not kept.

    plugins:  those that take part, with their place and scope
    fixed:    codes of the NODE plugins; codes: of all of them; rejected: how many do not pass
    statuses: by number; those of codes
    """

    count: int
    plugins: tuple[tuple[int, FilterPlugin, Scope], ...]
    fixed: Codes
    codes: Codes
    rejected: int = 0
    statuses: list[Status] = field(default_factory=lambda: [SUCCESS])
    numbers: dict[Status, int] = field(default_factory=dict)

    def verdicts(self, nodes: Nodes) -> Verdicts:
        """The kept verdicts of a selection."""
        codes = nodes.take(self.codes)
        ids = np.where(codes == PASSES, 0, codes & STATUS_MASK).astype(np.int32)
        return Verdicts(ids, list(self.statuses))

    def put(self, rows: Rows | None, codes: Codes) -> None:
        """New codes for some rows, or for all."""
        if rows is None:
            self.codes = codes
            self.rejected = int(np.count_nonzero(codes != PASSES))
            return
        if self.codes is self.fixed:
            self.codes = self.fixed.copy()
        before = np.count_nonzero(self.codes[rows] != PASSES)
        self.rejected += int(np.count_nonzero(codes != PASSES) - before)
        self.codes[rows] = codes

    def encode(self, place: int, verdicts: Verdicts) -> Codes:
        """Verdicts as codes."""
        table = np.full(len(verdicts.statuses), PASSES, dtype=np.int32)
        for i, status in enumerate(verdicts.statuses[1:], start=1):
            number = self.numbers.get(status)
            if number is None:
                number = self.numbers[status] = len(self.statuses)
                self.statuses.append(status)
            table[i] = place << STATUS_BITS | number
        return table[verdicts.ids]


@dataclass(slots=True)
class ScoreMemory:
    """Raw scores of every node, by plugin, and sums of what needs nothing more.

    fresh:      the plugins whose answers are not kept
    fixed:      kept, but normalised in every cycle, for it depends on which nodes are feasible
    base:       the weighted sum of the other kept plugins' scores
    normalized: by plugin of `fixed`, its weighted scores of all nodes, where they never change
    """

    fresh: tuple[ScorePlugin, ...]
    fixed: tuple[ScorePlugin, ...]
    rows: tuple[ScorePlugin, ...]
    raw: dict[str, Scores]
    base: Scores
    normalized: dict[str, Scores] = field(default_factory=dict)


@dataclass(slots=True)
class Remembered:
    """All that is kept for one signature.

    seen:        how much of the snapshot's log it takes account of
    settled:     what the kept plugins wrote in PreFilter and PreScore, and who of them skips
    pre_filters: the PreFilter plugins that must still be asked; None: not known yet
    preparers:   the same of PreScore
    trials:      by row, see Memory.trials; tried: how much of the log they take account of
    """

    seen: int
    settled: CycleState = field(default_factory=CycleState)
    pre_filters: tuple[PreFilterPlugin, ...] | None = None
    preparers: tuple[PreScorePlugin, ...] | None = None
    filter: FilterMemory | None = None
    score: ScoreMemory | None = None
    trials: dict[int, Any] = field(default_factory=dict)
    tried: int = 0


class Memory:
    """Per signature, what is worth keeping: pods that only come once are not."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._expected: Counter[int] = Counter()
        self._known: dict[int, Remembered] = {}
        self._weights: dict[str, int] = {}

    def expect(self, pods: Iterable[PodInfo]) -> None:
        """The pods that will come."""
        self._expected.update(pod.signature for pod in pods)

    def about(self, pod: PodInfo) -> Remembered | None:
        """None where the pod is the only one of its kind."""
        known = self._known.get(pod.signature)
        if known is None and self._expected[pod.signature] > 1:
            known = self._known[pod.signature] = Remembered(len(self.snapshot.log))
        return known

    def trials(self, pod: PodInfo) -> dict[int, Any] | None:
        """By row, what came of trials on nodes that have not changed since, for whoever tries to
        read and fill in. None where the pod is the only one of its kind."""
        known = self.about(pod)
        if known is None:
            return None
        for row in self.snapshot.log[known.tried :]:
            known.trials.pop(row, None)
        known.tried = len(self.snapshot.log)
        return known.trials

    def refresh(self, known: Remembered, pod: PodInfo, ask: AskFilter, ask_score: AskScore) -> None:
        """Redoes the answers for the rows touched since."""
        end = len(self.snapshot.log)
        if known.seen == end:
            return
        touched = set(self.snapshot.log[known.seen :])
        known.seen = end
        few = len(touched) <= FEW_ROWS
        rows = np.fromiter(touched, dtype=np.intp, count=len(touched)) if few else None
        nodes = Nodes(self.snapshot, rows)
        if known.filter is not None:
            fixed = known.filter.fixed
            codes = self._row_codes(known, pod, ask, nodes, fixed if rows is None else fixed[rows])
            known.filter.put(rows, codes)
        if known.score is not None:
            self._renew_scores(known, known.score, pod, ask_score, nodes)

    # -- filter -----------------------------------------------------------------------------------

    def first_filter(
        self, known: Remembered, plugins: Sequence[FilterPlugin], pod: PodInfo, ask: AskFilter
    ) -> FilterMemory:
        """Asks about every node, once."""
        leading: list[tuple[int, FilterPlugin, Scope]] = []
        count = 0
        for place, plugin in enumerate(plugins):
            if not keeps(plugin, pod):
                break
            count += 1
            if plugin.name not in known.settled.skip_filter:
                leading.append((place, plugin, plugin.depends_on(pod)))
        everything = Nodes(self.snapshot)
        passing = np.full(len(self.snapshot), PASSES, dtype=np.int32)
        kept = known.filter = FilterMemory(count, tuple(leading), passing, passing)
        for place, plugin, scope in leading:
            if scope is Scope.NODE:
                verdicts = ask(plugin, known.settled, pod, everything)
                kept.fixed = np.minimum(kept.fixed, kept.encode(place, verdicts))
        kept.put(None, self._row_codes(known, pod, ask, everything, kept.fixed))
        return kept

    def _row_codes(
        self, known: Remembered, pod: PodInfo, ask: AskFilter, nodes: Nodes, codes: Codes
    ) -> Codes:
        kept = known.filter
        assert kept is not None
        for place, plugin, scope in kept.plugins:
            if scope is Scope.ROW:
                verdicts = ask(plugin, known.settled, pod, nodes)
                if len(verdicts.statuses) > 1:
                    codes = np.minimum(codes, kept.encode(place, verdicts))
        return codes

    # -- score ------------------------------------------------------------------------------------

    def first_scores(
        self,
        known: Remembered,
        plugins: Sequence[ScorePlugin],
        weights: dict[str, int],
        pod: PodInfo,
        ask: AskScore,
    ) -> ScoreMemory:
        """Asks for the scores of every node, once. The kept PreScore plugins have had their say."""
        everything = Nodes(self.snapshot)
        taking_part = [plugin for plugin in plugins if plugin.name not in known.settled.skip_score]
        kept = [plugin for plugin in taking_part if keeps(plugin, pod)]
        raw = {p.name: np.array(ask(p, known.settled, pod, everything)) for p in kept}
        plain = [plugin for plugin in kept if not isinstance(plugin, NormalizeScore)]
        base = np.zeros(len(self.snapshot), dtype=np.int64)
        for plugin in plain:
            base += raw[plugin.name] * weights[plugin.name]
        known.score = ScoreMemory(
            tuple(plugin for plugin in taking_part if not keeps(plugin, pod)),
            tuple(plugin for plugin in kept if isinstance(plugin, NormalizeScore)),
            tuple(plugin for plugin in kept if plugin.depends_on(pod) is Scope.ROW),
            raw,
            base,
        )
        self._weights = weights
        return known.score

    def _renew_scores(
        self, known: Remembered, kept: ScoreMemory, pod: PodInfo, ask: AskScore, nodes: Nodes
    ) -> None:
        rows = slice(None) if nodes.rows is None else nodes.rows
        for plugin in kept.rows:
            raw = kept.raw[plugin.name]
            renewed = ask(plugin, known.settled, pod, nodes)
            if not isinstance(plugin, NormalizeScore):
                weight = self._weights[plugin.name]
                change = renewed - raw[rows]
                kept.base[rows] += change if weight == 1 else change * weight
            raw[rows] = renewed
