"""What plugins answered for pods that look the same, kept as long as it holds.

A plugin's scope says how long that is: NODE answers never change in a run; ROW answers are redone
for the rows touched since; CLUSTER answers are not kept. Plugins have no caches of their own.

Nodes' verdicts are kept as one code each: the place of the plugin that rejects the node first, and
a number for its status, so that the earliest rejection is the smallest code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.interface import FilterPlugin, Plugin, Scope, ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.framework.verdicts import Scores, Verdicts

Codes = NDArray[np.int32]

PASSES = np.int32(np.iinfo(np.int32).max)
STATUS_BITS = 20
STATUS_MASK = (1 << STATUS_BITS) - 1

# Re-asking plugins about more rows than this costs more than asking about all of them.
FEW_ROWS = 512


class Ask(Protocol):
    """A plugin's verdicts, failures included (Filtering.ask)."""

    def __call__(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Verdicts: ...


@dataclass(slots=True)
class Prepared:
    """What a PreFilter or PreScore plugin answered, and the state it wrote."""

    answer: Any
    written: dict[str, Any]


@dataclass(slots=True)
class ScoreMemory:
    """raw: per row. seen: how much of the snapshot's log it takes account of."""

    raw: Scores
    seen: int


@dataclass(slots=True)
class FilterMemory:
    """The plugins of a profile up to the first whose answers are not kept.

    fixed: codes of the NODE plugins; codes: of all of them; rejected: how many do not pass
    """

    plugins: tuple[tuple[int, FilterPlugin], ...]
    fixed: Codes
    codes: Codes
    seen: int
    rejected: int
    statuses: list[Status] = field(default_factory=lambda: [SUCCESS])
    numbers: dict[Status, int] = field(default_factory=dict)

    def verdicts(self, nodes: Nodes) -> Verdicts:
        """The kept verdicts of a selection."""
        if not self.rejected:
            return Verdicts.passing(len(nodes))
        codes = nodes.take(self.codes)
        ids = np.where(codes == PASSES, 0, codes & STATUS_MASK).astype(np.int32)
        return Verdicts(ids, list(self.statuses))


@dataclass(slots=True)
class Remembered:
    """All that is kept for one signature.

    prepared:   by extension point and plugin
    leading:    how many Filter plugins come before the first whose answers do not keep
    scores:     by plugin
    normalized: by plugin, the weighted scores of all nodes, where raw scores never change
    """

    prepared: dict[tuple[str, str], Prepared] = field(default_factory=dict)
    leading: int = -1
    filter: FilterMemory | None = None
    scores: dict[str, ScoreMemory] = field(default_factory=dict)
    normalized: dict[str, Scores] = field(default_factory=dict)


class Memory:
    """Per signature, what is worth keeping: pods that only come once are not."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._expected: Counter[int] = Counter()
        self._known: dict[int, Remembered] = {}

    def expect(self, pods: Iterable[PodInfo]) -> None:
        """The pods that will come."""
        self._expected.update(pod.signature for pod in pods)

    def about(self, pod: PodInfo) -> Remembered | None:
        """None where the pod is the only one of its kind."""
        known = self._known.get(pod.signature)
        if known is None and self._expected[pod.signature] > 1:
            known = self._known[pod.signature] = Remembered()
        return known

    # -- filter -----------------------------------------------------------------------------------

    def filter(
        self,
        known: Remembered,
        plugins: Sequence[FilterPlugin],
        state: CycleState,
        pod: PodInfo,
        ask: Ask,
    ) -> FilterMemory:
        """The kept verdicts, brought up to date."""
        kept = known.filter
        if kept is None:
            kept = known.filter = self._first_verdicts(plugins, state, pod, ask)
        elif kept.seen < len(self._snapshot.log):
            self._renew_verdicts(kept, state, pod, ask)
        return kept

    def _first_verdicts(
        self, plugins: Sequence[FilterPlugin], state: CycleState, pod: PodInfo, ask: Ask
    ) -> FilterMemory:
        count = len(self._snapshot)
        taking_part = tuple(
            (i, p) for i, p in enumerate(plugins) if p.name not in state.skip_filter
        )
        fixed = np.full(count, PASSES, dtype=np.int32)
        kept = FilterMemory(taking_part, fixed, fixed, len(self._snapshot.log), 0)
        everything = Nodes(self._snapshot)
        for place, plugin in taking_part:
            if plugin.depends_on(pod) is Scope.NODE:
                verdicts = ask(plugin, state, pod, everything)
                kept.fixed = np.minimum(kept.fixed, _codes(kept, place, verdicts))
        kept.codes = self._with_rows(kept, state, pod, ask, everything, kept.fixed)
        kept.rejected = int(np.count_nonzero(kept.codes != PASSES))
        return kept

    def _renew_verdicts(
        self, kept: FilterMemory, state: CycleState, pod: PodInfo, ask: Ask
    ) -> None:
        rows = self._touched(kept.seen)
        kept.seen = len(self._snapshot.log)
        nodes = Nodes(self._snapshot, rows)
        fixed = kept.fixed if rows is None else kept.fixed[rows]
        codes = self._with_rows(kept, state, pod, ask, nodes, fixed)
        if rows is None:
            kept.codes = codes
            kept.rejected = int(np.count_nonzero(codes != PASSES))
            return
        if kept.codes is kept.fixed:
            kept.codes = kept.fixed.copy()
        kept.rejected += int(np.count_nonzero(codes != PASSES)) - int(
            np.count_nonzero(kept.codes[rows] != PASSES)
        )
        kept.codes[rows] = codes

    def _with_rows(
        self,
        kept: FilterMemory,
        state: CycleState,
        pod: PodInfo,
        ask: Ask,
        nodes: Nodes,
        codes: Codes,
    ) -> Codes:
        for place, plugin in kept.plugins:
            if plugin.depends_on(pod) is Scope.ROW:
                verdicts = ask(plugin, state, pod, nodes)
                if len(verdicts.statuses) > 1:
                    codes = np.minimum(codes, _codes(kept, place, verdicts))
        return codes

    # -- score ------------------------------------------------------------------------------------

    def raw(
        self, known: Remembered, plugin: ScorePlugin, state: CycleState, pod: PodInfo
    ) -> Scores:
        """The plugin's raw scores of every node, brought up to date. Do not write to them."""
        kept = known.scores.get(plugin.name)
        end = len(self._snapshot.log)
        if kept is None:
            raw = plugin.score_nodes(state, pod, Nodes(self._snapshot))
            known.scores[plugin.name] = ScoreMemory(np.array(raw, dtype=np.int64), end)
            return known.scores[plugin.name].raw
        if kept.seen < end and plugin.depends_on(pod) is Scope.ROW:
            rows = self._touched(kept.seen)
            renewed = plugin.score_nodes(state, pod, Nodes(self._snapshot, rows))
            if rows is None:
                kept.raw = np.array(renewed, dtype=np.int64)
            else:
                kept.raw[rows] = renewed
        kept.seen = end
        return kept.raw

    def _touched(self, seen: int) -> Rows | None:
        """The rows changed since; None for so many that all are as quick."""
        rows = set(self._snapshot.log[seen:])
        if len(rows) > FEW_ROWS:
            return None
        return np.fromiter(rows, dtype=np.intp, count=len(rows))


def keeps(plugin: Plugin, pod: PodInfo) -> bool:
    """Whether the plugin's answers about the pod may be kept at all."""
    return plugin.depends_on(pod) is not Scope.CLUSTER


def _codes(kept: FilterMemory, place: int, verdicts: Verdicts) -> Codes:
    """Verdicts as codes: PASSES, or the plugin's place and the status's number."""
    table = np.full(len(verdicts.statuses), PASSES, dtype=np.int32)
    for i, status in enumerate(verdicts.statuses[1:], start=1):
        number = kept.numbers.get(status)
        if number is None:
            number = kept.numbers[status] = len(kept.statuses)
            kept.statuses.append(status)
        table[i] = place << STATUS_BITS | number
    return table[verdicts.ids]
