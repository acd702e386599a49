"""What Score plugins answered for pods that look the same: see memory.py.

The weighted sum over the plugins is kept as it comes out, for every node; a plugin's own scores
only where its part in the sum depends on which nodes are feasible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.cache.answer_cache import (
    SCALAR_PATH_MAX,
    NodeAnswers,
    Redone,
    RowVersions,
    keeps,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import NormalizeScore, Scope, ScorePlugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores
from ksched_cli.framework.status import PluginError

# The lowest and the highest of some scores.
Extremes: TypeAlias = tuple[int, int]


class ScoreAsker(Protocol):
    """Asks plugins and takes care of their failures: ScoreRunner. What it gives is in range.

    weights: by the plugin's name
    """

    weights: dict[str, int]

    def ask_in_range(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Scores:
        """Raw scores; in range where nothing normalises them."""
        ...

    def weighted(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        """Of raw scores, normalised."""
        ...

    def have_plain_form(self, plugins: Iterable[ScorePlugin]) -> bool:
        """Whether the plain form of all may be asked, too."""
        ...

    def sum_of(
        self, plugins: Sequence[ScorePlugin], state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> int | None:
        """The weighted sum of the plugins' scores of one node; None leaves it open."""
        ...


# Extremes that are kept normalised; more are seldom.
MANY_EXTREMES = 16


class NodeScores:
    """A plugin's raw scores of all nodes, which never change, and what normalising makes of them
    where nothing but their extremes matters. Pods may share it.

    lowest, highest: of all nodes
    """

    def __init__(self, plugin: ScorePlugin, raw: Scores, order: Rows) -> None:
        """order: of visits"""
        self.plugin = plugin
        self.raw = raw
        self.lowest, self.highest = (int(raw.min()), int(raw.max())) if len(raw) else (0, 0)
        enough = np.result_type(np.min_scalar_type(self.lowest), np.min_scalar_type(self.highest))
        # There is no integer for both a negative number and a very large one.
        self._narrow = raw.astype(enough) if enough.kind in "iu" else raw
        visited = self._narrow[order]
        self._next_lowest = _next_places(visited == self.lowest)
        self._next_highest = _next_places(visited == self.highest)
        self._parts: dict[Extremes, Scores | None] = {}

    def in_view(self, nodes: Nodes) -> Extremes:
        """The extremes of a selection."""
        if self.lowest == self.highest or nodes.rows is None:
            return self.lowest, self.highest
        if nodes.first is not None:
            end = nodes.first + len(nodes.rows)
            if self._next_lowest.item(nodes.first) < end > self._next_highest.item(nodes.first):
                return self.lowest, self.highest
        raw = self._narrow[nodes.rows]
        return raw.item(raw.argmin()), raw.item(raw.argmax())

    def part(self, extremes: Extremes, weigh: Callable[[Scores], Scores]) -> Scores | None:
        """The weighted scores of all nodes, those beyond the extremes brought within: these are not
        in view. None where the plugin fails, perhaps because of a node that is not in view.

        weigh: raw scores → weighted ones
        """
        if extremes not in self._parts:
            if len(self._parts) == MANY_EXTREMES:
                self._parts.clear()
            try:
                self._parts[extremes] = weigh(self.raw.clip(*extremes))
            except PluginError:
                self._parts[extremes] = None
        return self._parts[extremes]


def _next_places(wanted: Mask) -> Rows:
    """Per place, the next one where `wanted` is true, or one beyond all."""
    beyond = len(wanted)
    places = np.where(wanted, np.arange(beyond), beyond)
    found: Rows = np.minimum.accumulate(places[::-1])[::-1]
    return found


@dataclass(slots=True)
class NormalizedPart:
    """Scores that the sums have normalised, and by which extremes. part: as they are in the sums;
    None: they are not yet."""

    scores: NodeScores
    extremes: Extremes | None = None
    part: Scores | None = None


@dataclass(slots=True)
class ScoreCache:
    """The plugins of one signature, by how much of their answers can be kept.

    fresh:   nothing
    raw:     by name, the raw scores of plugins that are normalised in every attempt
    renewed: those of the ROW plugins among them
    scaled:  in the sums, normalised by the extremes of the nodes last asked about
    rows:    in the sums, redone for nodes touched since
    plain:   whether the plain form of `rows` may be asked, too
    static_sums:   the weighted sums without `rows`; sums: with them
    stamps:  how up to date the answers of ROW plugins are, where it does not follow
    follows: the nodes to redo without a look at the stamps: Filter has had one. Some of them may
             have been rejected; where a plugin does not like that, this is None from then on
    """

    snapshot: Snapshot
    static_sums: Scores
    sums: Scores
    fresh: list[ScorePlugin] = field(default_factory=list)
    normalized_static: list[ScorePlugin] = field(default_factory=list)
    renewed: list[ScorePlugin] = field(default_factory=list)
    raw: dict[str, Scores] = field(default_factory=dict)
    scaled: list[NormalizedPart] = field(default_factory=list)
    rows: list[ScorePlugin] = field(default_factory=list)
    plain: bool = False
    follows: Redone | None = None
    stamps: RowVersions | None = None

    def renew(
        self, static_state: CycleState, pod: PodInfo, nodes: Nodes, asker: ScoreAsker
    ) -> None:
        """Brings a selection up to date."""
        for one in tuple(self.scaled):
            extremes = one.scores.in_view(nodes)
            if extremes != one.extremes:
                self._scale(one, extremes, static_state, pod, asker)
        if not self.rows and not self.renewed:
            return
        if self.follows is not None:
            try:
                self._redo(static_state, pod, self.follows.take(), asker)
                return
            except PluginError:
                self.follows = None
        if self.stamps is None:
            self.stamps = RowVersions(self.snapshot)
        self._redo(static_state, pod, self.stamps.renew(nodes), asker)

    def _redo(
        self, static_state: CycleState, pod: PodInfo, stale: Nodes | None, asker: ScoreAsker
    ) -> None:
        """Asks the ROW plugins."""
        if stale is None:
            return
        if (
            self.plain
            and len(stale) < SCALAR_PATH_MAX
            and self._score_scalar(static_state, pod, stale, asker)
        ):
            return
        rows = slice(None) if stale.rows is None else stale.rows
        if self.rows:
            sums = self.static_sums[rows]
            for plugin in self.rows:
                weight = asker.weights[plugin.name]
                scores = asker.ask_in_range(plugin, static_state, pod, stale)
                sums = sums + (scores if weight == 1 else scores * weight)
            self.sums[rows] = sums
        for plugin in self.renewed:
            self.raw[plugin.name][rows] = asker.ask_in_range(plugin, static_state, pod, stale)

    def _score_scalar(
        self, static_state: CycleState, pod: PodInfo, stale: Nodes, asker: ScoreAsker
    ) -> bool:
        """As `renew`, one node after the other; whether that went well."""
        for row in stale.indices().tolist():
            found = asker.sum_of(self.rows, static_state, pod, NodeInfo(stale.snapshot, row))
            if found is None:
                return False
            self.sums[row] = self.static_sums[row] + found
        return True

    def _scale(
        self,
        one: NormalizedPart,
        extremes: Extremes,
        static_state: CycleState,
        pod: PodInfo,
        asker: ScoreAsker,
    ) -> None:
        """Has the sums normalised by these extremes."""
        plugin, everything = one.scores.plugin, Nodes(self.snapshot)
        weigh = partial(asker.weighted, plugin, static_state, pod, everything)
        part = one.scores.part(extremes, weigh)
        for sums in (self.static_sums, self.sums):
            if one.part is not None:
                sums -= one.part
            if part is not None:
                sums += part
        one.part, one.extremes = part, extremes
        if part is None:
            # From now on it is asked about those that are in view.
            self.scaled.remove(one)
            self.raw[plugin.name] = one.scores.raw
            self.normalized_static.append(plugin)


def build_score_cache(
    static_state: CycleState,
    plugins: Sequence[ScorePlugin],
    pod: PodInfo,
    snapshot: Snapshot,
    asker: ScoreAsker,
    shared: NodeAnswers,
    redone: Redone | None,
) -> ScoreCache:
    """Asks the NODE plugins about every node, once. Those of PreScore have had their say.

    redone: what Filter has redone, where it looks at rows at all
    """
    static_sums = np.zeros(len(snapshot), dtype=np.int64)
    kept = ScoreCache(snapshot, static_sums, static_sums)
    for plugin in plugins:
        if plugin.name in static_state.skip_score:
            continue
        if not keeps(plugin, pod):
            kept.fresh.append(plugin)
        elif plugin.scope_for(pod) is Scope.ROW:
            _keep_row(kept, plugin)
        else:
            make = partial(_node_scores, plugin, static_state, pod, snapshot, asker)
            scores = shared.once("score", plugin, pod, make)
            _keep_node(kept, plugin, asker.weights[plugin.name], scores)
    kept.sums = kept.static_sums.copy()
    kept.plain = not kept.renewed and asker.have_plain_form(kept.rows)
    # Only of ksched's own plugins it is known that they can be asked about any node.
    if redone is not None and kept.plain and not redone.followed:
        kept.follows = redone
        redone.followed = True
    return kept


def _node_scores(
    plugin: ScorePlugin,
    static_state: CycleState,
    pod: PodInfo,
    snapshot: Snapshot,
    asker: ScoreAsker,
) -> NodeScores:
    raw = asker.ask_in_range(plugin, static_state, pod, Nodes(snapshot))
    return NodeScores(plugin, raw, snapshot.order)


def _keep_row(kept: ScoreCache, plugin: ScorePlugin) -> None:
    if isinstance(plugin, NormalizeScore):
        kept.raw[plugin.name] = np.zeros(len(kept.static_sums), dtype=np.int64)
        kept.normalized_static.append(plugin)
        kept.renewed.append(plugin)
    else:
        kept.rows.append(plugin)


def _keep_node(kept: ScoreCache, plugin: ScorePlugin, weight: int, scores: NodeScores) -> None:
    if not isinstance(plugin, NormalizeScore):
        if scores.lowest or scores.highest:
            kept.static_sums += scores.raw * weight
    elif plugin.normalizes_by_min_max:
        kept.scaled.append(NormalizedPart(scores))
    else:
        kept.raw[plugin.name] = scores.raw
        kept.normalized_static.append(plugin)
