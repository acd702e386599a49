"""What Score plugins answered for pods that look the same: see memory.py.

The weighted sum over the plugins is kept as it comes out, for every node; a plugin's own scores
only where its part in the sum depends on which nodes are feasible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interface import NormalizeScore, Scope, ScorePlugin
from ksched_cli.framework.memory import Stamps, keeps
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import PluginError
from ksched_cli.framework.verdicts import Scores

# Raw scores (Scoring.ask), and weighted ones of raw ones; failures taken care of.
AskScore: TypeAlias = Callable[[ScorePlugin, CycleState, PodInfo, Nodes], Scores]
Weigh: TypeAlias = Callable[[ScorePlugin, CycleState, PodInfo, Nodes, Scores], Scores]


@dataclass(slots=True)
class Scaled:
    """A plugin whose raw scores never change and are normalised by the extremes of those in view.

    lowest, highest: of all nodes
    extremes:        by which the sums have it normalised now
    part:            its weighted scores of all nodes, so normalised
    """

    plugin: ScorePlugin
    raw: Scores
    lowest: int
    highest: int
    part: Scores
    extremes: tuple[int, int] | None = None

    def in_view(self, nodes: Nodes) -> tuple[int, int]:
        """The extremes of a selection."""
        if self.lowest == self.highest or nodes.rows is None:
            return self.lowest, self.highest
        raw = self.raw[nodes.rows]
        return raw.item(raw.argmin()), raw.item(raw.argmax())


@dataclass(slots=True)
class ScoreMemory:
    """The plugins of one signature, by how much of their answers can be kept.

    fresh:   nothing
    raw:     by name, the raw scores of plugins that are normalised in every attempt
    renewed: those of the ROW plugins among them
    scaled:  in the sums, normalised by the extremes of the nodes last asked about
    rows:    in the sums, redone for nodes touched since, with their weights
    floor:   the weighted sums without `rows`; sums: with them
    stamps:  how up to date the answers of ROW plugins are
    """

    stamps: Stamps
    floor: Scores
    sums: Scores
    fresh: list[ScorePlugin] = field(default_factory=list)
    fixed: list[ScorePlugin] = field(default_factory=list)
    renewed: list[ScorePlugin] = field(default_factory=list)
    raw: dict[str, Scores] = field(default_factory=dict)
    scaled: list[Scaled] = field(default_factory=list)
    rows: list[tuple[ScorePlugin, int]] = field(default_factory=list)

    def renew(
        self, settled: CycleState, pod: PodInfo, nodes: Nodes, ask: AskScore, weigh: Weigh
    ) -> None:
        """Brings a selection up to date."""
        for one in tuple(self.scaled):
            extremes = one.in_view(nodes)
            if extremes != one.extremes:
                self._scale(one, extremes, settled, pod, weigh)
        stale = self.stamps.renew(nodes) if self.rows or self.renewed else None
        if stale is None:
            return
        rows = slice(None) if stale.rows is None else stale.rows
        if self.rows:
            sums = self.floor[rows]
            for plugin, weight in self.rows:
                scores = ask(plugin, settled, pod, stale)
                sums = sums + (scores if weight == 1 else scores * weight)
            self.sums[rows] = sums
        for plugin in self.renewed:
            self.raw[plugin.name][rows] = ask(plugin, settled, pod, stale)

    def _scale(
        self,
        one: Scaled,
        extremes: tuple[int, int],
        settled: CycleState,
        pod: PodInfo,
        weigh: Weigh,
    ) -> None:
        """Normalises all nodes at once: those beyond the extremes are none of those in view."""
        everything = Nodes(self.stamps.snapshot)
        try:
            part = weigh(one.plugin, settled, pod, everything, one.raw.clip(*extremes))
        except PluginError:
            # Of a node that is not in view, perhaps: from now on it is asked about those that are.
            self.scaled.remove(one)
            self.raw[one.plugin.name] = one.raw
            self.fixed.append(one.plugin)
            part = np.zeros_like(one.part)
        change = part - one.part
        self.floor += change
        self.sums += change
        one.part, one.extremes = part, extremes


def first_scores(
    settled: CycleState,
    plugins: Sequence[ScorePlugin],
    weights: Mapping[str, int],
    pod: PodInfo,
    stamps: Stamps,
    ask: AskScore,
) -> ScoreMemory:
    """Asks the NODE plugins about every node, once. Those of PreScore have had their say."""
    everything = Nodes(stamps.snapshot)
    floor = np.zeros(len(everything), dtype=np.int64)
    kept = ScoreMemory(stamps, floor, floor)
    for plugin in plugins:
        if plugin.name in settled.skip_score:
            continue
        if not keeps(plugin, pod):
            kept.fresh.append(plugin)
        elif plugin.depends_on(pod) is Scope.ROW:
            _keep_row(kept, plugin, weights[plugin.name])
        else:
            _keep_node(kept, plugin, weights[plugin.name], ask(plugin, settled, pod, everything))
    kept.sums = kept.floor.copy()
    return kept


def _keep_row(kept: ScoreMemory, plugin: ScorePlugin, weight: int) -> None:
    if isinstance(plugin, NormalizeScore):
        kept.raw[plugin.name] = np.zeros(len(kept.floor), dtype=np.int64)
        kept.fixed.append(plugin)
        kept.renewed.append(plugin)
    else:
        kept.rows.append((plugin, weight))


def _keep_node(kept: ScoreMemory, plugin: ScorePlugin, weight: int, raw: Scores) -> None:
    if not isinstance(plugin, NormalizeScore):
        kept.floor += raw * weight
    elif plugin.by_extremes and len(raw):
        nothing = np.zeros(len(raw), dtype=np.int64)
        kept.scaled.append(Scaled(plugin, raw, int(raw.min()), int(raw.max()), nothing))
    else:
        kept.raw[plugin.name] = raw
        kept.fixed.append(plugin)
