"""What Score plugins answered for pods that look the same: see memory.py.

The weighted sum over the plugins is kept as it comes out, for every node; a plugin's own scores
only where its part in the sum depends on which nodes are feasible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.framework.interface import NormalizeScore, Scope, ScorePlugin
from ksched_cli.framework.memory import FEW, Redone, Stamps, keeps
from ksched_cli.framework.nodes import Node, Nodes
from ksched_cli.framework.state import CycleState
from ksched_cli.framework.status import PluginError
from ksched_cli.framework.verdicts import Mask, Scores


class ScoreAsker(Protocol):
    """Asks plugins and takes care of their failures: Scoring. What it gives is in range.

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
        self, plugins: Sequence[ScorePlugin], state: CycleState, pod: PodInfo, node: Node
    ) -> int | None:
        """The weighted sum of the plugins' scores of one node; None leaves it open."""
        ...


@dataclass(slots=True)
class Scaled:
    """A plugin whose raw scores never change and are normalised by the extremes of those in view.

    lowest, highest: of all nodes
    extremes:        by which the sums have it normalised now
    part:            its weighted scores of all nodes, so normalised
    narrow:          the raw scores in as few bytes as hold them
    next_*:          by place in the order of visits, the next place with that score
    """

    plugin: ScorePlugin
    raw: Scores
    narrow: NDArray[Any]
    lowest: int
    highest: int
    next_lowest: Rows
    next_highest: Rows
    part: Scores
    extremes: tuple[int, int] | None = None

    def in_view(self, nodes: Nodes) -> tuple[int, int]:
        """The extremes of a selection."""
        if self.lowest == self.highest or nodes.rows is None:
            return self.lowest, self.highest
        if nodes.first is not None:
            end = nodes.first + len(nodes.rows)
            if self.next_lowest.item(nodes.first) < end > self.next_highest.item(nodes.first):
                return self.lowest, self.highest
        raw = self.narrow[nodes.rows]
        return raw.item(raw.argmin()), raw.item(raw.argmax())


@dataclass(slots=True)
class ScoreMemory:
    """The plugins of one signature, by how much of their answers can be kept.

    fresh:   nothing
    raw:     by name, the raw scores of plugins that are normalised in every attempt
    renewed: those of the ROW plugins among them
    scaled:  in the sums, normalised by the extremes of the nodes last asked about
    rows:    in the sums, redone for nodes touched since
    plain:   whether the plain form of `rows` may be asked, too
    floor:   the weighted sums without `rows`; sums: with them
    stamps:  how up to date the answers of ROW plugins are
    follows: the nodes to redo without a look at the stamps: Filter has had one. Some of them may
             have been rejected; where a plugin does not like that, this is None from then on
    """

    stamps: Stamps
    floor: Scores
    sums: Scores
    fresh: list[ScorePlugin] = field(default_factory=list)
    fixed: list[ScorePlugin] = field(default_factory=list)
    renewed: list[ScorePlugin] = field(default_factory=list)
    raw: dict[str, Scores] = field(default_factory=dict)
    scaled: list[Scaled] = field(default_factory=list)
    rows: list[ScorePlugin] = field(default_factory=list)
    plain: bool = False
    follows: Redone | None = None

    def renew(self, settled: CycleState, pod: PodInfo, nodes: Nodes, asker: ScoreAsker) -> None:
        """Brings a selection up to date."""
        for one in tuple(self.scaled):
            extremes = one.in_view(nodes)
            if extremes != one.extremes:
                self._scale(one, extremes, settled, pod, asker)
        if not self.rows and not self.renewed:
            return
        if self.follows is not None:
            try:
                self._redo(settled, pod, self.follows.take(), asker)
                return
            except PluginError:
                self.follows = None
        self._redo(settled, pod, self.stamps.renew(nodes), asker)

    def _redo(
        self, settled: CycleState, pod: PodInfo, stale: Nodes | None, asker: ScoreAsker
    ) -> None:
        """Asks the ROW plugins."""
        if stale is None:
            return
        if self.plain and len(stale) < FEW and self._few(settled, pod, stale, asker):
            return
        rows = slice(None) if stale.rows is None else stale.rows
        if self.rows:
            sums = self.floor[rows]
            for plugin in self.rows:
                weight = asker.weights[plugin.name]
                scores = asker.ask_in_range(plugin, settled, pod, stale)
                sums = sums + (scores if weight == 1 else scores * weight)
            self.sums[rows] = sums
        for plugin in self.renewed:
            self.raw[plugin.name][rows] = asker.ask_in_range(plugin, settled, pod, stale)

    def _few(self, settled: CycleState, pod: PodInfo, stale: Nodes, asker: ScoreAsker) -> bool:
        """As `renew`, one node after the other; whether that went well."""
        for row in stale.indices().tolist():
            found = asker.sum_of(self.rows, settled, pod, Node(stale.snapshot, row))
            if found is None:
                return False
            self.sums[row] = self.floor[row] + found
        return True

    def _scale(
        self,
        one: Scaled,
        extremes: tuple[int, int],
        settled: CycleState,
        pod: PodInfo,
        asker: ScoreAsker,
    ) -> None:
        """Normalises all nodes at once: those beyond the extremes are none of those in view."""
        everything = Nodes(self.stamps.snapshot)
        try:
            raw = one.raw.clip(*extremes)
            part = asker.weighted(one.plugin, settled, pod, everything, raw)
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
    pod: PodInfo,
    stamps: Stamps,
    asker: ScoreAsker,
    redone: Redone | None,
) -> ScoreMemory:
    """Asks the NODE plugins about every node, once. Those of PreScore have had their say.

    redone: what Filter has redone, where it looks at rows at all
    """
    everything = Nodes(stamps.snapshot)
    floor = np.zeros(len(everything), dtype=np.int64)
    kept = ScoreMemory(stamps, floor, floor)
    for plugin in plugins:
        if plugin.name in settled.skip_score:
            continue
        if not keeps(plugin, pod):
            kept.fresh.append(plugin)
        elif plugin.depends_on(pod) is Scope.ROW:
            _keep_row(kept, plugin)
        else:
            raw = asker.ask_in_range(plugin, settled, pod, everything)
            _keep_node(kept, plugin, asker.weights[plugin.name], raw)
    kept.sums = kept.floor.copy()
    kept.plain = not kept.renewed and asker.have_plain_form(kept.rows)
    # Only of ksched's own plugins it is known that they can be asked about any node.
    if redone is not None and kept.plain and not redone.followed:
        kept.follows = redone
        redone.followed = True
    return kept


def _keep_row(kept: ScoreMemory, plugin: ScorePlugin) -> None:
    if isinstance(plugin, NormalizeScore):
        kept.raw[plugin.name] = np.zeros(len(kept.floor), dtype=np.int64)
        kept.fixed.append(plugin)
        kept.renewed.append(plugin)
    else:
        kept.rows.append(plugin)


def _next_places(wanted: Mask) -> Rows:
    """Per place, the next one where `wanted` is true, or one beyond all."""
    beyond = len(wanted)
    places = np.where(wanted, np.arange(beyond), beyond)
    found: Rows = np.minimum.accumulate(places[::-1])[::-1]
    return found


def _keep_node(kept: ScoreMemory, plugin: ScorePlugin, weight: int, raw: Scores) -> None:
    if not isinstance(plugin, NormalizeScore):
        kept.floor += raw * weight
    elif plugin.by_extremes and len(raw):
        lowest, highest = int(raw.min()), int(raw.max())
        bytes_enough = np.result_type(np.min_scalar_type(lowest), np.min_scalar_type(highest))
        nothing = np.zeros(len(raw), dtype=np.int64)
        # There is no integer for both a negative number and a very large one.
        narrow = raw.astype(bytes_enough) if bytes_enough.kind in "iu" else raw
        visited = raw[kept.stamps.snapshot.order]
        places = (_next_places(visited == lowest), _next_places(visited == highest))
        kept.scaled.append(Scaled(plugin, raw, narrow, lowest, highest, *places, nothing))
    else:
        kept.raw[plugin.name] = raw
        kept.fixed.append(plugin)
